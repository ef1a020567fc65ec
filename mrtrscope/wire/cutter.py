"""Makes events out of pieces of text: messages, what stands in their place, and signals."""

from __future__ import annotations

import re
from typing import Any

from mrtrscope.wire import jsonrpc
from mrtrscope.wire.events import (
    ABSENT,
    INVALID,
    HttpExchange,
    Message,
    NonMessage,
    Peer,
    Signal,
    SseEvent,
)

KEPT = 1 << 12  # bytes of a non-message that are kept
BATCH_LIMIT = 100_000  # elements of one batch that are read
FOLLOWERS = 1000  # values behind the first that are read from one text

_NOTHING: dict[str, Any] = {}  # nobody changes it

BEHIND = ("trailing-data", "behind another message in one text")

_LENGTH_HEADER = re.compile(rb"\s*content-(?:length|type)\s*:", re.I)

Place = dict[str, int] | None
Text = Message | NonMessage


class Origin:
    """What all events of one lane have in common."""

    __slots__ = ("channel", "dir", "http", "journal", "lane", "peer")

    def __init__(
        self, journal: str, lane: str, dir: str, channel: str, peer: Peer, http: HttpExchange | None = None
    ) -> None:
        self.journal = journal
        self.lane = lane
        self.dir = dir
        self.channel = channel
        self.peer = peer
        self.http = http


class Spot:
    """Where and when one text was found: see `Event` and `Message`."""

    __slots__ = ("cut", "frames", "offset", "part", "place", "sse", "t")

    def __init__(
        self,
        t: int,
        offset: int,
        part: int,
        frames: tuple[str, ...],
        place: Place = None,
        cut: bool = False,
        sse: SseEvent | None = None,
    ) -> None:
        self.t = t
        self.offset = offset
        self.part = part
        self.frames = frames
        self.place = place
        self.cut = cut
        self.sse = sse


def signal(
    origin: Origin, what: str, t: int, offset: int, part: int = 0, place: Place = None, **detail: Any
) -> Signal:
    made = Signal()
    made.journal = origin.journal
    made.offset = offset
    made.part = part
    made.t = t
    made.channel = origin.channel
    made.dir = origin.dir
    made.lane = origin.lane
    made.peer = origin.peer
    made.http = origin.http
    made.place = place
    made.cut = False
    made.edited = False
    made.what = what
    made.detail = detail
    return made


def non_message(
    origin: Origin,
    spot: Spot,
    raw: bytes,
    why: str,
    body: Any = ABSENT,
    counts: bool = True,
    size: int | None = None,
) -> NonMessage:
    made = NonMessage()
    made.journal = origin.journal
    made.offset = spot.offset
    made.part = spot.part
    made.t = spot.t
    made.channel = origin.channel
    made.dir = origin.dir
    made.lane = origin.lane
    made.peer = origin.peer
    made.http = origin.http
    made.place = spot.place
    made.cut = spot.cut
    made.edited = False
    made.raw = raw[:KEPT]
    made.size = len(raw) if size is None else size
    made.why = why
    made.body = body
    made.counts = counts
    made.sse = spot.sse
    return made


def message(
    origin: Origin,
    spot: Spot,
    raw: bytes,
    body: Any,
    kind: str,
    oddities: jsonrpc.Oddities = (),
    part: int = 0,
) -> Message:
    made = Message()
    part += spot.part
    made.journal = origin.journal
    made.offset = spot.offset
    made.part = part
    made.key = f"{origin.journal}:{spot.offset}.{part}" if part else f"{origin.journal}:{spot.offset}"
    made.t = spot.t
    made.channel = origin.channel
    made.dir = origin.dir
    made.lane = origin.lane
    made.peer = origin.peer
    made.http = origin.http
    made.place = spot.place
    made.cut = spot.cut
    made.edited = False
    made.sse = spot.sse
    made.frames = spot.frames
    made.raw = raw
    made.batch = None
    fill(made, body, kind, oddities)
    return made


def fill(made: Message, body: Any, kind: str, oddities: jsonrpc.Oddities) -> None:
    """Set what follows from the parsed value, also when it is another than before."""
    made.body = body
    made.kind = kind
    made.spelled = made.declares = None
    if type(body) is dict:
        id = made.id = body.get("id", ABSENT)
        made.id_text = jsonrpc.id_text(id)
        method = body.get("method")
        made.method = method if type(method) is str else None
        if type(id) is not str and jsonrpc.wide_id(id):
            oddities = (*oddities, ("wide-number", "/id"))
        params, result, error = body.get("params"), body.get("result"), body.get("error")
        made.params = params if type(params) is dict else _NOTHING
        made.result = result if type(result) is dict else _NOTHING
        made.error = error if type(error) is dict else _NOTHING
        meta = made.params.get("_meta")
        made.meta = meta if type(meta) is dict else _NOTHING
    else:
        made.params = made.meta = made.result = made.error = _NOTHING
        made.id = ABSENT
        made.id_text = None
        made.method = None
    made.oddities = oddities


def read(
    origin: Origin,
    spot: Spot,
    raw: bytes,
    *,
    sure: bool = False,
    counts: bool = True,
    odd: jsonrpc.Oddities = (),
) -> list[Text]:
    """The messages in `raw`, which stands where one is expected, or the non-message that it is.

    Elements of a batch are messages of their own, also those that are no objects, as long as there is a message among
    them. What stands behind a message is read in the same way: a second one carries the oddity "trailing-data".
    sure     see `jsonrpc.kind_of`          counts   of a non-message          odd   oddities known beforehand
    """
    body, oddities, why, rest = jsonrpc.parse(raw)
    if odd:
        oddities = (*odd, *oddities)
    if type(body) is dict:
        kind = jsonrpc.kind_of(body, sure)
        if kind and not rest:
            return [message(origin, spot, raw, body, kind, oddities)]
    found: list[Text] = []
    pieces = jsonrpc.pieces(raw, FOLLOWERS) if rest else [raw]
    for n, text in enumerate(pieces):
        if n:
            text = text.lstrip(jsonrpc.WHITE)
            body, oddities, why, rest = jsonrpc.parse(text)
            oddities = (*oddities, BEHIND)
        if n == FOLLOWERS:
            break
        kind = jsonrpc.kind_of(body, sure) if type(body) is dict else ""
        if kind:
            found.append(message(origin, spot, text, body, kind, oddities, part=len(found)))
        elif type(body) is list and any(type(e) is dict and jsonrpc.kind_of(e, sure) for e in body):
            found += _batch(origin, spot, text, body, oddities, sure, len(found))
        else:
            break
    else:
        return found
    spot.part += len(found)
    if n:
        raw = b"".join(pieces[n:]).lstrip(jsonrpc.WHITE)
        rest = rest or b"".join(pieces[n + 1 :])
    found.append(non_message(origin, spot, raw, _why(raw, body, why, rest), ABSENT if rest else body, counts))
    return found


def _why(raw: bytes, body: Any, why: str, rest: bytes) -> str:
    if body is ABSENT or rest:
        why = why or "not-json"
        return "length-header" if why == "not-json" and _LENGTH_HEADER.match(raw) else why
    if type(body) is dict:
        return "not-json-rpc"
    return "not-an-object" if type(body) is not list else "not-json-rpc" if body else "empty-batch"


def _batch(
    origin: Origin, spot: Spot, raw: bytes, body: list[Any], oddities: jsonrpc.Oddities, sure: bool, part: int
) -> list[Text]:
    texts = jsonrpc.elements(raw)
    if len(texts) != len(body):
        texts = [raw] * len(body)
    made: list[Text] = []
    first = ""
    if len(body) > BATCH_LIMIT:
        oddities = (*oddities, ("too-long", f"{len(body)} elements, {BATCH_LIMIT} read"))
    for n, (text, element) in enumerate(zip(texts[:BATCH_LIMIT], body, strict=False)):
        kind = jsonrpc.kind_of(element, sure) if type(element) is dict else ""
        odd = jsonrpc.parse(text)[1] if oddities and len(body) <= FOLLOWERS else oddities
        one = message(origin, spot, text, element, kind or INVALID, odd, part=part + n)
        first = first or one.key
        one.batch = (n, len(body), first)
        made.append(one)
    return made

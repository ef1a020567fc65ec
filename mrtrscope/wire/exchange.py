"""One HTTP exchange while its bytes arrive: what its head says, and what its bodies hold.

What is a message of the capture, and what counts as a non-message:

- Any JSON-RPC text in a request body, whatever its content type. Of an answer: JSON-RPC text whose content type says
  JSON or nothing, and the data of events of type "message" in an event stream. Text in other clothes (JSON-RPC as
  text/plain, an HTML error page) is a non-message; what could be parsed of it is kept in its `body`.
- A JSON object without "jsonrpc" in an answer that is an HTTP error, or to something else than a POST, is an error of
  HTTP or OAuth and no message, unless it has an id and an error with a numeric code.
- A non-message counts only where a message was due: in a POST that speaks MCP (by its headers, or because its URL has
  carried JSON-RPC before), in the answer to one, in an event stream. OAuth, discovery, registration count nothing.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from urllib.parse import urljoin

from mrtrscope.frames import C2S, S2C
from mrtrscope.wire import jsonrpc
from mrtrscope.wire.cutter import BEHIND, Origin, Text, fill, non_message, read, signal
from mrtrscope.wire.events import (
    ABSENT,
    FRAMING,
    HTTP_END,
    HTTP_REQUEST,
    HTTP_REQUEST_END,
    HTTP_RESPONSE,
    HttpExchange,
    Message,
    NonMessage,
    Peer,
    Signal,
)
from mrtrscope.wire.heads import Head, content_length, essence, is_json, words
from mrtrscope.wire.payload import EventBody, TextBody

Made = Iterator[Text | Signal]

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#@]*@)?([^/?#]*)([^?#]*)")
_HEAD = re.compile(rb"HTTP/1\.[01] [1-5][0-9]{2}|[A-Z]{3,7} [^\s\0]{1,2048} HTTP/1\.[01]\r?\n")
_WHITE = b" \t\r\n"  # around a text: where it is cut off must not depend on how the body came
_PORTS = {"http": ":80", "https": ":443"}


@lru_cache(maxsize=256)
def channel_of(url: str) -> str:
    """The channel that a URL belongs to: scheme, host, port and path, as one spelling; "" when it is no URL."""
    match = _URL.match(url)
    if match is None:
        return ""
    scheme, host, path = match[1].lower(), match[2].lower(), match[3]
    return f"{scheme}://{host.removesuffix(_PORTS.get(scheme, '!'))}{path or '/'}"


class Endpoints:
    """The channels of a capture that have carried JSON-RPC, the first few thousand of them; and the addresses that
    servers of 2024-11-05 told their clients to post to, each on a stream of its own: the channel of that stream, and
    what stands for it wherever later revisions have the id of a session (`HttpExchange.facts["pair"]`)."""

    __slots__ = ("names", "told")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.told: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def tell(self, stream: HttpExchange, address: str) -> None:
        """A stream says where to post."""
        try:
            place = urljoin(stream.url, address.strip())
        except ValueError:
            return
        stream.facts |= {"old": True, "pair": stream.key}
        self.told[_posted_to(stream.url, place)] = (stream.channel, stream.key)
        if len(self.told) > 4096:
            self.told.popitem(last=False)

    def add(self, channel: str) -> None:
        if len(self.names) < 4096:
            self.names.add(channel)


def _posted_to(url: str, place: str) -> str:
    """What stands for an address, which mostly names a session. The origin is that of the stream, since a server behind
    a gateway may call itself by another."""
    origin, path = _URL.match(url), _URL.match(place)
    if origin is None or path is None:
        return ""
    text = f"{channel_of(origin[1] + '://' + origin[2])}{place[path.start(3) :]}"
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


class Flow:
    """Reads one exchange. Whoever cuts it out of frames calls, in this order and each as far as it happens:
    `ask`, `ask_data`, `ask_end`, `inform`, `answer`, `answer_data`, `end`."""

    __slots__ = (
        "a", "answer_body", "answered", "asked", "counts", "done", "endpoints", "exchange", "kind", "over", "q",
        "request_body", "texts",
    )  # fmt: skip

    def __init__(
        self,
        key: str,
        number: int,
        peer: Peer,
        journal: str,
        lanes: tuple[str, str],
        t: int,
        endpoints: Endpoints,
    ) -> None:
        exchange = self.exchange = HttpExchange(key, number, peer, "", t)
        self.q = Origin(journal, lanes[0], C2S, "", peer, exchange)
        self.a = Origin(journal, lanes[1], S2C, "", peer, exchange)
        self.endpoints = endpoints
        self.request_body: TextBody | None = None
        self.answer_body: TextBody | EventBody | None = None
        self.asked = False  # the request is complete
        self.answered = False  # the head of the final answer is there
        self.over: tuple[str, str] | None = None  # the answer is complete, the request is not: (by, error)
        self.done = False
        self.counts = False  # messages are due in this exchange
        self.kind = ""  # media type of the answer
        self.texts: list[Text] = []  # cut out of held bodies, for somebody may have edited them

    def join(self, peer: Peer) -> None:
        """This exchange is on the connection of `peer`."""
        self.exchange.peer = self.q.peer = self.a.peer = peer

    # -- the request ------------------------------------------------------------------------------------------------

    def ask(self, head: Head, url: str, t: int, offset: int, coded: list[str]) -> Made:
        """The head of the request. `coded`: the codings that its body still has."""
        exchange, fields = self.exchange, head.fields
        exchange.method, exchange.url, exchange.http = head.method, url, head.http
        exchange.request_headers, exchange.t = head.headers, t
        exchange.channel = self.q.channel = self.a.channel = channel_of(url)
        self.request_body = TextBody(content_length(fields), coded)
        if head.method == "POST":
            if self.endpoints.told and (told := self.endpoints.told.get(_posted_to(url, url))):
                exchange.channel = self.q.channel = self.a.channel = told[0]
                exchange.facts |= {"old": True, "pair": told[1]}
            self.counts = (
                exchange.channel in self.endpoints.names
                or any("text/event-stream" in word for word in words(fields, "accept"))
                or any(name.startswith("mcp-") for name in fields)
            )
        if wrong := head.framing():
            self.misframed("request", wrong)
        yield signal(self.q, HTTP_REQUEST, t, offset, place=exchange.place)

    def ask_data(self, data: bytes, t: int, offset: int, key: str) -> None:
        self.exchange.request_size += len(data)
        if self.request_body is None:
            self.request_body = TextBody()
        self.request_body.feed(data, t, offset, key)

    def ask_end(self, t: int, offset: int, part: int = 0, whole: bool = True) -> Made:
        """The request is complete, or with `whole` false will never be; its messages are of this moment."""
        if self.asked:
            return
        self.asked = True
        exchange = self.exchange
        exchange.t_request_end = t
        body, self.request_body = self.request_body, None
        if body is not None and body.size:
            body.t = t
            yield from self._request_text(body)
        if not whole and not exchange.error:
            exchange.error = "the request breaks off"
        yield signal(self.q, HTTP_REQUEST_END, t, offset, part, exchange.place, size=exchange.request_size)
        if self.over is not None:
            yield from self._over(t, offset, part + 1, *self.over)

    def _request_text(self, body: TextBody) -> Made:
        spot = body.spot(self.exchange.place)
        text = body.take().strip(_WHITE)
        if not text:
            return
        for made in self._judged("request", body, read(self.q, spot, text, counts=self.counts)):
            if type(made) is Message and self.exchange.method == "POST":
                self.counts = True
                self.endpoints.add(self.q.channel)
            self.texts.append(made)
            yield made

    # -- the answer -------------------------------------------------------------------------------------------------

    def inform(self, status: int) -> None:
        """An interim answer came."""
        self.exchange.informational.append(status)

    def answer(self, head: Head, t: int, offset: int, coded: list[str], ours: bool = False) -> Made:
        """The head of the final answer."""
        exchange = self.exchange
        exchange.status, exchange.reason, exchange.response_http = head.status, head.reason, head.http
        exchange.response_headers, exchange.t_response, exchange.ours = head.headers, t, exchange.ours or ours
        self.answered = True
        if wrong := head.framing():
            self.misframed("answer", wrong)
        self.kind = essence(head.fields)
        if self.kind == "text/event-stream":
            self.answer_body = EventBody(coded)
        else:
            self.answer_body = TextBody(content_length(head.fields), coded)
        yield signal(self.a, HTTP_RESPONSE, t, offset, place=exchange.place)

    def answer_data(self, data: bytes, t: int, offset: int, key: str) -> Made:
        self.exchange.response_size += len(data)
        body = self.answer_body
        if body is None:
            body = self.answer_body = TextBody()
        if type(body) is EventBody:
            for made in body.feed(data, t, offset, key, self.a, self.exchange.place):
                if type(made) is Message:
                    self.endpoints.add(self.a.channel)
                elif type(made) is Signal and made.detail.get("event") == "endpoint":
                    self._endpoint(made)
                yield made
        elif type(body) is TextBody:
            body.feed(data, t, offset, key)
            if body.complete():
                yield from self._answer_text(body, sure_of_end=body.expected >= 0)

    def _endpoint(self, event: Signal) -> None:
        if self.exchange.method == "GET" and event.detail.get("data"):
            self.endpoints.tell(self.exchange, event.detail["data"])

    def _answer_text(self, body: TextBody, sure_of_end: bool) -> Made:
        exchange = self.exchange
        place = None if exchange.place is None else {**exchange.place, "event": 0}
        spot = body.spot(place)
        text = bytes(body.kept.strip(_WHITE))
        if not text:
            return
        if "pair" in exchange.facts:
            self.counts = False  # the answer to what is posted comes on the stream
        odd = (BEHIND,) if body.read else ()
        if not is_json(self.kind):
            if not sure_of_end:
                return
            value, _, _, rest = jsonrpc.parse(text)
            made: list[Text] = [
                non_message(self.a, spot, text, "other-content-type", ABSENT if rest else value, self.counts)
            ]
        else:
            if not sure_of_end and not jsonrpc.sound(text):
                body.tried = len(text)
                return
            sure = (exchange.status or 0) >= 400 or exchange.method != "POST"
            made = read(self.a, spot, text, sure=sure, counts=self.counts, odd=odd)
            if sure_of_end:
                self._judged("answer", body, made)
            if not sure_of_end and type(made[-1]) is NonMessage:
                body.tried = len(text)
                return
        body.take()
        self.texts += made
        yield from made

    def end(self, t: int, offset: int, part: int, by: str, error: str, last: bool = False) -> Made:
        """The answer is over, in good order or not, and with it the exchange as soon as the request is complete.

        `last`: nothing more of the request will come either.
        """
        if self.done or self.over is not None:
            return
        self.exchange.closed_by = by  # before what was cut off by it is read
        body, self.answer_body = self.answer_body, None
        if not self.asked and last:
            yield from self.ask_end(t, offset, part, whole=False)
            part += 1
        if type(body) is EventBody:
            yield from body.finish(body.t, self.a, self.exchange.place)
        elif type(body) is TextBody and body.size:
            yield from self._answer_text(body, sure_of_end=True)
        if self.asked:
            yield from self._over(t, offset, part, by, error)
        else:
            self.over = (by, error)

    def _over(self, t: int, offset: int, part: int, by: str, error: str) -> Made:
        exchange = self.exchange
        self.done = True
        exchange.t_end = t
        exchange.closed_by = by
        exchange.error = exchange.error or error
        yield signal(self.a, HTTP_END, t, offset, part, exchange.place)

    # -- damaged framing --------------------------------------------------------------------------------------------

    def misframed(self, side: str, why: str) -> None:
        """Where a body ends ("request", "answer") cannot be told for certain; the first reason stays."""
        self.exchange.facts.setdefault("framing", {}).setdefault(side, why)

    def _judged(self, side: str, body: TextBody, made: list[Text]) -> list[Text]:
        """What is no message because HTTP around it is damaged is not held against its text."""
        last = made[-1]
        if type(last) is NonMessage and last.why == "not-json":
            if _HEAD.match(last.raw):
                self.misframed(side, "the next message begins before the length is over that was announced")
            elif body.decoder is not None and (why := body.decoder.fault()):
                self.misframed(side, why)
            if side in self.exchange.facts.get("framing", ()):
                last.why = FRAMING
        return made

    # -- what the recorder says ---------------------------------------------------------------------------------------

    def lost(self, answer: bool) -> None:
        """Bytes of one of the bodies are missing."""
        self.exchange.cut = True
        body = self.answer_body if answer else self.request_body
        if body is not None:
            body.cut = True

    def edited(self, lane: str, sent: bytes) -> list[Message | NonMessage]:
        """What was passed on in the place of a body that was read already: the events it is about, set right."""
        events = [event for event in self.texts if event.lane == lane]
        return amend(events, sent)

    def under_another_head(self, lane: str) -> list[Message | NonMessage]:
        """What came with a head that was edited, and was itself left alone."""
        events = [event for event in self.texts if event.lane == lane and not event.edited]
        for event in events:
            event.edited = True
        return events


def amend(events: list[Text], sent: bytes) -> list[Text]:
    """Set events right that somebody edited on the way: the n-th gets the n-th message of `sent`, if there is one.

    The objects stay the same, since everybody holds them already; `before` is what they were.
    """
    if not events:
        return []
    first = events[0]
    origin = Origin(first.journal, first.lane, first.dir, first.channel, first.peer, first.http)
    texts = read_lines(origin, sent) if first.http is None else [sent]
    news: list[Any] = []
    for text in texts:
        value, oddities, _, rest = jsonrpc.parse(text)
        values = value if type(value) is list else [value]
        raws = jsonrpc.elements(text) if type(value) is list else [text]
        if not rest and len(raws) == len(values):
            news += [(raw, v, oddities) for raw, v in zip(raws, values, strict=True)]
    for n, event in enumerate(events):
        event.edited = True
        if n < len(news) and type(event) is Message:
            raw, value, oddities = news[n]
            kind = jsonrpc.kind_of(value) if type(value) is dict else ""
            if kind:
                event.before, event.raw = event.raw, raw
                fill(event, value, kind, oddities)
    return events


def read_lines(origin: Origin, text: bytes) -> list[bytes]:
    return [line for line in text.split(b"\n") if line.strip()]

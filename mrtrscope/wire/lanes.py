"""The lanes that are no TCP connection: pipes of a wrapped process, and HTTP messages that a proxy cut out already."""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.frames import Frame
from mrtrscope.wire.cutter import KEPT, Origin, Place, Spot, Text, non_message, read, signal
from mrtrscope.wire.events import EDITED, GAP, LANE_END, OPENED, STDERR, Message, NonMessage, Signal
from mrtrscope.wire.exchange import Flow, amend
from mrtrscope.wire.heads import Head, codings, fields_of
from mrtrscope.wire.lines import LineSplitter
from mrtrscope.wire.payload import FRAMES

Made = list[Message | NonMessage | Signal]


def detail_of(data: bytes) -> dict[str, Any]:
    """The JSON object that a frame of the recorder carries; {} when it carries none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if type(value) is dict else {}


def text_of(detail: dict[str, Any], *names: str) -> str:
    """The first of these members that is a text, "" when none is."""
    for name in names:
        value = detail.get(name)
        if type(value) is str:
            return value
    return ""


def number_of(detail: dict[str, Any], name: str) -> int:
    value = detail.get(name)
    return value if type(value) is int and value > 0 else 0


class PipeLane:
    """A child's stdin or stdout: one message a line.

    keeps   somebody may edit what comes here: the latest events are kept, to be set right
    """

    __slots__ = (
        "_begin", "_cut", "_headers", "_keys", "_latest", "_place", "_splitter", "_t", "keeps", "origin",
    )  # fmt: skip

    def __init__(self, origin: Origin, keeps: bool = False) -> None:
        self.origin = origin
        self.keeps = keeps
        self._splitter = LineSplitter()
        self._begin = 0  # offset of the line that has no end yet
        self._keys: list[str] = []  # and its frames
        self._place: Place = None
        self._t = 0
        self._cut = 0  # 1: bytes may be missing before the next line; 2: are missing inside it
        self._headers = False  # the last line with anything in it was a length header
        self._latest: list[Text] = []

    def data(self, frame: Frame) -> Made:
        found: Made = []
        self._t = frame.t
        self._feed(frame, found)
        if self.keeps:
            self._latest = [event for event in found if not isinstance(event, Signal)]
        return found

    def _feed(self, frame: Frame, found: Made) -> None:
        splitter, data = self._splitter, frame.data
        key = f"{frame.journal}:{frame.offset}"
        begin, before = frame.offset, splitter.pending
        if not before and 0 < data.find(b"\n") + 1 == len(data) <= splitter.limit:  # one line, as is usual
            self._line(data[:-1], len(data) - 1, Spot(frame.t, begin, 0, (key,), frame.place), found)
            return
        for line in splitter.feed(data):
            if before:
                keys, place = (*self._keys, key), self._place
                self._line(line.data, line.size, Spot(frame.t, self._begin, 0, keys, place), found)
                begin += line.size - before + 1
                before = 0
            else:
                self._line(line.data, line.size, Spot(frame.t, begin, 0, (key,), frame.place), found)
                begin += line.size + 1
        if splitter.pending:
            if before:
                if len(self._keys) < FRAMES:
                    self._keys.append(key)
            else:
                self._begin, self._keys, self._place = begin, [key], frame.place

    def _line(self, raw: bytes, size: int, spot: Spot, found: Made) -> None:
        origin = self.origin
        if size > len(raw):
            self._cut = 0
            found.append(non_message(origin, spot, raw, "too-long", size=size))
            return
        odd: tuple[tuple[str, str], ...] = ()
        if raw[-1:] == b"\r":
            raw = raw[:-1]
            odd = (("carriage-return", ""),)
        if self._cut:
            spot.cut = self._cut == 2
        if not raw or raw.isspace():
            found.append(non_message(origin, spot, raw, "blank-line", counts=False))
            return
        if self._headers:
            odd = (*odd, ("content-length-framing", ""))
        texts = read(origin, spot, raw, odd=odd)
        last = texts[-1]
        self._headers = type(last) is NonMessage and last.why == "length-header"
        if self._cut:
            if type(texts[0]) is NonMessage:
                texts[0].cut = True
            self._cut = 0
        found += texts

    def sent(self, frame: Frame) -> Made:
        """What was passed on in the place of the latest data."""
        events = amend(self._latest, frame.data)
        self._latest = []
        return _edited(self.origin, frame, events)

    def gap(self, frame: Frame, detail: dict[str, Any]) -> Made:
        self._cut = 2 if self._splitter.pending else max(self._cut, 1)
        return [gap_signal(self.origin, frame, detail)]

    def opened(self, frame: Frame, detail: dict[str, Any]) -> Made:
        return [signal(self.origin, OPENED, frame.t, frame.offset, place=frame.place)]

    def end(self, frame: Frame, detail: dict[str, Any]) -> Made:
        found: Made = []
        for line in self._splitter.finish():
            self._line(
                line.data, line.size, Spot(self._t, self._begin, 0, tuple(self._keys), self._place), found
            )
        role, by = self.origin.lane[-1:], text_of(detail, "by")
        found.append(
            signal(self.origin, LANE_END, frame.t, frame.offset, place=frame.place, lane=role, by=by)
        )
        return found


class TextLane:
    """A child's stderr: text for people. Also what comes on a lane that nobody knows."""

    __slots__ = ("origin",)

    def __init__(self, origin: Origin) -> None:
        self.origin = origin

    def data(self, frame: Frame) -> Made:
        text = frame.data[:KEPT].decode("utf-8", "replace")
        return [signal(self.origin, STDERR, frame.t, frame.offset, place=frame.place, text=text)]

    def sent(self, frame: Frame) -> Made:
        return []

    def gap(self, frame: Frame, detail: dict[str, Any]) -> Made:
        return [gap_signal(self.origin, frame, detail)]

    def opened(self, frame: Frame, detail: dict[str, Any]) -> Made:
        return []

    def end(self, frame: Frame, detail: dict[str, Any]) -> Made:
        by = text_of(detail, "by")
        return [
            signal(
                self.origin,
                LANE_END,
                frame.t,
                frame.offset,
                place=frame.place,
                lane=self.origin.lane[-1:],
                by=by,
            )
        ]


def _edited(origin: Origin, frame: Frame, events: list[Text]) -> Made:
    """Tells that these were changed after they were handed out; `now`: kind, id, method and size of each, None for what
    is no message."""
    if not events:
        return []
    now = [[e.kind, e.id_text, e.method, len(e.raw)] if type(e) is Message else None for e in events]
    keys = [event.key for event in events]
    return [signal(origin, EDITED, frame.t, frame.offset, place=frame.place, keys=keys, now=now)]


class FlowLane:
    """One direction of an HTTP exchange that a proxy or a transcript tells of; both directions share the flow."""

    __slots__ = ("answers", "flow", "origin", "upstream")

    def __init__(self, flow: Flow, answers: bool) -> None:
        self.flow = flow
        self.answers = answers
        self.origin = flow.a if answers else flow.q
        self.upstream = ""

    def opened(self, frame: Frame, detail: dict[str, Any]) -> Made:
        exchange = self.flow.exchange
        exchange.flow = text_of(detail, "flow")
        self.upstream = text_of(detail, "upstream")
        for name in ("host", "mode", "replay", "via"):
            if detail.get(name):
                exchange.facts[name] = detail[name]
        return []

    def head(self, frame: Frame, detail: dict[str, Any]) -> Made:
        flow, head = self.flow, head_of(detail)
        coded = [] if detail.get("decoded") is True else codings(head.fields, transfer=False)
        if not self.answers:
            url = text_of(detail, "url")
            return list(
                flow.ask(head, self.upstream + url if url[:1] == "/" else url, frame.t, frame.offset, coded)
            )
        ours = detail.get("ours") is True
        if 100 <= head.status < 200 and head.status != 101 and not ours:
            flow.inform(head.status)
            return []
        return list(flow.answer(head, frame.t, frame.offset, coded, ours))

    def data(self, frame: Frame) -> Made:
        key = f"{frame.journal}:{frame.offset}"
        if self.answers:
            return list(self.flow.answer_data(frame.data, frame.t, frame.offset, key))
        self.flow.ask_data(frame.data, frame.t, frame.offset, key)
        return []

    def sent(self, frame: Frame) -> Made:
        """What was passed on in the place of the body."""
        return _edited(self.origin, frame, self.flow.edited(self.origin.lane, frame.data))

    def passed_on(self, frame: Frame, head: Any) -> Made:
        """Another head was passed on than came."""
        self.flow.exchange.facts["edited"] = head
        return _edited(self.origin, frame, self.flow.under_another_head(self.origin.lane))

    def gap(self, frame: Frame, detail: dict[str, Any]) -> Made:
        self.flow.lost(self.answers)
        return [gap_signal(self.origin, frame, detail)]

    def end(self, frame: Frame, detail: dict[str, Any]) -> Made:
        by, error = text_of(detail, "by"), text_of(detail, "error")
        if not self.answers:
            return list(self.flow.ask_end(frame.t, frame.offset, whole=not error))
        if by == "us":
            self.flow.exchange.ours = True
        if number_of(detail, "answered"):
            self.flow.exchange.facts["answered"] = detail["answered"]
        return list(self.flow.end(frame.t, frame.offset, 0, by or "server", error))


def head_of(detail: dict[str, Any]) -> Head:
    """The head that a head frame tells of; headers that are no pair of texts are left out."""
    head = Head()
    head.method, head.http, head.reason = (text_of(detail, name) for name in ("method", "http", "reason"))
    status, pairs = detail.get("status"), detail.get("headers")
    head.status = status if type(status) is int else 0
    if type(pairs) is list:
        head.headers = [
            (pair[0], pair[1])
            for pair in pairs
            if type(pair) is list and len(pair) == 2 and type(pair[0]) is str and type(pair[1]) is str
        ]
        head.fields = fields_of(head.headers)
    return head


def gap_signal(origin: Origin, frame: Frame, detail: dict[str, Any]) -> Signal:
    why = text_of(detail, "why")
    made = signal(origin, GAP, frame.t, frame.offset, bytes=number_of(detail, "bytes"), why=why)
    made.cut = True
    return made

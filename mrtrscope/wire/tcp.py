"""A relayed TCP connection: HTTP/1.1 read out of the bytes of both directions, answers matched to requests by order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

from mrtrscope.frames import C2S, S2C, Frame
from mrtrscope.wire.cutter import Origin, signal
from mrtrscope.wire.events import HTTP_UNREADABLE, OPENED, Message, NonMessage, Peer, Signal
from mrtrscope.wire.exchange import Endpoints, Flow
from mrtrscope.wire.heads import Head, codings
from mrtrscope.wire.http1 import DATA, END, HEAD, JUNK, LENGTH, OPAQUE, START, HttpReader, Piece, plausible
from mrtrscope.wire.lanes import Made, gap_signal, number_of, text_of
from mrtrscope.wire.payload import EventBody
from mrtrscope.wire.track import Track

Events = Iterator[Message | NonMessage | Signal]

_CROWD = 1 << 30  # part of an end that may share its byte with events out of a compressed piece
_MANY = 1 << 20  # first part of ends that share the place of a head
_CLOSED = "closed before the answer was complete"
_LOST = "the capture has lost the answer"


class Counter:
    """Numbers the exchanges of a journal."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> int:
        self.last += 1
        return self.last


class Side:
    """One direction: its reader, and where its bytes are in the journal."""

    __slots__ = ("ended", "fed", "origin", "reader", "suspect", "track")

    def __init__(self, origin: Origin, answers: bool) -> None:
        self.origin = origin
        self.reader = HttpReader(answers)
        self.track = Track()
        self.fed = 0  # bytes so far
        self.ended = ""  # "" or who ended it
        self.suspect = False  # a record was damaged that may have been of this lane


class Connection:
    """Both directions of one connection. Never raises, whatever either side sends."""

    __slots__ = (
        "answering", "asking", "base", "client", "count", "endpoints", "interim", "journal", "peer",
        "server", "unanswered", "waiting",
    )  # fmt: skip

    make: type[Flow] = Flow

    def __init__(
        self,
        journal: str,
        lanes: tuple[str, str],
        peer: Peer,
        base: str,
        count: Counter,
        endpoints: Endpoints,
    ) -> None:
        self.journal = journal
        self.peer = peer
        self.base = base  # scheme://host:port of the upstream
        self.count = count
        self.endpoints = endpoints
        self.client = Side(Origin(journal, lanes[0], C2S, base, peer), answers=False)
        self.server = Side(Origin(journal, lanes[1], S2C, base, peer), answers=True)
        self.waiting: deque[Flow] = deque()  # requests without the head of an answer
        self.asking: Flow | None = None
        self.answering: Flow | None = None
        self.interim = False  # the head before was that of a 1xx
        self.unanswered = False  # bytes from the server are missing: an answer may have been among them

    @property
    def ended(self) -> bool:
        return bool(self.client.ended and self.server.ended)

    # -- frames -------------------------------------------------------------------------------------------------------

    def data(self, side: Side, frame: Frame) -> Events:
        if side.suspect:
            yield from self._look_again(side, frame)
        side.track.add(side.fed, frame.offset, f"{frame.journal}:{frame.offset}")
        side.fed += len(frame.data)
        yield from self._pieces(side, side.reader.feed(frame.data), frame.t)
        side.track.forget(side.reader.needed)

    def _look_again(self, side: Side, frame: Frame) -> Events:
        """A record was damaged. Where a body seems to go on with a head, the damaged record was the rest of it."""
        if side.reader.state == LENGTH and plausible(frame.data, side.reader.answers):
            yield from self._pieces(side, side.reader.gap(0), frame.t, frame, part=1)
        side.suspect = side.reader.state != START

    def gap(self, side: Side, frame: Frame, detail: dict[str, Any]) -> Events:
        for flow in self._under_way(side):
            flow.lost(side is self.server)
        size = number_of(detail, "bytes")
        yield gap_signal(side.origin, frame, detail)
        yield from self._pieces(side, side.reader.gap(size), frame.t, frame, part=1)
        if side is self.server and self.waiting:
            self.unanswered = True

    def _under_way(self, side: Side) -> list[Flow]:
        flow = self.asking if side is self.client else self.answering
        return [flow] if flow is not None else list(self.waiting) if side is self.server else []

    def doubt(self) -> None:
        """A record was damaged, nobody knows of which lane."""
        for side in (self.client, self.server):
            side.suspect = True
            for flow in self._under_way(side):
                flow.exchange.cut = True

    def opened(self, frame: Frame, detail: dict[str, Any]) -> Events:
        upstream = text_of(detail, "upstream", "target")
        if upstream:
            base = upstream if "://" in upstream else f"http://{upstream}"
            self.base = self.client.origin.channel = self.server.origin.channel = base.rstrip("/")
        yield signal(self.client.origin, OPENED, frame.t, frame.offset)

    def end(self, side: Side, frame: Frame, detail: dict[str, Any]) -> Events:
        by = text_of(detail, "by")
        error = text_of(detail, "error")
        other = self.server if side is self.client else self.client
        side.ended = by or ("client" if side is self.client or other.ended else "server")
        yield from self._pieces(side, side.reader.finish(), frame.t, frame, (side.ended, error))
        if side is self.client and not other.ended:
            return  # half closed: the answers may still come
        part = 2  # the piece above may have ended an exchange at this frame
        over = [self.answering] if self.answering is not None else []
        over += self.waiting
        self.waiting.clear()
        self.answering = None
        for flow in over:
            if flow.exchange.method or flow.answered:
                why = "" if flow.answered and side.reader.state == OPAQUE and not error else error or _CLOSED
                self._left(flow, why)
                yield from flow.end(
                    frame.t, frame.offset, part, self.server.ended, why, last=other.ended != ""
                )
                part += 2

    def _left(self, flow: Flow, error: str) -> None:
        """An answer is not complete, or a stream in good order, and its client had closed its side before: mostly it
        had stopped waiting, and the server noticed."""
        if (error or type(flow.answer_body) is EventBody) and self.client.ended == "client":
            flow.exchange.facts["left"] = True

    # -- pieces -------------------------------------------------------------------------------------------------------

    def _pieces(
        self,
        side: Side,
        pieces: list[Piece],
        t: int,
        at: Frame | None = None,
        how: tuple[str, str] = ("", ""),
        part: int = 0,
    ) -> Events:
        """`at`: the frame that ended or cut the stream; what now ends has its place, with parts from `part` on.
        `how`: by whom, why."""
        read = self._answer if side is self.server else self._request
        lost = bool(pieces) and pieces[-1].what == END and side.reader.astray
        for n, piece in enumerate(pieces):
            if lost and piece.what != HEAD and all(later.what != HEAD for later in pieces[n:]):
                lost = False
                self._misframed(side, pieces[-1].whole)
            if piece.what == JUNK:
                yield from self._junk(side, piece, t)
            else:
                yield from read(piece, t, at, how, part)

    def _misframed(self, side: Side, whole: bool) -> None:
        """Bytes that are no head stand behind the message that is under way."""
        flow = self.answering if side is self.server else self.asking
        if flow is not None:
            why = (
                "bytes that are no HTTP follow where it should end" if whole else "its chunks cannot be read"
            )
            flow.misframed("answer" if side is self.server else "request", why)

    def _request(self, piece: Piece, t: int, at: Frame | None, how: tuple[str, str], part: int) -> Events:
        side = self.client
        if piece.what == HEAD and piece.head is not None:
            if self.unanswered:
                yield from self._give_up(t, side.track.at(piece.begin)[0])
            flow = self._flow(side.track.at(piece.begin)[0], t)
            self.waiting.append(flow)
            self.server.reader.methods.append(piece.head.method)
            self.asking = flow
            yield from self._ask(flow, piece.head, t, side.track.at(piece.begin)[0])
            return
        flow_now = self.asking
        if flow_now is None:
            return
        if piece.what == DATA:
            offset, key = side.track.at(piece.begin)
            flow_now.ask_data(piece.data, t, offset, key)
            return
        self.asking = None
        if at is not None:
            yield from flow_now.ask_end(t, at.offset, part, piece.whole)
        else:
            part = 1 if flow_now.exchange.request_size == 1 else 0
            yield from flow_now.ask_end(t, side.track.at(piece.end - 1)[0], part, piece.whole)

    def _ask(self, flow: Flow, head: Head, t: int, offset: int) -> Events:
        target = head.target
        if "://" not in target.split("?", 1)[0]:
            target = self.base + (target if target.startswith("/") else "/" + target)
        if head.odd:
            flow.exchange.facts["request-head"] = head.odd
        return flow.ask(head, target, t, offset, codings(head.fields))

    def _flow(self, offset: int, t: int) -> Flow:
        lanes = (self.client.origin.lane, self.server.origin.lane)
        key = f"{self.journal}:{offset}"
        return self.make(key, self.count.next(), self.peer, self.journal, lanes, t, self.endpoints)

    def _answer(self, piece: Piece, t: int, at: Frame | None, how: tuple[str, str], part: int) -> Events:
        side = self.server
        if piece.what == HEAD and piece.head is not None:
            yield from self._answer_head(piece, piece.head, t)
            return
        if self.interim:  # the end of a 1xx
            self.interim = False
            return
        flow = self.answering
        if flow is None:
            return
        if piece.what == DATA:
            offset, key = side.track.at(piece.begin)
            yield from flow.answer_data(piece.data, t, offset, key)
            return
        self.answering = None
        by, error = how
        if at is not None:
            error = error or ("" if piece.whole else _CLOSED)
            self._left(flow, error)
            yield from flow.end(t, at.offset, part, by or "open", error)
        else:
            body = flow.answer_body
            crowded = type(body) is EventBody and body.decoder is not None
            part = _CROWD if crowded else 1 if flow.exchange.response_size == 1 else 0
            error = "" if piece.whole else "the answer breaks off"
            self._left(flow, error)
            yield from flow.end(t, side.track.at(piece.end - 1)[0], part, "server", error)

    def _answer_head(self, piece: Piece, head: Head, t: int) -> Events:
        offset = self.server.track.at(piece.begin)[0]
        if head.status < 200 and head.status != 101:
            self.interim = True
            if self.waiting:
                self.waiting[0].inform(head.status)
            return
        self.unanswered = False
        flow = self.answering = self.waiting.popleft() if self.waiting else self._unasked(offset, t)
        if head.odd:
            flow.exchange.facts["answer-head"] = head.odd
        yield from flow.answer(head, t, offset, codings(head.fields))
        reader = self.client.reader
        if self.server.reader.state == OPAQUE:
            reader.tunnel()
        elif reader.held and not self.waiting:
            yield from self._pieces(self.client, reader.release(), t)

    def _unasked(self, offset: int, t: int) -> Flow:
        """An answer to nothing that could be read."""
        flow = self._flow(offset, t)
        flow.asked = True
        flow.exchange.channel = flow.q.channel = flow.a.channel = self.base + "/"
        return flow

    def _junk(self, side: Side, piece: Piece, t: int) -> Events:
        offset = side.track.at(piece.begin)[0]
        flow: Flow | None = None
        if piece.whole:
            if side is self.client:
                # Whoever reads this as a request will answer it as well.
                flow = self._unasked(offset, t)
                self.waiting.append(flow)
                self.server.reader.methods.append("")
            elif self.waiting:
                flow = self.waiting.popleft()
        made = signal(
            side.origin, HTTP_UNREADABLE, t, offset, bytes=piece.end - piece.begin,
            preview=piece.data.decode("latin-1"),
        )  # fmt: skip
        made.http = flow.exchange if flow is not None else None
        if flow is not None and flow.exchange.channel:
            made.channel = flow.exchange.channel
        yield made
        if flow is not None and side is self.server:
            flow.answered = True
            yield from flow.end(t, offset, 1, "server", "the head of the answer cannot be read")

    def _give_up(self, t: int, offset: int) -> Events:
        """The client goes on, so the answers it had waited for were among the bytes that were lost."""
        self.unanswered = False
        over, self.waiting = list(self.waiting), deque()
        self.server.reader.methods.clear()
        for n, flow in enumerate(over):
            flow.exchange.cut = True
            yield from flow.end(t, offset, _MANY + 2 * n, "open", _LOST, last=True)


class TcpLane:
    """One direction of a connection, as the reader knows it."""

    __slots__ = ("connection", "origin", "side")

    def __init__(self, connection: Connection, answers: bool) -> None:
        self.connection = connection
        self.side = connection.server if answers else connection.client
        self.origin = self.side.origin

    def data(self, frame: Frame) -> Made:
        return list(self.connection.data(self.side, frame))

    def sent(self, frame: Frame) -> Made:
        return []

    def gap(self, frame: Frame, detail: dict[str, Any]) -> Made:
        return list(self.connection.gap(self.side, frame, detail))

    def opened(self, frame: Frame, detail: dict[str, Any]) -> Made:
        return list(self.connection.opened(frame, detail))

    def end(self, frame: Frame, detail: dict[str, Any]) -> Made:
        return list(self.connection.end(self.side, frame, detail))

"""Frames in, messages and all else that was seen out: the first stage of the pipeline.

    reader = Reader()
    reader.source("20261129T190011Z-server-4711.mrj", header)
    for frame in frames:
        for event in reader.feed(frame): …

Pure: no file, clock or thread; no frame makes it raise. All state is plain objects of this package, so that
`mrtrscope.snapshot` can write it down between any two frames. It is as large as what is under way: a lane that ended
is forgotten.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from mrtrscope.frames import C2S, DATA, END, EXIT, GAP, HEAD, NOTE, OPEN, S2C, SENT, Frame
from mrtrscope.wire import events
from mrtrscope.wire.cutter import Origin, signal
from mrtrscope.wire.events import Peer
from mrtrscope.wire.exchange import Endpoints, Flow
from mrtrscope.wire.lanes import FlowLane, Made, PipeLane, TextLane, detail_of, gap_signal, text_of
from mrtrscope.wire.tcp import Connection, Counter, TcpLane

_LANE = re.compile(r"([0-9]{1,10})([ioecsqaz])")
_PEERS = 1024  # connections that are remembered; they are only names, a second object of one is as good
_RECENT = 64  # finished exchanges whose answer somebody may still say was edited

Lane = PipeLane | TextLane | FlowLane | TcpLane


class Book:
    """What is known of one journal: its header, and what is under way in it."""

    __slots__ = (
        "base", "channel", "connections", "count", "flows", "how", "lanes", "name", "peers", "recent",
        "whole",
    )  # fmt: skip

    def __init__(self, name: str, header: dict[str, Any]) -> None:
        self.name = name
        self.how = text_of(header, "how")
        self.channel = text_of(header, "channel") or "?"
        target = text_of(header, "upstream", "target") or self.channel
        self.base = (target if "://" in target else f"http://{target}").rstrip("/")
        self.whole = header.get("whole") is True or self.how in ("wrap", "addon")
        self.lanes: dict[str, Lane] = {}
        self.peers: dict[int, Peer] = {}  # of processes and of connections that exchanges name
        self.flows: dict[int, Flow] = {}
        self.connections: dict[int, Connection] = {}
        self.count = Counter()
        self.recent: deque[Flow] = deque(maxlen=_RECENT)


class Reader:
    """See the module. Journals that were not introduced get a header of their own making."""

    __slots__ = ("_books", "_endpoints")

    _flow: type[Flow] = Flow
    _connection: type[Connection] = Connection

    def __init__(self) -> None:
        self._books: dict[str, Book] = {}
        self._endpoints = Endpoints()

    def source(self, journal: str, header: dict[str, Any]) -> None:
        """Introduce a journal or transcript before its first frame; `header` is the first line of a journal."""
        if journal not in self._books:
            self._books[journal] = Book(journal, header)

    def feed(self, frame: Frame) -> Made:
        """What this frame completes, in order. Feed frames in order of time."""
        book = self._books.get(frame.journal)
        if book is None:
            book = self._books[frame.journal] = Book(frame.journal, {})
        kind = frame.kind
        lane = book.lanes.get(frame.lane)
        if kind == DATA and lane is not None:
            return lane.data(frame)
        match = _LANE.fullmatch(frame.lane)
        if match is None:
            return []
        number, role = int(match[1]), match[2]
        if kind == EXIT:
            return self._exit(book, frame, number)
        if role == "z":
            return self._recorder(book, frame)
        if lane is None:
            if kind == SENT:
                return self._late(book, frame, number, role)
            lane = book.lanes[frame.lane] = self._lane(book, frame, number, role)
        return self._other(book, lane, frame, number, role)

    def _other(self, book: Book, lane: Lane, frame: Frame, number: int, role: str) -> Made:
        kind = frame.kind
        if kind == DATA:
            return lane.data(frame)
        if kind == SENT:
            return lane.sent(frame)
        detail = detail_of(frame.data)
        if kind == OPEN:
            self._introduce(book, lane, number, detail)
            return lane.opened(frame, detail)
        if kind == HEAD and type(lane) is FlowLane:
            return lane.head(frame, detail)
        if kind == GAP:
            return lane.gap(frame, detail)
        if kind == NOTE and type(lane) is FlowLane and "edited" in detail:
            return lane.passed_on(frame, detail["edited"])
        if kind == END:
            made = lane.end(frame, detail)
            self._forget(book, lane, frame.lane, number, role)
            return made
        return []

    # -- lanes come and go ------------------------------------------------------------------------------------------

    def _lane(self, book: Book, frame: Frame, number: int, role: str) -> Lane:
        if role in "qa":
            return self._flow_lane(book, frame, number, role)
        if role in "cs":
            connection = book.connections.get(number)
            if connection is None:
                peer = Peer(f"{book.name}:{number}", "http")
                connection = book.connections[number] = self._connection(
                    book.name, (f"{number}c", f"{number}s"), peer, book.base, book.count, self._endpoints
                )
            return TcpLane(connection, answers=role == "s")
        process = book.peers.get(number)
        if process is None:
            process = book.peers[number] = Peer(f"{book.name}:{number}", "stdio", whole=book.whole)
        origin = Origin(book.name, frame.lane, C2S if role == "i" else S2C, book.channel, process)
        return TextLane(origin) if role == "e" else PipeLane(origin, keeps=book.how == "addon")

    def _flow_lane(self, book: Book, frame: Frame, number: int, role: str) -> Lane:
        flow = book.flows.get(number)
        if flow is None:
            place = frame.place
            shown = place["flow"] if place is not None and "flow" in place else number
            peer = Peer(f"{book.name}:{number}q", "http")
            lanes = (f"{number}q", f"{number}a")
            flow = book.flows[number] = self._flow(
                frame.key, shown, peer, book.name, lanes, frame.t, self._endpoints
            )
            flow.exchange.place = place
        return FlowLane(flow, answers=role == "a")

    def _introduce(self, book: Book, lane: Lane, number: int, detail: dict[str, Any]) -> None:
        """What an `open` frame says of the two ends."""
        address = text_of(detail, "client", "address")
        if type(lane) is FlowLane:
            conn = detail.get("conn")
            if type(conn) is int:
                peer = book.peers.get(conn)
                if peer is None:
                    if len(book.peers) >= _PEERS:
                        del book.peers[next(iter(book.peers))]
                    peer = book.peers[conn] = Peer(f"{book.name}:{conn}", "http", address)
                lane.flow.join(peer)
            else:
                lane.flow.exchange.peer.address = address
        else:
            lane.origin.peer.address = lane.origin.peer.address or address
            channel = text_of(detail, "channel", "name")
            if channel and type(lane) is PipeLane:
                for role in "ioe":
                    other = book.lanes.get(f"{number}{role}")
                    if other is not None:
                        other.origin.channel = channel
                book.lanes.setdefault(f"{number}o", PipeLane(
                    Origin(book.name, f"{number}o", S2C, channel, lane.origin.peer), lane.keeps
                ))  # fmt: skip

    def _forget(self, book: Book, lane: Lane, name: str, number: int, role: str) -> None:
        if type(lane) is TcpLane:
            if lane.connection.ended:
                book.connections.pop(number, None)
                book.lanes.pop(f"{number}c", None)
                book.lanes.pop(f"{number}s", None)
            return
        book.lanes.pop(name, None)
        if type(lane) is FlowLane:
            if lane.flow.done:
                book.flows.pop(number, None)
                book.lanes.pop(f"{number}q", None)
                book.lanes.pop(f"{number}a", None)
                if book.how == "addon":
                    book.recent.append(lane.flow)
        elif not any(f"{number}{other}" in book.lanes for other in "ioe"):
            book.peers.pop(number, None)

    # -- what belongs to no lane --------------------------------------------------------------------------------------

    def _late(self, book: Book, frame: Frame, number: int, role: str) -> Made:
        """What was passed on in the place of a body, told after its lane had ended."""
        name = f"{number}a" if role == "a" else f"{number}q"
        flow = book.flows.get(number)
        for candidate in (*([flow] if flow is not None else []), *reversed(book.recent)):
            if name in (candidate.q.lane, candidate.a.lane):
                return FlowLane(candidate, answers=role == "a").sent(frame)
        return []

    def _recorder(self, book: Book, frame: Frame) -> Made:
        """Lane z: a gap there may concern every lane of the journal."""
        if frame.kind != GAP:
            return []
        detail = detail_of(frame.data)
        for lane in book.lanes.values():
            if type(lane) is TcpLane:
                lane.connection.doubt()
            elif type(lane) is FlowLane:
                lane.flow.lost(lane.answers)
            elif type(lane) is PipeLane:
                lane.gap(frame, detail)
        origin = Origin(book.name, frame.lane, S2C, book.channel, Peer(f"{book.name}:0", ""))
        return [gap_signal(origin, frame, detail)]

    def _exit(self, book: Book, frame: Frame, number: int) -> Made:
        process = book.peers.get(number) or Peer(f"{book.name}:{number}", "stdio", whole=book.whole)
        origin = Origin(book.name, frame.lane, S2C, book.channel, process)
        detail = detail_of(frame.data)
        said = {
            name: detail[name] for name in ("code", "signal", "sent", "ago") if type(detail.get(name)) is int
        }
        if by := text_of(detail, "by"):
            said["by"] = by[:16]
        return [signal(origin, events.EXIT, frame.t, frame.offset, place=frame.place, **said)]

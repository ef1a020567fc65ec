"""The bodies of HTTP messages: one text, or a stream of events, decompressed and cut into what they hold."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.wire import jsonrpc
from mrtrscope.wire.body import Decoder
from mrtrscope.wire.cutter import KEPT, Origin, Place, Spot, Text, non_message, read, signal
from mrtrscope.wire.events import SSE_COMMENT, SSE_EVENT, SSE_UNDELIVERED, Signal, SseEvent
from mrtrscope.wire.sse import Event, SseReader
from mrtrscope.wire.track import Track

LIMIT = jsonrpc.MAX_SIZE
FRAMES = 1 << 12  # keys of frames that one message names at most
_EAGER = 1 << 12  # up to this size a body is tried whenever it might be complete


class TextBody:
    """A body that is one text, read when it is complete.

    With a Content-Length it is complete when the last byte is there. Else it is tried whenever it might be; what comes
    behind a complete text is read as a text of its own. `expected` is the Content-Length, -1 without one.
    """

    __slots__ = ("cut", "decoder", "expected", "kept", "keys", "offset", "raw", "read", "size", "t", "tried")

    def __init__(self, expected: int = -1, coded: list[str] | None = None) -> None:
        self.decoder = Decoder(coded) if coded else None
        self.expected = expected
        self.raw = 0  # bytes as sent
        self.size = 0  # bytes as decoded
        self.kept = bytearray()
        self.keys: list[str] = []
        self.offset = -1
        self.t = 0
        self.cut = False
        self.read = False  # some text of it was read already
        self.tried = 0  # size at the last try that failed

    def feed(self, data: bytes, t: int, offset: int, key: str) -> None:
        if self.offset < 0:
            self.offset = offset
        self.t = t
        self.raw += len(data)
        if not self.keys or (self.keys[-1] != key and len(self.keys) < FRAMES):
            self.keys.append(key)
        if self.decoder is None:
            self._keep(data)
        else:
            for piece in self.decoder.feed(data):
                self._keep(piece)
                if self.size > LIMIT:
                    break

    def _keep(self, data: bytes) -> None:
        self.size += len(data)
        room = LIMIT - len(self.kept)
        if room > 0:
            self.kept += data if len(data) <= room else data[:room]

    def complete(self) -> bool:
        """Whether it surely is, or well may be and is worth a try."""
        if self.expected >= 0:
            return self.raw == self.expected and self.size > 0
        size = len(self.kept)
        if not size or self.kept[-1] not in b"]}\n":
            return False
        return size <= _EAGER or size >= 2 * self.tried

    def spot(self, place: Place) -> Spot:
        return Spot(
            self.t,
            self.offset,
            0,
            tuple(self.keys),
            place,
            self.cut or (self.decoder is not None and self.decoder.cut),
        )

    def take(self) -> bytes:
        text = bytes(self.kept)
        self.kept = bytearray()
        self.keys = []
        self.offset = -1
        self.size = 0
        self.read = True
        return text


class EventBody:
    """A body that is an event stream."""

    __slots__ = ("count", "cut", "decoder", "raw", "reader", "t", "track")

    def __init__(self, coded: list[str] | None = None) -> None:
        self.decoder = Decoder(coded) if coded else None
        self.reader = SseReader(LIMIT)
        self.track = Track(exact=self.decoder is None)
        self.raw = 0
        self.count = 0  # events with data so far: what the places of transcripts count
        self.cut = False
        self.t = 0

    def feed(
        self, data: bytes, t: int, offset: int, key: str, origin: Origin, place: Place
    ) -> Iterator[Text | Signal]:
        self.raw += len(data)
        self.t = t
        reader, track = self.reader, self.track
        track.add(reader.position, offset, key)
        pieces = (data,) if self.decoder is None else self.decoder.feed(data)
        for piece in pieces:
            for event in reader.feed(piece):
                yield from self._event(event, t, origin, place)
        track.forget(reader.begin)

    def _event(self, event: Event, t: int, origin: Origin, place: Place) -> Iterator[Text | Signal]:
        self.track.forget(event.begin)
        offset, part = self.track.place(event.begin)
        cut, self.cut = self.cut, False
        if event.comment is not None:
            text = event.comment[:KEPT].decode("utf-8", "replace")
            yield signal(origin, SSE_COMMENT, t, offset, part, self._place(place), text=text)
            return
        data = event.data
        if not data or (event.event or "message") != "message":
            yield signal(
                origin, SSE_EVENT, t, offset, part, self._place(place), event=event.event, id=event.id,
                retry=event.retry, data=None if data is None else data[:KEPT].decode("utf-8", "replace"),
            )  # fmt: skip
            self.count += bool(data)
            return
        sse = SseEvent(self.count, event.event, event.id, event.retry)
        frames = self.track.frames()[:FRAMES]
        spot = Spot(t, offset, part, frames, self._place(place), cut, sse)
        self.count += 1
        if event.size > len(data):
            yield non_message(origin, spot, data, "too-long", size=event.size)
            return
        for made in read(origin, spot, data):
            if part < made.part and not self.track.exact:
                made.move(self.track.place(event.begin)[1])
            yield made

    def finish(self, t: int, origin: Origin, place: Place) -> Iterator[Signal]:
        size = self.reader.undelivered
        if size:
            self.track.forget(self.reader.begin)
            offset, part = self.track.place(self.reader.begin)
            yield signal(origin, SSE_UNDELIVERED, t, offset, part, self._place(place), size=size)

    def _place(self, place: Place) -> Place:
        return None if place is None else {**place, "event": self.count}

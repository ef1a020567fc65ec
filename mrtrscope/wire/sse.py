"""Reads event streams as the WHATWG standard says, and keeps what a browser would throw away.

A browser tells its page nothing of comments, of events without data, and of text that the stream's end cut off. Here
they are handed out as well, because each of them is evidence.
"""

from __future__ import annotations

import re

LIMIT = 1 << 26
_LINE_END = re.compile(rb"\r\n?|\n")
_BOM = b"\xef\xbb\xbf"


class Event:
    """A block of fields that a blank line closed, or a comment.

    begin     position in the stream of its first field (of the colon of a comment)
    comment   text of the comment, None for a block       data   its data lines joined by LF, None when it had none
    event, id, retry   last value of each field as sent, None when absent; an id with NUL and a retry that is no
              number are ignored, as the standard says     size   bytes of data that were there (`data` is cut at LIMIT)
    """

    __slots__ = ("begin", "comment", "data", "event", "id", "retry", "size")

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.comment: bytes | None = None
        self.data: bytes | None = None
        self.event: str | None = None
        self.id: str | None = None
        self.retry: str | None = None
        self.size = 0


class SseReader:
    """Feed chunks; get events as soon as the byte that completes them is there.

    After a CR at the end of a chunk the line is complete; an LF that comes with the next chunk belongs to it.
    """

    __slots__ = (
        "_begin", "_cr", "_data", "_first", "_line", "_open", "_pending", "_position", "_size", "limit",
    )  # fmt: skip

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._position = 0  # of the next byte fed
        self._first = True  # no line was read yet: a byte order mark may come
        self._cr = False  # the last byte was a CR
        self._line = bytearray()  # of the line that has no end yet
        self._pending = 0  # bytes of it, including those not kept
        self._begin = 0  # where it began
        self._open: Event | None = None
        self._data: list[bytes] = []
        self._size = 0  # bytes of data of the open event

    @property
    def position(self) -> int:
        """How many bytes were fed."""
        return self._position

    @property
    def begin(self) -> int:
        """Position of the earliest byte that is still needed."""
        return self._open.begin if self._open is not None else self._begin

    @property
    def undelivered(self) -> int:
        """Bytes of event text that no blank line closed: what a reader at the end of the stream throws away."""
        if self._open is not None:
            return self._position - self._open.begin
        if not self._pending or self._line.startswith(b":") or (self._first and _BOM.startswith(self._line)):
            return 0
        return self._pending

    def feed(self, chunk: bytes) -> list[Event]:
        events: list[Event] = []
        start, base = 0, self._position
        self._position += len(chunk)
        if self._cr and chunk:
            self._cr = False
            if chunk[0] == 10:
                start = 1
                self._begin = base + 1
        for match in _LINE_END.finditer(chunk, start):
            end = match.start()
            if self._pending:
                self._keep(chunk[start:end])
                line, begin = bytes(self._line), self._begin
                self._line = bytearray()
                self._pending = 0
            else:
                line, begin = chunk[start:end], base + start
            start = match.end()
            self._begin = base + start
            self._read(line, begin, events)
        if start < len(chunk):
            self._keep(chunk[start:])
        elif chunk:
            self._cr = chunk[-1] == 13
        return events

    def _keep(self, piece: bytes) -> None:
        self._pending += len(piece)
        room = self.limit + 64 - len(self._line)
        if room > 0:
            self._line += piece if len(piece) <= room else piece[:room]

    def _read(self, line: bytes, begin: int, events: list[Event]) -> None:
        if self._first:
            self._first = False
            if line.startswith(_BOM):
                line, begin = line[3:], begin + 3
        if not line:
            if self._open is not None:
                events.append(self._close())
            return
        name, colon, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if not name and colon:
            comment = Event(begin)
            comment.comment = value
            events.append(comment)
            return
        event = self._open
        if event is None:
            event = self._open = Event(begin)
        if name == b"data":
            self._add(value)
        elif name == b"event":
            event.event = value.decode("utf-8", "replace")
        elif name == b"id":
            if b"\0" not in value:
                event.id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            event.retry = value.decode("ascii")

    def _add(self, value: bytes) -> None:
        self._size += len(value) + (1 if self._data else 0)
        if self._size <= self.limit or not self._data:
            self._data.append(value)

    def _close(self) -> Event:
        event = self._open
        assert event is not None
        if self._data:
            event.data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
            event.size = self._size
            self._data = []
            self._size = 0
        self._open = None
        return event

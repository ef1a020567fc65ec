"""Cuts a byte stream into lines at 0x0A, and nowhere else, however it was chunked."""

from __future__ import annotations

from collections.abc import Iterator

LIMIT = 1 << 26


class Line:
    """One line without its newline. `size` counts what was there, `cut` says that `data` holds less than that."""

    __slots__ = ("cut", "data", "size")

    def __init__(self, data: bytes, size: int, cut: bool) -> None:
        self.data = data
        self.size = size
        self.cut = cut


class LineSplitter:
    """Feed chunks; get whole lines.

    A carriage return is no line ending here and stays where it is; U+2028 and its like are ordinary characters. A line
    longer than `limit` comes out short with `cut`: the journal has it whole, only the parsed view is cut.
    """

    __slots__ = ("_kept", "_size", "limit")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._kept = bytearray()  # of the line that has no newline yet
        self._size = 0

    @property
    def pending(self) -> int:
        """Bytes of the line that has no newline yet."""
        return self._size

    def feed(self, chunk: bytes) -> Iterator[Line]:
        pieces = chunk.split(b"\n")
        last = len(pieces) - 1
        for n, piece in enumerate(pieces):
            if n == last:
                self._keep(piece)
            elif self._size or len(piece) > self.limit:
                self._keep(piece)
                yield self._take()
            else:
                yield Line(piece, len(piece), False)

    def finish(self) -> Iterator[Line]:
        """What was left without a newline, when anything was."""
        if self._size:
            yield self._take()

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        room = self.limit - len(self._kept)
        if room > 0:
            self._kept += piece if len(piece) <= room else piece[:room]

    def _take(self) -> Line:
        line = Line(bytes(self._kept), self._size, self._size > len(self._kept))
        self._kept = bytearray()
        self._size = 0
        return line

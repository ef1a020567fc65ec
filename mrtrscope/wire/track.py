"""Remembers which frames the bytes of a stream came in, for as long as somebody may ask."""

from __future__ import annotations

from collections import deque

LIMIT = 1 << 12


class Track:
    """Positions in a stream to offsets in the journal. Positions are asked for in rising order.

    A segment is (position it begins at, offset in the journal of its first byte, key of its frame). Where a stream was
    decompressed its bytes have no places of their own: all that begin in one segment share its offset, and `part` tells
    them apart.
    """

    __slots__ = ("_segments", "_used", "exact")

    def __init__(self, exact: bool = True) -> None:
        self.exact = exact
        self._segments: deque[tuple[int, int, str]] = deque()
        self._used = 0  # parts given out in the first segment

    def add(self, position: int, offset: int, key: str) -> None:
        """From `position` on the bytes come from the frame `key`, whose bytes begin at `offset`."""
        segments = self._segments
        segments.append((position, offset, key))
        if (
            len(segments) > LIMIT
        ):  # something that began long ago goes on: its beginning and its end are remembered
            del segments[1]

    def forget(self, position: int) -> None:
        """Nobody will ask for what lies before `position`."""
        segments = self._segments
        while len(segments) > 1 and segments[1][0] <= position:
            segments.popleft()
            self._used = 0

    def at(self, position: int) -> tuple[int, str]:
        """Offset and frame of the byte at `position`."""
        self.forget(position)
        if not self._segments:
            return position, ""
        start, offset, key = self._segments[0]
        return offset + position - start, key

    def place(self, position: int) -> tuple[int, int]:
        """Offset and part of what begins at `position`."""
        self.forget(position)
        start, offset, _ = self._segments[0]
        if self.exact:
            return offset + position - start, 0
        self._used += 1
        return offset, self._used - 1

    def frames(self) -> tuple[str, ...]:
        """Keys of the frames from the first that is remembered on."""
        segments = self._segments
        if len(segments) == 1:
            return (segments[0][2],)
        return tuple(dict.fromkeys(key for _, _, key in segments))

"""Undoes content codings for analysis: gzip, deflate, br, zstd, also several on top of each other, piece by piece.

What was recorded stays as it is. A stream that breaks off gives what could be read. Output is made in small pieces, so
that a reader can stop a decompression bomb; one that grows out of all proportion is stopped here.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

PIECE = 1 << 18  # bytes that one step may put out
BOMB_SIZE = 1 << 26
BOMB_RATIO = 200  # beyond BOMB_SIZE no body grows more than this
HISTORY = 1 << 22  # compressed bytes kept so that a checkpoint can be made in mid-stream
MAX_CODINGS = 4

KNOWN = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})


class Decoder:
    """Feed compressed bytes; get pieces of the content.

    failed   "" or why nothing more comes out      cut   the stream was resumed without what came before
    """

    __slots__ = ("_codings", "_history", "_in", "_out", "_steps", "cut", "failed")

    def __init__(self, codings: list[str]) -> None:
        self.failed = ""
        self.cut = False
        self._codings = list(codings)
        self._history: bytearray | None = bytearray()
        self._in = 0
        self._out = 0
        unknown = [coding for coding in codings if coding not in KNOWN]
        if unknown:
            self.failed = f"unknown coding {unknown[0][:40]}"
        elif len(codings) > MAX_CODINGS:
            self.failed = f"{len(codings)} codings"
        self._steps: list[Any] = [] if self.failed else [_STEP[coding]() for coding in reversed(codings)]

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Pieces of at most PIECE bytes each; never raises."""
        if self.failed:
            return
        if not self._steps:
            yield data
            return
        self._in += len(data)
        if self._history is not None:
            self._history += data
            if len(self._history) > HISTORY:
                self._history = None
        try:
            for piece in _through(self._steps, 0, data):
                self._out += len(piece)
                yield piece
                if self._out > BOMB_SIZE and self._out > BOMB_RATIO * self._in:
                    self.failed = f"{self._out} bytes out of {self._in}: decompression bomb"
                    return
        except _errors as error:
            if not self._out and self._history is not None:
                # Named compressed, but is not: a recorder decoded it, or the sender lied. Read it as it is.
                self._steps = []
                plain, self._history = bytes(self._history), None
                yield plain
            else:
                self.failed = f"{self._codings[-1]}: {str(error)[:80] or type(error).__name__}"

    def fault(self) -> str:
        """Why what came out is not the content that was meant, "" where nothing tells so."""
        if self.failed:
            return f"the body cannot be decoded: {self.failed}"
        if not self._steps:
            return f"the body is not in the coding {self._codings[-1][:20]} that its head names"
        cut = any(isinstance(step, _Zlib) and step.unfinished for step in self._steps)
        return "the coding of the body breaks off" if cut else ""

    def __snapshot__(self) -> dict[str, Any]:
        plain = not self._steps
        return {
            "failed": self.failed, "cut": self.cut, "_codings": self._codings, "_in": self._in, "_out": self._out,
            "_history": self._history, "plain": plain,
        }  # fmt: skip

    def __restore__(self, fields: dict[str, Any]) -> None:
        """A decompressor cannot be written down: it is fed again with what it was fed."""
        self.__init__(fields["_codings"])  # type: ignore[misc]
        history = fields["_history"]
        if fields["plain"]:
            self._steps = []
            self._history = history
        elif history is not None:
            for _ in self.feed(bytes(history)):
                pass
        elif not fields["failed"]:
            self.cut = True
            fields["failed"] = "resumed in mid-stream"
            self._history = None
        self.failed, self._in, self._out = fields["failed"], fields["_in"], fields["_out"]


def _through(steps: list[Any], at: int, data: bytes) -> Iterator[bytes]:
    if at == len(steps):
        yield data
        return
    for piece in steps[at].feed(data):
        yield from _through(steps, at + 1, piece)


class _Zlib:
    """gzip (any number of members) and deflate (with its header or, as some send it, without)."""

    wbits = 31

    def __init__(self) -> None:
        self._start = b""
        self._z: Any = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._z is None:
            data = self._start + data
            if len(data) < 2:
                self._start = data
                return
            self._z = zlib.decompressobj(self._window(data))
        while data:
            piece = self._z.decompress(data, PIECE)
            if piece:
                yield piece
            data = self._z.unconsumed_tail
            if self._z.eof:
                data = self._z.unused_data
                if self.wbits != 31 or not data.strip(b"\0"):  # padding behind a member is common
                    return
                self._z = zlib.decompressobj(31)
            elif not data and len(piece) == PIECE:
                data = b""
                while piece := self._z.decompress(b"", PIECE):
                    yield piece

    @property
    def unfinished(self) -> bool:
        return self._z is None or not self._z.eof

    def _window(self, start: bytes) -> int:
        return self.wbits


class _Deflate(_Zlib):
    wbits = 15

    def _window(self, start: bytes) -> int:
        if start[0] in b"{[":  # no compressed text begins so, but JSON that was never compressed does
            raise ValueError("not compressed")
        with_header = start[0] & 15 == 8 and (start[0] << 8 | start[1]) % 31 == 0
        return 15 if with_header else -15


# What a step may raise. Those of Brotli and Zstandard come along with the first body that wants them.
_errors: tuple[type[Exception], ...] = (zlib.error, EOFError, ValueError, MemoryError)


def _also(error: type[Exception]) -> None:
    global _errors
    if error not in _errors:
        _errors += (error,)


class _Brotli:
    def __init__(self) -> None:
        import brotli

        _also(brotli.error)
        self._d = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        piece = self._d.process(data, output_buffer_limit=PIECE)
        while piece:
            yield piece
            piece = b"" if self._d.can_accept_more_data() else self._d.process(b"", output_buffer_limit=PIECE)


class _Zstd:
    def __init__(self) -> None:
        try:
            from compression import zstd  # type: ignore[import-not-found,unused-ignore]
        except ImportError:  # Python < 3.14
            from backports import zstd
        _also(zstd.ZstdError)
        self._new: Callable[[], Any] = zstd.ZstdDecompressor
        self._d = self._new()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._d.eof:
                data = self._d.unused_data + data
                if not data:
                    return
                self._d = self._new()
            piece = self._d.decompress(data, PIECE)
            data = b""
            if piece:
                yield piece
            if not self._d.eof and (self._d.needs_input or not piece):
                return


_STEP = {"gzip": _Zlib, "x-gzip": _Zlib, "deflate": _Deflate, "br": _Brotli, "zstd": _Zstd}

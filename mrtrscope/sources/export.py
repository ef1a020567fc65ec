"""Writes frames as transcripts: a file for each process, one for all HTTP exchanges. Whatever was recorded can be
written so, relayed connections too, whose HTTP is read here in the same way as by the analysis.

What a transcript cannot say is left out: 1xx answers, gaps, both sides of an edit (the original is written).
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from mrtrscope.files import new_file
from mrtrscope.frames import DATA, END, ENDED, EXIT, Frame
from mrtrscope.sources.base import Source, SourceError
from mrtrscope.wire.exchange import Endpoints, Flow, Made
from mrtrscope.wire.heads import Headers
from mrtrscope.wire.lanes import detail_of, text_of
from mrtrscope.wire.reader import Reader
from mrtrscope.wire.tcp import Connection

HTTP = "http"
_DIR = {"i": "c2s", "o": "s2c", "e": "stderr"}

Line = dict[str, Any]


def transcripts(frames: Iterable[Frame], headers: dict[str, dict[str, Any]]) -> Iterator[tuple[str, Line]]:
    """(name of the transcript, one line of it), lines of stdio in order of time, of HTTP as the exchanges end.

    The name is "http", or that of the channel and the number of the process.
    """
    reader = _Collector()
    for name, header in headers.items():
        reader.source(name, header)
    pipes = _Pipes(headers)
    for frame in frames:
        if frame.lane[-1:] in _DIR or frame.kind == EXIT:
            yield from pipes.feed(frame)
        else:
            reader.feed(frame)
            yield from reader.take()
    yield from pipes.rest()
    yield from reader.open()


def write(source: Source, folder: Path, change: Callable[[Line], Line] = lambda line: line) -> list[Path]:
    """Write all transcripts of a source into a folder, `<name>.jsonl`, readable by their owner only.

    `change` sees every line before it is written.
    """
    files: dict[Path, IO[bytes]] = {}
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as whole:
            for name, line in transcripts(source.frames(), source.headers()):
                path = folder / f"{name}.jsonl"
                if path not in files:
                    if os.path.lexists(path):
                        raise SourceError(f"{path}: is there already; name another folder, or remove it")
                    files[path] = whole.enter_context(new_file(path, private=True))
                files[path].write(_json(change(line)) + b"\n")
    except OSError as error:
        raise SourceError(f"{error.filename or folder}: cannot be written: {error.strerror}") from None
    return list(files)


def _json(line: Line) -> bytes:
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair can be written as an escape only
        return json.dumps(line, separators=(",", ":")).encode()


class _Pipes:
    """Lines of wrapped processes."""

    def __init__(self, headers: dict[str, dict[str, Any]]) -> None:
        self._headers = headers
        self._left: dict[tuple[str, str], tuple[int, bytearray]] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._named: set[str] = set()

    def feed(self, frame: Frame) -> Iterator[tuple[str, Line]]:
        key = (frame.journal, frame.lane)
        if frame.kind == EXIT:
            how = {k: v for k, v in detail_of(frame.data).items() if k in ENDED}
            yield self._give(key, {"t": frame.t / 1e6, "dir": "exit", **how})
        elif frame.kind == END:
            yield from self._flush(key)
            if frame.lane[-1] == "i" and text_of(detail_of(frame.data), "by") == "client":
                yield self._give(key, {"t": frame.t / 1e6, "dir": "eof"})
        elif frame.kind == DATA:
            *lines, left = frame.data.split(b"\n")
            for line in lines:
                _, before = self._left.pop(key, (0, b""))
                yield self._give(key, self._line(key, frame.t, bytes(before) + line))
            if left:
                _, kept = self._left.get(key, (0, bytearray()))
                kept += left
                self._left[key] = (frame.t, kept)

    def rest(self) -> Iterator[tuple[str, Line]]:
        for key in list(self._left):
            yield from self._flush(key)

    def _flush(self, key: tuple[str, str]) -> Iterator[tuple[str, Line]]:
        t, left = self._left.pop(key, (0, bytearray()))
        if left:
            yield self._give(key, self._line(key, t, bytes(left)) | {"nonl": True})

    def _give(self, key: tuple[str, str], line: Line) -> tuple[str, Line]:
        """The line with the name of its file; the first one says of which channel the process was."""
        name = self._name(key)
        channel = self._headers.get(key[0], {}).get("channel")
        if channel and name not in self._named:
            self._named.add(name)
            line["channel"] = str(channel)
        return name, line

    def _line(self, key: tuple[str, str], t: int, data: bytes) -> Line:
        return {"t": t / 1e6, "dir": _DIR[key[1][-1]], **_text("line", data)}

    def _name(self, key: tuple[str, str]) -> str:
        process = (key[0], key[1][:-1])
        name = self._names.get(process)
        if name is None:
            channel = str(self._headers.get(key[0], {}).get("channel") or "stdio")
            safe = (
                "".join(c if c.isalnum() or c in "._-" else "_" for c in channel)[:60].strip(".") or "stdio"
            )
            name = self._names[process] = f"{safe}-{len(self._names)}"
        return name


class _Sink(Endpoints):
    """The exchanges that are under way, by key, and those that just ended."""

    __slots__ = ("over", "rows")

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, _Row] = {}
        self.over: list[_Row] = []


class _Row(Flow):
    """An exchange that remembers what a line of a transcript says of it."""

    __slots__ = ("body", "chunks")

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.body = bytearray()
        self.chunks: list[Line] = []
        if isinstance(self.endpoints, _Sink):
            self.endpoints.rows[self.exchange.key] = self

    def ask_data(self, data: bytes, t: int, offset: int, key: str) -> None:
        self.body += data
        super().ask_data(data, t, offset, key)

    def answer_data(self, data: bytes, t: int, offset: int, key: str) -> Made:
        self.chunks.append({"t": t / 1e6, **_text("data", data)})
        self.exchange.response_size += len(data)
        return iter(())

    def _over(self, *given: Any) -> Made:
        if isinstance(self.endpoints, _Sink) and self.endpoints.rows.pop(self.exchange.key, None) is not None:
            self.endpoints.over.append(self)
        return super()._over(*given)

    def line(self, flow: int) -> Line:
        http = self.exchange
        conn = http.peer.id.rsplit(":", 1)[-1]
        request = {
            "method": http.method,
            "url": http.url,
            "http": http.http,
            "headers": _pairs(http.request_headers),
        }
        if self.body:
            data = bytes(self.body)
            text = _text("body", data)
            request |= text if "body" in text else {"body_b64": text["b64"]}
        line: Line = {"t": http.t / 1e6, "flow": flow}
        if conn.isdigit():
            line["conn"] = int(conn)
        if http.peer.address:
            line["client"] = http.peer.address
        line |= {"request": request, "t_req_end": _seconds(http.t_request_end), "response": None}
        if http.status is not None:
            line["response"] = {
                "status": http.status,
                "reason": http.reason,
                "http": http.response_http,
                "t": _seconds(http.t_response),
                "headers": _pairs(http.response_headers),
                "chunks": self.chunks,
            }
        if http.t_end is not None:
            line["t_end"] = http.t_end / 1e6
        line["closed_by"] = http.closed_by
        if http.error:
            line["error"] = http.error
        return line


class _Connection(Connection):
    __slots__ = ()
    make = _Row


class _Collector(Reader):
    """Reads frames as the analysis does, and hands out the exchanges."""

    __slots__ = ("_count", "_sink")

    _flow = _Row
    _connection = _Connection

    def __init__(self) -> None:
        super().__init__()
        self._endpoints = self._sink = _Sink()
        self._count = 0

    def take(self) -> Iterator[tuple[str, Line]]:
        """Exchanges that ended."""
        over, self._sink.over = self._sink.over, []
        for row in over:
            yield from self._give(row)

    def open(self) -> Iterator[tuple[str, Line]]:
        """Exchanges that did not."""
        for row in self._sink.rows.values():
            yield from self._give(row)

    def _give(self, row: _Row) -> Iterator[tuple[str, Line]]:
        if row.exchange.method:
            self._count += 1
            yield HTTP, row.line(self._count)


def _text(name: str, data: bytes) -> Line:
    """Bytes as text when they are UTF-8, else as base64."""
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(data).decode()}


def _pairs(headers: Headers) -> list[list[str]]:
    return [[name, value] for name, value in headers]


def _seconds(t: int | None) -> float | None:
    return None if t is None else t / 1e6

"""Transcripts: one JSON object a line for what happened on a process's pipes or for an HTTP exchange, or a JSON list
of exchanges.

    stdio  {"t": seconds, "dir": "c2s"|"s2c"|"stderr", "line": text | "b64": bytes, "nonl"?: true, "process"?: n}
           {"t", "dir": "eof"} the client closed stdin; {"t", "dir": "exit", "code": n | "signal": n}, see `frames`
           the first line may have "channel": the name of the server, else it is that of the file
    http   {"t", "flow"?, "conn"?, "t_req_end"?, "t_end"?, "closed_by"?, "error"?,
            "request": {"method", "url", "http"?, "headers", "body"|"body_b64"?},
            "response": null | {"status", "reason"?, "headers", "t"?, "chunks": [{"t", "data"|"b64"}], "end"?}}
"""

from __future__ import annotations

import base64
import binascii
import heapq
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from mrtrscope.frames import DATA, END, ENDED, EXIT, Frame
from mrtrscope.sources import rows
from mrtrscope.sources.base import Source, SourceError, micros
from mrtrscope.sources.rows import Headers, Row

WINDOW = 4096  # lines of a stdio transcript that may stand in another order than that of time
LINE_LIMIT = 1 << 28
NAME_LIMIT = 200  # characters of a channel's name
_ROLE = {"c2s": "i", "s2c": "o", "stderr": "e", "eof": "i", "exit": "z"}
_KIND = {"eof": END, "exit": EXIT}
_ENDS = {
    "aborted_by_server": ("server", "aborted by the server"),
    "aborted_by_client": ("client", "aborted by the client"),
}

Opener = Callable[[], IO[bytes]]


class Transcript(Source):
    """A transcript in any of its forms. `opener` gives its bytes from the beginning, decompressed."""

    def __init__(self, path: Path, name: str, opener: Opener) -> None:
        super().__init__(path, name)
        self._open = opener

    def headers(self) -> dict[str, dict[str, Any]]:
        return {self.name: {"how": "transcript", "channel": self.name, "whole": True}}

    def _lines(self) -> Iterator[dict[str, Any]]:
        """The JSON objects of the file; a line that is none is passed over and told."""
        number = 0
        with self._open() as file:
            try:
                while line := file.readline(LINE_LIMIT):
                    number += 1
                    if not line.strip():
                        continue
                    try:
                        row = json.loads(line)
                    except (ValueError, RecursionError):
                        row = None
                    if type(row) is not dict:
                        self.trouble.append(f"{self.path}: line {number} is no JSON object; passed over")
                        row = {}
                    yield row
            except (OSError, EOFError) as error:  # a compressed file that was cut
                self.trouble.append(f"{self.path}: cut behind line {number}: {error}")


class StdioTranscript(Transcript):
    """A wrapped process, or several runs of it."""

    kind = "stdio transcript"

    def headers(self) -> dict[str, dict[str, Any]]:
        told = self._first().get("channel")
        channel = told if type(told) is str and 0 < len(told) <= NAME_LIMIT else self.name
        return {self.name: {"how": "transcript", "channel": channel, "whole": True}}

    def _first(self) -> dict[str, Any]:
        """The first line, if it is a JSON object; what is wrong with the file is told by `frames`."""
        try:
            with self._open() as file:
                row = json.loads(file.readline(LINE_LIMIT))
        except (OSError, EOFError, ValueError, RecursionError):
            return {}
        return row if type(row) is dict else {}

    def frames(self) -> Iterator[Frame]:
        offset = number = 0
        open_lanes: dict[str, int] = {}
        for t, line, lane, kind, data in _in_order(self._rows()):
            yield Frame(self.name, offset, number, t, lane, kind, data, {"line": line})
            offset += len(data) + 1
            number += 1
            if kind != DATA or data.endswith(b"\n"):
                open_lanes.pop(lane, None)
            elif data:
                open_lanes[lane] = t
        for lane, t in open_lanes.items():  # its last line has no newline and is complete all the same
            end = b'{"by":"open"}'
            yield Frame(self.name, offset, number, t, lane, END, end)
            offset += len(end) + 1
            number += 1

    def _rows(self) -> Iterator[tuple[int, int, str, str, bytes]]:
        t = 0
        for n, row in enumerate(self._lines()):
            role = _ROLE.get(str(row.get("dir")))
            if role is None:
                if row:
                    self.trouble.append(f"{self.path}: line {n + 1} has no known dir; passed over")
                continue
            t = micros(row.get("t"), t)
            process = row.get("process")
            lane = f"{process if type(process) is int and 0 <= process < 1 << 20 else 0}{role}"
            kind = _KIND.get(str(row.get("dir")), DATA)
            yield t, n, lane, kind, _payload(row, kind)


def _payload(row: dict[str, Any], kind: str) -> bytes:
    if kind == DATA:
        data = text_or_bytes(row, ("line",), ("b64",))
        return data if row.get("nonl") else data + b"\n"
    if kind == END:
        return b'{"by":"client"}'
    return json.dumps({name: row[name] for name in ENDED if type(row.get(name)) in (int, str)}).encode()


def _in_order(
    items: Iterable[tuple[int, int, str, str, bytes]],
) -> Iterator[tuple[int, int, str, str, bytes]]:
    """By time and, at one time, as in the file; looks WINDOW items ahead, so that memory stays flat."""
    heap: list[tuple[int, int, str, str, bytes]] = []
    for item in items:
        if len(heap) < WINDOW:
            heapq.heappush(heap, item)
        else:
            yield heapq.heappushpop(heap, item)
    while heap:
        yield heapq.heappop(heap)


class HttpTranscript(Transcript):
    """HTTP exchanges, one a line."""

    kind = "http transcript"

    def frames(self) -> Iterator[Frame]:
        return rows.frames(self._exchanges(), self.name)

    def _exchanges(self) -> Iterator[Row]:
        for n, row in enumerate(self._lines()):
            if row:
                made = row_of(row, n + 1)
                if made is None:
                    self.trouble.append(f"{self.path}: line {n + 1} has no request; passed over")
                else:
                    yield made


class HttpList(Transcript):
    """HTTP exchanges as one JSON list."""

    kind = "http transcript"

    def frames(self) -> Iterator[Frame]:
        return rows.frames(self._exchanges(), self.name)

    def _exchanges(self) -> Iterator[Row]:
        items = whole_json(self)
        if type(items) is not list:
            raise SourceError(
                f"{self.path}: not a list of exchanges; see `mrtrscope import --help` for the forms"
            )
        for n, item in enumerate(items):
            made = row_of(item, n + 1) if type(item) is dict else None
            if made is None:
                self.trouble.append(f"{self.path}: element {n} has no request; passed over")
            else:
                yield made


def whole_json(source: Transcript) -> Any:
    """The file as one JSON value."""
    try:
        with source._open() as file:
            return json.load(file)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{source.path}: broken JSON: {error}; is the file complete?") from None
    except (OSError, EOFError) as error:
        raise SourceError(f"{source.path}: cannot be read: {error}") from None


def row_of(item: dict[str, Any], number: int) -> Row | None:
    """An exchange from its JSON form; None when there is no request in it."""
    request = item.get("request")
    if type(request) is not dict:
        return None
    flow = item.get("flow")
    row = Row(number, flow if type(flow) is int else number, micros(item.get("t"), 0))
    conn = item.get("conn")
    row.conn = conn if type(conn) is int else None
    row.client = _text(item.get("client"))
    row.t_sent = micros(item.get("t_req_end"), row.t)
    row.method, row.url = _text(request.get("method")) or "POST", _text(request.get("url"))
    row.http = _text(request.get("http")) or "HTTP/1.1"
    row.headers = pairs(request.get("headers"))
    row.body = text_or_bytes(request, ("body",), ("body_b64", "b64"))
    _answer(row, item.get("response"))
    row.t_end = micros(item["t_end"], row.t) if "t_end" in item else None
    by = item.get("closed_by")
    if type(by) is str:
        row.by = by
    elif row.answer is None and "closed_by" not in item and not item.get("error"):
        row.by = "open"
    row.error = row.error or _text(item.get("error"))
    return row


def _answer(row: Row, response: Any) -> None:
    if type(response) is not dict:
        return
    status = response.get("status")
    http, headers = _text(response.get("http")) or row.http, pairs(response.get("headers"))
    row.answer = (status if type(status) is int else 0, _text(response.get("reason")), http, headers)
    t = row.t_sent or row.t
    row.t_answer = micros(response["t"], t) if "t" in response else None
    chunks = response.get("chunks")
    for chunk in chunks if type(chunks) is list else ():
        if type(chunk) is dict:
            t = micros(chunk.get("t"), t)
            row.chunks.append((t, text_or_bytes(chunk, ("data",), ("b64", "data_b64"))))
    end = response.get("end")
    if type(end) is str:
        row.by, row.error = _ENDS.get(
            end, (end if end in ("open", "client", "server", "upstream", "us") else "server", "")
        )


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def pairs(value: Any) -> Headers:
    """A header list; what is no pair of texts is left out."""
    if type(value) is dict:
        value = list(value.items())
    if type(value) is not list:
        return []
    return [(str(p[0]), str(p[1])) for p in value if type(p) in (list, tuple) and len(p) == 2]


def text_or_bytes(item: dict[str, Any], texts: tuple[str, ...], b64s: tuple[str, ...]) -> bytes:
    """The bytes that one of these members holds, as text or as base64."""
    for name in b64s:
        if type(item.get(name)) is str:
            try:
                return base64.b64decode(item[name])
            except (binascii.Error, ValueError):
                return b""
    for name in texts:
        if type(item.get(name)) is str:
            return str(item[name]).encode("utf-8", "surrogatepass")
    return b""

"""mitmproxy flow files: HTTP flows as exchanges (chunks and their times are lost), TCP flows as what they carried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from mrtrscope.frames import DATA, END, Frame
from mrtrscope.sources import rows
from mrtrscope.sources.base import SourceError
from mrtrscope.sources.rows import Headers, Record, Records, Row
from mrtrscope.sources.transcript import Transcript

_PIECE = 1 << 20


class Flows(Transcript):
    """A file that `mitmdump -w` wrote."""

    kind = "mitmproxy flows"

    def frames(self) -> Iterator[Frame]:
        found: list[Records] = []
        connections: dict[str, int] = {}
        for number, flow in enumerate(self._flows().values(), 1):
            conn = connections.setdefault(flow.client_conn.id, len(connections) + 1)
            if flow.type == "http":
                found.append(_exchange(flow, number, conn))
            elif flow.type == "tcp":
                found.append(_Stream(flow, number))
        return rows.frames(found, self.name)

    def _flows(self) -> dict[str, Any]:
        """The flows of the file by id. One may be written twice: the last one is complete."""
        from mitmproxy.io import FlowReader

        found: dict[str, Any] = {}
        with self._open() as file:
            try:
                for flow in FlowReader(_Tell(file)).stream():  # type: ignore[arg-type]
                    found[flow.id] = flow
            except (
                Exception
            ) as error:  # the file may come from anybody; what FlowReader raises on it is no list
                if not found:
                    raise SourceError(f"{self.path}: no flow in it can be read: {error}") from None
                self.trouble.append(
                    f"{self.path}: cut behind flow {len(found)}: {type(error).__name__}: {error}"
                )
        return found


class _Tell:
    """What FlowReader wants of a file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.name = getattr(file, "name", "")

    def read(self, size: int = -1) -> bytes:
        """In pieces: a length in a broken file may be larger than any memory."""
        parts: list[bytes] = []
        while size and (part := self._file.read(_PIECE if size < 0 else min(size, _PIECE))):
            parts.append(part)
            size -= len(part) if size > 0 else 0
        return b"".join(parts)

    def peek(self, size: int = 0) -> bytes:
        peek = getattr(self._file, "peek", None)
        return peek(size) if peek is not None else b""

    def tell(self) -> int:
        return self._file.tell()


def _exchange(flow: Any, number: int, conn: int) -> Row:
    request, response = flow.request, flow.response
    row = Row(number, number, _micros(request.timestamp_start))
    row.flow_id = flow.id
    row.conn = conn
    row.client = _address(flow.client_conn.peername)
    row.t_sent = _micros(request.timestamp_end or request.timestamp_start)
    row.method, row.url, row.http = request.method, request.url, request.http_version
    row.headers = _headers(request.headers)
    row.body = request.raw_content or b""
    error = flow.error.msg if flow.error else ""
    if response is None:
        row.by = _by(error) if error else "open"
        row.error = error
        return row
    row.answer = (response.status_code, response.reason, response.http_version, _headers(response.headers))
    row.t_answer = _micros(response.timestamp_start or request.timestamp_start)
    row.t_end = _micros(response.timestamp_end or response.timestamp_start or request.timestamp_start)
    if response.raw_content:
        row.chunks = [(row.t_end, response.raw_content)]
    if error:
        row.by, row.error = _by(error), error
    elif response.timestamp_end is None:
        row.by = "open"
    # What it streams mitmproxy keeps only when told to, and only when the stream came to its end.
    missing = response.raw_content is None or (bool(error) and not row.chunks)
    row.lost = missing and response.headers.get("content-length") != "0"
    return row


def _by(error: str) -> str:
    """Who ended an exchange that went wrong, as far as mitmproxy's words tell."""
    lower = error.lower()
    if "client" in lower:
        return "client"
    return "server" if "server" in lower else "us" if "killed" in lower else "upstream"


class _Stream:
    """A TCP flow: a stdio session of `wrap --via`, or a connection, told apart by its first byte."""

    def __init__(self, flow: Any, number: int) -> None:
        self.flow_ = flow
        self.number = number
        self.flow = number
        first = next((m.content for m in flow.messages if m.from_client and m.content), b"")
        self._lanes = ("i", "o") if first.lstrip()[:1] in (b"{", b"[") else ("c", "s")

    def records(self) -> Iterator[Record]:
        now = _micros(self.flow_.client_conn.timestamp_start)
        lanes = [f"{self.number}{role}" for role in self._lanes]
        for message in self.flow_.messages:
            now = max(now, _micros(message.timestamp))
            yield now, lanes[0 if message.from_client else 1], DATA, message.content
        end = self.flow_.client_conn.timestamp_end
        if end is not None or self.flow_.error:
            now = max(now, _micros(end or 0))
            for lane, by in zip(lanes, ("client", "server"), strict=True):
                yield now, lane, END, b'{"by":"%s"}' % by.encode()


def _micros(seconds: Any) -> int:
    return round(seconds * 1e6) if type(seconds) in (int, float) else 0


def _address(peername: Any) -> str:
    if not peername:
        return ""
    host, port = str(peername[0]), peername[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _headers(headers: Any) -> Headers:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields]

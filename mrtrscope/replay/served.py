"""What a replay itself sends and receives, kept in a journal of its own, so that it can be looked at like any other."""

from __future__ import annotations

import base64
import itertools
import json
import time
from typing import TYPE_CHECKING, Any

from mrtrscope.frames import DATA, END, HEAD, OPEN
from mrtrscope.recorder import Journal

if TYPE_CHECKING:
    from mrtrscope.replay.recording import Step


class Verbatim(dict[str, Any]):
    """An object whose JSON text is given, where JSON made of a dict could not say it (a key twice)."""

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))
        self.text = text

    @classmethod
    def around(cls, id: Any, result: Verbatim) -> Verbatim:
        """The response with this result."""
        return cls(f'{{"jsonrpc": "2.0", "id": {json.dumps(id)}, "result": {result.text}}}')


def text_of(message: Any) -> bytes:
    """A message as compact JSON; what UTF-8 cannot hold (lone surrogates) is escaped."""
    if isinstance(message, Verbatim):
        return message.text.encode()
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode()


def header_value(name: str) -> str:
    """A value as Mcp-Name and Mcp-Param-* carry it: as it is when that is safe, else in the Base64 sentinel
    (#value-encoding)."""
    safe = name.isascii() and name.isprintable() and name == name.strip() and not name.startswith("=?base64?")
    if safe and name:
        return name
    return f"=?base64?{base64.b64encode(name.encode('utf-8', 'surrogatepass')).decode()}?="


class Texts:
    """Answers as JSON text: what is played again and again is written once, and gets another id."""

    def __init__(self) -> None:
        self._rest: dict[Step, bytes] = {}

    def of(self, response: dict[str, Any], step: Step | None) -> bytes:
        """The text of a response, which is that of `step`, unless it says something else."""
        answer = step.exchange.answer if step is not None else None
        if step is None or answer is None or not _is_that(response, answer.body):
            return text_of(response)
        rest = self._rest.get(step)
        if rest is None:
            rest = text_of({k: v for k, v in answer.body.items() if k not in ("jsonrpc", "id")})[1:]
            self._rest[step] = rest
        return b'{"jsonrpc":"2.0","id":%b,%b' % (text_of(response["id"]), rest)


def _is_that(response: dict[str, Any], recorded: dict[str, Any]) -> bool:
    """Whether a response is the recorded one but for its id; what is played is not copied."""
    if response.keys() != recorded.keys() or len(response) < 3 or recorded.get("jsonrpc") != "2.0":
        return False
    return all(value is recorded[key] for key, value in response.items() if key != "id")


class Tcp:
    """The journal of an HTTP server, as a relay would write it: connections, and the bytes on them."""

    def __init__(self, journal: Journal | None) -> None:
        self._journal = journal
        self._count = itertools.count(1)

    def opened(self, client: str, upstream: str) -> int:
        """A client connected; gives the number of the connection."""
        number = next(self._count)
        self._add(f"{number}c", OPEN, json.dumps({"client": client, "upstream": upstream}).encode())
        return number

    def came(self, number: int, data: bytes) -> None:
        self._add(f"{number}c", DATA, data)

    def went(self, number: int, data: bytes) -> None:
        self._add(f"{number}s", DATA, data)

    def ended(self, number: int, by: str, error: str = "") -> None:
        what = json.dumps({"by": by, "error": error} if error else {"by": by}).encode()
        self._add(f"{number}c", END, what)
        self._add(f"{number}s", END, what)

    def _add(self, lane: str, kind: str, data: bytes) -> None:
        if self._journal is not None:
            self._journal.append(lane, kind, time.monotonic_ns(), data)


class Lines:
    """The journal of a stdio peer: what came in and what went out of this process, or of the child it drives."""

    def __init__(self, journal: Journal | None, number: int = 0) -> None:
        self._journal = journal
        self._in, self._out = f"{number}i", f"{number}o"
        self._add(self._in, OPEN, b"{}")

    def came(self, data: bytes) -> None:
        """From the client to the server."""
        self._add(self._in, DATA, data)

    def went(self, data: bytes) -> None:
        """From the server to the client."""
        self._add(self._out, DATA, data)

    def ended(self) -> None:
        self._add(self._in, END, b'{"by": "client"}')
        self._add(self._out, END, b'{"by": "server"}')

    def _add(self, lane: str, kind: str, data: bytes) -> None:
        if self._journal is not None:
            self._journal.append(lane, kind, time.monotonic_ns(), data)


_numbers = itertools.count(1)


class Posts:
    """The journal of an HTTP client: one number an exchange, unique among all that share the journal."""

    def __init__(self, journal: Journal | None, conn: int = 0) -> None:
        self._journal = journal
        self._conn = conn

    def request(
        self,
        *,
        conn: int,
        client: str,
        upstream: str,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        body: bytes,
    ) -> int:
        """A request that is complete; gives the number of its exchange."""
        number = next(_numbers)
        lane = f"{number}q"
        self._add(lane, OPEN, {"conn": conn or self._conn, "client": client, "upstream": upstream})
        self._add(
            lane,
            HEAD,
            {"method": method, "url": url, "http": "HTTP/1.1", "headers": [list(h) for h in headers]},
        )
        if body:
            self._data(lane, body)
        self._add(lane, END, {"by": "client"})
        return number

    def head(self, number: int, status: int, reason: str, headers: list[tuple[str, str]]) -> None:
        head = {"status": status, "reason": reason, "http": "HTTP/1.1", "headers": [list(h) for h in headers]}
        self._add(f"{number}a", HEAD, head)

    def data(self, number: int, data: bytes) -> None:
        self._data(f"{number}a", data)

    def ended(self, number: int, by: str = "server", error: str = "") -> None:
        self._add(f"{number}a", END, {"by": by, "error": error} if error else {"by": by})

    def _data(self, lane: str, data: bytes) -> None:
        if self._journal is not None:
            self._journal.append(lane, DATA, time.monotonic_ns(), data)

    def _add(self, lane: str, kind: str, value: dict[str, Any]) -> None:
        if self._journal is not None:
            self._journal.append(lane, kind, time.monotonic_ns(), json.dumps(value).encode())

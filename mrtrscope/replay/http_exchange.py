"""One HTTP exchange of a replayed server: a POST and its answer, as a JSON object or as an event stream."""

from __future__ import annotations

import asyncio
import secrets
from http import HTTPStatus
from ipaddress import ip_address
from math import isfinite
from typing import TYPE_CHECKING, Any

from mrtrscope.link.facts import META_VERSION
from mrtrscope.link.origins import loopback, split
from mrtrscope.replay.recording import Step
from mrtrscope.replay.served import text_of
from mrtrscope.wire.events import ABSENT
from mrtrscope.wire.heads import Head
from mrtrscope.wire.jsonrpc import id_text, parse

if TYPE_CHECKING:
    from mrtrscope.replay.serve_http import Connection

# HTTP status of an error whose recording has none (stdio), or that is ours; see basic/transports/streamable-http.
STATUS = {-32700: 400, -32600: 400, -32601: 404, -32020: 400, -32021: 400, -32022: 400}
PRIVATE = (".localhost", ".internal")  # names that nobody can have in the public DNS
NOT_JSON = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not JSON-RPC"}}
SESSION = "Mcp-Session-Id"
STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"X-Accel-Buffering: no\r\n%bTransfer-Encoding: chunked\r\n\r\n"
)
LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Exchange:
    """Answers one request of a connection; it is the `Talk` of the JSON-RPC requests in it."""

    def __init__(self, connection: Connection, head: Head) -> None:
        self._connection = connection
        self._owner = connection.owner
        self._head = head
        self._stream = False
        self._more: list[tuple[str, str]] = []

    async def serve(self, body: bytes) -> None:
        """Answer; the connection is ended when the client, or HTTP, wants it so."""
        if page := self._page():
            error = {"code": -32600, "message": f"{page} is not of this machine"}
            self._finish(403, text_of({"jsonrpc": "2.0", "id": None, "error": error}))
        elif self._head.method == "POST":
            await self._post(body)
        elif self._head.method == "DELETE":
            known = self._owner.sessions.pop(self._header(SESSION), ABSENT) is not ABSENT
            self._finish(200 if known else 404, b"")
        else:
            self._finish(405, b"")
        wanted = [word.lower() for word in self._head.fields.get("connection", ())]
        if "close" in wanted or (self._head.http == "HTTP/1.0" and "keep-alive" not in wanted):
            self._connection.end("as the client asked")

    async def _post(self, body: bytes) -> None:
        value = parse(body)[0]
        messages = value if type(value) is list else [value]
        if not messages or any(type(m) is not dict or _endless(m.get("id")) for m in messages):
            self._finish(400, text_of(NOT_JSON))
            return
        requests = [m for m in messages if "method" in m and "id" in m]
        for message in messages:
            if "method" not in message or "id" not in message:
                self._heard(message)
        if not requests:
            self._finish(202, b"")
            return
        try:
            await self._answer(requests, batch=type(value) is list)
        except asyncio.CancelledError:  # of the call, or the client is gone, to whom nothing can be said
            if self._stream:
                self._connection.write(b"0\r\n\r\n")
            else:
                self._finish(200, b"")

    async def _answer(self, requests: list[dict[str, Any]], batch: bool) -> None:
        owner, client = self._owner, self._client()
        task = asyncio.current_task()
        assert task is not None
        names = [(client, id_text(r.get("id")) or "") for r in requests]
        owner.running.update(dict.fromkeys(names, task))
        try:
            if batch:
                played = await asyncio.gather(*(owner.player.answer(r, self, client) for r in requests))
            else:
                played = [await owner.player.answer(requests[0], self, client)]
        finally:
            for name in names:
                owner.running.pop(name, None)
        response, step = played[0]
        if requests[0]["method"] == "initialize" and "result" in response:
            self._more.append((SESSION, owner.new_session()))
        texts = [owner.texts.of(response, step) for response, step in played]
        if self._stream or (step is not None and _streamed(step) and not batch):
            for text in texts:
                await self._event(text)
            self._connection.write(b"0\r\n\r\n")
        else:
            self._finish(_status(step, response), b"[%b]" % b",".join(texts) if batch else texts[0])

    def _heard(self, message: dict[str, Any]) -> None:
        """A response of the client, or a notification."""
        if "method" not in message:
            waiting = self._owner.asked.pop(id_text(message.get("id", ABSENT)) or "", None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif message["method"] == "notifications/cancelled" and type(message.get("params")) is dict:
            named = id_text(message["params"].get("requestId", ABSENT)) or ""
            task = self._owner.running.get((self._client(), named))
            if task is not None:
                task.cancel()

    def _client(self) -> str:
        """One client as far as can be told: its session, its credential, else its connection."""
        for name in (SESSION, "Authorization"):
            if value := self._header(name):
                return f"{name} {value}"
        return self._connection.address

    def _page(self) -> str:
        """The header by which a web page of elsewhere, read on this machine, may be asking; "" when none can be.

        Such a page reaches us directly, which its Origin says, or by a name of its own that it has pointed at us.
        """
        for origin in self._head.fields.get("origin", ()):
            there = split(origin)
            if there is None or not loopback(there.host):
                return "Origin"
        named = split(f"http://{host}") if (host := self._header("Host")) else None
        if named is None or "." not in named.host or named.host.endswith(PRIVATE):
            return ""
        try:
            ip_address(named.host.strip("[]"))
        except ValueError:
            return "Host"
        return ""

    def _header(self, name: str) -> str:
        found = self._head.fields.get(name.lower())
        return found[0] if found else ""

    # -- Talk

    async def send(self, message: dict[str, Any]) -> None:
        """One event of the answer's stream, which begins with the first."""
        await self._event(text_of(message))

    async def begin(self) -> None:
        """Answer with an event stream, whatever comes on it."""
        if not self._stream:
            self._stream = True
            self._connection.write(STREAM % _lines(self._more))

    async def cut(self, message: dict[str, Any]) -> None:
        """Send half of a message, and break the connection."""
        await self.begin()
        data = text_of(message)
        await self._chunk(b"event: message\ndata: " + data[: len(data) // 2])
        self._connection.end("broken off on purpose")
        raise asyncio.CancelledError

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """A server's own request; gives the response to it, which comes in another POST."""
        id = f"replay-{secrets.token_hex(4)}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._owner.asked[id_text(id) or ""] = answer
        try:
            await self.send({**message, "id": id})
            return await answer
        finally:
            self._owner.asked.pop(id_text(id) or "", None)

    # -- bytes

    async def _event(self, text: bytes) -> None:
        await self.begin()
        await self._chunk(b"event: message\ndata: %b\n\n" % text)

    async def _chunk(self, data: bytes) -> None:
        self._connection.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._connection.drained()

    def _finish(self, status: int, body: bytes) -> None:
        kind = b"Content-Type: application/json\r\n" if body else b""
        head = LINES.get(status) or b"HTTP/1.1 %d Status\r\n" % status
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        self._connection.write(b"".join((head, kind, _lines(self._more), length, body)))


def _endless(id: Any) -> bool:
    """Whether an id is a number that cannot be said again in JSON: of more digits than are read, or too large."""
    return type(id) is not int and isinstance(id, float) and not isfinite(id)


def _lines(headers: list[tuple[str, str]]) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("latin-1")


def _streamed(step: Step) -> bool:
    """Whether the recorded answer came as an event stream."""
    http = step.exchange.http
    return http is not None and "event-stream" in (http.response_header("content-type") or "")


def _status(step: Step | None, response: dict[str, Any]) -> int:
    http = step.exchange.http if step is not None else None
    if http is not None and http.status is not None:
        return http.status
    error = response.get("error")
    if type(error) is not dict:
        return 200
    legacy = step is not None and META_VERSION not in step.exchange.request.meta
    return 200 if legacy else STATUS.get(error.get("code", 0), 200)

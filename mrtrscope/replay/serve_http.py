"""`replay serve --listen`: the recorded server over Streamable HTTP, modern and legacy, on any path."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.iostream import StreamClosedError
from tornado.netutil import bind_sockets
from tornado.web import Application, RequestHandler

from mrtrscope.link.facts import META_VERSION
from mrtrscope.replay.play import Answering
from mrtrscope.replay.recording import Step
from mrtrscope.replay.served import Posts, text_of
from mrtrscope.wire.events import ABSENT
from mrtrscope.wire.jsonrpc import id_text, parse

# HTTP status of an error whose recording has none (stdio), or that is ours; see basic/transports/streamable-http.
STATUS = {-32700: 400, -32600: 400, -32601: 404, -32020: 400, -32021: 400, -32022: 400}
BODY_LIMIT = 1 << 26
SESSIONS = 10_000  # that are remembered; the oldest are forgotten, as if they had ended


class HttpServer:
    """Listens on a loopback address until it is closed."""

    def __init__(self, player: Answering, posts: Posts) -> None:
        self.player = player
        self.posts = posts
        self.asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self.sessions: OrderedDict[str, None] = OrderedDict()
        self.running: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self.base = ""
        self._server: HTTPServer | None = None

    def start(self, host: str, port: int) -> tuple[str, int]:
        """Begin to listen; gives the address. OSError when it cannot."""
        sockets = bind_sockets(port, host)
        app = Application([(r".*", _Handler, {"owner": self})])
        self._server = HTTPServer(app, max_buffer_size=BODY_LIMIT, max_body_size=BODY_LIMIT)
        self._server.add_sockets(sockets)
        name = sockets[0].getsockname()
        self.base = f"http://{host}:{name[1]}"
        return str(name[0]), int(name[1])

    async def close(self) -> None:
        """Stop listening; streams that are open are cut."""
        if self._server is not None:
            self._server.stop()
            await self._server.close_all_connections()


class _Handler(RequestHandler):
    """One HTTP exchange; it is the `Talk` of the requests posted on it."""

    def initialize(self, owner: HttpServer) -> None:
        self._owner = owner
        self._stream = False
        self._number = 0
        self._sent: list[tuple[str, str]] = []

    # -- verbs

    async def post(self) -> None:
        self._record_request()
        value = parse(self.request.body)[0]
        messages = value if type(value) is list else [value]
        requests = [m for m in messages if type(m) is dict and "method" in m and "id" in m]
        for message in messages:
            if type(message) is dict and message not in requests:
                self._heard(message)
        if not messages or any(type(m) is not dict for m in messages):
            await self._finish(
                400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "not JSON-RPC"}}
            )
        elif not requests:
            await self._finish(202, None)
        else:
            await self._answer(requests, batch=type(value) is list)

    async def get(self) -> None:
        self._record_request()
        await self._finish(405, None)

    async def delete(self) -> None:
        self._record_request()
        session = self.request.headers.get("Mcp-Session-Id", "")
        known = session in self._owner.sessions
        self._owner.sessions.pop(session, None)
        await self._finish(200 if known else 404, None)

    def on_connection_close(self) -> None:
        """The client went away: what it asked for is cancelled, and the record says who ended it."""
        for task in self._tasks:
            task.cancel()
        if self._number:
            self._owner.posts.ended(self._number, "client")
            self._number = 0

    _tasks: tuple[asyncio.Task[Any], ...] = ()

    # -- answering

    async def _answer(self, requests: list[dict[str, Any]], batch: bool) -> None:
        client = self._client(requests[0])
        jobs = [asyncio.ensure_future(self._owner.player.answer(r, self, client)) for r in requests]
        self._tasks = tuple(jobs)
        names = [(client, id_text(r.get("id")) or "") for r in requests]
        self._owner.running.update(zip(names, jobs, strict=True))
        try:
            played = await asyncio.gather(*jobs)
        except asyncio.CancelledError:
            self._end_cut()
            return
        finally:
            for name in names:
                self._owner.running.pop(name, None)
        responses = [response for response, _ in played]
        step = played[0][1]
        if requests[0]["method"] == "initialize" and "result" in responses[0]:
            session = secrets.token_hex(16)
            self._owner.sessions[session] = None
            if len(self._owner.sessions) > SESSIONS:
                self._owner.sessions.popitem(last=False)
            self.set_header("Mcp-Session-Id", session)
        if self._stream or (step is not None and _streamed(step) and not batch):
            for response in responses:
                await self.send(response)
            await self._end()
        else:
            await self._finish(_status(step, responses[0]), responses if batch else responses[0])

    def _heard(self, message: dict[str, Any]) -> None:
        """A response of the client, or a notification."""
        if "method" not in message:
            waiting = self._owner.asked.pop(id_text(message.get("id", ABSENT)) or "", None)
            if waiting is not None and not waiting.done():
                waiting.set_result(message)
        elif message["method"] == "notifications/cancelled" and type(message.get("params")) is dict:
            named = id_text(message["params"].get("requestId", ABSENT)) or ""
            task = self._owner.running.get((self._client(message), named))
            if task is not None:
                task.cancel()

    def _client(self, request: dict[str, Any]) -> str:
        """One client as far as can be told: its session, its credential, else its connection."""
        headers = self.request.headers
        for name in ("Mcp-Session-Id", "Authorization"):
            if headers.get(name):
                return f"{name} {headers[name]}"
        return self._address()

    def _address(self) -> str:
        stream = self.request.connection.stream  # type: ignore[union-attr]
        peer = stream.socket.getpeername() if stream.socket is not None else ("", 0)
        return f"{peer[0]}:{peer[1]}"

    # -- Talk

    async def send(self, message: dict[str, Any]) -> None:
        """One event of the answer's stream, which begins with the first."""
        await self.begin()
        await self._write(b"event: message\ndata: " + text_of(message) + b"\n\n")

    async def begin(self) -> None:
        """Answer with an event stream, whatever comes on it."""
        if self._stream:
            return
        self._stream = True
        self.set_status(200)
        self.set_header("Content-Type", "text/event-stream")
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Accel-Buffering", "no")
        self._record_head()

    async def cut(self, message: dict[str, Any]) -> None:
        """Send half of a message, and break the connection."""
        await self.begin()
        data = text_of(message)
        await self._write(b"event: message\ndata: " + data[: len(data) // 2])
        number, self._number = self._number, 0
        self._owner.posts.ended(number, "server", "broken off on purpose")
        self.request.connection.stream.close()  # type: ignore[union-attr]
        raise asyncio.CancelledError

    async def _write(self, data: bytes) -> None:
        self._owner.posts.data(self._number, data)
        self.write(data)
        try:
            await self.flush()
        except StreamClosedError:
            raise asyncio.CancelledError from None

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        id = f"replay-{secrets.token_hex(4)}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._owner.asked[id_text(id) or ""] = answer
        try:
            await self.send({**message, "id": id})
            return await answer
        finally:
            self._owner.asked.pop(id_text(id) or "", None)

    # -- ends, and the record

    async def _finish(self, status: int, body: Any) -> None:
        self.set_status(status)
        data = b"" if body is None else text_of(body)
        if data:
            self.set_header("Content-Type", "application/json")
        else:
            self.clear_header("Content-Type")
        self.set_header("Content-Length", str(len(data)))
        self._record_head()
        if data:
            self._owner.posts.data(self._number, data)
            self.write(data)
        await self._end()

    async def _end(self) -> None:
        number, self._number = self._number, 0
        if number:
            self._owner.posts.ended(number)
        try:
            await self.finish()
        except StreamClosedError:
            pass

    def _end_cut(self) -> None:
        """A cancelled call: its stream ends without a response."""
        if self._number:
            self._owner.posts.ended(self._number, "client")
            self._number = 0
        if self.request.connection is not None and self._stream:
            self.request.connection.finish()

    def _record_request(self) -> None:
        request = self.request
        stream = request.connection.stream  # type: ignore[union-attr]
        self._number = self._owner.posts.request(
            conn=id(stream), client=self._address(), upstream=self._owner.base, method=request.method or "",
            url=self._owner.base + (request.uri or "/"), headers=list(request.headers.get_all()), body=request.body,
        )  # fmt: skip

    def _record_head(self) -> None:
        self._owner.posts.head(self._number, self.get_status(), self._reason, list(self._headers.get_all()))

    def compute_etag(self) -> None:
        """No entity tags: answers are not documents."""

    def set_default_headers(self) -> None:
        self.clear_header("Server")


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

"""The client of a server on Streamable HTTP, modern and legacy."""

from __future__ import annotations

import asyncio
from typing import Any

from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.simple_httpclient import HTTPStreamClosedError, HTTPTimeoutError, SimpleAsyncHTTPClient

from mrtrscope.link.facts import META_VERSION
from mrtrscope.recorder import Journal
from mrtrscope.replay.client import Asked, Note, Reply
from mrtrscope.replay.served import Posts, header_value, text_of
from mrtrscope.wire.events import ABSENT
from mrtrscope.wire.jsonrpc import id_text, parse
from mrtrscope.wire.sse import SseReader

LINGER = 2.0  # seconds that a stream may stay open after the response on it
STREAM = "event-stream"
# What Mcp-Name mirrors (#standard-mcp-request-headers, and the tasks extension).
NAMED = {
    "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
    "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}  # fmt: skip


class HttpConnection:
    """See `client.Connection`. `session`: the Mcp-Session-Id of a 2025-11-25 server; `version`: as agreed."""

    def __init__(
        self, url: str, journal: Journal | None, headers: dict[str, str] | None = None, number: int = 0
    ) -> None:
        self.url = url
        self.posts = Posts(journal, number)
        self._headers = headers or {}
        self._client = SimpleAsyncHTTPClient(force_instance=True, max_clients=256, max_body_size=1 << 26)
        self._left: set[asyncio.Future[Any]] = set()
        self.session = ""
        self.version = ""
        self.minted: dict[str, str] = {}
        self._cookies: dict[str, str] = {}

    async def request(
        self, message: dict[str, Any], *, headers: dict[str, str] | None = None, note: Note | None = None,
        asked: Asked | None = None, timeout: float = 60,
    ) -> Reply:  # fmt: skip
        """Post a request; the reply when its response came, or its stream ended without one."""
        return await _Post(self, message, note, asked).send(self._headers_for(message, headers), timeout)

    async def fetch(self, request: HTTPRequest, answered: asyncio.Event) -> None:
        """Until the answer ended; a stream that stays open after its response is left to itself."""
        fetching: asyncio.Future[Any] = asyncio.ensure_future(self._client.fetch(request, raise_error=False))
        fetching.add_done_callback(self._let_go)
        told: asyncio.Future[Any] = asyncio.ensure_future(answered.wait())
        await asyncio.wait({fetching, told}, return_when=asyncio.FIRST_COMPLETED)
        told.cancel()
        done, _ = await asyncio.wait([fetching], timeout=LINGER if not fetching.done() else 0)
        if done:
            fetching.result()
        else:
            self._left.add(fetching)

    def _let_go(self, fetching: asyncio.Future[Any]) -> None:
        self._left.discard(fetching)
        if not fetching.cancelled():
            fetching.exception()  # looked at, so that nobody complains that nobody did

    def _headers_for(self, message: dict[str, Any], more: dict[str, str] | None) -> dict[str, str]:
        """An empty value in `more` takes a header away."""
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        params = message.get("params")
        params = params if type(params) is dict else {}
        meta = params.get("_meta")
        version = meta.get(META_VERSION) if type(meta) is dict else None
        if type(version) is str:
            headers["MCP-Protocol-Version"] = version
            headers["Mcp-Method"] = str(message.get("method", ""))
            name = params.get(NAMED.get(str(message.get("method")), ""))
            if type(name) is str:
                headers["Mcp-Name"] = header_value(name)
        else:
            if self.version:
                headers["MCP-Protocol-Version"] = self.version
            if self.session:
                headers["Mcp-Session-Id"] = self.session
        return {k: v for k, v in (headers | self._headers | (more or {})).items() if v != ""}

    def mint(self, name: str, value: str) -> None:
        """The server named the session, or set a cookie."""
        if name == "mcp-session-id":
            self.session = self.minted["Mcp-Session-Id"] = value
        elif name == "set-cookie":
            cookie, _, content = value.partition(";")[0].partition("=")
            self._cookies[cookie.strip()] = content.strip()
            self.minted["Cookie"] = "; ".join(f"{k}={v}" for k, v in self._cookies.items())

    async def notify(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Post a notification or response; what the server says to it is recorded and passed over."""
        await self.request(message, headers=headers, timeout=10)

    async def close(self) -> None:
        """Drop connections."""
        self._client.close()
        for fetching in list(self._left):
            fetching.cancel()


class _Post:
    """One POST and its answer."""

    def __init__(
        self, owner: HttpConnection, message: dict[str, Any], note: Note | None, asked: Asked | None
    ) -> None:
        self._owner = owner
        self._message = message
        self._wanted = id_text(message.get("id", ABSENT))
        self._note, self._asked = note, asked
        self._reply = Reply()
        self._sse = SseReader()
        self._body = bytearray()
        self._head: list[str] = []
        self._number = 0
        self._answered = asyncio.Event()
        self._later: list[asyncio.Future[None]] = []

    async def send(self, headers: dict[str, str], timeout: float) -> Reply:
        owner, reply = self._owner, self._reply
        data = text_of(self._message)
        self._number = owner.posts.request(
            conn=0, client="", upstream=owner.url, method="POST", url=owner.url, headers=list(headers.items()),
            body=data,
        )  # fmt: skip
        request = HTTPRequest(
            owner.url, "POST", headers, data, request_timeout=timeout, connect_timeout=min(timeout, 10),
            streaming_callback=self._came, header_callback=self._header, decompress_response=False,
            follow_redirects=False,
        )  # fmt: skip
        try:
            await owner.fetch(request, self._answered)
            self._end("server")
        except HTTPTimeoutError as error:
            reply.error = f"no response within {timeout:g} s"
            reply.gone = "connecting" in str(error)
            self._end("client", reply.error)
        except (HTTPStreamClosedError, HTTPClientError, OSError) as error:
            reply.error = _words(error)
            reply.gone = reply.status is None
            self._end("server" if reply.status else "upstream", reply.error)
        if self._body:
            self._take(bytes(self._body))
        await asyncio.gather(*self._later)
        if reply.message is None and not reply.error:
            reply.error = f"HTTP {reply.status} without a response"
        return reply

    def _end(self, by: str, error: str = "") -> None:
        self._owner.posts.ended(self._number, by, error)

    def _header(self, line: str) -> None:
        if line.startswith("HTTP/"):
            self._head = [line]
        elif line.strip():
            self._head.append(line)
        else:
            status, _, reason = self._head[0].partition(" ")[2].strip().partition(" ")
            pairs = [(name, value.strip()) for name, _, value in (h.partition(":") for h in self._head[1:])]
            self._reply.status = int(status)
            self._reply.headers = {name.lower(): value for name, value in pairs}
            self._owner.posts.head(self._number, int(status), reason, pairs)
            for name, value in pairs:
                self._owner.mint(name.lower(), value)

    def _came(self, chunk: bytes) -> None:
        self._owner.posts.data(self._number, chunk)
        if STREAM not in self._reply.headers.get("content-type", ""):
            self._body.extend(chunk)
            return
        for event in self._sse.feed(chunk):
            if event.data is not None:
                self._take(event.data)

    def _take(self, text: bytes) -> None:
        value = parse(text)[0]
        for one in value if type(value) is list else [value]:
            if type(one) is not dict:
                continue
            if "method" not in one:
                mine = id_text(one.get("id", ABSENT)) == self._wanted or one.get("id") is None
                if self._reply.message is None and mine:
                    self._reply.message = one
                    self._answered.set()
            elif "id" in one:
                self._later.append(asyncio.ensure_future(self._answer(one)))
            else:
                self._reply.notes.append(one)
                if self._note is not None:
                    self._later.append(asyncio.ensure_future(self._told(self._note, one)))

    async def _answer(self, question: dict[str, Any]) -> None:
        if self._asked is not None and (said := await self._asked(question)) is not None:
            await self._owner.notify(said)

    async def _told(self, note: Note, message: dict[str, Any]) -> None:
        await note(message)


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, HTTPStreamClosedError):
        return "the connection was closed before the answer was complete"
    return str(error)

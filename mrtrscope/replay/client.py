"""A connection to a live server, as its client: over a child's pipes, or over Streamable HTTP. Everything is recorded.

Both forms offer the same: `request` sends one request and gives what came of it, `notify` sends a notification or a
response, `close` ends the connection and whatever was started for it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shlex
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.simple_httpclient import HTTPStreamClosedError, HTTPTimeoutError, SimpleAsyncHTTPClient

from mrtrscope.frames import DATA, EXIT
from mrtrscope.link.facts import META_VERSION
from mrtrscope.recorder import Journal
from mrtrscope.replay.served import Lines, Posts, text_of
from mrtrscope.wire.events import ABSENT
from mrtrscope.wire.jsonrpc import id_text, parse
from mrtrscope.wire.lines import LineSplitter
from mrtrscope.wire.sse import SseReader

BLOCK = 1 << 16
GRACE = 2.0  # seconds that a child gets to end by itself, and again after SIGTERM
Note = Callable[[dict[str, Any]], Awaitable[None]]
Asked = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]


class Reply:
    """What came of a request.

    message   the response, None when there was none       status   of HTTP, None on stdio
    headers   of the HTTP answer, names in lower case      notes    notifications before the response, in order
    error     why there is no response, in words, else ""
    """

    __slots__ = ("error", "headers", "message", "notes", "status")

    def __init__(self) -> None:
        self.message: dict[str, Any] | None = None
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.notes: list[dict[str, Any]] = []
        self.error = ""


class Connection(Protocol):
    """See the top of this module. `asked` answers a server's own request of 2025-11-25 and before."""

    async def request(
        self, message: dict[str, Any], *, headers: dict[str, str] | None = None, note: Note | None = None,
        asked: Asked | None = None, timeout: float = 60,
    ) -> Reply: ...  # fmt: skip

    async def notify(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> None: ...

    async def close(self) -> None: ...


class StdioConnection:
    """A child process that speaks MCP on its standard input and output."""

    def __init__(self, command: list[str], journal: Journal | None) -> None:
        self._command = command
        self._journal = journal
        self._lines = Lines(journal)
        self._child: asyncio.subprocess.Process | None = None
        self._waiting: dict[str, tuple[Reply, asyncio.Future[None], Note | None, Asked | None]] = {}
        self._readers: list[asyncio.Task[None]] = []
        self.ended = ""

    async def start(self) -> None:
        """Start the child; OSError when there is no such command."""
        pipe = asyncio.subprocess.PIPE
        self._child = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._readers = [asyncio.ensure_future(self._read()), asyncio.ensure_future(self._read_errors())]

    async def request(
        self, message: dict[str, Any], *, headers: dict[str, str] | None = None, note: Note | None = None,
        asked: Asked | None = None, timeout: float = 60,
    ) -> Reply:  # fmt: skip
        """Send a request; the reply when its response came, the child ended, or `timeout` seconds passed."""
        reply = Reply()
        if self.ended:
            reply.error = self.ended
            return reply
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        key = id_text(message.get("id", ABSENT)) or ""
        self._waiting[key] = (reply, done, note, asked)
        await self.notify(message)
        try:
            await asyncio.wait_for(done, timeout)
        except TimeoutError:
            reply.error = f"no response within {timeout:g} s"
        finally:
            self._waiting.pop(key, None)
        return reply

    async def notify(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Send a message that gets no response."""
        data = text_of(message) + b"\n"
        self._lines.came(data)
        assert self._child is not None
        assert self._child.stdin is not None
        with contextlib.suppress(ConnectionError):  # that it ended is told by the reader
            self._child.stdin.write(data)
            await self._child.stdin.drain()

    async def _read(self) -> None:
        assert self._child is not None
        assert self._child.stdout is not None
        splitter = LineSplitter()
        while chunk := await self._child.stdout.read(BLOCK):
            self._lines.went(chunk)
            for line in splitter.feed(chunk):
                await self._take(line.data)
        code = await self._child.wait()
        self.ended = (
            f"the server ended with exit code {code}"
            if code >= 0
            else f"the server was ended by signal {-code}"
        )
        if self._journal is not None:
            import time

            what = f'{{"code": {code}}}' if code >= 0 else f'{{"signal": {-code}}}'
            self._journal.append("0z", EXIT, time.monotonic_ns(), what.encode())
        for reply, done, _, _ in self._waiting.values():
            reply.error = self.ended
            if not done.done():
                done.set_result(None)

    async def _read_errors(self) -> None:
        assert self._child is not None
        assert self._child.stderr is not None
        import time

        while chunk := await self._child.stderr.read(BLOCK):
            if self._journal is not None:
                self._journal.append("0e", DATA, time.monotonic_ns(), chunk)

    async def _take(self, line: bytes) -> None:
        message = parse(line)[0]
        if type(message) is not dict:
            return
        if "method" not in message:
            waiting = self._waiting.get(id_text(message.get("id", ABSENT)) or "")
            if waiting is not None and not waiting[1].done():
                waiting[0].message = message
                waiting[1].set_result(None)
            return
        for reply, _, note, asked in list(self._waiting.values()):
            if "id" not in message:
                reply.notes.append(message)
                if note is not None:
                    await note(message)
            elif asked is not None:
                answer = await asked(message)
                if answer is not None:
                    await self.notify(answer)
                return

    async def close(self) -> None:
        """End of input, then SIGTERM, then SIGKILL."""
        child = self._child
        if child is None:
            return
        if child.stdin is not None:
            child.stdin.close()
        for end in (child.terminate, child.kill):
            try:
                await asyncio.wait_for(child.wait(), GRACE)
                break
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    end()
        await child.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self._lines.ended()


class HttpConnection:
    """Streamable HTTP to one URL; `session` is the Mcp-Session-Id that a 2025-11-25 server gave."""

    def __init__(self, url: str, journal: Journal | None, headers: dict[str, str] | None = None) -> None:
        self._url = url
        self._posts = Posts(journal)
        self._headers = headers or {}
        self._client = SimpleAsyncHTTPClient(force_instance=True, max_clients=256, max_body_size=1 << 26)
        self.session = ""
        self.version = ""

    async def request(
        self, message: dict[str, Any], *, headers: dict[str, str] | None = None, note: Note | None = None,
        asked: Asked | None = None, timeout: float = 60,
    ) -> Reply:  # fmt: skip
        """Post a request; the reply when its response came, or its stream ended without one."""
        reply = Reply()
        wanted = id_text(message.get("id", ABSENT))
        sse = SseReader()
        body = bytearray()
        number = 0
        later: list[asyncio.Future[None]] = []

        async def answer(question: dict[str, Any]) -> None:
            if asked is not None and (said := await asked(question)) is not None:
                await self.notify(said)

        def take(text: bytes) -> None:
            for one in _messages(text):
                if "method" not in one:
                    if reply.message is None and (
                        id_text(one.get("id", ABSENT)) == wanted or one.get("id") is None
                    ):
                        reply.message = one
                elif "id" in one:
                    later.append(asyncio.ensure_future(answer(one)))
                else:
                    reply.notes.append(one)
                    if note is not None:
                        later.append(asyncio.ensure_future(note(one)))

        def came(chunk: bytes) -> None:
            self._posts.data(number, chunk)
            if "event-stream" in reply.headers.get("content-type", ""):
                for event in sse.feed(chunk):
                    if event.data is not None:
                        take(event.data)
            else:
                body.extend(chunk)

        head: list[str] = []

        def header(line: str) -> None:
            if line.startswith("HTTP/"):
                head[:] = [line]
            elif line.strip():
                head.append(line)
            else:
                self._head(reply, number, head)

        data = text_of(message)
        sent = self._headers_for(message, headers)
        number = self._posts.request(
            conn=0,
            client="",
            upstream=self._url,
            method="POST",
            url=self._url,
            headers=list(sent.items()),
            body=data,
        )
        request = HTTPRequest(
            self._url, "POST", sent, data, request_timeout=timeout, connect_timeout=min(timeout, 10),
            streaming_callback=came, header_callback=header, decompress_response=False, follow_redirects=False,
        )  # fmt: skip
        try:
            await self._client.fetch(request, raise_error=False)
            self._posts.ended(number)
        except HTTPTimeoutError:
            reply.error = f"no response within {timeout:g} s"
            self._posts.ended(number, "client", reply.error)
        except (HTTPStreamClosedError, HTTPClientError, OSError) as error:
            reply.error = f"{type(error).__name__}: {error}"
            self._posts.ended(number, "server" if reply.status else "upstream", reply.error)
        if body:
            take(bytes(body))
        await asyncio.gather(*later)
        if reply.message is None and not reply.error:
            reply.error = f"HTTP {reply.status} without a response"
        return reply

    def _head(self, reply: Reply, number: int, lines: list[str]) -> None:
        """The head of an answer is complete."""
        status, _, reason = lines[0].partition(" ")[2].strip().partition(" ")
        pairs = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
        reply.status = int(status)
        reply.headers = {name.lower(): value for name, value in pairs}
        self._posts.head(number, reply.status, reason, pairs)
        self.session = reply.headers.get("mcp-session-id", self.session)

    def _headers_for(self, message: dict[str, Any], more: dict[str, str] | None) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        params = message.get("params")
        params = params if type(params) is dict else {}
        meta = params.get("_meta")
        version = meta.get(META_VERSION) if type(meta) is dict else None
        if type(version) is str:
            headers["MCP-Protocol-Version"] = version
            headers["Mcp-Method"] = str(message.get("method", ""))
            name = params.get("uri" if message.get("method") == "resources/read" else "name")
            if type(name) is str:
                headers["Mcp-Name"] = header_value(name)
        else:
            if self.version:
                headers["MCP-Protocol-Version"] = self.version
            if self.session:
                headers["Mcp-Session-Id"] = self.session
        return {k: v for k, v in (headers | self._headers | (more or {})).items() if v != ""}

    async def notify(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Post a notification or response; what the server says to it is recorded and passed over."""
        await self.request(message, headers=headers, timeout=10)

    async def close(self) -> None:
        """Drop connections."""
        self._client.close()


def _messages(text: bytes) -> list[dict[str, Any]]:
    value = parse(text)[0]
    return [one for one in (value if type(value) is list else [value]) if type(one) is dict]


def header_value(name: str) -> str:
    """A name as Mcp-Name carries it: as it is when that is safe, else in the Base64 sentinel (#value-encoding)."""
    safe = name.isascii() and name.isprintable() and name == name.strip() and not name.startswith("=?base64?")
    if safe and name:
        return name
    return f"=?base64?{base64.b64encode(name.encode('utf-8', 'surrogatepass')).decode()}?="


async def connect(
    target: str | list[str], journal: Journal | None, headers: dict[str, str] | None = None
) -> Connection:
    """A connection to a URL, or to a command that is started; OSError when it cannot be."""
    if isinstance(target, str) and target.startswith(("http://", "https://")):
        return HttpConnection(target, journal, headers)
    child = StdioConnection(shlex.split(target) if isinstance(target, str) else target, journal)
    await child.start()
    return child

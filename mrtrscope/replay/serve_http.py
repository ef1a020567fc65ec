"""`replay serve --listen`: the recorded server over Streamable HTTP, modern and legacy, on any path.

Requests are read by the reader that reads captured connections, and recorded as such a connection is: one record for
what one read brought, one for what was sent. A request is answered in the turn in which it arrived unless its answer
has to wait.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections import OrderedDict, deque
from typing import Any

from mrtrscope.recorder import Journal
from mrtrscope.replay.http_exchange import Exchange
from mrtrscope.replay.play import Answering
from mrtrscope.replay.served import Tcp, Texts
from mrtrscope.wire.heads import Head
from mrtrscope.wire.http1 import DATA, END, HEAD, LOST, HttpReader, Piece

BODY_LIMIT = 1 << 26
SESSIONS = 10_000  # that are remembered; the oldest are forgotten, as if they had ended
PIPELINED = 64  # requests that may wait on one connection until it is read on


class HttpServer:
    """Listens on a loopback address until it is closed."""

    def __init__(self, player: Answering, journal: Journal | None) -> None:
        self.player = player
        self.tcp = Tcp(journal)
        self.texts = Texts()
        self.asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self.sessions: OrderedDict[str, None] = OrderedDict()
        self.running: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self.connections: set[Connection] = set()
        self.base = ""
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Begin to listen; gives the address. OSError when it cannot."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self), host, port, family=family, backlog=1024
        )
        name = self._server.sockets[0].getsockname()
        self.base = f"http://{f'[{host}]' if ':' in host else host}:{name[1]}"
        return str(name[0]), int(name[1])

    def new_session(self) -> str:
        """The id of a session that begins."""
        session = secrets.token_hex(16)
        self.sessions[session] = None
        if len(self.sessions) > SESSIONS:
            self.sessions.popitem(last=False)
        return session

    async def close(self) -> None:
        """Stop listening; streams that are open are cut."""
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.abort()
        await asyncio.gather(
            *(c.task for c in self.connections if c.task is not None), return_exceptions=True
        )


class Connection(asyncio.Protocol):
    """One client's connection: its requests are answered one after the other."""

    def __init__(self, owner: HttpServer) -> None:
        self.owner = owner
        self.task: asyncio.Task[None] | None = None
        self.number = 0
        self.address = ""
        self._reader = HttpReader()
        self._head: Head | None = None
        self._body = bytearray()
        self._requests: deque[tuple[Head, bytes]] = deque()
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._ending = ""
        self._new = True

    # -- what the transport says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        peer = transport.get_extra_info("peername") or ("", 0)
        self.address = f"{peer[0]}:{peer[1]}"
        self.number = self.owner.tcp.opened(self.address, self.owner.base)
        self.owner.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self.owner.tcp.came(self.number, data)
        if self._new:
            self._new = False
            if not data[:1].isalpha() and data[:1] not in b"\r\n":
                self.refuse(400)  # TLS, say: an end of its head would be waited for
                return
        for piece in self._reader.feed(data):
            self._take(piece)
        if self._reader.held or self._reader.state == LOST or len(self._body) > BODY_LIMIT:
            self.refuse(501 if self._reader.held else 400 if self._reader.state == LOST else 413)
        self._go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client went away, or we ended it: what it asked for is cancelled, and the record says who did."""
        self.owner.connections.discard(self)
        self._transport = None
        self._writable.set()
        self.owner.tcp.ended(self.number, "server" if self._ending else "client", self._ending)
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # -- requests

    def _take(self, piece: Piece) -> None:
        if piece.what == HEAD:
            self._head, self._body = piece.head, bytearray()
            if self._head is not None and "100-continue" in self._head.fields.get("expect", ()):
                self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif piece.what == DATA:
            self._body += piece.data
        elif piece.what == END and self._head is not None:
            self._requests.append((self._head, bytes(self._body)))
            self._head, self._body = None, bytearray()
            if len(self._requests) == PIPELINED and self._transport is not None:
                self._transport.pause_reading()
        elif piece.what != END:
            self.refuse(400)

    def _go_on(self) -> None:
        """Answer what waits; most of it at once, without a turn of the loop."""
        while self._requests and self.task is None and self._transport is not None:
            head, body = self._requests.popleft()
            work = Exchange(self, head).serve(body)
            task: asyncio.Task[None] = asyncio.Task(work, loop=asyncio.get_running_loop(), eager_start=True)
            if not task.done():
                self.task = task
                task.add_done_callback(self._done)
            else:
                self._read_on()

    def _done(self, task: asyncio.Task[None]) -> None:
        self.task = None
        self._read_on()
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
        self._go_on()

    def _read_on(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    # -- what an exchange does

    def write(self, data: bytes) -> None:
        """Send, and record that."""
        if self._transport is None or self._transport.is_closing():
            return
        self.owner.tcp.went(self.number, data)
        self._transport.write(data)

    async def drained(self) -> None:
        """Until the client has taken enough of it; CancelledError when there is no client any more."""
        await self._writable.wait()
        if self._transport is None:
            raise asyncio.CancelledError

    def refuse(self, status: int) -> None:
        """Say that this is not understood, and end the connection."""
        self.write(f"HTTP/1.1 {status} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        self.end("what came is no request that is served")

    def end(self, why: str) -> None:
        """Close when what was written has gone out."""
        if self._transport is not None:
            self._requests.clear()
            self._ending = self._ending or why
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._ending = self._ending or "the replay ended"
            self._transport.abort()

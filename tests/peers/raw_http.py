"""A small HTTP/1.1 server and client of plain sockets: what they send is what the test wrote, byte for byte."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

TIMEOUT = 90.0


class Request:
    """What arrived: the head as bytes, the body with its transfer coding undone."""

    def __init__(self, head: bytes, body: bytes) -> None:
        self.head = head
        self.body = body
        self.method, self.path = head.split(b" ", 2)[:2]

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Names and values as sent."""
        lines = self.head.split(b"\r\n")[1:]
        return [(name, value.strip(b" ")) for name, _, value in (line.partition(b":") for line in lines)]


class Connection:
    """Reads whole messages off a socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.sock.settimeout(TIMEOUT)
        self._buffer = b""

    def _more(self) -> bool:
        data = self.sock.recv(65536)
        self._buffer += data
        return bool(data)

    def until(self, mark: bytes) -> bytes:
        """Everything up to a mark and the mark; EOFError when the peer closed before."""
        while (at := self._buffer.find(mark)) < 0:
            if not self._more():
                raise EOFError(self._buffer)
        found, self._buffer = self._buffer[: at + len(mark)], self._buffer[at + len(mark) :]
        return found

    def exactly(self, size: int) -> bytes:
        """That many bytes."""
        while len(self._buffer) < size:
            if not self._more():
                raise EOFError(self._buffer)
        found, self._buffer = self._buffer[:size], self._buffer[size:]
        return found

    def rest(self) -> bytes:
        """Everything until the peer closes, in whatever way."""
        try:
            while self._more():
                pass
        except ConnectionError:
            pass
        found, self._buffer = self._buffer, b""
        return found

    def chunks(self) -> list[bytes]:
        """A chunked body."""
        found = []
        while size := int(self.until(b"\r\n").split(b";")[0], 16):
            found.append(self.exactly(size))
            self.exactly(2)
        self.until(b"\r\n")
        return found

    def body(self, head: bytes, otherwise: str) -> bytes:
        """The body that a head announces; `otherwise`: "none" or "close"."""
        fields = {k.lower(): v.strip() for k, _, v in (x.partition(b":") for x in head.split(b"\r\n")[1:])}
        if b"chunked" in fields.get(b"transfer-encoding", b""):
            return b"".join(self.chunks())
        if b"content-length" in fields:
            return self.exactly(int(fields[b"content-length"]))
        return self.rest() if otherwise == "close" else b""

    def reset(self) -> None:
        """Close with RST."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


Answer = Callable[[Connection, Request], None]


class Server:
    """Answers each path with the function registered for it; keeps what it was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: dict[bytes, Answer] = {}
        self.requests: list[Request] = []
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening, drop what is open."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in list(self._open):
            sock.close()

    def asked(self, path: bytes) -> Request:
        """The latest request for a path."""
        return next(r for r in reversed(self.requests) if r.path == path)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        self._open.add(sock)
        try:
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._open.add(sock)
            connection = Connection(sock)
            while sock.fileno() >= 0:
                head = connection.until(b"\r\n\r\n")[:-4]
                request = Request(head, connection.body(head, "none"))
                self.requests.append(request)
                self.answers.get(request.path, not_found)(connection, request)
        except (EOFError, OSError):
            pass  # the other side is gone, or a test closed us
        finally:
            self._open.discard(sock)
            sock.close()


def not_found(connection: Connection, request: Request) -> None:
    """404."""
    connection.sock.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")


def fixed(body: bytes, *headers: bytes) -> Answer:
    """An answer with a length."""
    head = b"".join(h + b"\r\n" for h in (b"HTTP/1.1 200 OK", *headers, b"Content-Length: %d" % len(body)))
    return lambda connection, request: connection.sock.sendall(head + b"\r\n" + body)


def raw(answer: bytes, close: bool = False) -> Answer:
    """These bytes, whatever they are."""

    def send(connection: Connection, request: Request) -> None:
        connection.sock.sendall(answer)
        if close:
            connection.sock.close()

    return send


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def request(path: str, body: bytes = b"", *headers: bytes, method: str = "POST", host: str = "x") -> bytes:
    """A request with a length."""
    lines = [f"{method} {path} HTTP/1.1".encode(), f"Host: {host}".encode(), *headers]
    if body or method == "POST":
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


class Client(Connection):
    """One connection to a server or proxy."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None, name: str = "localhost") -> None:
        sock = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        super().__init__(tls.wrap_socket(sock, server_hostname=name) if tls else sock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Send, and read the whole answer: its head, its body."""
        self.sock.sendall(request)
        head = self.until(b"\r\n\r\n")[:-4]
        return head, self.body(head, "close")

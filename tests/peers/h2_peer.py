"""HTTP/2 over TLS with the h2 library: a client that asks once, a server that answers from a table."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path
from typing import Self

import h2.config
import h2.connection
import h2.events
import h2.exceptions
from mitmproxy import certs

Headers = list[tuple[bytes, bytes]]
TIMEOUT = 90.0


def server_context(folder: Path, *protocols: str) -> ssl.SSLContext:
    """TLS for localhost under a CA of our own in `folder`, the one that a mitmproxy with that confdir uses too."""
    store = certs.CertStore.from_store(folder, "mitmproxy", 2048)
    entry = store.get_cert("localhost", [certs.x509.DNSName("localhost")])
    chain = folder / "localhost.pem"
    key = entry.privatekey.private_bytes(
        certs.serialization.Encoding.PEM,
        certs.serialization.PrivateFormat.TraditionalOpenSSL,
        certs.serialization.NoEncryption(),
    )
    chain.touch(0o600)
    chain.write_bytes(key + entry.cert.to_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain)
    context.set_alpn_protocols(list(protocols or ("http/1.1",)))
    return context


def client_context(folder: Path, *protocols: str) -> ssl.SSLContext:
    """Trusts that CA alone."""
    context = ssl.create_default_context(cafile=folder / "mitmproxy-ca-cert.pem")
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(list(protocols or ("http/1.1",)))
    return context


class _Side:
    def __init__(self, sock: socket.socket, client: bool) -> None:
        self.sock = sock
        self.sock.settimeout(TIMEOUT)
        config = h2.config.H2Configuration(client_side=client, header_encoding=None)
        self.h2 = h2.connection.H2Connection(config)
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        if data := self.h2.data_to_send():
            self.sock.sendall(data)

    def events(self) -> list[h2.events.Event]:
        data = self.sock.recv(65536)
        if not data:
            raise EOFError
        found = list(self.h2.receive_data(data))
        for event in found:
            if isinstance(event, h2.events.DataReceived):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        self.flush()
        return found


class Client(_Side):
    """One connection; one request at a time."""

    def __init__(self, sock: ssl.SSLSocket) -> None:
        super().__init__(sock, client=True)
        assert sock.selected_alpn_protocol() == "h2"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, headers: Headers, body: bytes) -> int:
        """Ask; the number of the stream."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, headers)
        self.h2.send_data(stream, body, end_stream=True)
        self.flush()
        return stream

    def until(self, stream: int, mark: bytes | None = None) -> tuple[Headers, bytes]:
        """The answer's headers and its body, up to a mark or to its end."""
        headers: Headers = []
        body = b""
        while True:
            for event in self.events():
                if getattr(event, "stream_id", None) != stream:
                    continue
                if isinstance(event, h2.events.ResponseReceived):
                    headers = [(bytes(k), bytes(v)) for k, v in event.headers]
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                elif isinstance(event, h2.events.StreamEnded | h2.events.StreamReset):
                    return headers, body
            if mark is not None and mark in body:
                return headers, body

    def cancel(self, stream: int) -> None:
        """Reset the stream with CANCEL."""
        self.h2.reset_stream(stream, error_code=8)
        self.flush()


class Server:
    """Answers each path with headers and a list of pieces; None among them waits for `go_on`."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self.answers: dict[bytes, tuple[Headers, list[bytes | None]]] = {}
        self.asked: dict[bytes, tuple[Headers, bytes]] = {}
        self.go_on = threading.Event()
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        quiet = contextlib.suppress(OSError, EOFError, h2.exceptions.ProtocolError)
        with quiet, self._tls.wrap_socket(sock, server_side=True) as tls:
            side = _Side(tls, client=False)
            heads: dict[int, Headers] = {}
            bodies: dict[int, bytes] = {}
            while True:
                for event in side.events():
                    if isinstance(event, h2.events.RequestReceived):
                        heads[event.stream_id] = [(bytes(k), bytes(v)) for k, v in event.headers]
                    elif isinstance(event, h2.events.DataReceived):
                        bodies[event.stream_id] = bodies.get(event.stream_id, b"") + event.data
                    elif isinstance(event, h2.events.StreamEnded):
                        self._answer(side, event.stream_id, heads, bodies)

    def _answer(self, side: _Side, stream: int, heads: dict[int, Headers], bodies: dict[int, bytes]) -> None:
        path = dict(heads[stream])[b":path"]
        self.asked[path] = heads[stream], bodies.get(stream, b"")
        headers, pieces = self.answers[path]
        side.h2.send_headers(stream, headers)
        for piece in pieces:
            side.flush()
            if piece is None:
                assert self.go_on.wait(TIMEOUT)
            else:
                side.h2.send_data(stream, piece)
        side.h2.end_stream(stream)
        side.flush()

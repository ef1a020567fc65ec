"""A real `mrtrscope relay` in front of plain TCP servers."""

from __future__ import annotations

import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from mrtrscope.frames import Frame
from mrtrscope.journal import read_capture
from tests.conftest import LIMIT, wait_until


class Relayed:
    """One running relay."""

    def __init__(self, capture: Path, target: int, *options: str, ulimit: str = "") -> None:
        self.capture = capture
        self._log = capture.parent / f"{capture.name}.log"
        argv = [sys.executable, "-m", "mrtrscope", "relay", "--capture", str(capture)]
        argv += ["--target", f"127.0.0.1:{target}", *options]
        if ulimit:
            argv = ["sh", "-c", f"ulimit {ulimit}; exec {shlex.join(argv)}"]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        ready = re.compile(r"listening on \S+:(\d+) for ")
        self.port = int(wait_until(lambda: ready.search(self.log()), LIMIT, "it does not listen")[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8")

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(how)
        return self.process.wait(LIMIT)

    def client(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), LIMIT)

    def frames(self) -> list[Frame]:
        return list(read_capture(self.capture))

    def kept(self, lane: str) -> bytes:
        return b"".join(f.data for f in self.frames() if f.lane == lane and f.kind == "data")


class Tcp:
    """A server that runs a function, in a thread, on every connection it takes."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self.failures: list[BaseException] = []
        self._threads: list[threading.Thread] = []
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in [self._acceptor, *self._threads]:
            thread.join(LIMIT)
        assert self.failures == []

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(LIMIT)
            thread = threading.Thread(target=self._run, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _run(self, connection: socket.socket) -> None:
        with connection:
            try:
                self._serve(connection)
            except BaseException as e:
                self.failures.append(e)


def echo(connection: socket.socket) -> None:
    """Send everything back, then the end."""
    while data := connection.recv(1 << 16):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def read_all(connection: socket.socket) -> bytes:
    """Up to the end of what the other side says."""
    parts = []
    while data := connection.recv(1 << 16):
        parts.append(data)
    return b"".join(parts)


def reset(connection: socket.socket) -> None:
    """Close it the hard way."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()

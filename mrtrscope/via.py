"""``wrap --via HOST:PORT``: sends a stdio session through a mitmproxy, where it can be watched and edited.

    host ⇄ wrap ⇄ mitmproxy (socks5) ⇄ wrap ⇄ server

We listen on a loopback port for this one session and ask the mitmproxy, by SOCKS5, to connect to it: what the host
sends goes into the one connection and comes out of the other. Both ends being ours, the half-closes of TCP carry the
ends of input and output. Only mitmproxy's addon records, both sides of an edit; stderr and the exit code take the
short way and are not recorded.

The request to connect names ``NAME.wrap.mrtrscope.invalid`` and our port, NAME being the channel in percent-encoding
with dots encoded too: the addon reads the name there and puts 127.0.0.1 in its place (hook `server_connect`). A
mitmproxy that does not know the name cannot connect to it, and is asked for 127.0.0.1 next; the session then has no
name of its own.

mitmproxy decides what a connection is when its first bytes come. So an end of input before any byte of input is not
sent through it, which could end everything, but told to the server directly.
"""

import os
import select
import socket
import sys
from time import monotonic

from mrtrscope.child import CannotStart, Child, start
from mrtrscope.frames import DATA
from mrtrscope.pipes import KILL_AFTER, WATCH, Session, Stream, end_like
from mrtrscope.where import say

SUFFIX = ".wrap.mrtrscope.invalid"
PATIENCE = 10.0  # seconds for the proxy to answer
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class NoProxy(Exception):
    """The proxy cannot be used; the text says why and what to do."""


def run_via(address: str, name: str, command: list[str], host: int) -> int:
    """Run a command with its input and output led through the proxy; the exit code."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=2)
    try:
        near = connect(address, name, listener.getsockname()[1])
    except NoProxy as e:
        say(f"mrtrscope wrap: {e}")
        return 126
    try:
        child = start(command)
    except CannotStart as e:
        say(f"mrtrscope wrap: {e}; nothing was started (check what follows --)")
        return e.code
    session = ViaSession(child, host, near, listener)
    return end_like(session.run(), session.sent)


def connect(address: str, name: str, port: int) -> socket.socket:
    """A connection through the proxy to our port on this machine; NoProxy when there is none to be had."""
    where, _, number = address.rpartition(":")
    if not where or not number.isdigit():
        raise NoProxy(f"--via {address}: say HOST:PORT, where mitmproxy listens in socks5 mode")
    for target in (label(name) + SUFFIX, "127.0.0.1"):
        try:
            near = socket.create_connection((where.strip("[]"), int(number)), PATIENCE)
        except (OSError, OverflowError) as e:
            raise NoProxy(
                f"no proxy at {address}: {getattr(e, 'strerror', None) or e} "
                "(start one with mrtrscope proxy --stdio); nothing was started"
            ) from None
        try:
            if _asked(near, target.encode(), port):
                near.settimeout(None)
                near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return near
        except OSError as e:
            near.close()
            raise NoProxy(
                f"the proxy at {address} does not speak SOCKS5: {e} "
                "(mitmproxy --mode socks5, or mrtrscope proxy --stdio); nothing was started"
            ) from None
        near.close()
    raise NoProxy(f"the proxy at {address} cannot connect to this machine's port {port}; nothing was started")


def label(name: str) -> str:
    """A channel's name as part of a host name, cut at a whole character where it is too long for one."""
    made = ""
    for character in name:
        code = character.encode(errors="surrogateescape")
        more = "".join(chr(c) if c in _PLAIN else f"%{c:02X}" for c in code)
        if len(made) + len(more) > 200:
            break
        made += more
    return made


def _asked(near: socket.socket, target: bytes, port: int) -> bool:
    """The handshake of RFC 1928, without authentication; whether the proxy agreed."""
    near.sendall(b"\x05\x01\x00")
    if _exactly(near, 2) != b"\x05\x00":
        raise OSError("it wants a password, or speaks another protocol")
    near.sendall(b"\x05\x01\x00\x03" + bytes([len(target)]) + target + port.to_bytes(2, "big"))
    answer = _exactly(near, 4)
    rest = {1: 4, 4: 16}.get(answer[3]) or _exactly(near, 1)[0]
    _exactly(near, rest + 2)
    return answer[1] == 0


def _exactly(near: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = near.recv(size - len(data))
        if not more:
            raise OSError("it closed the connection")
        data += more
    return data


class ViaSession(Session):
    """A session of five streams: host to proxy, proxy to child, child to proxy, proxy to host, and stderr.

    A socket is read under one number and written under another, so that each stream has its own two.
    """

    def __init__(self, child: Child, host: int, near: socket.socket, listener: socket.socket) -> None:
        super().__init__(child, host, None)
        self.listener = listener
        near.setblocking(False)
        fd = near.detach()
        self.input = Stream(0, os.dup(fd), "0i")
        self.back = Stream(fd, 1, "0o")
        self.to_child: Stream | None = None
        self.from_child: Stream | None = None
        self.outputs = [self.back, Stream(child.stderr, 2, "0e")]
        self.passed = {"0i": False, "0o": False, "0e": False}  # whether bytes went that way
        self.input_over = False  # the child was told
        self.output_over = False  # by the child
        self.broken = False  # the proxy left
        self.append = self._note

    def _note(self, lane: str, kind: str, _t: int, _data: bytes) -> None:
        if kind == DATA:
            self.passed[lane] = True

    def _begin(self) -> None:
        super()._begin()
        self.poll.register(self.listener.fileno(), select.POLLIN)

    def _other(self, fd: int, event: int) -> None:
        if fd == self.listener.fileno():
            self._accept()
        else:
            super()._other(fd, event)

    def _accept(self) -> None:
        """The proxy connects: from here on the child takes part."""
        far, peer = self.listener.accept()
        if not _same_user(peer[1]):
            far.close()
            return
        self.poll.unregister(self.listener.fileno())
        self.listener.close()
        far.setblocking(False)
        far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        fd = far.detach()
        self.from_child = Stream(self.child.stdout, os.dup(fd), "0o")
        self.outputs.insert(0, self.from_child)
        self._connect(self.from_child)
        self.to_child = Stream(fd, self.child.stdin, "0i")
        if not self.input_over:
            self._connect(self.to_child)

    def _end(self, stream: Stream, by: str, error: str = "") -> None:
        if stream.source not in self.sources:
            return
        super()._end(stream, by, error)
        if stream is self.from_child and by == stream.giver:
            self.output_over = True
        elif stream is self.input and not self.passed["0i"]:
            self._end_input(by)
        elif stream is self.to_child:
            self.input_over = True
            if error:
                super()._end(self.input, by, error)  # the server closed its input: so do we towards the host
            elif self.input.source in self.sources:
                self._left()
        elif stream is self.back and not self.output_over:
            self._left()

    def _end_input(self, by: str) -> None:
        """The host closed our input before any byte: told the short way, since the proxy would end everything."""
        self.input_over = True
        if self.to_child is not None:
            super()._end(self.to_child, by)
        else:
            os.close(self.child.stdin)

    def _left(self) -> None:
        if self.status < 0 and not self.broken:
            self.broken = True
            say("mrtrscope wrap: the proxy closed the session")

    def _close(self, stream: Stream) -> None:
        """Tell the other end of a socket that no more is written; it may still go on writing."""
        if stream is self.from_child or (stream is self.input and self.passed["0i"]):
            half = socket.socket(fileno=os.dup(stream.target))
            try:
                half.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            half.close()
        super()._close(stream)

    def _drain(self) -> None:
        """What the child said last may still be on its way, or in the hands of the person at the proxy."""
        self.outputs.remove(self.back)
        if self.from_child is None:  # the proxy never came for it
            del self.sources[self.back.source]
            self.poll.unregister(self.back.source)
            self.poll.unregister(1)
            self.outputs.append(Stream(self.child.stdout, 1, "0o"))
            self._connect(self.outputs[-1])
        super()._drain()
        if self.passed["0i"] or self.passed["0o"]:
            until = monotonic() + KILL_AFTER
            while self.back.source in self.sources and os.getppid() == self.host:
                self._carry(WATCH)
                if self.told_to_end and monotonic() > until:
                    break


def _same_user(port: int) -> bool:
    """Whether the loopback connection from this port is this user's own; anybody on the machine can connect to us."""
    if sys.platform != "linux":
        return True
    try:
        with open("/proc/net/tcp", encoding="ascii") as table:
            for line in table:
                fields = line.split()
                if fields[1] == f"0100007F:{port:04X}":
                    return int(fields[7]) == os.getuid()
    except (OSError, IndexError, ValueError):
        pass
    return True

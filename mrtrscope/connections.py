"""The relay's one event loop: connections from clients, each with one to the server, and what passes between them.

What a read brought goes to the other end first, then, with the time at which the read returned, into the journal. What
the other end does not take at once is offered again before more is read for it. An end of one direction is passed on as
such, a reset as a reset; where one end takes no more, what it said before is still passed on.

`epoll` itself, and reads and writes by number: a thread for each direction took 121 ms at p99 with 64 clients.
"""

import os
import select
import signal
import socket
import struct
import sys
from errno import EINPROGRESS
from time import monotonic_ns

from mrtrscope.frames import DATA, END, OPEN
from mrtrscope.parts import to_json
from mrtrscope.recorder import Journal
from mrtrscope.told import Notices
from mrtrscope.where import say

READ = 1 << 16
IN, OUT, ERROR = select.POLLIN, select.POLLOUT, select.POLLERR | select.POLLHUP
ABORT = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

type Address = tuple[str, int]
type Found = tuple[int, tuple[Any, ...]]


def written(address: tuple[object, ...]) -> str:
    """HOST:PORT of a socket's address."""
    host, port = address[:2]
    return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"


class Side:
    """One end of a connection: the client's or the server's.

    lane   on which is kept what is read here       mask    what the loop waits for, -1: nothing at all
    left   what this end did not take yet           ended   it has said all that we are going to read
    """

    __slots__ = ("ended", "fd", "lane", "left", "mask", "name", "other", "sock")

    def __init__(self, sock: socket.socket, name: str, lane: str) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        self.name = name
        self.lane = lane
        self.mask = -1
        self.left = memoryview(b"")
        self.ended = False
        self.other: Side = self


class Relay:
    """All connections between one listening port and one target."""

    def __init__(
        self,
        listener: socket.socket,
        target: Address,
        found: list[Found],
        journal: Journal,
        notices: Notices,
    ) -> None:
        self.listener = listener
        self.upstream = written(target)
        self.found = found
        self.journal = journal
        self.append = journal.append
        self.sides: dict[int, Side] = {}
        self.joining: dict[int, int] = {}  # servers that are not connected yet -> which address is tried
        self.closing: list[socket.socket] = []
        self.number = 0
        self.stopped = False
        self.notices = notices
        self.away = 0  # clients that were turned away
        self.full = False  # no more connections until one ends
        self.waiting: list[Side] = []  # clients for whose server there was no file left
        self.poll = select.epoll() if sys.platform == "linux" else select.poll()

    def run(self) -> None:
        """Until a signal says to stop."""
        self.listener.setblocking(False)
        self.poll.register(self.listener.fileno(), IN)
        self._take_signals()
        self._carry()
        for side in list(self.sides.values()):
            if side.fd in self.sides:
                self._abort(side, "us", "the relay was stopped")

    def _carry(self) -> None:
        """Wait, and do what there is to do, again and again."""
        sides, wait, read, write, append = self.sides, self.poll.poll, os.read, os.write, self.append
        while not self.stopped:
            for fd, event in wait():
                side = sides.get(fd)
                if side is None or event != IN:
                    self._rare(fd, event, side)
                    continue
                try:
                    chunk = read(fd, READ)
                except OSError as e:
                    self._unread(side, e)
                    continue
                now = monotonic_ns()
                if not chunk:
                    self._ended(side, now)
                    continue
                try:
                    done = write(side.other.fd, chunk)
                except OSError as e:
                    append(side.lane, DATA, now, chunk)
                    self._unwritten(side.other, chunk, e)
                    continue
                append(side.lane, DATA, now, chunk)
                if done != len(chunk):
                    self._hold(side.other, memoryview(chunk)[done:])
            if self.closing:
                self._let_go()

    def _unread(self, side: Side, error: OSError) -> None:
        if not isinstance(error, BlockingIOError):
            self._abort(side, side.name, text_of(error))

    def _unwritten(self, side: Side, chunk: bytes, error: OSError) -> None:
        if isinstance(error, BlockingIOError):
            self._hold(side, memoryview(chunk))
        else:
            self._refuses(side, text_of(error))

    def _hold(self, side: Side, left: memoryview) -> None:
        """An end is full: it is offered the rest when it takes bytes again, before more is read for it."""
        side.left = left
        self._wait(side.other, side.other.mask & ~IN)
        self._wait(side, max(side.mask, 0) | OUT)

    def _rare(self, fd: int, event: int, side: Side | None) -> None:
        """What does not come with every message: a client, a signal, an end that takes bytes again or is broken."""
        if side is None:
            if fd == self.listener.fileno():
                self._accept()
            elif fd == self.woken:
                os.read(fd, 512)
            return
        if fd in self.joining:
            self._joined(side)
            return
        if event & OUT and side.left:
            self._offer(side)
        if side.fd not in self.sides or side.mask < 0:
            return
        if side.mask & IN:
            if event & (IN | ERROR):
                self._read(side)
        elif event & ERROR and side.ended:
            error = side.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self._abort(side, side.name, os.strerror(error) if error else "closed")
        elif event & ERROR:
            self.poll.unregister(
                side.fd
            )  # seen when we come to read it; until then it would not let us sleep
            side.mask = -1

    def _read(self, side: Side) -> None:
        """The same as in `_carry`, for an end that has other news as well."""
        try:
            chunk = os.read(side.fd, READ)
        except OSError as e:
            self._unread(side, e)
            return
        now = monotonic_ns()
        if not chunk:
            self._ended(side, now)
            return
        try:
            done = os.write(side.other.fd, chunk)
        except OSError as e:
            self.append(side.lane, DATA, now, chunk)
            self._unwritten(side.other, chunk, e)
            return
        self.append(side.lane, DATA, now, chunk)
        if done != len(chunk):
            self._hold(side.other, memoryview(chunk)[done:])

    def _offer(self, side: Side) -> None:
        """Offer once more what an end did not take."""
        try:
            side.left = side.left[os.write(side.fd, side.left) :]
        except BlockingIOError:
            return
        except OSError as e:
            self._refuses(side, text_of(e))
            return
        if side.left:
            return
        other = side.other
        self._wait(side, side.mask & ~OUT)
        if other.ended:
            self._say_end(side)
        else:
            self._wait(other, max(other.mask, 0) | IN)

    def _wait(self, side: Side, mask: int) -> None:
        if side.mask < 0:
            self.poll.register(side.fd, mask)
        else:
            self.poll.modify(side.fd, mask)
        side.mask = mask

    def _ended(self, side: Side, now: int) -> None:
        """An end says no more, in good order."""
        side.ended = True
        self._keep(side.lane, END, {"by": side.name}, now)
        self._wait(side, side.mask & ~IN)
        if not side.other.left:
            self._say_end(side.other)

    def _say_end(self, side: Side) -> None:
        """Tell one end that the other says no more; both having ended, forget them."""
        if side.ended and not side.left and not side.other.left:
            self._close(side, abort=False)
            return
        try:
            side.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # broken: seen when we read it

    def _refuses(self, side: Side, error: str) -> None:
        """An end takes no more. It may have said why: that is still read, what the other says is not."""
        side.left = memoryview(b"")
        other = side.other
        if not other.ended:
            other.ended = True
            self._keep(other.lane, END, {"by": side.name, "error": error}, monotonic_ns())
        if other.mask >= 0:
            self._wait(other, other.mask & ~IN)
        if side.ended:
            self._close(side, abort=True)
        else:
            self._wait(side, IN)

    def _abort(self, side: Side, by: str, error: str) -> None:
        """A connection was reset, or is: both ends are told by the same means."""
        now = monotonic_ns()
        for one in (side, side.other):
            if not one.ended:
                self._keep(one.lane, END, {"by": by, "error": error}, now)
        self._close(side, abort=True)

    def _close(self, side: Side, abort: bool) -> None:
        for one in (side, side.other):
            if abort:
                one.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            self.joining.pop(one.fd, None)
            self._forget(one)
        side.other.other = side.other  # no circle for the garbage collector to find
        side.other = side

    def _let_go(self) -> None:
        """Close what ended in this turn; there is room again for who had to wait."""
        for sock in self.closing:
            sock.close()
        self.closing.clear()
        if self.full:
            self.full = False
            self.poll.register(self.listener.fileno(), IN)
            waiting, self.waiting = self.waiting, []
            for client in waiting:
                self._call(client, 0)

    def _forget(self, side: Side) -> None:
        """Close when the turn is over: before, its number would be given to another, for which events are not meant."""
        del self.sides[side.fd]
        if side.mask >= 0:
            self.poll.unregister(side.fd)
            side.mask = -1
        self.closing.append(side.sock)

    def _keep(self, lane: str, kind: str, value: "Mapping[str, object]", now: int) -> None:
        self.append(lane, kind, now, to_json(value).encode())

    def _accept(self) -> None:
        """Take the clients that wait, and call the server for each."""
        while True:
            try:
                sock, address = self.listener.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue
            except OSError as e:
                self._no_room(e)
                return
            self._open(sock, address)

    def _no_room(self, error: OSError) -> None:
        """No file is left: take nobody until somebody leaves."""
        if not self.full and self.sides:
            say(
                f"mrtrscope relay: cannot take more connections now: {text_of(error)} (ulimit -n allows more)"
            )
            self.full = True
            self.poll.unregister(self.listener.fileno())

    def _open(self, sock: socket.socket, address: tuple[object, ...]) -> None:
        now = monotonic_ns()
        self.number += 1
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = Side(sock, "client", f"{self.number}c")
        opened = {"client": written(address), "upstream": f"http://{self.upstream}"}
        self._keep(client.lane, OPEN, opened, now)
        self._call(client, 0)

    def _call(self, client: Side, which: int) -> None:
        """Connect to the target's addresses, one after the other."""
        error = "no address"
        while which < len(self.found):
            family, address = self.found[which]
            try:
                sock = socket.socket(family, socket.SOCK_STREAM)
            except OSError as e:
                self._no_room(e)
                if self.full:
                    self.waiting.append(client)
                    return
                error = text_of(e)
                break
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            failed = sock.connect_ex(address)
            if failed in (0, EINPROGRESS):
                server = Side(sock, "server", client.lane[:-1] + "s")
                server.other, client.other = client, server
                self.sides[client.fd], self.sides[server.fd] = client, server
                self.joining[server.fd] = which
                self._wait(server, OUT)
                return
            sock.close()
            error = os.strerror(failed)
            which += 1
        self._unreachable(client, error)

    def _joined(self, server: Side) -> None:
        """The server answered our call, one way or the other."""
        which, client = self.joining.pop(server.fd), server.other
        failed = server.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if not failed:
            self._wait(server, IN)
            self._wait(client, IN)
            return
        self._forget(server)
        del self.sides[client.fd]
        if which + 1 < len(self.found):
            self._call(client, which + 1)
        else:
            self._unreachable(client, os.strerror(failed))

    def _unreachable(self, client: Side, error: str) -> None:
        """Nobody is there: the client is cut off, as it would be without us; what it asked is kept."""
        text = f"cannot connect to {self.upstream}: {error}"
        self.away += 1
        self.notices.refused(self.upstream, error)
        now = monotonic_ns()
        try:
            if asked := os.read(client.fd, READ):
                self.append(client.lane, DATA, now, asked)
        except OSError:
            pass
        self._keep(client.lane, END, {"by": "us", "error": text}, now)
        self._keep(client.lane[:-1] + "s", END, {"by": "us", "error": text}, now)
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
        client.sock.close()

    def _take_signals(self) -> None:
        self.woken, wake = os.pipe()
        os.set_blocking(self.woken, False)
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.poll.register(self.woken, IN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._stop)

    def _stop(self, _number: int, _frame: object) -> None:
        self.stopped = True


def text_of(error: OSError) -> str:
    return error.strerror or type(error).__name__

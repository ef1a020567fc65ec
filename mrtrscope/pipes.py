"""What `wrap` does while the server runs: passes its three streams on, then keeps them.

One loop waits for the three streams and does nothing but read, pass on, append: the peer gets what one read brought
before it is recorded, byte for byte and whether or not a line is complete. What the peer does not take at once is
recorded, then offered again before more is read, so that a slow reader holds its writer as a pipe would. (One loop
because it costs less than threads: a wake-up finds one warm thread, and 4 microseconds of a round trip's 18 go.)

Of the processes:

    the host closes our input       the child's input is closed; nothing else, it may still have much to say
    the host closes our output      the child's is closed too, so that its next write fails as it would without us
    the child closes its input      so is ours, for the same reason
    the host ends                   a second later at most the child's input is closed, after `GRACE` it is terminated,
                                    after as much again killed
    we are sent a signal            so is the child; after SIGTERM it is killed if it is still there after `KILL_AFTER`
    we are killed                   the kernel kills the child (Linux), or its input ends (elsewhere)
    the child ends                  what is in its pipes is passed on, then we end with its exit code, or with
                                    128 + n when signal n ended it; a signal that we were sent as well ends us too

Times are taken when a read returns, before passing on: with times taken behind it, answers stand before requests.

Standard library only, and of that what loads fast.
"""

import _signal  # type: ignore[import-not-found]
import os
import select
import stat
from _thread import get_ident, start_new_thread
from time import monotonic, monotonic_ns

from mrtrscope.child import Child
from mrtrscope.frames import DATA, END, EXIT, OPEN
from mrtrscope.parts import to_json
from mrtrscope.recorder import Journal
from mrtrscope.where import capture_dir, say

TYPE_CHECKING = False  # as type checkers know it; `typing` takes longer to load than all the rest
if TYPE_CHECKING:
    from collections.abc import Callable

GRACE = 2.0  # seconds between closing the child's input, SIGTERM and SIGKILL, when the host is gone
KILL_AFTER = 5.0  # seconds from a SIGTERM that we were sent to SIGKILL, and of a child's last words
LINGER = 0.25  # seconds of silence after which the pipes of an ended child are left to its own children
WATCH = 1.0  # seconds between two looks whether the host is still there
READ = 1 << 16

_PASSED_ON = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGWINCH")
_FROM_KERNEL = 128  # si_code of a signal that no process sent
_ENDING = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)
_KEYS = (_signal.SIGINT, _signal.SIGQUIT)


class Stream:
    """One of the three, from its source to its target."""

    __slots__ = ("giver", "lane", "left", "source", "taker", "target")

    def __init__(self, source: int, target: int, lane: str) -> None:
        self.source = source
        self.target = target
        self.lane = lane
        self.left = memoryview(b"")  # what the target did not take yet
        self.giver, self.taker = ("client", "server") if lane == "0i" else ("server", "client")


class Session:
    """One child from its start to its end."""

    def __init__(self, child: Child, host: int, journal: Journal | None) -> None:
        self.child = child
        self.append: Callable[[str, str, int, bytes], None] = journal.append if journal else _forget
        self.host = host  # its process id
        self.sent = 0  # the signal that we were sent last
        self.sent_at = 0
        self.by = ""  # who sent it, see `frames`
        self.told_to_end = False
        self.status = -1  # of the child, when it has ended
        self.kill_at = 0.0
        self.orphan_since = 0.0
        self.terminated = False
        self.sources: dict[int, Stream] = {}
        self.targets: dict[int, Stream] = {}
        self.poll = select.poll()
        self.woken = -1
        self.changed = False  # a stream ended or a signal came
        self.restore: list[int] = []
        self.input = Stream(0, child.stdin, "0i")
        self.outputs = [Stream(child.stdout, 1, "0o"), Stream(child.stderr, 2, "0e")]

    def keep(self, lane: str, kind: str, value: dict[str, object]) -> None:
        """Record a remark about a lane."""
        self.append(lane, kind, monotonic_ns(), to_json(value).encode())

    def run(self) -> int:
        """Until the child has ended and what it said is passed on; its wait status."""
        self._take_signals()
        self.keep("0i", OPEN, {"pid": self.child.pid})
        os.set_blocking(self.child.stdin, False)
        for fd in (1, 2):
            self._unblock(fd)
        self._begin()
        self._look_after()
        while self.status < 0:
            self._carry(WATCH)
            self._look_after()
        self._drain()
        for fd in self.restore:
            os.set_blocking(fd, True)
        return self.status

    def _begin(self) -> None:
        for stream in (self.input, *self.outputs):
            self._connect(stream)

    def _connect(self, stream: Stream) -> None:
        self.sources[stream.source] = self.targets[stream.target] = stream
        self.poll.register(stream.source, select.POLLIN)
        self.poll.register(stream.target, 0)  # tells when it is closed at the other end

    def _carry(self, seconds: float) -> bool:
        """Read, pass on, keep: for so many seconds, or until a stream or process ends; whether anything came."""
        sources, append, read, write, wait = self.sources, self.append, os.read, os.write, self.poll.poll
        until = monotonic_ns() + int(seconds * 1e9)
        now, came, timeout, self.changed = 0, False, seconds * 1000, False
        while not self.changed and now < until:
            ready = wait(timeout)
            if not ready:
                break
            came = True
            for fd, event in ready:
                stream = sources.get(fd)
                if stream is None:
                    self._other(fd, event)
                    continue
                try:
                    chunk = read(fd, READ)
                except BlockingIOError:
                    continue
                except OSError as e:
                    self._end(stream, stream.giver, _text(e))
                    continue
                if not chunk:
                    self._end(stream, stream.giver)
                    continue
                now = monotonic_ns()
                error = ""
                try:
                    done = write(stream.target, chunk)
                except BlockingIOError:
                    done = 0
                except OSError as e:
                    done, error = len(chunk), _text(e)
                append(stream.lane, DATA, now, chunk)
                if done != len(chunk):
                    self._hold(stream, memoryview(chunk)[done:])
                elif error:
                    self._end(stream, stream.taker, error)
        return came

    def _hold(self, stream: Stream, left: memoryview) -> None:
        """The target is full: read no more until it took the rest, not even that the source ended."""
        stream.left = left
        self.poll.unregister(stream.source)
        self.poll.modify(stream.target, select.POLLOUT)

    def _other(self, fd: int, event: int) -> None:
        """A target can take more, or is closed; or a signal came."""
        stream = self.targets.get(fd)
        if stream is None:
            if fd == self.woken:
                os.read(fd, 512)
                self.changed = True
            return
        if event & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
            self._end(stream, stream.taker, "closed")
            return
        try:
            stream.left = stream.left[os.write(fd, stream.left) :]
        except BlockingIOError:
            pass
        except OSError as e:
            self._end(stream, stream.taker, _text(e))
            return
        if not stream.left:
            self.poll.register(stream.source, select.POLLIN)
            self.poll.modify(stream.target, 0)

    def _end(self, stream: Stream, by: str, error: str = "") -> None:
        """The end of one stream, whichever side ended it: the other side is told by the same means."""
        if self.sources.pop(stream.source, None) is None:
            return
        del self.targets[stream.target]
        self.changed = True
        for fd in (stream.source, stream.target):
            try:
                self.poll.unregister(fd)
            except KeyError:
                pass  # the source of a full target
        self._close(stream)
        stream.left = memoryview(b"")
        self.keep(stream.lane, END, {"by": by, "error": error} if error else {"by": by})

    def _close(self, stream: Stream) -> None:
        _let_go(stream.source)
        _let_go(stream.target)

    def _unblock(self, fd: int) -> None:
        """Make writing to the host return instead of waiting, without its noticing.

        Whether writing waits belongs to the open file, which others may share, a terminal with the shell: so it is
        opened once more for us. A socket cannot be, but its end is ours alone. A file must not be, since its place
        belongs to the open file too; nor does it make anyone wait.
        """
        kind = stat.S_IFMT(os.fstat(fd).st_mode)
        if kind not in (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK):
            return
        try:
            again = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            if os.get_blocking(fd):
                self.restore.append(fd)
                os.set_blocking(fd, False)
            return
        os.dup2(again, fd, inheritable=False)
        os.close(again)

    def _take_signals(self) -> None:
        self.woken, wake = os.pipe()
        os.set_blocking(self.woken, False)
        os.set_blocking(wake, False)
        _signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.poll.register(self.woken, select.POLLIN)
        heeded = {
            n
            for n in (getattr(_signal, name) for name in _PASSED_ON)
            if _signal.getsignal(n) != _signal.SIG_IGN
        }
        watched = heeded & set(_ENDING) if hasattr(_signal, "sigwaitinfo") else set()
        if watched:
            _signal.pthread_sigmask(_signal.SIG_BLOCK, watched)
            start_new_thread(self._watch, (watched, wake))
        for number in heeded - watched:
            _signal.signal(number, self._pass_on)
        _signal.signal(_signal.SIGCHLD, _noted)

    def _watch(self, numbers: set[int], wake: int) -> None:
        """Pass on what was sent to us alone; only so is it known who sent it. What a key of the terminal sent went to
        all its foreground processes, and the child is one of these: it must not get it twice."""
        while True:
            told = _signal.sigwaitinfo(numbers)
            kernel = told.si_code == _FROM_KERNEL
            self.by = "terminal" if kernel else "client" if told.si_pid == self.host else "other"
            if kernel and told.si_signo in _KEYS:
                self.sent, self.sent_at, self.told_to_end = told.si_signo, monotonic_ns(), True
            else:
                self._pass_on(told.si_signo, None)
            os.write(wake, b"k")

    def _pass_on(self, number: int, _frame: object) -> None:
        self.sent, self.sent_at = number, monotonic_ns()
        self.told_to_end = self.told_to_end or number in _ENDING
        self._kill(number)
        if number == _signal.SIGTERM and not self.kill_at:
            self.kill_at = monotonic() + KILL_AFTER

    def ended(self) -> dict[str, object]:
        """How the child ended, and which signal we were sent before."""
        gone: dict[str, object] = (
            {"signal": os.WTERMSIG(self.status)}
            if os.WIFSIGNALED(self.status)
            else {"code": os.WEXITSTATUS(self.status)}
        )
        if self.sent in _ENDING:
            gone |= {"sent": int(self.sent), "ago": (monotonic_ns() - self.sent_at) // 1000}
            if self.by:
                gone["by"] = self.by
        return gone

    def _kill(self, number: int) -> None:
        try:
            if self.status < 0:
                os.kill(self.child.pid, number)
        except OSError:
            pass

    def _look_after(self) -> None:
        """The processes: a child that ended, a host that is gone, a grace that is over."""
        now = monotonic()
        try:
            pid, status = os.waitpid(self.child.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self.child.pid, 0  # somebody else was told
        if pid:
            self.status = status
        elif self.kill_at and now >= self.kill_at:
            self._kill(_signal.SIGKILL)
        elif not self.orphan_since:
            if os.getppid() != self.host:
                self.orphan_since = now
                self._end(self.input, "client", "the host is gone")
        elif not self.terminated and now >= self.orphan_since + GRACE:
            self.terminated = True
            self._kill(_signal.SIGTERM)
            self.kill_at = self.kill_at or now + GRACE

    def _drain(self) -> None:
        """Pass on what an ended child left in its pipes; what its own children still hold open is not waited for."""
        self._end(self.input, "server", "the process ended")
        until = monotonic() + KILL_AFTER
        while any(stream.source in self.sources for stream in self.outputs):
            came = self._carry(LINGER)
            over = monotonic() > until
            waits = any(stream.left for stream in self.outputs) and os.getppid() == self.host
            # A host that is slow to read is waited for; one that told us to end may not read at all any more.
            if (over and (not waits or self.told_to_end)) or not (came or waits):
                break
        for stream in self.outputs:
            self._end(stream, "us", "the process ended, its pipe did not")


def _let_go(fd: int) -> None:
    """Close our end of a stream. The numbers 0 and 1 stay taken, so that nothing is opened under them; our stderr is
    ours too, and stays."""
    try:
        if fd > 2:
            os.close(fd)
        elif fd < 2:
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            os.dup2(null, fd)
            os.close(null)
    except OSError:
        pass


def _noted(_number: int, _frame: object) -> None:
    """A handler, so that the signal wakes the loop."""


def _text(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _forget(_lane: str, _kind: str, _t: int, _data: bytes) -> None:
    """Stands for a journal that could not be made."""


def open_journal(capture: str | None, name: str, max_size: int | None) -> Journal | None:
    """The journal, or None and a line on stderr: a server that cannot be recorded still serves."""
    folder = capture_dir(capture)
    try:
        return Journal.create(folder, "wrap", name, max_size=max_size)
    except OSError as e:
        say(
            f"mrtrscope wrap: cannot record to {folder}: {e.strerror}; traffic is passed on unrecorded: "
            "put that right, or name another folder with --capture, and start the server anew"
        )
        return None


def carry(child: Child, host: int, journal: Journal | None) -> int:
    """Between the host, whose process id is given, and the child until it ends; the exit code."""
    session = Session(child, host, journal)
    status = session.run()
    session.keep("0z", EXIT, session.ended())
    if journal is not None:
        journal.close()
        if journal.lost_frames:
            from mrtrscope.told import why_not

            folder = os.path.dirname(os.path.dirname(journal.path))
            say(
                f"mrtrscope wrap: {journal.lost_frames:,} records with {journal.lost_bytes:,} bytes were passed on and "
                f"could not be kept: {why_not(folder, journal.why)}; where they belong, {journal.path} has gaps"
            )
    return end_like(status, session.sent)


def end_like(status: int, sent: int) -> int:
    """The exit code that says how the child ended. A signal that ended it, and was sent to us, ends us as well."""
    if not os.WIFSIGNALED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    if number == sent:
        _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {number})
        _signal.pthread_kill(get_ident(), number)
    return 128 + number

"""Starts a process whose three standard streams are pipes that we hold, and says why when it cannot.

Without `subprocess`, which takes longer to import than a wrapped server may take longer to start.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys
from errno import ENOENT, ENOTDIR

_RESTORED = ("SIGPIPE", "SIGXFSZ")  # Python ignores them, and what is ignored stays so in a new program
_PR_SET_PDEATHSIG = 1


class CannotStart(Exception):
    """`code` is what a shell would exit with."""

    def __init__(self, command: str, number: int) -> None:
        self.code = 127 if number in (ENOENT, ENOTDIR) else 126
        super().__init__(
            f"{command}: command not found"
            if number == ENOENT
            else f"{command}: cannot be started: {os.strerror(number)}"
        )


class Child:
    """A running process and our ends of its pipes."""

    __slots__ = ("pid", "stderr", "stdin", "stdout")

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr


def start(command: list[str]) -> Child:
    """Run a command; CannotStart when there is none of that name, or it cannot be run.

    It stays in our process group and session, as it would be in its host's. On Linux the kernel ends it when we are
    killed: a host that kills us means it.
    """
    ours = os.getpid()
    _fill_low_numbers()
    stdin, to_child = os.pipe()
    from_child, stdout = os.pipe()
    from_child_err, stderr = os.pipe()
    said, say = os.pipe()
    prctl = _die_with_parent()
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # ignored, its exit code would be lost
    pid = os.fork()
    if pid == 0:
        try:
            if prctl:
                _die_with(prctl, ours)
            for name in _RESTORED:
                _signal.signal(getattr(_signal, name), _signal.SIG_DFL)
            for number, fd in enumerate((stdin, stdout, stderr)):
                os.dup2(fd, number)  # the copy is inherited, all else closes at exec
            os.write(say, str(_become(command)).encode())
        finally:
            os._exit(127)
    for fd in (stdin, stdout, stderr, say):
        os.close(fd)
    failed = os.read(said, 16)
    os.close(said)
    if failed:
        for fd in (to_child, from_child, from_child_err):
            os.close(fd)
        os.waitpid(pid, 0)
        raise CannotStart(command[0], int(failed))
    return Child(pid, to_child, from_child, from_child_err)


def _fill_low_numbers() -> None:
    """A host may start us with a stream closed; a pipe of ours must not get its number."""
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this


def _become(command: list[str]) -> int:
    """Replace this process; the error number when that fails. Like os.execvp, which imports `warnings` on its way."""
    name, error = command[0], ENOENT
    folders = [""] if "/" in name else os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        try:
            os.execv(os.path.join(folder, name), command)
        except OSError as e:
            if e.errno not in (ENOENT, ENOTDIR) or len(folders) == 1:
                error = e.errno or error
    return error


def _die_with_parent() -> int:
    """Where the C library has `prctl`, which can make the kernel kill a process when its parent ends; 0 elsewhere.

    `_ctypes` loads in a fifth of the time of `ctypes`; it is loaded before the fork, since after it time counts twice.
    """
    if sys.platform != "linux":
        return 0
    try:
        import _ctypes

        return int(_ctypes.dlsym(_ctypes.dlopen(None, os.RTLD_NOW), "prctl"))  # type: ignore[arg-type]
    except (ImportError, OSError, AttributeError):
        return 0


def _die_with(address: int, parent: int) -> None:
    """In the new process: end when that parent does, which it may have done already."""
    import _ctypes

    _ctypes.call_function(address, (_PR_SET_PDEATHSIG, int(_signal.SIGKILL), 0, 0, 0))
    if os.getppid() != parent:
        os._exit(127)

"""Where the rows of a capture are, and the lock that its one analyser holds.

A capture folder has its rows inside, in `scope.db`. A file (a journal by itself, a transcript, a flow file) may be
read-only and may lie in a folder that is none of ours: its rows are in the cache, under a name made of its path, and so
are those of a folder that cannot be written to. Where the cache cannot be written to either, they are in a temporary
folder, which goes with the process.

The holder of the lock writes into the lock file how far it is: "everything written before this monotonic nanosecond is
in the rows". Those who wait for it need not wait until a live analyser ends.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from mrtrscope.store.connect import ENDINGS

DATABASE, LOCK = "scope.db", "analysis.lock"
NOT_HERE = (
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOSPC,
    errno.EDQUOT,
)  # no right to write, or no room
FORGET_AFTER = 30 * 86_400  # seconds after which rows in the cache that nobody asked for are removed


class NoPlace(Exception):
    """Rows can be written nowhere, or something in their place cannot be removed; the text says what to do."""


class Place:
    """folder   where database and lock are      inside   whether that is the capture folder itself"""

    def __init__(self, capture: Path) -> None:
        self.capture = capture
        self.inside = (capture / "journals").is_dir() and os.access(capture, os.W_OK)
        self.folder = capture if self.inside else _elsewhere(capture)

    @property
    def database(self) -> Path:
        return self.folder / DATABASE

    @property
    def lock(self) -> Path:
        return self.folder / LOCK

    def make(self, say: Callable[[str], None] = lambda text: None) -> None:
        """See that rows can be written, if need be elsewhere; NoPlace when they cannot.

        In the cache: make the folder, and look for others that nobody needs any more.
        """
        if self.inside and not self._takes(say):
            self.inside, self.folder = False, _elsewhere(self.capture)
        if self.inside:
            return
        try:
            if not self.folder.is_dir():
                self.folder.mkdir(0o700, parents=True, exist_ok=True)
                _forget(self.folder.parent)
            else:
                os.utime(self.folder)
            usable = self._takes(say)
        except OSError:
            usable = False
        if not usable:
            self.folder = _temporary(self.capture, say)
            self._takes(say)

    def _takes(self, say: Callable[[str], None]) -> bool:
        """Whether the folder takes database and lock. What is in their place and is no file is removed: a capture may
        come from somebody else, and SQLite would follow a link."""
        for path in self.files():
            try:
                mode = path.lstat().st_mode
            except OSError:
                continue
            if stat.S_ISDIR(mode):
                raise NoPlace(f"{path}: a folder, where a file of mine belongs; move it away")
            if not stat.S_ISREG(mode):
                try:
                    path.unlink()
                except OSError:
                    return False
                say(f"{path}: was no file, and was removed; it is made anew.")
        try:
            for path in (self.lock, self.database):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        except OSError as error:
            if error.errno not in NOT_HERE:
                raise
            return False
        return True

    def files(self) -> Iterator[Path]:
        """All that may be there of a database, and the lock."""
        for name in (LOCK, DATABASE, *(DATABASE + ending for ending in ENDINGS)):
            yield self.folder / name


_made: dict[str, Path] = {}  # capture -> its temporary folder


def _elsewhere(capture: Path) -> Path:
    """The folder for a capture that cannot have its rows inside."""
    return _made.get(_name(capture)) or cache() / _name(capture)


def _temporary(capture: Path, say: Callable[[str], None]) -> Path:
    """A folder that goes with this process; NoPlace when there is no room for one."""
    import atexit
    import shutil
    import tempfile

    try:
        made = Path(tempfile.mkdtemp(prefix="mrtrscope-"))
    except OSError as error:
        raise NoPlace(
            f"{capture}: neither it, nor {cache()}, nor a temporary folder can be written to ({error.strerror}); "
            "set TMPDIR or XDG_CACHE_HOME to a folder that can"
        ) from error
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    _made[_name(capture)] = made
    say(f"{cache()} cannot be written to: what is worked out of {capture} is not kept for the next time.")
    return made


def cache() -> Path:
    """$XDG_CACHE_HOME/mrtrscope (~/.cache/mrtrscope)."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given)
    if not base.is_absolute():
        try:
            base = Path.home() / ".cache"
        except RuntimeError:  # nobody's home is known, as in a container: what "/" says of writing is told
            base = Path("/.cache")
    return base / "mrtrscope"


def _name(capture: Path) -> str:
    return hashlib.blake2b(os.fsencode(os.path.realpath(capture)), digest_size=16).hexdigest()


def _forget(root: Path) -> None:
    """Remove rows of the cache that were not asked for lately; only files of our own names."""
    for folder in root.iterdir():
        try:
            if len(folder.name) == 32 and time.time() - folder.stat().st_mtime > FORGET_AFTER:
                for name in (DATABASE, *(DATABASE + ending for ending in ENDINGS), LOCK):
                    (folder / name).unlink(missing_ok=True)
                folder.rmdir()
        except OSError:
            continue  # somebody else's, or in use: it costs nothing to leave it


class Lock:
    """An exclusive lock on a file; gone when its holder is, however that ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self.held = False

    def take(self) -> bool:
        """Try to become the holder."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.held = True
        self.tell(0)
        return True

    def tell(self, covered: int) -> None:
        """Say as the holder that all that was written before this monotonic nanosecond is in the rows."""
        os.pwrite(self._fd, b"%10d %20d\n" % (os.getpid(), covered), 0)

    def holder(self) -> tuple[int, int]:
        """Process id of the holder and how far it is; zeros when that cannot be told."""
        try:
            pid, covered = os.pread(self._fd, 64, 0).split()
            return int(pid), int(covered)
        except ValueError:
            return 0, 0

    def close(self) -> None:
        """Let go of it."""
        os.close(self._fd)

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

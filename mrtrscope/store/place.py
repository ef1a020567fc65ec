"""Where the rows of a capture are, and the lock that its one analyser holds.

A capture folder has its rows inside, in `scope.db`. A file (a journal by itself, a transcript, a flow file) may be
read-only and may lie in a folder that is none of ours: its rows are in the cache, under a name made of its path, and so
are those of a folder that cannot be written to.

The holder of the lock writes into the lock file how far it is: "everything written before this monotonic nanosecond is
in the rows". Those who wait for it need not wait until a live analyser ends.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from pathlib import Path
from types import TracebackType

DATABASE, LOCK = "scope.db", "analysis.lock"
FORGET_AFTER = 30 * 86_400  # seconds after which rows in the cache that nobody asked for are removed


class Place:
    """folder   where database and lock are      inside   whether that is the capture folder itself"""

    def __init__(self, capture: Path) -> None:
        self.capture = capture
        self.inside = (capture / "journals").is_dir() and os.access(capture, os.W_OK)
        self.folder = capture if self.inside else cache() / _name(capture)

    @property
    def database(self) -> Path:
        return self.folder / DATABASE

    @property
    def lock(self) -> Path:
        return self.folder / LOCK

    def make(self) -> None:
        """Make the folder in the cache, and look for others that nobody needs any more."""
        if not self.inside and not self.folder.is_dir():
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            _forget(self.folder.parent)
        elif not self.inside:
            os.utime(self.folder)


def cache() -> Path:
    """$XDG_CACHE_HOME/mrtrscope (~/.cache/mrtrscope)."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return base / "mrtrscope"


def _name(capture: Path) -> str:
    return hashlib.blake2b(os.fsencode(os.path.realpath(capture)), digest_size=16).hexdigest()


def _forget(root: Path) -> None:
    """Remove rows of the cache that were not asked for lately; only files of our own names."""
    for folder in root.iterdir():
        try:
            if len(folder.name) == 32 and time.time() - folder.stat().st_mtime > FORGET_AFTER:
                for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK):
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

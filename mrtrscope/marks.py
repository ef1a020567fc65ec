"""What a reading leaves behind of each file of a capture, so that the next one sees whether it is still that file.

Journals only ever grow. One that is shorter than what was read of it, or begins otherwise, or has other bytes before
the place where reading stopped, is another file of the same name: what was made of it is made anew.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from mrtrscope.journal import open_regular
from mrtrscope.timeline import Timeline

WINDOW = 4096  # bytes at either end of what was read; the first line of a journal is no longer than that


class Marks:
    """The marks of one capture; a file that did not grow is not looked at again."""

    def __init__(self) -> None:
        self._known: dict[str, list[Any]] = {}

    def of(self, timeline: Timeline) -> dict[str, list[Any]]:
        """File name -> bytes read, size, time of change, digest."""
        found = {}
        for path, read in ((Path(file), read) for file, read in timeline.read_files()):
            name = path.name
            try:
                seen = path.stat()
                known = self._known.get(name)
                if known is None or known[:3] != [read, seen.st_size, seen.st_mtime_ns]:
                    known = [read, seen.st_size, seen.st_mtime_ns, _digest(path, read)]
                found[name] = self._known[name] = known
            except OSError:
                continue  # gone meanwhile; the next look says so
        return found


def changed(folder: Path, marks: dict[str, list[Any]]) -> str:
    """Which files are not what they were, in words; "" when all are."""
    gone, other = [], []
    for name, (read, size, mtime, digest) in sorted(marks.items()):
        path = folder / Path(name).name
        try:
            now = path.stat()
            touched = now.st_size == size and now.st_mtime_ns != mtime
            if now.st_size < read or touched or _digest(path, read) != digest:
                other.append(name)
        except OSError:
            gone.append(name)
    return "; ".join(filter(None, [_said(other, "changed"), _said(gone, "gone")]))


def _said(names: list[str], what: str) -> str:
    if not names:
        return ""
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more} {'is' if len(names) == 1 else 'are'} {what}"


def _digest(path: Path, read: int) -> str:
    """Of both ends of the first `read` bytes."""
    fd = open_regular(str(path))
    try:
        size = min(read, WINDOW)
        ends = os.pread(fd, size, 0) + os.pread(fd, size, read - size)
    finally:
        os.close(fd)
    return hashlib.blake2b(ends, digest_size=16).hexdigest()

"""Files that are there when they are whole: written beside their place, and moved there at the end.

Whatever ends a command in the middle, nobody takes the half of a file for all of it. A link is followed. What is no
ordinary file (a pipe, a device, `/dev/stdout`) is written as it is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

_NO_ROOM_BESIDE = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_file(path: Path, data: bytes, private: bool = False) -> None:
    """Write a file anew, as `new_file` does."""
    with new_file(path, private) as file:
        file.write(data)


@contextlib.contextmanager
def new_file(path: Path, private: bool = False) -> Iterator[IO[bytes]]:
    """A file to write anew, with the rights that one before it had; OSError names `path`.

    `private`: secrets are in it, only its owner may read it, whatever it was before.
    """
    part: Path | None = None
    try:
        place, rights = _place(path)
        part = place.with_name(f".{os.urandom(8).hex()}.part") if place is not None else None
        try:
            fd = _open(part or path, os.O_EXCL if part is not None else os.O_TRUNC, private)
        except OSError as error:
            if part is None or rights is None or error.errno not in _NO_ROOM_BESIDE:
                raise
            part, fd = None, _open(path, os.O_TRUNC, private)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(fd, "wb") as file:
            if private and stat.S_ISREG(os.fstat(fd).st_mode):
                os.fchmod(fd, 0o600)
            elif rights is not None:
                os.fchmod(fd, rights)
            yield file
        if part is not None and place is not None:
            part.replace(place)
    except BaseException:
        if part is not None:
            part.unlink(missing_ok=True)
        raise


def _place(path: Path) -> tuple[Path | None, int | None]:
    """Where a whole file is moved to, None to write into what is there; the rights of a file that is there."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(path)), None
    if not stat.S_ISREG(mode) or path.absolute().parts[1:2] in (("dev",), ("proc",)):
        return None, None
    if not os.access(path, os.W_OK):  # what its owner protected is not replaced either
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return Path(os.path.realpath(path)), stat.S_IMODE(mode)


def _open(path: Path, how: int, private: bool) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o600 if private else 0o666)

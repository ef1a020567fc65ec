"""The files of one journal: the one that is written now, its size, and the next one where it is full or gone.

At 1 GiB a journal goes on in another file, ``….2.mrj``. The parts are one journal: `of` names the first of them, `base`
counts the bytes before this part, and readers go on counting, so that keys, lanes and numbers run through.

What is to be written, and what becomes of that which cannot be, is decided in `recorder`; everything here is called
with its lock held, and raises OSError. Standard library only.
"""

import fcntl
import os
from errno import EEXIST, ENOSPC

_ADDING = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_LATER = 1 << 26  # bytes until another part is tried again, where none could be begun


class Parts:
    """fd, path   of the file that is written, fd -1 while there is none
    size, base   bytes in it, and in the parts before it        number   records in all parts
    until        size at which the quick way of `recorder` ends; 0: at once
    """

    __slots__ = (
        "_floor", "_folder", "_header", "_max", "_part", "_rotate", "_stem", "base", "fd", "number", "path", "size",
        "until",
    )  # fmt: skip

    def __init__(
        self, folder: str, stem: str, header: dict[str, object], rotate: int, max_size: int | None
    ) -> None:
        self.path = ""
        self.fd = -1
        self.size = self.base = self.number = self.until = 0
        self._folder = folder
        self._stem = stem
        self._header = header
        self._rotate = rotate
        self._max = max_size
        self._part = 0
        self._floor = 0  # no rotation below this size
        self.begin()

    def is_full(self, total: int) -> bool:
        """Whether so many bytes more are to go into another part."""
        return self.size + total > self._rotate and self.size > self._floor

    def exceeds(self, total: int) -> bool:
        """Whether so many bytes more are over the limit that the user gave."""
        return self._max is not None and self.base + self.size + total > self._max

    def set_until(self) -> None:
        """The quick way goes as far as this part."""
        limit = self._rotate if self._max is None else min(self._rotate, self._max - self.base)
        self.until = max(limit, 0)

    def write(self, chunks: list[bytes]) -> None:
        """One writev, whole or taken back."""
        total = sum(map(len, chunks))
        if os.writev(self.fd, chunks) != total:
            self.take_back()
            raise OSError(ENOSPC, "disk full")
        self.size += total

    def take_back(self) -> None:
        """A record that was written in part would swallow the next one."""
        try:
            os.ftruncate(self.fd, self.size)
        except OSError:
            self.size = os.fstat(self.fd).st_size  # readers find the next header behind the torn one

    def begin(self) -> None:
        """Begin the next file of this journal; where that fails the old one stays in use."""
        part, base = self._part + 1, self.base + self.size
        header = self._header
        if part > 1:
            more = {"part": part, "of": self._stem + ".mrj", "base": base, "number": self.number}
            header = {**header, **more, "previous": os.path.basename(self.path)}
        line = to_json(header).encode() + b"\n"
        try:
            path, fd = self._create(part)
        except OSError:
            if part == 1:
                raise
            self._floor = self.size + _LATER
            self._rotate = max(self._rotate, self._floor)
            return
        if self.fd >= 0:
            os.close(self.fd)
        self.fd, self.path, self._part, self.base, self.size = fd, path, part, base, 0
        self.write([line])
        self._floor = self.size
        self.set_until()

    def _create(self, part: int) -> tuple[str, int]:
        for again in range(100):
            if again and part == 1:
                self._stem += "x"
            path = os.path.join(self._folder, self._stem + (".mrj" if part == 1 else f".{part}.mrj"))
            try:
                return path, _out_of_the_way(os.open(path, _ADDING | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                if part > 1:
                    raise
        raise FileExistsError(EEXIST, "no free name", self._folder)

    def reopen(self) -> bool:
        """Open the file again after it was closed under us; another where it was let go of."""
        try:
            if not self._part:
                make_private(self._folder)
                self.begin()
                return True
            self.fd = _out_of_the_way(os.open(self.path, _ADDING))
            self.size = os.fstat(self.fd).st_size
        except OSError:
            return False
        return True

    def let_go(self) -> None:
        """The file is not what was written: what comes next begins another journal."""
        fd, self.fd = self.fd, -1
        self._part = self.base = self.size = self.number = 0
        os.close(fd)

    def close(self) -> None:
        """End the file; no more is written."""
        fd, self.fd, self.until = self.fd, -1, 0
        try:
            os.close(fd)
        except OSError:
            pass


def to_json(value: object) -> str:
    """JSON text in ASCII of plain values; the `json` module would import `re`, too slow for a start."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{to_json(str(k))}: {to_json(v)}" for k, v in value.items()) + "}"
    return (
        '"' + "".join(c if " " <= c <= "~" and c not in '"\\' else _escape(ord(c)) for c in str(value)) + '"'
    )


def _escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD7C0 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _out_of_the_way(fd: int) -> int:
    """The same file under a high number.

    Low numbers are given out again at once: were the file closed under us, the next socket would get its
    number, and the records would go to a peer.
    """
    for high in (900, 200):  # the limit may be 256
        try:
            moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, high)
        except OSError:
            continue
        os.close(fd)
        return moved
    return fd


def make_private(folder: str) -> None:
    """Make a folder that only its owner can read; one that exists stays as it is."""
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    if parent and parent != folder:
        make_private(parent)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass  # somebody else was quicker, or it is no folder, which the next call says better

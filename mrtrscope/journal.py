"""Reads one journal: any bytes give frames, and damage costs what it covers.

The form is told in `recorder`, whose `Journal` writes it; captures of many journals are read by `timeline`.
A record is believed when its header is well formed, its last byte is a newline, and a well-formed header or
the end of the file follows. Otherwise a `gap` frame on lane ``0z`` (it may concern every lane) stands for
the bytes up to the next record that is believed. A record that the file ends within is torn: no frame, and
counted.

Nothing here can tell bytes that a disk changed inside a payload, nor, behind a damaged header, text in the
payload that looks like a record from a record. No peer can cause the damage that would take.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import Any

from mrtrscope.frames import GAP, Frame
from mrtrscope.recorder import MAX_RECORD, Journal

__all__ = [
    "Damage", "Header", "Journal", "NotAJournal", "Reader",
    "follow", "is_journal", "read_capture", "read_header", "read_journal",
]  # fmt: skip

BLOCK = 1 << 18
HEADER_LIMIT = 1 << 16
CLOCK_TICK = 10_000  # microseconds by which a file's time may be behind
NO_FILE = "no file, but a folder, a pipe, a socket or a device"
GAP_MAX = 1 << 20  # longer damage is told in pieces, so that it need not be held in memory

_RECORD = re.compile(
    rb"([0-9]{1,10}[ioecsqaz]) (data|sent|open|head|end|gap|exit|note) ([0-9]{1,16}) ([0-9]{1,10})\n"
)
_HEADER_START = re.compile(
    rb"[0-9]{1,10}(?:[ioecsqaz](?: [a-z]{0,4}(?: [0-9]{0,16}(?: [0-9]{0,10}\n?)?)?)?)?"
)


class NotAJournal(ValueError):
    """The file does not begin as a journal does."""


class Header:
    """The first line of a journal.

    name    base name of the journal; that of the first file, when there are several: what `Frame.journal` says
    boot, mono, wall   boot id ("" when unknown), and both clocks in nanoseconds when it began
    how, channel, pid   as written             namespace   the one that the process id counts in
    part, base, number  which part this is, bytes and records before it
    size    bytes of the line                 raw   the JSON object
    """

    __slots__ = (
        "base", "boot", "channel", "how", "mono", "name", "namespace",
        "number", "part", "path", "pid", "raw", "size", "wall",
    )  # fmt: skip

    def __init__(self, path: str, raw: dict[str, Any], size: int) -> None:
        self.path = path
        self.raw = raw
        self.size = size
        self.boot = str(raw.get("boot") or "")
        self.mono = _number(raw, "mono")
        self.wall = _number(raw, "wall")
        self.how = str(raw.get("how") or "")
        self.channel = str(raw.get("channel") or "")
        self.pid = _number(raw, "pid")
        self.namespace = str(raw.get("namespace") or "")
        self.part = _number(raw, "part") or 1
        self.base = _number(raw, "base")
        self.number = _number(raw, "number")
        of = raw.get("of")
        self.name = of if isinstance(of, str) and self.part > 1 else os.path.basename(path)


def _number(raw: dict[str, Any], key: str) -> int:
    value = raw.get(key)
    return value if type(value) is int and 0 <= value < 1 << 62 else 0


class Damage:
    """Bytes of a journal that are no record; `offset` counts in the file, `after` grows while it is read."""

    __slots__ = ("_reader", "before", "offset", "path", "size")

    def __init__(self, reader: "Reader", offset: int, size: int, before: int) -> None:
        self._reader = reader
        self.path = reader.header.path
        self.offset = offset
        self.size = size
        self.before = before

    @property
    def after(self) -> int:
        return max(0, self._reader.number - self._reader.gaps - self.before)

    def __str__(self) -> str:
        return (
            f"{self.path}: damaged record at byte {self.offset:,}.\n"
            f"{self.before:,} records before it and {self.after:,} after it are sound and were judged; "
            "the gap is marked."
        )


def is_journal(start: bytes) -> bool:
    """Whether a file that starts with these bytes is a journal."""
    return start.startswith(b"{") and re.match(rb'\{"mrj": ?[0-9]', start[:16]) is not None


def read_header(path: str | os.PathLike[str]) -> Header:
    """The first line of a journal. NotAJournal when it is none, OSError when it cannot be read."""
    path = os.fspath(path)
    fd = open_regular(path)
    try:
        start = os.read(fd, HEADER_LIMIT)
    finally:
        os.close(fd)
    return parse_header(path, start)


def open_regular(path: str) -> int:
    """A file to read from. OSError for what is none: a pipe in its place would be waited for, without end."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, NO_FILE, path)
    return fd


def parse_header(path: str, start: bytes) -> Header:
    end = start.find(b"\n")
    if end < 0:
        raise NotAJournal(f"{path}: not a journal: its first line has no end")
    try:
        raw = json.loads(start[:end])
    except (ValueError, RecursionError):
        raise NotAJournal(f"{path}: not a journal: its first line is no JSON") from None
    if not isinstance(raw, dict) or "mrj" not in raw:
        raise NotAJournal(f'{path}: not a journal: its first line has no "mrj"')
    if raw["mrj"] != 1:
        raise NotAJournal(
            f"{path}: journal of version {raw['mrj']}, written by a newer mrtrscope; this one reads 1"
        )
    return Header(path, raw, end + 1)


class Reader:
    """Reads one file of a journal, as much of it as there is, again and again while it grows.

    epoch    what time 0 of the records stands for, in microseconds; may be set before reading
    offset   in the file, of the first byte that is in no frame yet      number   of the next frame
    t        microseconds of the last record, since time 0
    damage   what was no record         torn     bytes of an unfinished last record
    """

    def __init__(self, header: Header, offset: int = 0, number: int | None = None) -> None:
        self.header = header
        self.epoch = header.wall // 1000
        self.offset = max(offset, header.size)
        self.number = header.number if number is None else number
        self.damage: list[Damage] = []
        self.gaps = 0
        self.torn = 0
        self._fd = -1
        self._rest = b""  # bytes from `offset` on that were read already
        self._need = 0  # with fewer bytes than this nothing can be said
        self.t = 0
        self._names: dict[bytes, str] = {}

    def read(self, final: bool = False, block: int = BLOCK) -> list[Frame] | None:
        """Frames of the next block; None at the present end of the file. `final`: nothing will be added.

        An empty list is no end. OSError when the file cannot be read.
        """
        if self._fd < 0:
            self._fd = open_regular(self.header.path)
        want = max(block, self._need - len(self._rest))
        more = os.pread(self._fd, want, self.offset + len(self._rest))
        if more:
            data = self._rest + more if self._rest else more
            if len(data) >= self._need:
                return self._cut(data, False, len(more) < want)
            self._rest = data
            return []
        whole = self._rest and (final or len(self._rest) >= self._need)
        frames = self._cut(self._rest, final, True) if whole else []
        self.torn = len(self._rest)
        return frames or None

    def close(self) -> None:
        """Let go of the file; `read` opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._rest = b""
        self._need = 0

    def _cut(self, data: bytes, final: bool, at_end: bool) -> list[Frame]:
        """Frames out of `data`, which begins at `self.offset`; leaves the rest for the next time.

        `at_end`: the file goes no further at present, so that its last record is given out at once.
        """
        frames: list[Frame] = []
        add, match, names = frames.append, _RECORD.match, self._names
        journal, base, epoch, number = (
            self.header.name,
            self.header.base + self.offset,
            self.epoch,
            self.number,
        )
        at, size, t = 0, len(data), self.t
        self._need = 0
        while at < size:
            m = match(data, at)
            if m is None:
                stop = self._skip(data, at, final)
            else:
                lane, kind, when, length = m.groups()
                start = m.end()
                end = start + int(length)
                # The byte behind a record tells, before it is believed, whether its length was true.
                if (
                    end < size
                    and data[end] == 10
                    and (48 <= data[end + 1] <= 57 if end + 1 < size else at_end)
                ):
                    stop = at
                else:
                    stop = self._doubt(data, at, start, end, final)
            if stop < 0:
                break
            if stop > at:
                self._damaged(at, stop - at, number)
                add(self._gap(base + at, number, epoch + t, stop - at))
                number += 1
                at = stop
                continue
            try:
                lane_name, kind_name = names[lane], names[kind]
            except KeyError:
                if len(names) > 1 << 14:
                    names.clear()
                lane_name, kind_name = (
                    names.setdefault(lane, lane.decode()),
                    names.setdefault(kind, kind.decode()),
                )
            t = int(when)
            add(Frame(journal, base + at, number, epoch + t, lane_name, kind_name, data[start:end]))
            number += 1
            at = end + 1
        self.t = t
        self.number = number
        self.offset += at
        self._rest = data[at:]
        return frames

    def _doubt(self, data: bytes, at: int, start: int, end: int, final: bool) -> int:
        """A record that does not look whole: `at` to believe it, -1 to wait, else where reading goes on."""
        if end >= len(data) and end - start <= MAX_RECORD:
            self._need = end + 1 - at
            if not (final and self._goes_on(data, at, start)):
                return -1  # torn, or not written to its end yet
        elif end + 1 == len(data) and data[end] == 10:
            return -1  # whole, but the block ends here, and the byte behind it is still to be read
        stop = self._skip(data, at, final)
        # The length is true, it is the next header that is damaged, when nothing within looks like a record. With
        # a header one byte further it is the length that is one too small, and the newline the payload's last byte.
        one_more = data[end + 1 : end + 2] == b"\n" and _RECORD.match(data, end + 2)
        whole = end + 1 < len(data) and data[end] == 10 and not one_more
        return at if whole and stop > end else stop

    def _goes_on(self, data: bytes, at: int, start: int) -> bool:
        """Whether a record that goes beyond the file is not torn but says a wrong length: sound records follow, up to
        the very last byte. Their times lie between its own and that of the file, so that a torn record with text of
        that form in it is not taken for one."""
        time = int(_RECORD.match(data, at)[3])  # type: ignore[index]
        latest = (os.fstat(self._fd).st_mtime_ns - self.header.wall) // 1000 + CLOCK_TICK
        look = start
        while (look := data.find(b"\n", look) + 1) > 0:
            while (m := _RECORD.match(data, look)) is not None and time <= int(m[3]) <= latest:
                time, look = int(m[3]), m.end() + int(m[4]) + 1
                if look >= len(data):
                    return look == len(data) and data[-1] == 10
                if data[look - 1] != 10:
                    break
        return False

    def _skip(self, data: bytes, at: int, final: bool) -> int:
        """Where reading goes on behind damage, at most GAP_MAX further; -1 when more must be read first."""
        if len(data) - at < 64 and _HEADER_START.fullmatch(data, at):
            return -1  # a header that is torn, or not written to its end yet
        limit = min(len(data), at + GAP_MAX)
        look = at + 1
        while (look := data.find(b"\n", look - 1, limit) + 1) > 0:
            m = _RECORD.match(data, look)
            if m is not None:
                end = m.end() + int(m[4])
                if end + 1 < len(data):
                    if data[end] == 10 and 48 <= data[end + 1] <= 57:
                        return look
                elif not final and end - m.end() <= MAX_RECORD:
                    self._need = end + 2 - at
                    return -1
                elif final and end + 1 == len(data) and data[end] == 10:
                    return look
            look += 1
        if at + GAP_MAX + 64 <= len(data):
            return at + GAP_MAX
        return len(data) if final else -1

    def _damaged(self, at: int, size: int, number: int) -> None:
        self.gaps += 1
        last = self.damage[-1] if self.damage else None
        if last is not None and last.offset + last.size == self.offset + at:
            last.size += size
        else:
            self.damage.append(Damage(self, self.offset + at, size, number - self.gaps + 1))

    def _gap(self, offset: int, number: int, t: int, size: int) -> Frame:
        said = {"bytes": size, "frames": 0, "why": "damaged record", "before": number}
        return Frame(self.header.name, offset, number, t, "0z", GAP, json.dumps(said).encode())


def read_journal(path: str | os.PathLike[str], offset: int = 0) -> Iterator[Frame]:
    """All frames of one file in the order they were written, as far as it is written now.

    Times are the file's own clock on its own wall time; `timeline` puts several on one clock.
    """
    reader = Reader(read_header(path), offset)
    try:
        while (frames := reader.read(final=True)) is not None:
            yield from frames
    finally:
        reader.close()


def read_capture(capture_dir: str | os.PathLike[str]) -> Iterator[Frame]:
    """All frames of a capture's journals in order of time; see `timeline.Timeline` for more."""
    from mrtrscope.timeline import Timeline

    with Timeline(capture_dir) as timeline:
        yield from timeline.read()


def follow(
    capture_dir: str | os.PathLike[str], positions: dict[str, Any] | None, stop: Callable[[], bool]
) -> Iterator[Frame | None]:
    """All frames of a capture while it grows; see `timeline.Timeline` for more."""
    from mrtrscope.timeline import Timeline

    with Timeline(capture_dir, positions) as timeline:
        yield from timeline.follow(stop)

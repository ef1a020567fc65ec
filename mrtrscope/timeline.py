"""Puts the journals of a capture on one clock and gives their frames out in order of time, once or while
they grow.

**Clock.** Journals of one boot share the machine's monotonic clock: their times are reckoned from the wall
time of the earliest of them, so that a step of the wall clock moves nothing. Others are placed by their own
wall time, and `uncertainty` says how far that can be trusted.

**Order** is (time, journal, number). While journals grow, a frame is given out once it is 250 ms old, or
every journal was read 250 ms further. What arrives even later sets `late`: a fresh reading would give
another order, so what was made of this one has to be made anew.

**Positions.** `positions()` says, between two frames, what was given out so far. Handed to another
Timeline, that one goes on where this one stood.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heapreplace
from typing import Any, Self

from mrtrscope.frames import Frame
from mrtrscope.journal import BLOCK, Damage, Header, NotAJournal, read_header
from mrtrscope.recorder import boot_id, pid_namespace
from mrtrscope.tail import FOREVER, NOWHERE, WATERMARK, Held, Key, Position, Tail

POLL = 0.05  # seconds
QUIET = 600.0  # seconds without a record, after which a journal of an unknown process is not waited for
FEW = 100  # files kept open at once
IN_HAND = 1 << 23  # bytes in blocks, over all journals
CLOCKS = 1_000_000  # microseconds: two machines, or one over a restart, that are kept in step


class Timeline:
    """The journals of a capture folder.

    late       why the order that was given out is not that of a fresh reading, "" while it is
    problems   files in the folder that could not be read, by path
    """

    def __init__(self, capture_dir: str | os.PathLike[str], positions: dict[str, Any] | None = None) -> None:
        self.folder = os.path.join(os.fspath(capture_dir), "journals")
        self.late = ""
        self.problems: dict[str, str] = {}
        self._tails: dict[str, Tail] = {}
        self._holding: dict[Tail, None] = {}  # those with something to give out: few, however many there are
        self._known: set[str] = set()
        self._refused: dict[str, int] = {}  # path -> size at which it was no journal
        self._anchors: dict[str, tuple[int, int]] = {}  # boot -> wall and monotonic nanoseconds
        self._steps: dict[str, int] = {}  # boot -> microseconds that its wall clock moved against the other
        self._boot = boot_id()
        self._namespace = pid_namespace()
        self._given: Key = NOWHERE
        self._restored: dict[str, Position] = {}
        self._listed = 0  # monotonic nanoseconds of the last look into the folder
        if positions:
            t, name, number = positions["given"]
            self._given = (t, name, number)
            self._restored = {name: Position.from_list(p) for name, p in positions["journals"].items()}
            self._anchors = {boot: (wall, mono) for boot, (wall, mono) in positions["anchors"].items()}
        self._look()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for tail in self._tails.values():
            tail.close()

    def read(self) -> Iterator[Frame]:
        """All there is now; damage and torn ends included. May be called again later for what came since."""
        self._look()
        reading = [(tail.reach, n, tail) for n, tail in enumerate(self._tails.values())]
        heapify(reading)
        while reading:
            _, n, tail = reading[0]
            if self._read(tail, True):
                heapreplace(reading, (tail.reach, n, tail))
            else:
                heappop(reading)
                tail.close()
            yield from self._give(reading[0][0] if reading else FOREVER)

    def follow(self, stop: Callable[[], bool], poll: float = POLL) -> Iterator[Frame | None]:
        """All there is and all that comes; None whenever nothing is new, then it rests for `poll` seconds.

        Ends, after everything that was written before, once `stop()` is true.
        """
        while not stop():
            busy = False
            for frame in self._pass():
                busy = True
                yield frame
            if not busy:
                yield None
                if not stop():
                    time.sleep(poll)
        yield from self.read()

    def positions(self) -> dict[str, Any]:
        """What was given out so far, as plain values for JSON."""
        journals = {name: position.to_list() for name, position in self._restored.items()}
        journals |= {name: tail.position(self._given).to_list() for name, tail in self._tails.items()}
        anchors = {boot: list(anchor) for boot, anchor in self._anchors.items()}
        return {"given": list(self._given), "journals": journals, "anchors": anchors}

    @property
    def damage(self) -> list[Damage]:
        """Damage met so far."""
        return [damage for tail in self._tails.values() for damage in tail.all_damage]

    @property
    def torn(self) -> dict[str, int]:
        """Journals that end within a record, and how many bytes of it there are."""
        return {name: tail.torn for name, tail in self._tails.items() if tail.torn}

    def read_files(self) -> Iterator[tuple[str, int]]:
        """The files of the journals, and how many bytes of each were read."""
        for tail in self._tails.values():
            yield from tail.read_files()

    @property
    def headers(self) -> dict[str, Header]:
        """The first line of every journal, by its name."""
        return {name: tail.parts[0] for name, tail in self._tails.items()}

    def header(self, name: str) -> Header:
        """The first line of one journal."""
        return self._tails[name].parts[0]

    def uncertainty(self, a: str, b: str) -> int:
        """How many microseconds the distance of two frames may be wrong, by the names of their journals."""
        boots = {self._tails[name].parts[0].boot or name for name in (a, b)}
        return 0 if len(boots) == 1 else CLOCKS + sum(self._steps.get(boot, 0) for boot in boots)

    # How it is done

    def _look(self) -> None:
        """Take in journals, and parts of them, that are new in the folder."""
        now = time.monotonic_ns()
        try:
            names = sorted(entry.name for entry in os.scandir(self.folder) if entry.name.endswith(".mrj"))
        except FileNotFoundError:
            names = []
        fresh: dict[str, list[Header]] = {}
        for name in names:
            if name not in self._known and (header := self._header(os.path.join(self.folder, name))):
                self._known.add(name)
                fresh.setdefault(header.name, []).append(header)
        starts = {boot: anchor[1] for boot, anchor in self._anchors.items()}
        for headers in fresh.values():
            headers.sort(key=lambda header: header.base)
            self._anchor(headers[0])
        for boot, mono in starts.items():
            if self._anchors[boot][1] < mono:
                self.late = "a journal that began earlier appeared"
        for name, headers in fresh.items():
            if name in self._tails:
                for header in headers:
                    self._tails[name].add_part(header)
            else:
                tail = Tail(headers, self._epoch(headers[0]), self._restored.pop(name, None))
                tail.changed = now / 1e9
                self._tails[name] = tail
        self._listed = now

    def _header(self, path: str) -> Header | None:
        try:
            seen = os.stat(path)
            size = seen.st_size
            if size == self._refused.get(path, 0) and stat.S_ISREG(seen.st_mode):
                return None  # being made, or known to be none
            header = read_header(path)
        except OSError as e:
            if os.path.islink(path) or not isinstance(e, FileNotFoundError):
                self.problems[path] = f"{path}: {e.strerror}; what it holds is missing here"
            return None
        except NotAJournal as e:
            self.problems[path] = str(e)
            self._refused[path] = size
            return None
        self.problems.pop(path, None)
        return header

    def _anchor(self, header: Header) -> None:
        boot = header.boot
        if not boot:
            return
        wall, mono = self._anchors.get(boot, (header.wall, header.mono))
        step = abs((header.wall - header.mono) - (wall - mono)) // 1000
        self._steps[boot] = max(step, self._steps.get(boot, 0))
        self._anchors[boot] = (header.wall, header.mono) if header.mono < mono else (wall, mono)

    def _epoch(self, header: Header) -> int:
        wall, mono = self._anchors.get(header.boot, (header.wall, header.mono))
        return (wall + header.mono - mono) // 1000

    def _read(self, tail: Tail, final: bool) -> bool:
        try:
            more = tail.read(final, max(1 << 14, min(BLOCK, IN_HAND // len(self._tails))), self._given)
        except OSError as e:
            self.problems[tail.path] = f"{tail.path}: {e.strerror}"
            more = False
        if tail.holds:
            self._holding[tail] = None
        return more

    def _pass(self) -> Iterator[Frame]:
        """One round over growing journals."""
        self._look()
        now = time.monotonic()
        reading = {tail for tail in self._tails.values() if not tail.dead or now - tail.looked >= 1}
        while reading:
            tail = min(reading, key=lambda one: one.reach)
            before = time.monotonic_ns()
            if self._read(tail, False):
                tail.changed = now
                tail.dead = False
            else:
                reading.discard(tail)
                self._at_end(tail, now, before)
            horizon = min(one.reach for one in self._tails.values())
            yield from self._give(min(horizon, self._clock(self._listed) - WATERMARK))

    def _at_end(self, tail: Tail, now: float, before: int) -> None:
        """A journal was read to its present end, at the nanosecond `before` at the earliest."""
        tail.looked = now
        if now - tail.changed > 2:
            tail.dead = self._is_dead(tail.parts[-1], now - tail.changed)
        if tail.dead or not self._boot or tail.parts[0].boot != self._boot:
            tail.reach = FOREVER  # not waited for
        else:
            tail.reach = max(tail.reach, self._clock(before) - WATERMARK)
        if tail.dead or len(self._tails) > FEW:
            tail.close()

    def _is_dead(self, header: Header, idle: float) -> bool:
        """Whether the process that writes a journal is gone, so that it need not be waited for."""
        if header.boot != self._boot or header.namespace != self._namespace:
            return idle > QUIET  # process ids say nothing here
        try:
            os.kill(header.pid, 0)
        except ProcessLookupError:
            return True
        except (OSError, OverflowError):
            pass
        return header.pid <= 0

    def _clock(self, mono: int) -> int:
        """A moment of this machine on the capture's clock, in microseconds."""
        if self._boot not in self._anchors:
            return FOREVER
        wall, start = self._anchors[self._boot]
        return (wall + mono - start) // 1000

    def _give(self, horizon: int) -> Iterator[Frame]:
        """Give out what is earlier than the horizon, in order."""
        ready: list[Held] = []
        sources = 0
        late: list[Frame] = []
        for tail in self._holding:
            if tail.late:
                late += tail.late
                tail.late = []
            if got := tail.ready(horizon, self._given):
                ready += got
                sources += 1
        if late:
            self.late = self.late or f"a frame of {late[0].journal} came after later ones were given out"
            yield from late
        ready.sort()
        for held in ready:
            self._given = held[:3]
            yield held[3]
        if ready:
            for tail in self._holding:
                tail.trim(self._given)
            self._holding = {tail: None for tail in self._holding if tail.holds}

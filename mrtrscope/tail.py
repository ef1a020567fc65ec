"""One journal, in however many files, while it is read: frames that were taken from it and are not given
out yet.

Records may stand a little out of order of time in their file: what is read is held back until the journal
was read `WATERMARK` further. A record that is later still keeps its time and takes the first place that is
left. `timeline` joins several of these.
"""

from bisect import bisect_left
from collections.abc import Iterator

from mrtrscope.frames import GAP, Frame
from mrtrscope.journal import Damage, Header, Reader
from mrtrscope.parts import to_json

WATERMARK = 250_000  # microseconds
FOREVER = 1 << 62

type Key = tuple[int, str, int]
type Held = tuple[int, str, int, Frame]

NOWHERE: Key = (-FOREVER, "", 0)


class Position:
    """What was given out of a journal: all before `offset`, and those behind it that `skip` names.

    number, newest, t   of the next frame; the latest time before it; the time of the record before it
    """

    __slots__ = ("newest", "number", "offset", "skip", "t")

    def __init__(
        self, offset: int = 0, number: int = 0, newest: int = 0, t: int = 0, skip: tuple[int, ...] = ()
    ) -> None:
        self.offset = offset
        self.number = number
        self.newest = newest
        self.t = t
        self.skip = skip

    def to_list(self) -> list[int]:
        return [self.offset, self.number, self.newest, self.t, *self.skip]

    @classmethod
    def from_list(cls, values: list[int]) -> "Position":
        offset, number, newest, t, *skip = values
        if not all(type(value) is int and 0 <= value < FOREVER for value in values):
            raise ValueError("no position")
        return cls(offset, number, newest, t, tuple(skip))


class Tail:
    """One journal.

    epoch   the microsecond that its time 0 stands for
    reach   no frame still to come is earlier than this
    late    frames that came after others of a later time were given out
    """

    def __init__(self, parts: list[Header], epoch: int, position: Position | None) -> None:
        self.name = parts[0].name
        self.parts = parts
        self.epoch = epoch
        self.reach = epoch
        self.late: list[Frame] = []
        self.looked = 0.0  # when it was last read to its end
        self.changed = 0.0  # when something was last found there
        self.dead = False  # its writer is gone
        self.damage: list[Damage] = []
        self._before = position or Position()  # where the window begins
        self._window: list[Held] = []  # in the order of the file
        self._ordered = True  # the window is in order of time as well
        self._newest = self._before.newest
        self._skip = frozenset(self._before.skip)
        fits = [i for i, part in enumerate(parts) if position is not None and part.base <= position.offset]
        self._index = fits[-1] if fits else 0
        head = parts[self._index]
        if position is None:
            self._reader = Reader(head)
            self._missing = head.base
        else:
            self._reader = Reader(head, position.offset - head.base, position.number)
            self._reader.t = position.t
            self._missing = 0
        self._reader.epoch = epoch

    @property
    def all_damage(self) -> list[Damage]:
        return self.damage + self._reader.damage

    @property
    def path(self) -> str:
        """The file that is being read."""
        return self._reader.header.path

    @property
    def torn(self) -> int:
        return self._reader.torn

    def read_files(self) -> Iterator[tuple[str, int]]:
        """Its files, and how many bytes of each were read."""
        for part, following in zip(self.parts[: self._index], self.parts[1:], strict=False):
            yield part.path, following.base - part.base
        yield self.path, self._reader.offset

    def add_part(self, header: Header) -> None:
        if all(part.path != header.path for part in self.parts):
            self.parts.append(header)
            self.parts.sort(key=lambda part: part.base)

    def read(self, final: bool, block: int, given: Key) -> bool:
        """Read one block on; False at the present end. `final`: nothing is going to be added to it."""
        if self._missing:
            frames: list[Frame] | None = [self._hole(self._reader.header.base - self._missing, self._missing)]
            self._missing = 0
        else:
            last = self._index + 1 == len(self.parts)
            frames = self._reader.read(final or not last, block)
            if frames is None and not last:
                frames = self._next_part()
        if frames is None:
            return False
        if frames:
            self._take(frames, given)
        return True

    def close(self) -> None:
        self._reader.close()

    def _next_part(self) -> list[Frame]:
        old, header = self._reader, self.parts[self._index + 1]
        old.close()
        self.damage += old.damage
        self._index += 1
        self._reader = Reader(header, number=old.number)
        self._reader.epoch, self._reader.t = self.epoch, old.t
        at = old.header.base + old.offset
        return [self._hole(at, header.base - at)] if header.base > at else []

    def _hole(self, at: int, size: int) -> Frame:
        text = to_json({"bytes": size, "frames": 0, "why": "a part of the journal is missing"})
        frame = Frame(
            self.name, at, self._reader.number, self.epoch + self._reader.t, "0z", GAP, text.encode()
        )
        self._reader.number += 1
        return frame

    def _take(self, frames: list[Frame], given: Key) -> None:
        newest, name, add = self._newest, self.name, self._window.append
        last_given = given[0]
        for f in frames:
            t = f.t
            if t >= newest:
                newest = t
            else:
                self._ordered = False
                t = max(t, newest - WATERMARK)
            if t <= last_given and (t, name, f.number) <= given and f.offset not in self._skip:
                self.late.append(f)
                continue
            add((t, name, f.number, f))
        self._newest = newest
        self.reach = max(self.reach, newest - WATERMARK)

    @property
    def holds(self) -> bool:
        """Whether there is anything to give out, or to set in order."""
        return bool(self._window or self.late) or not self._ordered

    def ready(self, horizon: int, given: Key) -> list[Held]:
        """What is earlier than the horizon and was not given out."""
        window = self._window
        if self._ordered:
            return window[: bisect_left(window, (horizon, ""))]
        return [held for held in window if held[0] < horizon and held[:3] > given]

    def trim(self, given: Key) -> None:
        """Forget what was given out, up to the first frame that was not."""
        count = self._count(given)
        if count:
            self._before = self._position(count, ())
            self._window = self._window[count:]
        if not self._ordered:
            times = [held[0] for held in self._window]
            self._ordered = times == sorted(times) and (not times or self._window[0][:3] > given)

    def _count(self, given: Key) -> int:
        """How many at the start of the window were given out."""
        if self._ordered:
            return bisect_left(self._window, (given[0], given[1], given[2] + 1))
        count = 0
        for held in self._window:
            if held[:3] > given:
                break
            count += 1
        return count

    def _position(self, count: int, skip: tuple[int, ...]) -> Position:
        """The position in front of the window's frame of this index."""
        newest, t = self._before.newest, self._before.t
        if count:
            newest = max(newest, max(held[3].t for held in self._window[:count]))
            t = self._window[count - 1][3].t - self.epoch
        if count < len(self._window):
            frame = self._window[count][3]
            return Position(frame.offset, frame.number, newest, t, skip)
        reader = self._reader
        return Position(reader.header.base + reader.offset, reader.number, newest, t, skip)

    def position(self, given: Key) -> Position:
        count = self._count(given)
        skip = tuple(held[3].offset for held in self._window[count:] if held[:3] <= given)
        return self._position(count, skip)

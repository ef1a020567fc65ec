"""`Memory` (see `mrtrscope.link.memory`) in SQLite: what the linker remembers for ever, with a bounded cache before it.

What is added or set stays in the process until `flush`. Like the other rows, what was flushed may be ahead of the
checkpoint: `save` goes with one, and `rewind` leads back to it. So a value that is set anew gets a row of its own.

Keys are digests, so what is sorted by them has no order that traffic knows: every new key lies on another page. Hence
values stand in a table that only grows at its end, slim indexes lead to them, and a flush writes many keys in their
order, so that each page is touched once.
"""

from __future__ import annotations

from collections import OrderedDict

from sqlite_utils import Database

from mrtrscope.store.names import Names

CACHED = 8_000  # values kept for reading
LAST = 256  # values of one key that are kept for reading, at least: nobody asks for more
MANY, KEYS = 16, 256  # with so many values a key is kept for reading, and how many such keys
MARKS = 1 << 20  # bytes for each space of many values

_ADD_FIRST = "insert into many values (?, ?, ?, ?)"
_ADD = "insert into many values (?, ?, coalesce((select max(seq) from many where space = ? and key = ?), -1) + 1, ?)"
_FIND = (
    "select k.seq, v.value from many k join remembered v on v.id = k.id where k.space = ? and k.key = ?"
    " order by k.seq desc limit ?"
)
# before: the value that belongs to the checkpoint. A value whose id is not at hand is left behind when its key gets
# another: to look for it would cost more than it takes.
_SET = (
    "insert into one values (?, ?, ?, null) on conflict do update"
    " set before = iif(id <= ?, id, before), id = excluded.id"
)
_GET = "select v.id, v.value from one k join remembered v on v.id = k.id where k.space = ? and k.key = ?"


class _Values:
    """The last values of a key, and how many it has."""

    __slots__ = ("last", "total")

    def __init__(self, last: list[str], total: int) -> None:
        self.last = last
        self.total = total

    def add(self, value: str) -> None:
        self.total += 1
        self.last.append(value)
        if len(self.last) >= 2 * LAST:
            del self.last[:-LAST]


class SqliteMemory:
    """Remembers in the tables `many` (all values of a key), `one` (the last) and `remembered` (the values)."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._spaces = Names(db, "spaces")
        self._mark = 0  # ids above this are ahead of the checkpoint
        self.forget()

    def forget(self) -> None:
        """Drop what was not written; what is read next comes from the database."""
        # by space, then by key
        self._added: dict[str, dict[bytes, list[str]]] = {}
        self._set: dict[str, dict[bytes, str]] = {}
        self._read: dict[str, dict[bytes, tuple[int, str] | None]] = {}  # id and value; None: there is none
        # keys of many values that were looked for lately
        self._held: OrderedDict[tuple[str, bytes], _Values] = OrderedDict()
        self._cached = 0
        self._next = 0
        self._old: list[tuple[int]] = []  # ids of values that others took the place of
        self.waiting = 0  # values that were not written yet
        # all keys that were ever added; None where they are not known, for the tables were not empty
        self._ever: _Marks | None = None
        self._first: set[tuple[str, bytes]] = set()  # keys just added that have no values in the table
        self._spaces.forget()

    def begin(self) -> None:
        """The tables are empty."""
        self.forget()
        self._ever = _Marks()

    def add(self, space: str, key: bytes, value: str) -> None:
        """One more value under the key."""
        added = self._added.get(space)
        if added is None:
            added = self._added[space] = {}
        values = added.get(key)
        if values is None:
            values = added[key] = []
            if self._ever is not None and self._ever.add(space, key):
                self._first.add((space, key))
        values.append(value)
        self.waiting += 1
        held = self._held.get((space, key))
        if held is not None:
            held.add(value)

    def find(self, space: str, key: bytes, limit: int) -> tuple[list[str], int]:
        """The last `limit` values under the key in order of adding, and how many there are."""
        if self._ever is not None and not self._ever.may_hold(space, key):
            return [], 0
        held = self._held.get((space, key))
        if held is not None and limit <= LAST:
            self._held.move_to_end((space, key))
            return held.last[-limit:], held.total
        added = self._added.get(space)
        new = [] if added is None else added.get(key, [])
        if new and (space, key) in self._first:  # a retry mostly comes before its question was written
            return new[-limit:], len(new)
        number = self._spaces.known(space)
        if number is None:
            return new[-limit:], len(new)
        # one row at least, for it says how many there are
        rows = self._db.conn.execute(_FIND, (number, key, max(limit - len(new), 1))).fetchall()
        if not rows:
            return new[-limit:], len(new)
        found = (
            [_taken(row[1]) for row in reversed(rows)] + new
            if new
            else [_taken(row[1]) for row in reversed(rows)]
        )
        total = int(rows[0][0]) + 1 + len(new)
        if len(found) >= min(LAST, total) >= MANY:
            self._held[space, key] = _Values(found[-LAST:], total)
            if len(self._held) > KEYS:
                self._held.popitem(last=False)
        return found[-limit:], total

    def set(self, space: str, key: bytes, value: str) -> None:
        """Keep this value alone under the key."""
        held = self._set.get(space)
        if held is None:
            held = self._set[space] = {}
        held[key] = value
        self.waiting += 1

    def get(self, space: str, key: bytes) -> str | None:
        """The value last set, None when there is none."""
        held = self._set.get(space)
        value = None if held is None else held.get(key)
        if value is not None:
            return value
        read = self._read.get(space)
        if read is None or key not in read:
            number = self._spaces.known(space)
            row = None if number is None else self._db.conn.execute(_GET, (number, key)).fetchone()
            read = self._room(space, 1)
            read[key] = None if row is None else (row[0], _taken(row[1]))
        found = read[key]
        return None if found is None else found[1]

    def _room(self, space: str, more: int) -> dict[bytes, tuple[int, str] | None]:
        """What is cached of a space, when so many are going to be put into it."""
        self._cached += more
        if self._cached > CACHED:
            self._read, self._cached = {}, more
        return self._read.setdefault(space, {})

    def flush(self) -> None:
        """Write what is new; the caller has begun a transaction."""
        if not self.waiting:
            return
        if not self._next:
            self._next = (self._db.conn.execute("select max(id) from remembered").fetchone()[0] or 0) + 1
        values: list[tuple[int, str | bytes]] = []
        first, more = self._new_many(values)
        one = self._new_one(values)
        execute = self._db.conn.executemany
        execute("insert into remembered values (?, ?)", values)
        execute(_ADD_FIRST, first)
        execute(_ADD, more)
        execute(_SET, one)
        self._next += len(values)
        self._added, self._set, self._first, self.waiting = {}, {}, set(), 0

    def save(self) -> int:
        """Write what is new; all there is belongs to the checkpoint now. Returns the mark for `rewind`."""
        self.flush()
        self._db.conn.executemany("delete from remembered where id = ?", self._old)
        self._old = []
        self._mark = self._db.conn.execute("select max(id) from remembered").fetchone()[0] or 0
        return self._mark

    def rewind(self, mark: int) -> None:
        """Forget what came after the checkpoint with this mark."""
        execute = self._db.conn.execute
        execute("delete from many where id > ?", (mark,))
        execute("delete from one where id > ? and before is null", (mark,))
        execute("update one set id = before where id > ?", (mark,))
        execute("delete from remembered where id > ?", (mark,))
        self.forget()
        self._mark = mark

    def _new_many(
        self, values: list[tuple[int, str | bytes]]
    ) -> tuple[list[tuple[int, bytes, int, int]], list[tuple[int, bytes, int, bytes, int]]]:
        """Rows of `many` whose keys have none yet, and the others, which are counted where they are written."""
        first: list[tuple[int, bytes, int, int]] = []
        more: list[tuple[int, bytes, int, bytes, int]] = []
        id = self._next + len(values)
        for space, held in self._added.items():
            number = self._spaces(space)
            for key in sorted(held):
                new = (space, key) in self._first
                for seq, value in enumerate(held[key]):
                    if new:
                        first.append((number, key, seq, id))
                    else:
                        more.append((number, key, number, key, id))
                    values.append((id, value if value.isascii() else _kept(value)))
                    id += 1
        return first, more

    def _new_one(self, values: list[tuple[int, str | bytes]]) -> list[tuple[int, bytes, int, int]]:
        rows, id, mark = [], self._next + len(values), self._mark
        for space, held in self._set.items():
            number = self._spaces(space)
            read = self._read.get(space, {})
            room = CACHED - self._cached
            for key in sorted(held):
                value = held[key]
                before = read.get(key)
                if before is not None:
                    self._old.append((before[0],))
                if key in read:
                    read[key] = (id, value)
                elif room > 0 and read:  # a space that nobody has read from yet is not kept for reading
                    read[key] = (id, value)
                    room -= 1
                    self._cached += 1
                rows.append((number, key, id, mark))
                values.append((id, value if value.isascii() else _kept(value)))
                id += 1
        return rows


class _Marks:
    """Keys that may have been added, by a few of their bits: most of what is looked for never was."""

    def __init__(self) -> None:
        self._spaces: dict[str, bytearray] = {}

    def add(self, space: str, key: bytes) -> bool:
        """Mark a key; True when it surely was not marked before."""
        marks = self._spaces.get(space)
        if marks is None:
            marks = self._spaces[space] = bytearray(MARKS)
        place = int.from_bytes(key[:3]) % MARKS
        if marks[place]:
            return False
        marks[place] = 1
        return True

    def may_hold(self, space: str, key: bytes) -> bool:
        """Whether a key may have been marked."""
        marks = self._spaces.get(space)
        return marks is not None and marks[int.from_bytes(key[:3]) % MARKS] != 0


def _kept(value: str) -> str | bytes:
    """What a text column takes: lone surrogates go as bytes, so that they come back."""
    return value if value.isascii() else value.encode("utf-8", "surrogatepass")


def _taken(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")

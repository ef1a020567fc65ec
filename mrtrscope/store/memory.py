"""`Memory` (see `mrtrscope.link.memory`) in SQLite: what the linker remembers for ever, with a bounded cache before it.

What is added or set stays in the process until `flush`, which the writer calls inside the transaction of the batch: a
process that dies in between leaves the memory as it was at the checkpoint that goes with it.

Values stand in a table that only grows at its end, and a slim index leads to them: with a key that is a digest, a table
sorted by key would dirty another page for each value.
"""

from __future__ import annotations

from sqlite_utils import Database

from mrtrscope.store.names import Names

CACHED = 20_000  # values kept for reading


class SqliteMemory:
    """Remembers in the tables `many`, `many_keys` and `one`."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._spaces = Names(db, "spaces")
        self._added: dict[tuple[str, bytes], list[str]] = {}
        self._set: dict[tuple[str, bytes], str] = {}
        self._read: dict[tuple[str, bytes], str | None] = {}

    def add(self, space: str, key: bytes, value: str) -> None:
        """One more value under the key."""
        self._added.setdefault((space, key), []).append(value)

    def find(self, space: str, key: bytes, limit: int) -> tuple[list[str], int]:
        """The last `limit` values under the key in order of adding, and how many there are."""
        new = self._added.get((space, key), [])
        written = self._count(space, key)
        more = limit - len(new)
        if not written or more <= 0:
            return new[-limit:], written + len(new)
        rows = self._db.conn.execute(
            "select v.value from many_keys k join many v on v.id = k.id"
            " where k.space = ? and k.key = ? order by k.seq desc limit ?",
            (self._spaces(space), key, more),
        ).fetchall()
        return [_taken(row[0]) for row in reversed(rows)] + new, written + len(new)

    def _count(self, space: str, key: bytes) -> int:
        """How many values were written under the key."""
        number = self._spaces.known(space)
        if number is None:
            return 0
        sql = "select max(seq) from many_keys where space = ? and key = ?"
        last = self._db.conn.execute(sql, (number, key)).fetchone()[0]
        return 0 if last is None else int(last) + 1

    def set(self, space: str, key: bytes, value: str) -> None:
        """Keep this value alone under the key."""
        self._set[space, key] = value

    def get(self, space: str, key: bytes) -> str | None:
        """The value last set, None when there is none."""
        at = (space, key)
        value = self._set.get(at)
        if value is not None:
            return value
        try:
            return self._read[at]
        except KeyError:
            pass
        number = self._spaces.known(space)
        row = None
        if number is not None:
            row = self._db.conn.execute(
                "select value from one where space = ? and key = ?", (number, key)
            ).fetchone()
        if len(self._read) >= CACHED:
            self._read.clear()
        found = self._read[at] = _taken(row[0]) if row else None
        return found

    @property
    def waiting(self) -> int:
        """How many keys have something that was not written yet."""
        return len(self._added) + len(self._set)

    def flush(self) -> None:
        """Write what is new; the caller has begun a transaction."""
        execute = self._db.conn.executemany
        if self._added:
            self._flush_added()
        if self._set:
            rows = [(self._spaces(space), key, _kept(value)) for (space, key), value in self._set.items()]
            execute("insert or replace into one values (?, ?, ?)", rows)
            for at, value in self._set.items():
                if at in self._read:
                    self._read[at] = value
        self._added, self._set = {}, {}

    def _flush_added(self) -> None:
        next_id = (self._db.conn.execute("select max(id) from many").fetchone()[0] or 0) + 1
        values: list[tuple[int, str | bytes]] = []
        keys: list[tuple[int, bytes, int, bytes, int]] = []
        for (space, key), added in self._added.items():
            number = self._spaces(space)
            for value in added:
                keys.append((number, key, number, key, next_id))
                values.append((next_id, _kept(value)))
                next_id += 1
        self._db.conn.executemany("insert into many values (?, ?)", values)
        self._db.conn.executemany(
            "insert into many_keys values (?, ?,"
            " coalesce((select max(seq) from many_keys where space = ? and key = ?), -1) + 1, ?)",
            keys,
        )

    def forget(self) -> None:
        """Drop what was not written; what is read next comes from the database."""
        self._added, self._set, self._read = {}, {}, {}
        self._spaces.forget()


def _kept(value: str) -> str | bytes:
    """What a text column takes: lone surrogates go as bytes, so that they come back."""
    return value if value.isascii() else value.encode("utf-8", "surrogatepass")


def _taken(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")

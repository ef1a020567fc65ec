"""Names and keys to row numbers: what was used lately is at hand, the rest is asked of the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrtrscope.store.text import plain

if TYPE_CHECKING:
    from sqlite_utils import Database

Key = tuple[int, int, int]


def split_key(key: str) -> tuple[str, int, int]:
    """A permanent key in pieces: journal, offset, part."""
    journal, _, place = key.rpartition(":")
    offset, _, part = place.partition(".")
    return journal, int(offset), int(part or 0)


class Names:
    """The rows of a table (id, name, …) by name; a name not seen before gets a row."""

    def __init__(self, db: Database, table: str, limit: int = 10_000) -> None:
        self._db = db
        self._find = f"select id from {table} where name = ?"
        self._make = f"insert into {table}(name) values (?)"
        self._limit = limit
        self._ids: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        found = self._ids.get(name)
        if found is None:
            found = self.known(name)
        if found is None:
            found = self._keep(name, self._db.conn.execute(self._make, (name,)).lastrowid or 0)
        return found

    def known(self, name: str) -> int | None:
        """The number of a name that has a row, None when it has none."""
        found = self._ids.get(name)
        if found is None:
            row = self._db.conn.execute(self._find, (name,)).fetchone()
            found = self._keep(name, row[0]) if row else None
        return found

    def _keep(self, name: str, id: int) -> int:
        if len(self._ids) >= self._limit:
            self._ids.clear()
        self._ids[name] = id
        return id

    def forget(self) -> None:
        """Rows may have gone (a transaction was rolled back)."""
        self._ids.clear()


class MessageIds:
    """Keys of messages to their ids. Two generations of keys are kept; what is used stays in the younger one."""

    def __init__(self, db: Database, journals: Names, limit: int = 20_000) -> None:
        self._db = db
        self._journals = journals
        self._limit = limit
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}

    def put(self, key: str, id: int) -> None:
        self._young[key] = id

    def turn(self) -> None:
        """Let the older generation go when the younger one is full; call it between batches."""
        if len(self._young) > self._limit:
            self._old, self._young = self._young, {}

    def forget(self) -> None:
        self._young, self._old = {}, {}

    def get(self, key: str) -> int | None:
        """The id of the message with this key, None when there is none."""
        found = self._young.get(key)
        if found is None and key:
            found = self._old.get(key)
            if found is None:
                found = self._ask(key)
            if found is not None:
                self._young[key] = found
        return found

    def _ask(self, key: str) -> int | None:
        journal, offset, part = split_key(key)
        row = self._db.conn.execute(
            "select id from messages where journal = ? and offset = ? and part = ?",
            (self._journals(journal), offset, part),
        ).fetchone()
        return int(row[0]) if row else None

    def places(self, keys: tuple[str, ...]) -> str:
        """Where these messages begin, with blanks between: ``journal:offset``, and ``offset`` where the journal is that
        of the one before. A peer decides how many there are, and how long ago they came, so nothing is looked up."""
        found, before = [], ""
        for key in keys:
            journal, _, place = key.rpartition(":")
            found.append(place if journal == before else f"{self._journals(plain(journal))}:{place}")
            before = journal
        return " ".join(found)

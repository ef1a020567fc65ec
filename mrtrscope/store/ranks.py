"""Ranks in order of time (m1, f1, op1), kept right while rows come nearly in that order.

Nearly: the body of an HTTP answer may be known to be a message only when the answer ended, after others that came
later. So a batch is sorted; where it reaches back behind rows that are there already, the ranks of those few are
worked out anew.
"""

from __future__ import annotations

from sqlite_utils import Database

Order = tuple[int, str, int, int]

# Rows of a table with what puts them in order. Operations are numbered as their first requests are.
_ROWS = {
    "messages": "select x.id, x.m as rank, x.t, j.name, x.offset, x.part"
    " from messages x join journals j on j.id = x.journal",
    "events": "select x.id, x.f as rank, x.t, j.name, x.offset, x.part"
    " from events x join journals j on j.id = x.journal",
    "operations": "select x.id, x.op as rank, m.t, j.name, m.offset, m.part"
    " from operations x join messages m on m.id = x.id join journals j on j.id = m.journal",
}


class Ranks:
    """The ranks of one table.

    `give` numbers new rows, the caller inserts them, `settle` puts right what `give` could not know.
    """

    def __init__(self, db: Database, table: str, column: str) -> None:
        self._db = db
        self._table = table
        self._column = column
        self._rows = f"{_ROWS[table]} where x.{column}"
        self.forget()

    def forget(self) -> None:
        self._count: int | None = None
        self._last: Order = (-1 << 62, "", 0, 0)
        self._again: int | None = None  # ranks above this are to be worked out anew

    def _load(self) -> int:
        if self._count is None:
            row = self._db.conn.execute(
                f"{self._rows} >= 0 order by x.{self._column} desc limit 1"
            ).fetchone()
            self._count = row[1] if row else 0
            if row:
                self._last = row[2:]
        return self._count or 0

    def next_id(self) -> int:
        """The id that the next row gets; ids and ranks are both as many as there are rows."""
        return self._load() + 1

    def give(self, new: list[tuple[Order, int]]) -> list[int]:
        """Ranks for new rows (their order and id), in the sequence they were handed in."""
        count = self._load()
        if not new:
            return []
        self._count = count + len(new)
        pairs = sorted(new)
        if pairs[0][0] < self._last:
            self._again = self._before(pairs[0][0], count)
        self._last = max(self._last, pairs[-1][0])
        if all(a is b for a, b in zip(pairs, new, strict=True)):
            return list(range(count + 1, count + len(new) + 1))
        ranks = {id: rank for rank, (_, id) in enumerate(pairs, count + 1)}
        return [ranks[id] for _, id in new]

    def _before(self, order: Order, count: int) -> int:
        """How many rows stand before this order."""
        for row in self._db.conn.execute(f"{self._rows} <= ? order by x.{self._column} desc", (count,)):
            if row[2:] < order:
                return int(row[1])
        return 0

    def take_back(self, mark: int) -> None:
        """Rows with an id above this are about to be deleted; `settle` closes the holes they leave in the ranks."""
        self.forget()
        lowest = self._db.conn.execute(
            f"select min({self._column}) from {self._table} where id > ?", (mark,)
        ).fetchone()[0]
        self._again = None if lowest is None else int(lowest) - 1

    def settle(self) -> None:
        """Number anew what the last rows reached back behind; they have been inserted."""
        if self._again is None:
            return
        rows = self._db.conn.execute(f"{self._rows} > ?", (self._again,)).fetchall()
        rows.sort(key=lambda row: row[2:])
        moved = [(rank, row[0]) for rank, row in enumerate(rows, self._again + 1) if rank != row[1]]
        self._db.conn.executemany(f"update {self._table} set {self._column} = ? where id = ?", moved)
        self._again = None

"""What the addon writes on the flows that mitmproxy shows: which operation, which round, how many findings.

Read with `sqlite3` alone and in small pieces, because mitmproxy's event loop asks for it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

WINDOW = 400
"""Requests looked at in one go; as many older ones are looked at again, since findings and rounds come later."""

_LEVELS = ("", "info", "should", "must")

_REQUESTS = """
select m.id, m.lane, o.op, o.count, coalesce(p.outcome, o.outcome),
  (select count(*) from exchanges x where x.operation = o.id and x.dir = m.dir and x.part is null
    and x.request <= m.id),
  (select count(*) from findings f where f.operation = o.id),
  (select max(case f.level when 'must' then 3 when 'should' then 2 else 1 end)
     from findings f where f.operation = o.id)
from messages m join operations o on o.id = m.operation left join present p on p.operation = o.id
where m.id > ? and m.kind = 'request' and m.dir = 'c2s'
  and m.journal = (select id from journals where name in (?, ?))
order by m.id limit ?
"""


class FlowNote(NamedTuple):
    """One request: the lane it came on, and what became of it.

    worst   level of the gravest finding: "must", "should", "info", or "" when there is none
    """

    lane: str
    operation: int
    round: int
    rounds: int
    outcome: str
    findings: int
    worst: str

    def text(self) -> str:
        """``operation 3, round 2 of 2, 1 finding``"""
        said = f"operation {self.operation}, round {self.round} of {max(self.round, self.rounds)}"
        if self.outcome not in ("complete", "open", ""):
            said += f", {self.outcome}"
        if self.findings:
            said += f", {self.findings} finding{'s' if self.findings > 1 else ''}"
        return said


class FlowNotes:
    """Asks a capture's `scope.db` for what is new about the requests of one journal.

    `journal` is its file name. The database may appear late, and be made anew at any time.
    """

    def __init__(self, path: Path, journal: str) -> None:
        self._path = path
        self._names = (journal, journal.removesuffix(".mrj"))
        self._db: sqlite3.Connection | None = None
        self._file: tuple[int, int] = (0, 0)
        self._version = -1
        self._since = 0

    def poll(self) -> list[FlowNote]:
        """What may have changed since the last call, oldest first; [] when nobody has written meanwhile.

        Whatever is wrong with the database is the analyser's to say: then there are no notes.
        """
        try:
            return self._poll()
        except (OSError, sqlite3.Error):
            self.close()
            return []

    def close(self) -> None:
        """Let go of the database."""
        if self._db is not None:
            self._db.close()
        self._db, self._version, self._since = None, -1, 0

    def _poll(self) -> list[FlowNote]:
        stat = self._path.stat(follow_symlinks=False)
        if self._db is None or self._file != (stat.st_dev, stat.st_ino):
            self.close()
            self._file = (stat.st_dev, stat.st_ino)
            uri = f"{self._path.absolute().as_uri()}?mode=ro"
            self._db = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)
            self._db.execute("pragma trusted_schema = off")
        version = self._db.execute("pragma data_version").fetchone()[0]
        if version == self._version:
            return []
        rows = self._db.execute(
            _REQUESTS, (max(self._since - WINDOW, 0), *self._names, 2 * WINDOW)
        ).fetchall()
        if len(rows) < 2 * WINDOW:
            self._version = version  # else there is more of the same
        if rows:
            self._since = max(self._since, rows[-1][0])
        return [
            FlowNote(lane, op, nth, count, outcome or "", found, _LEVELS[worst or 0])
            for _, lane, op, count, outcome, nth, found, worst in rows
        ]

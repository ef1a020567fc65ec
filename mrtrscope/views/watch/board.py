"""What there is to see: some operations, counts and the latest findings, read from the rows.

Only what fits on the screen is read, so that a look at a million messages takes as long as one at a hundred.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from mrtrscope import model
from mrtrscope.store.reader import Store

LATEST: Final = 12  # findings
PAYS: Final = 12  # a count is made again when so many times its cost went by
RECENT: Final = 900.0  # seconds after its last event in which a capture counts as one that may go on


@dataclass(slots=True)
class Board:
    """One look.

    now      the present, or the end of a capture that is no longer written
    total    operations in all; shown are `operations`, the first of which is number `first` of those that are listed
    listed   how many are listed: all, or the open ones
    rate     messages a second lately
    """

    now: float = 0.0
    live: bool = False
    total: int = 0
    listed: int = 0
    messages: int = 0
    rate: float = 0.0
    open: int = 0
    levels: dict[str, int] = field(default_factory=dict)
    first: int = 0
    operations: list[model.Operation] = field(default_factory=list)
    findings: list[model.Finding] = field(default_factory=list)


class Watcher:
    """Reads boards; one for each session in front of the screen."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._seen: list[tuple[float, int]] = []  # when, how many messages
        self._levels: dict[str, int] = {}
        self._latest: list[model.Finding] = []
        self._due = 0.0

    def look(self, clock: float, wall: float, first: int | None, rows: int, only_open: bool) -> Board:
        """The present board.

        clock   of this process, in seconds     wall    the present, in seconds since the epoch
        first   of the operations to be read, counted from 0; None: the latest
        """
        store = self.store
        store.refresh()
        end = store.end() or 0.0
        live = wall - end < RECENT
        board = Board(now=max(wall, end) if live else end, live=live)
        board.messages = _highest(store, "messages", "m")
        board.total = _highest(store, "operations", "op")
        board.rate = self._rate(clock, board.messages)
        self._found(clock, live)
        board.levels, board.findings = self._levels, self._latest
        open_ones = _open(store)
        board.open = len(open_ones)
        board.listed = len(open_ones) if only_open else board.total
        last = max(0, board.listed - rows)
        board.first = last if first is None else max(0, min(first, last))
        places = range(board.first, min(board.listed, board.first + rows))
        numbers = [open_ones[place] for place in places] if only_open else [place + 1 for place in places]
        found = (store.operation(f"op{n}") for n in numbers)
        board.operations = [operation for operation in found if operation is not None]
        return board

    def _found(self, clock: float, live: bool) -> None:
        """Findings have to be counted; where there are many, that is done less often.

        While it goes on, a question is not "abandoned so far" because somebody still thinks about it.
        """
        if clock < self._due:
            return
        began = time.perf_counter()
        self._levels = self.store.finding_counts(settled=live)
        self._latest = self.store.latest_findings(LATEST, settled=live)
        self._due = clock + PAYS * (time.perf_counter() - began)

    def _rate(self, clock: float, messages: int) -> float:
        self._seen = [seen for seen in self._seen if clock - seen[0] < 3.0]
        self._seen.append((clock, messages))
        (then, before), (now, after) = self._seen[0], self._seen[-1]
        return (after - before) / (now - then) if now - then > 0.2 else 0.0


def _highest(store: Store, table: str, rank: str) -> int:
    """How many rows there are: ranks have no holes, and looking up the highest takes no time."""
    return int(store.db.conn.execute(f"select coalesce(max({rank}), 0) from {table}").fetchone()[0])


def _open(store: Store) -> list[int]:
    """Numbers of the operations that are under way."""
    rows = store.db.conn.execute(
        "select o.op from operations o left join present p on p.operation = o.id"
        " where coalesce(p.outcome, o.outcome) = 'open' order by o.op"
    )
    return [op for (op,) in rows]


def waits(operation: model.Operation, now: float) -> tuple[str, float]:
    """Whom an open operation waits for, in words, and since how many seconds."""
    last = operation.rounds[-1] if operation.rounds else None
    if last is None:
        return "open", now - operation.t
    if last.state == "asked":
        asks = f": {', '.join(last.asks[:3])}{' …' * (len(last.asks) > 3)}" if last.asks else ""
        return f"waits for the person{asks}", max(0.0, now - (last.t_answer or last.t))
    return "waits for the server", max(0.0, now - last.t)

"""What to type next, below a list on a terminal: commands that are complete, about what was just shown."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from mrtrscope import model
from mrtrscope.views.escape import visible
from mrtrscope.views.table import paint

RANK = {"must": 0, "should": 1, "info": 2}


class Noticed:
    """Lets rows pass and remembers the first of the worst level: where somebody would look first."""

    def __init__(self) -> None:
        self.operation = ""
        self.rule = ""
        self._rank = len(RANK)

    def operations(self, rows: Iterable[model.Operation]) -> Iterator[model.Operation]:
        for row in rows:
            self._notice(row.worst, row.id, "")
            yield row

    def findings(self, rows: Iterable[model.Finding]) -> Iterator[model.Finding]:
        for row in rows:
            self._notice(row.level, row.operation or row.at, row.rule)
            yield row

    def _notice(self, level: str | None, where: str, rule: str) -> None:
        rank = RANK.get(level or "", len(RANK))
        if rank < self._rank:
            self._rank, self.operation, self.rule = rank, where, rule

    def lines(self, capture: Path, colours: bool) -> Iterator[str]:
        """Empty when nothing was worth a look."""
        if not self.operation:
            return
        place = shlex.quote(str(capture))
        rows = [("open", f"mrtrscope show {place} {self.operation}")]
        if not self.operation.startswith("f"):
            rows.append(("draw", f"mrtrscope diagram {place} {self.operation} -o {self.operation}.svg"))
        rows.append(("why", f"mrtrscope explain {self.rule}" if self.rule else f"mrtrscope check {place}"))
        yield ""
        for word, command in rows:
            yield paint(visible(f"{word + ':':6}{command}"), "dim", colours)

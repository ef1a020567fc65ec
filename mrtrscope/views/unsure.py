"""Retries that fit several questions equally well: which operations they are, told below a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from mrtrscope import model

NAMED = 12  # operations that are named

Row = TypeVar("Row", bound=model.Operation)


class Unsure:
    """Looks at operations as they go by; an operation that begins with such a retry stands apart from its question."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._count = 0

    def seen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows, as they are."""
        for row in rows:
            link = row.rounds[0].link if row.rounds else None
            if link is not None and link.grade == "ambiguous":
                self._count += 1
                if len(self._names) < NAMED:
                    self._names.append(row.id)
            yield row

    def lines(self) -> Iterator[str]:
        """One line, or none."""
        if not self._count:
            return
        more = self._count - len(self._names)
        names = ", ".join(self._names) + (f" and {more:,} more" if more else "")
        several = "each a retry" if self._count > 1 else "a retry"
        yield f"{names}: {several} that fits several questions equally well; show {self._names[0]} names them"

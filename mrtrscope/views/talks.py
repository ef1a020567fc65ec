"""Conversations with agents (A2A): which operations are told as one, with the grade of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from mrtrscope import model
from mrtrscope.views.escape import visible

TALKS, NAMED = 64, 12  # conversations that are kept, and operations that are named of each

Row = TypeVar("Row", bound=model.Operation)


class Talks:
    """Looks at operations as they go by, and says in the end which of them are of one conversation."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = {}  # by the operation that began it
        self._counts: dict[str, int] = {}
        self._left = 0

    def seen(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows, as they are."""
        for row in rows:
            found = row.conversation
            if found is not None and found.operation is not None:
                self._add(found.operation, row.id)
            yield row

    def _add(self, first: str, id: str) -> None:
        if first not in self._names:
            if len(self._names) >= TALKS:
                self._left += 1
                return
            self._names[first], self._counts[first] = [first], 1
        self._counts[first] += 1
        if len(self._names[first]) < NAMED:
            self._names[first].append(id)

    def lines(self) -> Iterator[str]:
        """One line a conversation, ready to be shown."""
        for first, names in self._names.items():
            more = self._counts[first] - len(names)
            rest = f" and {more:,} more" if more else ""
            yield visible(f"one conversation: {', '.join(names)}{rest}; inferred (the same contextId)")
        if self._left:
            yield f"… and {self._left:,} operations of other conversations"

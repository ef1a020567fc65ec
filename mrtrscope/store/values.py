"""Between columns and what is handed out: keys, numbers, ids."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

LEVELS: tuple[Literal["must", "should", "info"], ...] = ("must", "should", "info")


def join_key(journal: str, offset: int, part: int) -> str:
    """A permanent key out of its pieces."""
    return f"{journal}:{offset}.{part}" if part else f"{journal}:{offset}"


def number(name: str, letter: str) -> int:
    """3 of "m3"; 0, which nothing has, when it is not of this kind."""
    digits = name.removeprefix(letter)
    return int(digits) if digits.isascii() and digits.isdigit() and digits != name and len(digits) < 18 else 0


def parsed_id(id_text: str | None) -> Any:
    """A JSON-RPC id out of its text; the text itself where it was shortened or is no JSON value others could read."""
    if id_text is None:
        return None
    try:
        found = json.loads(id_text)
    except (ValueError, RecursionError):
        return id_text
    return id_text if isinstance(found, float) and found - found != 0 else found


def named(letter: str, number: int | None) -> str | None:
    return None if number is None else f"{letter}{number}"


def loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def by_operation(rows: Iterator[tuple[Any, ...]]) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for operation, level, count in rows:
        found.setdefault(operation, {})[level] = count
    return found


class Groups:
    """Rows that come in groups by their first column, taken group by group in the same order."""

    def __init__(self, rows: Iterator[tuple[Any, ...]]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    def take(self, key: Any) -> list[tuple[Any, ...]]:
        """The rows of this group; empty when it is not the next one."""
        found = []
        while self._next is not None and self._next[0] == key:
            found.append(self._next)
            self._next = next(self._rows, None)
        return found

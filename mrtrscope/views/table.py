"""Tables for a terminal or a pipe: columns as wide as their text, reckoned in cells, and colour only where it may be.

Widths come from the rows at the beginning, so that a long table is written while it is read. On a terminal the widest
column that can give way is cut until a row fits; in a pipe nothing is cut.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from mrtrscope.views.escape import visible
from mrtrscope.views.metrics import cells, cut

LOOK_AHEAD = 500  # rows that decide the widths
GAP = "  "

COLOURS = {"red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36, "bold": 1, "dim": 2}


class Cell:
    """Text of one place in a table, with the name of a colour or ""."""

    __slots__ = ("colour", "text")

    def __init__(self, text: str, colour: str = "") -> None:
        self.text = visible(text)
        self.colour = colour


class Column:
    """head; `right`: numbers stand under each other; `least`: cells it keeps on a narrow terminal (None: never cut);
    `middle`: cut in the middle (both ends of an address say something)."""

    def __init__(
        self, head: str, *, right: bool = False, least: int | None = None, middle: bool = False
    ) -> None:
        self.head = head
        self.right = right
        self.middle = middle
        self.least = least


def paint(text: str, colour: str, colours: bool) -> str:
    """The text in a colour, when there are any."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if colours and colour else text


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell] | str], width: int | None, colours: bool
) -> Iterator[str]:
    """Lines of a table; a row that is plain text is a line across. Columns that are empty at the beginning go."""
    rest = iter(rows)
    first = list(itertools.islice(rest, LOOK_AHEAD))
    widths = _widths(columns, [row for row in first if not isinstance(row, str)], width)
    if first:
        heads = [Cell(column.head, "dim") for column in columns]
        yield _line(columns, heads, widths, width, colours)
    for row in itertools.chain(first, rest):
        yield (
            paint(visible(row), "dim", colours)
            if isinstance(row, str)
            else _line(columns, row, widths, width, colours)
        )


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int | None) -> list[int]:
    found = [max((cells(row[i].text) for row in rows), default=0) for i in range(len(columns))]
    found = [
        max(size, cells(column.head)) if size else 0 for size, column in zip(found, columns, strict=True)
    ]
    if width is None:
        return found
    while (over := sum(found) + len(GAP) * (sum(map(bool, found)) - 1) - width) > 0:
        room = [(size - column.least, i) for i, (size, column) in enumerate(zip(found, columns, strict=True))
                if column.least is not None and size > column.least]  # fmt: skip
        if not room:
            break
        most, widest = max(room)
        found[widest] -= min(over, most, max(1, most // 4))
    return found


def _line(
    columns: Sequence[Column], row: Sequence[Cell], widths: Sequence[int], width: int | None, colours: bool
) -> str:
    parts = []
    for column, cell, size in zip(columns, row, widths, strict=True):
        if not size:
            continue
        text = (
            cut(cell.text, size, cells, column.middle)
            if width is not None and column.least is not None
            else cell.text
        )
        pad = " " * max(0, size - cells(text))
        shown = paint(text, cell.colour, colours)
        parts.append(pad + shown if column.right else shown + pad)
    return GAP.join(parts).rstrip()

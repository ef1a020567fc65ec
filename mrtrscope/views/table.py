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
    """A column of a table.

    right    numbers stand under each other           least   cells it keeps on a narrow terminal (None: never cut)
    middle   cut in the middle, as both ends of an address say something
    spare    on a terminal too narrow even so, the column with the largest number goes first (0: stays)
    """

    def __init__(
        self,
        head: str,
        *,
        right: bool = False,
        least: int | None = None,
        middle: bool = False,
        spare: int = 0,
    ) -> None:
        self.head = head
        self.right = right
        self.least = least
        self.middle = middle
        self.spare = spare


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
    """Cells of each column, 0 for one that is not shown."""
    found = [max((cells(row[i].text) for row in rows), default=0) for i in range(len(columns))]
    found = [
        max(size, cells(column.head)) if size else 0 for size, column in zip(found, columns, strict=True)
    ]
    if width is None:
        return found
    least = [size if c.least is None else min(size, c.least) for size, c in zip(found, columns, strict=True)]
    for _, i in sorted(((c.spare, i) for i, c in enumerate(columns) if c.spare), reverse=True):
        if _over(least, width) > 0:
            least[i] = found[i] = 0
    while (over := _over(found, width)) > 0:
        most, widest = max(
            (size - small, i) for i, (size, small) in enumerate(zip(found, least, strict=True))
        )
        if not most:
            break
        found[widest] -= min(over, max(1, most // 4))
    return found


def _over(widths: Sequence[int], width: int) -> int:
    """How many cells a row of these columns is too wide."""
    return sum(widths) + len(GAP) * (sum(map(bool, widths)) - 1) - width


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

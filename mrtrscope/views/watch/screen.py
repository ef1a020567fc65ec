"""The lines of the live view, for a window of some size. Pure: what is seen follows from what is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from mrtrscope import model
from mrtrscope.views import rows
from mrtrscope.views.escape import visible
from mrtrscope.views.metrics import cells, cut
from mrtrscope.views.redact import Redactor
from mrtrscope.views.rows import LEVELS, ended
from mrtrscope.views.table import paint
from mrtrscope.views.watch.board import Board, waits
from mrtrscope.views.words import clock, count, duration

LEAST = (40, 6)  # columns and lines below which nothing useful fits
FOUND = 6  # lines for findings
HELP = (
    "↑ ↓  choose          Enter  open          Esc  back",
    "PgUp PgDn  a page    g  first    G or End  last, and stay there",
    "w  only what waits   f  findings          d  picture, in an operation",
    "q  end",
    "In an operation the keys of the first two lines scroll it.",
    "",
    "Column r: rounds, how many requests the operation took so far.",
)


@dataclass(slots=True)
class View:
    """What the person chose.

    place   of the chosen operation among those listed; None: the last, whatever comes
    lines   of the operation that is open, else None      top   the first of them that is seen
    """

    place: int | None = None
    only_open: bool = False
    findings: bool = True
    help: bool = False
    picture: bool = False
    opened: str = ""
    lines: list[str] | None = None
    top: int = 0
    note: str = ""
    first: int | None = field(default=None)


def rows_for(height: int, view: View) -> int:
    """How many operations fit."""
    return max(1, height - 3 - (FOUND + 1 if view.findings and height >= 18 else 0))


def lines(
    board: Board, view: View, width: int, height: int, colours: bool, name: str, redact: Redactor
) -> list[str]:
    """Exactly `height` lines, none wider than `width`."""
    if view.help:
        made = [paint("Keys", "bold", colours), "", *(cut(line, width, cells) for line in HELP)]
        return _filled(made, height, _status(board, view, width, colours))
    if view.lines is not None:
        shown = view.lines[view.top : view.top + height - 1]
        left = len(view.lines) - view.top - len(shown)
        status = (
            f"{view.opened}   {'↓ ' + count(left, 'more line') if left else 'end'}   Esc back   d picture"
        )
        return _filled(shown, height, paint(cut(status, width, cells), "dim", colours))
    made = [_head(board, width, colours, name), paint(_columns(width, board), "dim", colours)]
    chosen = board.listed - 1 if view.place is None else view.place
    for n, operation in enumerate(board.operations):
        made.append(_operation(operation, board, width, colours, board.first + n == chosen, redact))
    if not board.operations:
        made.append("Nothing waits." if view.only_open else "No operations yet.")
    if view.findings and height >= 18:
        made += [""] * (height - 2 - FOUND - len(made))
        made.append(paint("Findings" + "─" * max(0, width - 8), "dim", colours))
        made += [_finding(found, width, colours, redact) for found in board.findings[-FOUND:]]
        if not board.findings:
            made.append(paint("none so far", "dim", colours))
    return _filled(made, height, _status(board, view, width, colours))


def _filled(made: list[str], height: int, last: str) -> list[str]:
    made = made[: height - 1]
    return [*made, *[""] * (height - 1 - len(made)), last]


def _head(board: Board, width: int, colours: bool, name: str) -> str:
    parts = [
        visible(name), count(board.total, "operation"), f"{board.open:,} open", count(board.messages, "message"),
    ]  # fmt: skip
    if board.live and board.rate >= 0.5:
        parts.append(f"{board.rate:,.0f}/s")
    found = [
        count(n, "note") if level == "info" else f"{n:,} {level}" for level, n in board.levels.items() if n
    ]
    parts.append(", ".join(found) or "no findings")
    tone = next((LEVELS[level] for level in ("must", "should") if board.levels.get(level)), "bold")
    return paint(cut("  ·  ".join(parts), width, cells), tone, colours)


def _status(board: Board, view: View, width: int, colours: bool) -> str:
    left = view.note or (
        "live" if board.live else "no longer written" if board.total else "waiting for the first message"
    )
    place = "" if view.place is None else f"   {view.place + 1:,} of {board.listed:,}"
    keys = "Enter open  w waiting  f findings  ? keys  q end"
    text = f"{left}{place}{'   only what waits' if view.only_open else ''}"
    room = width - cells(text) - cells(keys)
    return paint(cut(f"{text}{' ' * room}{keys}" if room >= 2 else text, width, cells), "dim", colours)


def _widths(width: int, board: Board) -> tuple[int, int, int, int]:
    """Columns for number, channel, operation and state."""
    number = max(8, len(f"  op{board.total} "))
    rest = width - number - 13 - 4 - 10
    state = max(14, min(38, rest * 2 // 5))
    channel = 0 if width < 90 else min(24, rest // 5)
    return number, channel, max(8, rest - state - channel), state


def _columns(width: int, board: Board) -> str:
    return _row(["", "began", "channel", "operation", "r", "state", "findings"], *_widths(width, board))


def _row(parts: list[str], number: int, channel: int, operation: int, state: int) -> str:
    id, began, where, what, rounds, how, found = parts
    return (
        _pad(id, number) + _pad(began, 13) + (_pad(where, channel, middle=True) if channel else "")
        + _pad(what, operation) + _pad(rounds, 4) + _pad(how, state) + _pad(found, 10)
    )  # fmt: skip


def _pad(text: str, width: int, middle: bool = False) -> str:
    """The text, cut to leave a blank behind it."""
    text = cut(text, width - 1, cells, middle)
    return text + " " * (width - cells(text))


def _operation(
    operation: model.Operation, board: Board, width: int, colours: bool, chosen: bool, redact: Redactor
) -> str:
    number, channel, what, state = _widths(width, board)
    if operation.outcome == "open":
        words, since = waits(operation, board.now)
        how = f"{duration(since)} {words}" if board.live else f"open, {words}"
        tone = "yellow" if since < 30 else "red"
    else:
        how = f"{ended(operation)} {duration(operation.times.total)}"
        tone = rows.tone(operation)
    levels = {"must": "must", "should": "should", "info": "note"}
    found = f"{operation.findings} {levels[operation.worst]}" if operation.worst else ""
    if board.live and operation.outcome == "open" and operation.worst == "info":
        found = ""  # a note on what is not over yet
    target = visible(redact.text(f"{operation.method} {operation.target or ''}".strip()))
    text = _row(
        [f"{'▸' if chosen else ' '} {operation.id}", clock(operation.t), visible(operation.channel), target,
         str(len(operation.rounds)), visible(how), found], number, channel, what, state,
    )  # fmt: skip
    text = cut(text.rstrip(), width, cells)
    if not colours:
        return text
    if chosen:
        return f"\x1b[7m{text}{' ' * (width - cells(text))}\x1b[0m"
    # The state in its colour; where it begins is known, as all before it has fixed widths.
    begin = _index(text, number + 13 + channel + what + 4)
    end = _index(text, number + 13 + channel + what + 4 + state)
    mark = paint(text[end:], LEVELS.get(operation.worst or "", ""), True)
    return text[:begin] + paint(text[begin:end], tone, True) + mark


def _index(text: str, column: int) -> int:
    """Index of the character at a column."""
    if text.isascii():
        return min(column, len(text))
    at = 0
    for n, char in enumerate(text):
        if at >= column:
            return n
        at += cells(char)
    return len(text)


def _finding(found: model.Finding, width: int, colours: bool, redact: Redactor) -> str:
    level = "note" if found.level == "info" else found.level
    text = visible(
        f"{found.party} {found.at} {found.operation or ''}  {redact.text(found.text)}  {found.rule}"
    )
    return paint(f"{level:7}", LEVELS[found.level], colours) + cut(text, max(8, width - 7), cells)

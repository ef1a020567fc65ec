"""What was pressed, and what that changes in the view. Pure."""

from __future__ import annotations

import re
from typing import Final

from mrtrscope.views.watch.board import Board
from mrtrscope.views.watch.screen import View

QUIT, OPEN, CLOSE, PICTURE = "quit", "open", "close", "picture"

_NAMES: Final = {
    b"\x1b[A": "up", b"\x1bOA": "up", b"k": "up", b"\x1b[B": "down", b"\x1bOB": "down", b"j": "down",
    b"\x1b[5~": "page-up", b"\x02": "page-up", b"\x1b[6~": "page-down", b" ": "page-down", b"\x06": "page-down",
    b"\x1b[H": "home", b"\x1b[1~": "home", b"\x1bOH": "home", b"g": "home",
    b"\x1b[F": "end", b"\x1b[4~": "end", b"\x1bOF": "end", b"G": "end",
    b"\r": "enter", b"\n": "enter", b"\x1b[C": "enter", b"\x1b": "escape", b"\x7f": "escape", b"\x1b[D": "escape",
    b"q": "q", b"\x03": "q", b"\x04": "q", b"w": "w", b"f": "f", b"d": "d", b"?": "?", b"h": "?",
}  # fmt: skip
_PRESSED: Final = re.compile(rb"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|[\x00-\xff]", re.DOTALL)


def pressed(data: bytes) -> list[str]:
    """Names of the keys in what one read brought; those that do nothing are "other"."""
    return [_NAMES.get(key, "other") for key in _PRESSED.findall(data)]


def act(key: str, view: View, board: Board, rows: int) -> str:
    """Change the view; returns what is left to do: QUIT, OPEN, CLOSE, PICTURE or ""."""
    view.note = ""
    if view.help:
        view.help = False
        return QUIT if key == "q" else ""
    if key == "?":
        view.help = True
    elif view.lines is not None:
        return _inside(key, view, rows)
    elif key == "q":
        return QUIT
    elif key == "enter":
        return OPEN if board.operations else ""
    elif key == "w":
        view.only_open, view.place, view.first = not view.only_open, None, None
    elif key == "f":
        view.findings = not view.findings
    elif key == "end":
        view.place = view.first = None
    elif steps := {"up": -1, "down": 1, "page-up": -rows, "page-down": rows, "home": -board.listed}.get(key):
        _move(view, board, rows, steps)
    return ""


def _move(view: View, board: Board, rows: int, steps: int) -> None:
    last = max(0, board.listed - 1)
    place = (last if view.place is None else view.place) + steps
    if place > last:
        view.place = view.first = None  # beyond the last: stay with what comes
        return
    view.place = max(0, place)
    first = board.first if view.first is None else view.first
    view.first = max(0, min(max(first, view.place - rows + 1), view.place))


def _inside(key: str, view: View, rows: int) -> str:
    """An operation is open: the keys move its lines."""
    assert view.lines is not None
    last = max(0, len(view.lines) - rows)
    steps = {"up": -1, "down": 1, "page-up": -rows, "page-down": rows, "home": -len(view.lines), "end": last}
    if key in steps:
        view.top = max(0, min(last, view.top + steps[key]))
        return ""
    return {"escape": CLOSE, "q": CLOSE, "d": PICTURE}.get(key, "")

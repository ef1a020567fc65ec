"""A terminal taken over for a while: keys one by one, a screen of its own, given back as it was found."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from typing import Any

_BEGIN = "\x1b[?1049h\x1b[?25l\x1b[2J"  # the other screen, no cursor, empty
_END = "\x1b[?25h\x1b[?1049l"


class Terminal:
    """Used with `with`; whatever ends the block, also a signal, the terminal is given back."""

    def __init__(self) -> None:
        self._in = sys.stdin.fileno()
        self._out = sys.stdout.fileno()
        self._before: Any = None
        self._drawn: list[str] = []
        self._size = (0, 0)

    def __enter__(self) -> Terminal:
        self._before = termios.tcgetattr(self._in)
        self._terminate = signal.signal(signal.SIGTERM, _end)
        tty.setcbreak(self._in)
        settings = termios.tcgetattr(self._in)
        settings[3] &= ~termios.ISIG  # Ctrl-C is a key, so that nothing ends half way through a line
        termios.tcsetattr(self._in, termios.TCSADRAIN, settings)
        self._write(_BEGIN)
        return self

    def __exit__(self, *exc: object) -> None:
        self._write(_END)
        termios.tcsetattr(self._in, termios.TCSADRAIN, self._before)
        signal.signal(signal.SIGTERM, self._terminate)

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        found = os.get_terminal_size(self._out)
        return found.columns or 80, found.lines or 24

    def draw(self, lines: list[str]) -> None:
        """Show these lines; only those that changed are written."""
        size = self.size
        if size != self._size:
            self._size, self._drawn = size, []
            self._write("\x1b[2J")
        out = []
        for n, line in enumerate(lines):
            if n >= len(self._drawn) or self._drawn[n] != line:
                out.append(f"\x1b[{n + 1};1H{line}\x1b[0m\x1b[K")
        self._drawn = lines
        if out:
            self._write("".join(out))

    def read(self, seconds: float) -> bytes:
        """What was pressed within this time."""
        ready, _, _ = select.select([self._in], [], [], seconds)
        return os.read(self._in, 1024) if ready else b""

    def _write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        while data:
            data = data[os.write(self._out, data) :]


def _end(*_: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)

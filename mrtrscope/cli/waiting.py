"""While a long recording is read: how far it has come, on a terminal, and Ctrl-C that keeps what was read."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType, TracebackType

import click

PATIENCE = 2.0  # seconds of reading that pass in silence
BETWEEN = 0.5  # seconds between two looks at the line


class Waiting:
    """`progress` for `analyse.bring_up_to_date`; a context that clears its line, and takes Ctrl-C meanwhile."""

    def __init__(self) -> None:
        self._began = self._since = self._told = time.monotonic()
        self._first: int | None = None
        self._shown = False
        self.asked = False

    def __call__(self, done: int, total: int) -> bool:
        now = time.monotonic()
        if self._first is None:
            self._first, self._since = done, now
        if now - self._began > PATIENCE and now - self._told > BETWEEN and sys.stderr.isatty():
            self._told, self._shown = now, True
            click.echo(f"\r\x1b[K{self._line(done, total, now)}", err=True, nl=False)
        return self.asked

    def _line(self, done: int, total: int, now: float) -> str:
        from mrtrscope.views.words import duration, size

        part = min(1.0, done / max(total, 1))
        come = done - (self._first or 0)
        rest = (
            f", about {duration((now - self._since) * max(total - done, 0) / come)} left" if come > 0 else ""
        )
        return f"Reading {size(total)}: {part:.0%}{rest}. Ctrl-C stops, and keeps what was read."

    def _still(self) -> None:
        """Nothing was read yet: the rows of another version are cleared away, which takes long when they are many."""
        if self._first is None:
            self._shown = True
            click.echo("\r\x1b[KMaking room for new rows. Ctrl-C stops.", err=True, nl=False)

    def __enter__(self) -> Waiting:
        self._before = None
        self._timer = threading.Timer(PATIENCE, self._still)
        self._timer.daemon = True
        if sys.stderr.isatty():
            self._timer.start()
        with contextlib.suppress(ValueError):
            if (
                threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler
            ):
                self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked or self._first is None:
            raise KeyboardInterrupt  # at once: nothing is being read yet, or it is meant
        self.asked = True


@contextlib.contextmanager
def waiting() -> Iterator[Waiting]:
    """A reading that somebody may stop: that is said, and ends the command as Ctrl-C does."""
    from mrtrscope.analyse import Stopped

    with Waiting() as progress:
        try:
            yield progress
        except Stopped:
            pass
        else:
            if not progress.asked:
                return  # else it was asked to stop when there was nothing left to read: the command is not to go on
    click.echo("Stopped. What was read is kept; the same command goes on from there.", err=True)
    raise KeyboardInterrupt

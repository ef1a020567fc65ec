"""Standard streams in any state: closed when the command starts, on a full disk, or read by nobody any more.

Results go to stdout: what cannot be written there is an error, but a reader who has seen enough (`| head`) is none.
Talk goes to stderr: what cannot be written there is lost, and nothing fails for it.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import stat
import sys
from collections.abc import Buffer, Iterator
from typing import TextIO

refused: OSError | None = None  # what stdout said when it took something no more
_silenced: set[int] = set()  # numbers of those whose reader is gone


class _Patient(io.FileIO):
    """Bytes for a pipe that does not block, as node makes them: what does not fit yet waits."""

    def write(self, data: Buffer, /) -> int:
        while (done := super().write(data)) is None:
            select.select([], [self], [])
        return done


class _Results(io.TextIOWrapper):
    """stdout; what it refuses can be told from what other files do."""

    def write(self, text: str, /) -> int:
        with refusals():
            return super().write(text)

    def flush(self) -> None:
        with refusals():
            super().flush()


class _Talk(io.TextIOWrapper):
    """stderr; once it takes nothing, all goes nowhere."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError:
            silence(self)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            silence(self)


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Around what is written to stdout."""
    global refused
    try:
        yield
    except OSError as error:
        refused = error
        raise


def made_whole() -> None:
    """See that the three streams are there, before a file of ours gets one of their numbers.

    A closed stdin is at its end. A closed stdout takes nothing: only a command that prints notices. A closed stderr
    takes and drops everything.
    """
    for number, way in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, way)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = _Results(*_as(sys.stdout, 1), line_buffering=os.isatty(1))
    sys.stderr = _Talk(*_as(sys.stderr, 2), line_buffering=True)


def _as(before: TextIO | None, number: int) -> tuple[io.BufferedWriter, str, str]:
    """Where a stream writes, the encoding of the one before, and how characters are written that it lacks."""
    raw = (io.FileIO if os.get_blocking(number) else _Patient)(number, "w", closefd=False)
    return io.BufferedWriter(raw), before.encoding if before is not None else "utf-8", "backslashreplace"


def silence(stream: TextIO) -> None:
    """Let everything written from now on go nowhere, also what still waits to be."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        _silenced.add(stream.fileno())
        os.close(nowhere)
        stream.flush()


def is_read(stream: TextIO) -> bool:
    """Whether somebody may still read a stream; a pipe tells when nobody does, also while nothing is written."""
    try:
        number = stream.fileno()
        mode = os.fstat(number).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return number not in _silenced
        poll = select.poll()
        poll.register(number, 0)
        return not poll.poll(0)
    except (OSError, ValueError):
        return True

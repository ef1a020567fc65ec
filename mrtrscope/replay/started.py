"""A client that is started for a probe: how it ended, and what it said; its stderr and its end are in the capture."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
import time

from mrtrscope.frames import DATA, EXIT
from mrtrscope.recorder import Journal

BLOCK = 1 << 16
SAID = 1 << 14  # bytes of its stderr that are looked at
LINES = 5  # of them that are shown
GRACE = 3.0  # seconds between SIGTERM and SIGKILL
LATE = 0.5  # seconds that the rest of its stderr may take once it ended
ERROR = re.compile(r"[\w.]*(Error|Exception)\b.*: ")


# Ends the group that was named last when whoever named it is gone, killed perhaps.
WATCH = """
import os, signal, sys
group = 0
for line in sys.stdin:
    group = int(line)
if group:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


class Watcher:
    """A process that outlives this one for a moment, and ends the client that would be left behind."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", WATCH], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def runs(self, group: int) -> None:
        """This group of processes runs now; 0: none does."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.write(b"%d\n" % group)
            self._process.stdin.flush()

    def close(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()


class Ended:
    """How a client ended: `words`; `code`, None when it did not end by itself; `said`, the end of its stderr."""

    __slots__ = ("code", "said", "words")

    def __init__(self, words: str, code: int | None, said: bytes) -> None:
        self.words = words
        self.code = code
        self.said = said

    @property
    def running(self) -> bool:
        """Whether it had to be ended."""
        return self.code is None

    def lines(self) -> list[str]:
        """The last lines of its stderr that say something, secrets hidden."""
        return self._all()[-LINES:]

    def why(self) -> str:
        """The line that most likely says why: the last one that names an error, else the last."""
        lines = self._all()
        named = [line for line in lines if ERROR.match(line)]
        return (named or lines or [""])[-1][:100]

    def _all(self) -> list[str]:
        from mrtrscope.views.redact import Redactor

        redactor = Redactor()
        lines = (line.strip(" |+-^~\t)") for line in self.said.decode(errors="replace").splitlines())
        return [redactor.text(line)[:300] for line in lines if line]


async def run(
    argv: list[str], timeout: float, journal: Journal | None = None, number: int = 0,
    enough: asyncio.Event | None = None, watcher: Watcher | None = None,
) -> Ended:  # fmt: skip
    """Run a client to its end, for so many seconds, or until it did enough; OSError when it cannot be started.

    It gets its own group, so that what it started ends with it. `number` tells the clients of one journal apart.
    """
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    if watcher is not None:
        watcher.runs(process.pid)
    said = bytearray()

    async def listen() -> None:
        assert process.stderr is not None
        while chunk := await process.stderr.read(BLOCK):
            said.extend(chunk)
            del said[:-SAID]
            if journal is not None:
                journal.append(f"{number}e", DATA, time.monotonic_ns(), chunk)

    listening = asyncio.ensure_future(listen())
    code: int | None = None
    try:
        waits = [asyncio.ensure_future(w) for w in (process.wait(), *([enough.wait()] if enough else []))]
        await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        code = process.returncode
        for one in waits:
            one.cancel()
    finally:
        for how in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, how)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE)
        if watcher is not None:
            watcher.runs(0)
        await asyncio.wait([listening], timeout=LATE)
        listening.cancel()
    if journal is not None:
        last = process.returncode or 0
        what = b'{"code": %d}' % last if last >= 0 else b'{"signal": %d}' % -last
        journal.append(f"{number}z", EXIT, time.monotonic_ns(), what)
    if code is not None:
        return Ended(_words(code), code, bytes(said))
    if enough is not None and enough.is_set():
        return Ended("ended by us, this being enough", None, bytes(said))
    return Ended(f"still running after {timeout:g} s", None, bytes(said))


def _words(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"ended by signal {-code}"

"""Starts the demo's processes and sees to it that none of them stays, however the demo ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Self

GUARD = Path(__file__).with_name("guard.py")
ENDING = 8.0  # seconds that everything together may take to end, guards' grace included


class DemoError(Exception):
    """A part of the demo did not do what it should; the text says which, and its last words."""


class Interrupted(Exception):
    """A signal asked the demo to end; `number` is the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Actor:
    """One process behind its guard; what it says goes to files."""

    def __init__(self, name: str, command: list[str], logs: Path) -> None:
        self.name = name
        self._out, self._err = logs / f"{name}.out", logs / f"{name}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD), *command],
                stdin=subprocess.PIPE, stdout=out, stderr=err, start_new_session=True,
            )  # fmt: skip

    def said(self) -> str:
        """Everything on its stdout so far."""
        return self._out.read_text(encoding="utf-8", errors="replace")

    def complained(self) -> str:
        """Everything on its stderr so far."""
        return self._err.read_text(encoding="utf-8", errors="replace")

    def failed(self, what: str) -> DemoError:
        last = (self.complained().strip() or self.said().strip() or "it said nothing").splitlines()[-1]
        return DemoError(f"the demo's {self.name} {what}: {last}")

    def let_go(self) -> None:
        """Its guard sees the pipe end, and ends it."""
        if self.process.stdin and not self.process.stdin.closed:
            self.process.stdin.close()


class Stage:
    """Everything that the demo starts, and the signals meanwhile.

    A signal is only noted when it comes, and raised from the next wait, so that it can never fall between
    a start and the moment at which we know of what was started.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self, capture: Path) -> None:
        self._journals = capture / "journals"
        self._logs = tempfile.TemporaryDirectory(prefix="mrtrscope-demo-")
        self._actors: list[Actor] = []
        self._before: dict[int, Any] = {}
        self._signal = 0

    def __enter__(self) -> Self:
        for number in self.SIGNALS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._signal = number

    def start(self, name: str, *command: str) -> Actor:
        actor = Actor(name, list(command), Path(self._logs.name))
        self._actors.append(actor)
        return actor

    def wait[T](self, condition: Callable[[], T], actor: Actor, what: str, timeout: float) -> T:
        """Until it is true; DemoError when its actor ended or time is up, Interrupted by a signal."""
        end = time.monotonic() + timeout
        while True:
            if self._signal:
                raise Interrupted(self._signal)
            ended = actor.process.poll() is not None
            if answer := condition():
                return answer
            if ended:
                raise actor.failed(f"ended before it {what}")
            if time.monotonic() > end:
                raise actor.failed(f"has not {what} within {timeout:.0f} s")
            time.sleep(0.02)

    def result(self, actor: Actor, timeout: float) -> dict[str, Any]:
        """What a client printed when it was done."""
        self.wait(lambda: actor.process.poll() is not None, actor, "finished", timeout)
        if actor.process.returncode:
            raise actor.failed(f"failed with exit code {actor.process.returncode}")
        got: dict[str, Any] = json.loads(actor.said())
        return got

    def __exit__(self, *error: object) -> None:
        end = time.monotonic() + ENDING
        for actor in self._actors:
            actor.let_go()
        for actor in self._actors:
            try:
                actor.process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                actor.process.kill()
                actor.process.wait()
        self._see_recorders_off(end)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._logs.cleanup()
        if self._signal and error[0] is None:
            raise Interrupted(self._signal)

    def _see_recorders_off(self, end: float) -> None:
        """`wrap` was started by a client and ends with it, but a little later: wait for that, or help.

        The journals of the capture, which is ours alone, say which processes wrote them.
        """
        for pid in self._recorders():
            if _outlives(pid, end):
                os.kill(pid, signal.SIGKILL)
                _outlives(pid, end + 1)

    def _recorders(self) -> list[int]:
        pids = []
        for journal in self._journals.glob("*.mrj"):
            with journal.open("rb") as file:
                try:
                    pids.append(int(json.loads(file.readline(65536))["pid"]))
                except (ValueError, KeyError, TypeError):
                    pass  # torn first line: whoever wrote it is gone
        return pids


def _outlives(pid: int, end: float) -> bool:
    """Wait for the end of a process that is no child of ours; True when it is there at `end` still."""
    while True:
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        if time.monotonic() > end:
            return True
        time.sleep(0.02)

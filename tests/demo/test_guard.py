"""The guard: what hangs on the pipe ends with it, however the other end went."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from mrtrscope.demo import guard
from tests.conftest import LIMIT, wait_until

GUARDED = [sys.executable, "-I", "-S", guard.__file__, sys.executable, "-c"]
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1)
print("up", flush=True)
child.wait()
"""

pytestmark = pytest.mark.live


def start(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*GUARDED, code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [("import sys; sys.exit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137), ("pass", 0)],
)
def test_the_exit_code_is_that_of_the_command(code: str, expected: int) -> None:
    with start(code) as guarded:
        assert guarded.wait(LIMIT) == expected


def test_the_command_has_a_stdin_that_ends_with_ours() -> None:
    with start("import sys; print(sys.stdin.read() == '')") as guarded:
        assert guarded.communicate(timeout=LIMIT)[0] in ("True\n", "")  # SIGTERM may be faster than it


def test_signals_at_the_terminal_do_not_reach_the_command() -> None:
    with start("print('up', flush=True); input()") as guarded:
        assert guarded.stdout and guarded.stdin
        assert guarded.stdout.readline() == "up\n"
        os.killpg(guarded.pid, signal.SIGINT)
        os.killpg(guarded.pid, signal.SIGTERM)
        assert guarded.poll() is None
        guarded.stdin.close()
        assert guarded.wait(LIMIT) in (
            1,
            128 + signal.SIGTERM,
        )  # input() found the end, or the signal came first


@pytest.mark.parametrize("code", [STUBBORN, PARENT], ids=["ignores SIGTERM", "has a child"])
def test_all_of_it_ends_with_the_pipe(code: str, no_survivors: Callable[[], list[str]]) -> None:
    with start(code) as guarded:
        assert guarded.stdout and guarded.stdin
        assert guarded.stdout.readline() == "up\n"
        guarded.stdin.close()
        assert guarded.wait(LIMIT) in (128 + signal.SIGTERM, 128 + signal.SIGKILL)
        wait_until(lambda: no_survivors() == [], why="what was killed dies")


def test_all_of_it_ends_when_the_starter_is_killed(no_survivors: Callable[[], list[str]]) -> None:
    starter = f"import subprocess, sys; p = subprocess.Popen({[*GUARDED, PARENT]!r}, stdin=-1); p.wait()"
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        assert len(no_survivors()) == 4
        process.kill()
    wait_until(lambda: no_survivors() == [], why="the kernel closed the pipe")

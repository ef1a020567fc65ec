"""The helpers that other tests trust."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import conftest


def test_state_is_private(private_state: Path) -> None:
    assert os.environ["XDG_STATE_HOME"] == str(private_state / "state")
    assert "MRTRSCOPE_CAPTURE" not in os.environ
    assert not private_state.exists()


def test_a_process_left_behind_is_named(no_survivors: Callable[[], list[str]]) -> None:
    orphan = (
        "import subprocess, sys\n"
        "command = [sys.executable, '-c', 'input()']\n"
        "p = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)\n"
        "print(p.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", orphan], stdin=-1, stdout=-1, text=True) as parent:
        assert parent.stdout and parent.stdin
        child = parent.stdout.readline().strip()
        assert {line.split()[0] for line in no_survivors()} == {str(parent.pid), child}
        parent.stdin.close()
    conftest.wait_until(lambda: not no_survivors(), why="the orphan ends when its input does")


def test_absent_skips_here_and_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "IN_CI", False)
    with pytest.raises(pytest.skip.Exception, match="no-such-program is not installed: for the pictures"):
        conftest.need("no-such-program", "for the pictures")
    monkeypatch.setattr(conftest, "IN_CI", True)
    with pytest.raises(pytest.fail.Exception, match="CI must provide this"):
        conftest.need("no-such-program", "for the pictures")
    assert Path(conftest.need("sh", "always there")).is_file()


def test_a_failing_test_does_not_wait_for_its_processes() -> None:
    with pytest.raises(ZeroDivisionError), subprocess.Popen(["sleep", "600"]) as process:
        _ = 1 / 0
    assert process.returncode == -signal.SIGKILL


def test_waits_are_bounded() -> None:
    assert conftest.wait_until(lambda: 7) == 7
    with pytest.raises(AssertionError, match=r"not within 0\.02 s: never"):
        conftest.wait_until(lambda: False, timeout=0.02, why="never")


def test_a_free_port_is_free() -> None:
    assert not conftest.listening(conftest.free_port())

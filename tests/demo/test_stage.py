"""The stage: failures are told in one line, signals wait for a wait, and it leaves nobody behind."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mrtrscope.demo.stage import DemoError, Interrupted, Stage
from tests.conftest import LIMIT

pytestmark = pytest.mark.live

PYTHON = (sys.executable, "-c")


def test_a_result_is_what_the_actor_printed(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        assert stage.result(stage.start("one", *PYTHON, "print('{\"a\": 1}')"), LIMIT) == {"a": 1}


@pytest.mark.parametrize(
    ("code", "patience", "text"),
    [
        ("raise SystemExit('no flour')", LIMIT, "the demo's baker failed with exit code 1: no flour"),
        ("import sys; sys.exit(3)", LIMIT, "the demo's baker failed with exit code 3: it said nothing"),
        ("input()", 1, "the demo's baker has not finished within 1 s: it said nothing"),
    ],
)
def test_a_failure_is_one_line_with_its_last_words(
    tmp_path: Path, code: str, patience: float, text: str
) -> None:
    with pytest.raises(DemoError) as error, Stage(tmp_path) as stage:
        stage.result(stage.start("baker", *PYTHON, code), patience)
    assert str(error.value) == text


def test_an_actor_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    with (
        pytest.raises(DemoError, match="baker ended before it opened the shop: it said nothing"),
        Stage(tmp_path) as stage,
    ):
        stage.wait(lambda: False, stage.start("baker", *PYTHON, "pass"), "opened the shop", LIMIT)


def test_a_signal_is_raised_from_the_next_wait_and_all_ends(
    tmp_path: Path, no_survivors: Callable[[], list[str]]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Interrupted, match="SIGTERM") as error, Stage(tmp_path) as stage:
        os.kill(os.getpid(), signal.SIGTERM)
        actor = stage.start("baker", *PYTHON, "input()")  # comes after the signal, and is known of
        stage.wait(lambda: False, actor, "opened the shop", LIMIT)
    assert error.value.number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    assert no_survivors() == []


def test_a_signal_while_everything_ends_is_not_lost(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="SIGINT"), Stage(tmp_path):
        os.kill(os.getpid(), signal.SIGINT)


def test_a_recorder_that_its_client_left_behind_is_seen_off(
    tmp_path: Path, no_survivors: Callable[[], list[str]]
) -> None:
    """As `wrap` under a client that was killed; its journal says which process it is."""
    (tmp_path / "journals").mkdir()
    (tmp_path / "journals" / "torn.mrj").write_bytes(b'{"mrj": 1, "pid"')
    recorder = (
        "import os, subprocess, sys\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        f"open({str(tmp_path / 'journals' / 'a.mrj')!r}, 'w').write('{{\"mrj\": 1, \"pid\": %d}}\\n' % p.pid)\n"
        "print('{}')"
    )
    with Stage(tmp_path) as stage:
        stage.result(stage.start("client", *PYTHON, recorder), LIMIT)
        assert len(no_survivors()) == 1
    assert no_survivors() == []

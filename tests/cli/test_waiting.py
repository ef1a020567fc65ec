"""A long reading says how far it is, and one that is stopped goes on from where it was."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mrtrscope import analyse, analyser
from mrtrscope.cli.waiting import Waiting, waiting
from tests.captures import content, recorded
from tests.conftest import LIMIT, ROOT


def test_what_was_read_before_a_stop_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path / "a", requests=300)
    (tmp_path / "b" / "journals").mkdir(parents=True)
    for path in (tmp_path / "a" / "journals").iterdir():
        (tmp_path / "b" / "journals" / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(analyser, "BATCH", 50)
    told: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> bool:
        told.append((done, total))
        return len(told) == 3

    with pytest.raises(analyse.Stopped):
        analyse.bring_up_to_date(tmp_path / "a", progress=stop)
    size = sum(path.stat().st_size for path in (tmp_path / "a" / "journals").iterdir())
    assert len(told) == 3 and all(total == size for _, total in told)
    fed = 0
    feed = analyser.Analyser._feed

    def counted(self: analyser.Analyser, *args: object) -> None:
        nonlocal fed
        fed += 1
        feed(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(analyser.Analyser, "_feed", counted)
    with analyse.bring_up_to_date(tmp_path / "a") as store:
        again, rest = content(store), fed
    with analyse.bring_up_to_date(tmp_path / "b") as store:
        assert content(store) == again
    assert fed - rest == rest + 150


def test_the_line_says_how_far_and_how_long() -> None:
    waiting = Waiting()
    waiting._first, began = 100, waiting._since
    assert waiting._line(600, 2100, began + 10) == (
        "Reading 2.1 KiB: 29%, about 30.0 s left. Ctrl-C stops, and keeps what was read."
    )
    assert waiting._line(100, 0, began) == "Reading 0 B: 100%. Ctrl-C stops, and keeps what was read."


@pytest.mark.live
def test_ctrl_c_at_a_terminal_stops_in_good_order(tmp_path: Path) -> None:
    recorded(tmp_path, requests=8_000)
    code = (
        "from mrtrscope import analyser\nfrom mrtrscope.cli import run, waiting\n"
        "waiting.PATIENCE = waiting.BETWEEN = 0\nanalyser.BATCH = 200\n"
        f"raise SystemExit(run(['list', {str(tmp_path)!r}]))"
    )
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", code], stderr=follower, stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as child:
        os.close(follower)
        said = b""
        while b"and keeps what was read" not in said:
            said += os.read(leader, 4096)
        child.send_signal(signal.SIGINT)
        assert child.stdout is not None and child.stdout.read() == ""
        assert child.wait(LIMIT) == 130
    while b"goes on from there." not in said:
        said += os.read(leader, 4096)
    os.close(leader)
    assert b"Traceback" not in said
    assert said.rpartition(b"\x1b[K")[2].startswith(b"Stopped. What was read is kept")
    with analyse.bring_up_to_date(tmp_path) as store:
        assert store.count("messages") >= 16_000


def test_ctrl_c_when_there_was_nothing_left_to_read_is_not_lost() -> None:
    """A command that follows, such as watch, would go on for ever."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), waiting() as progress:
            progress(1, 1)
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

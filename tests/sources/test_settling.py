"""An import that is killed, at any moment, leaves all of its journals in the capture or none."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrtrscope import analyse
from mrtrscope.sources import SourceError, open_source, settling
from mrtrscope.sources.importing import import_source
from tests.captures import recorded
from tests.conftest import ROOT

# Imports a capture and is killed before the n-th rename: one makes all of it whole, each further one moves a journal.
KILLED = """
import os, pathlib, signal, sys
rename, left = pathlib.Path.rename, [int(sys.argv[3])]
def killed(self, target):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return rename(self, target)
pathlib.Path.rename = killed
from mrtrscope.sources import open_source
from mrtrscope.sources.importing import import_source
with open_source(pathlib.Path(sys.argv[1])) as source:
    import_source(source, pathlib.Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture of three journals."""
    made = tmp_path_factory.mktemp("whole") / "capture"
    for n in range(3):
        recorded(made, requests=3, seed=n, channel=f"srv{n}")
    return made


def names_in(capture: Path) -> list[str]:
    return sorted(path.name for path in capture.iterdir() if path.name.startswith("."))


def journals_in(capture: Path) -> int:
    return len(list((capture / "journals").glob("*.mrj")))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_a_killed_import_is_all_there_or_not_at_all(whole: Path, tmp_path: Path, n: int) -> None:
    into = tmp_path / "into"
    recorded(into, requests=2, channel="mine")  # what was there before stays
    command = [sys.executable, "-c", KILLED, str(whole), str(into), str(n)]
    assert subprocess.run(command, cwd=ROOT, timeout=120).returncode == -signal.SIGKILL
    assert journals_in(into) < 4  # it was killed before the last one was in its place
    with analyse.bring_up_to_date(into) as store:
        assert len(list(store.channels())) == (1 if n == 0 else 4)
    assert journals_in(into) == (1 if n == 0 else 4)
    with open_source(whole) as source:
        import_source(source, into)
    assert names_in(into) == []  # also what was never whole is gone
    assert journals_in(into) == (4 if n == 0 else 7)


def test_what_cannot_be_moved_is_told_and_moved_later(whole: Path, tmp_path: Path) -> None:
    into = tmp_path / "into"
    command = [sys.executable, "-c", KILLED, str(whole), str(into), "2"]
    assert subprocess.run(command, cwd=ROOT, timeout=120).returncode == -signal.SIGKILL
    one = journals_in(into)
    (into / "journals").rename(into / "kept")
    (into / "journals").write_text("in the way", encoding="utf-8")
    with open_source(whole) as source, pytest.raises(SourceError, match="cannot be written"):
        import_source(source, into)
    (into / "journals").unlink()
    (into / "kept").rename(into / "journals")
    said: list[str] = []
    with analyse.bring_up_to_date(into, say=said.append) as store:
        assert len(list(store.channels())) == 3
    assert one == 1 and said == []


def test_two_may_move_the_same_at_a_time(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into, looked = tmp_path / "into", Path.iterdir

    def after_another(folder: Path) -> Iterator[Path]:
        if folder.parent.name.startswith(settling.WHOLE):
            monkeypatch.setattr(Path, "iterdir", looked)
            settling.settle(into)
        return looked(folder)

    with open_source(whole) as source:
        monkeypatch.setattr(Path, "iterdir", after_another)
        import_source(source, into)
    assert journals_in(into) == 3 and names_in(into) == []


def test_an_import_that_goes_on_is_left_alone(whole: Path, tmp_path: Path) -> None:
    from mrtrscope.sources.settling import aside, settle

    with aside(tmp_path) as made:
        (made / "journals").mkdir()
        settle(tmp_path)
        assert made.exists()
    assert names_in(tmp_path) == []

"""Standard streams that are full, closed, or read by nobody: one line at most, the right exit code, no traceback."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.captures import recorded
from tests.conftest import LIMIT, ROOT, SAMPLES

pytestmark = pytest.mark.live

# A command that prints, and its exit code when nobody reads that.
PRINTING = [
    ("--help", 0),
    ("list CAPTURE", 0),
    ("messages CAPTURE --format json", 0),
    ("show CAPTURE op11", 0),
    ("check CAPTURE", 1),
    ("check CAPTURE --format sarif", 1),
    ("rules --format json", 0),
    ("explain mrtr/new-request-id --format json", 0),
    ("diagram CAPTURE op4", 0),
    ("diagram CAPTURE op4 --format text", 0),
    ("report CAPTURE --format md", 0),
    ("watch CAPTURE", 0),
    ("import CAPTURE --capture into", 0),
    ("export CAPTURE --jsonl -o into", 0),
    ("replay drive CAPTURE --dry-run -- cat", 0),
    ("probe server --list", 0),
    ("wrap --help", 0),
    ("relay --help", 0),
    ("proxy --help", 0),
]
LINES = [line for line, _ in PRINTING]
needs_full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here is always full")


def ended(
    line: str, folder: Path, out: int | None, before: Callable[[], None] | None = None, err: int | None = None
) -> tuple[int, list[str]]:
    """Exit code and lines on stderr of a command that writes there."""
    words = [str(SAMPLES / "sample-stdio") if word == "CAPTURE" else word for word in shlex.split(line)]
    path: Mapping[str, str] = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.run(
        [sys.executable, "-m", "mrtrscope", *words],
        stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE if err is None else err,
        cwd=folder, env=path, timeout=LIMIT, preexec_fn=before, check=False,
    )  # fmt: skip
    return child.returncode, (child.stderr or b"").decode().splitlines()


@needs_full
@pytest.mark.parametrize("line", LINES)
def test_a_full_disk_behind_stdout(line: str, tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        code, said = ended(line, tmp_path, full.fileno())
    assert code == 2 and len(said) == 1
    assert "standard output cannot be written: No space left on device" in said[0]


@pytest.mark.parametrize(("line", "code"), PRINTING, ids=LINES)
def test_nobody_reads_stdout(line: str, code: int, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert ended(line, tmp_path, writer) == (code, [])
    os.close(writer)


@pytest.mark.parametrize(
    "line", ["list CAPTURE", "rules --format json", "diagram CAPTURE op4", "wrap --help"]
)
def test_stdout_was_closed(line: str, tmp_path: Path) -> None:
    code, said = ended(line, tmp_path, None, lambda: os.close(1))
    assert code == 2 and len(said) == 1
    assert "standard output cannot be written: Bad file descriptor" in said[0]


def test_a_command_that_prints_nothing_needs_no_stdout(tmp_path: Path) -> None:
    code, _ = ended("diagram CAPTURE op4 -o op4.svg", tmp_path, None, lambda: os.close(1))
    assert code == 0 and (tmp_path / "op4.svg").read_bytes().rstrip().endswith(b"</svg>")


@needs_full
@pytest.mark.parametrize(
    "line", ["report CAPTURE -o r.html", "check CAPTURE --write-baseline b", "list CAPTURE"]
)
@pytest.mark.parametrize("state", ["full", "closed", "unread"])
def test_talk_that_nobody_hears_costs_nothing(line: str, state: str, tmp_path: Path) -> None:
    reader, unread = os.pipe()
    os.close(reader)
    with open("/dev/full", "wb") as full:
        err = full.fileno() if state == "full" else unread
        before = (lambda: os.close(2)) if state == "closed" else None
        assert ended(line, tmp_path, subprocess.DEVNULL, before, err)[0] == 0
    os.close(unread)


@needs_full
def test_a_mistake_that_nobody_hears_of_keeps_its_exit_code(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        assert ended("show CAPTURE op99", tmp_path, full.fileno(), err=full.fileno())[0] == 2


def test_all_three_were_closed(tmp_path: Path) -> None:
    """Files of ours must not get their numbers: what is said would be written into them."""
    code, _ = ended("report CAPTURE -o r.html", tmp_path, None, lambda: os.closerange(0, 3))
    assert code == 0 and (tmp_path / "r.html").read_bytes().rstrip().endswith(b"</html>")


def test_a_pipe_that_does_not_block(tmp_path: Path) -> None:
    """As node makes them: more than fits comes out whole."""
    recorded(tmp_path, requests=1000)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    command = [sys.executable, "-m", "mrtrscope", "messages", str(tmp_path), "--format", "json"]
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, cwd=ROOT) as child:
        os.close(writer)
        with open(reader, "rb") as file:
            whole = file.read()
        assert child.stderr is not None and child.stderr.read() == b""
        assert child.wait(LIMIT) == 0
    assert whole.endswith(b"}\n") and len(whole) > 100_000


@pytest.mark.parametrize(
    "line",
    ["report CAPTURE --format md", "diagram CAPTURE op4 --format text", "list CAPTURE", "proxy --help"],
)
def test_an_encoding_that_lacks_characters(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is a document is in UTF-8 in any case; of what is printed the character is written as its number."""
    for encoding in ("utf-8", "ascii"):
        monkeypatch.setenv("PYTHONIOENCODING", encoding)
        with (tmp_path / encoding).open("wb") as out:
            assert ended(line, tmp_path, out.fileno()) == (0, [])
    whole = (tmp_path / "utf-8").read_text(encoding="utf-8")
    assert (tmp_path / "ascii").read_bytes() in (whole.encode(), whole.encode("ascii", "backslashreplace"))


INTERRUPTED = """
import os, runpy, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "mrtrscope.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["mrtrscope", "rules"]
runpy.run_module("mrtrscope", run_name="__main__")
"""


def test_ctrl_c_while_modules_are_loaded_is_no_traceback(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, capture_output=True, timeout=LIMIT, check=False
    )
    assert (child.returncode, child.stdout, child.stderr) == (-signal.SIGINT, b"", b"")

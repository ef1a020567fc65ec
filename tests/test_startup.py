"""What carries traffic starts fast: looked at in fresh interpreters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mrtrscope import __version__
from tests.conftest import LIMIT, ROOT

pytestmark = pytest.mark.live

SLOW = {
    "argparse", "asyncio", "collections", "contextlib", "ctypes", "dataclasses", "enum", "functools", "inspect", "json",
    "logging", "pathlib", "re", "selectors", "shutil", "signal", "socket", "subprocess", "tempfile", "threading",
    "typing", "click", "pydantic", "sqlite_utils", "mitmproxy",
}  # fmt: skip
"""Each of these, or what it imports, takes longer than all that `wrap` needs."""

LOOK = """
import os, sys
write, seen = os.write, []
def first(fd, data):
    if not seen and bytes(data) == b"ping\\n":
        seen.extend(sorted(sys.modules))
        write(2, " ".join(seen).encode())
    return write(fd, data)
os.write = first
sys.argv = ["mrtrscope", "wrap", "--capture", sys.argv[1], "--", "cat"]
from mrtrscope.__main__ import main
main()
"""


def loaded() -> set[str]:
    """What an interpreter that does nothing has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", "import os, sys; print(*sys.modules)"],
        capture_output=True,
        check=True,
        timeout=LIMIT,
    )
    return set(done.stdout.decode().split())


def test_what_is_loaded_when_the_first_byte_is_passed_on(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, str(tmp_path)],
        input=b"ping\n",
        capture_output=True,
        check=True,
        timeout=LIMIT,
    )
    modules = set(done.stderr.decode().split())
    assert "mrtrscope.pipes" in modules
    ours = {name for name in modules if name.partition(".")[0] == "mrtrscope"}
    names = ("__main__", "called", "child", "frames", "parts", "pipes", "recorder", "where", "wrap")
    assert ours == {"mrtrscope", *(f"mrtrscope.{name}" for name in names)}
    assert modules & SLOW - loaded() == set()
    assert len(modules - loaded() - ours) < 12


def test_nothing_slow_is_loaded_in_a_whole_session(tmp_path: Path) -> None:
    """As a host starts it, to the end; `-X importtime` tells every import."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mrtrscope", "wrap", "--capture", str(tmp_path), "--", "cat"],
        input=b"x", capture_output=True, check=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.stdout == b"x"
    told = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines() if "|" in line}
    assert "mrtrscope.pipes" in told
    assert told & SLOW - loaded() == set()


def test_the_server_is_started_before_what_carries_is_loaded() -> None:
    code = "import sys, mrtrscope.wrap; print(*(m for m in sys.modules if m.startswith('mrtrscope')))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=LIMIT, cwd=ROOT
    )
    assert set(done.stdout.decode().split()) == {"mrtrscope", "mrtrscope.child", "mrtrscope.wrap"}


def test_other_commands_go_to_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mrtrscope", "--version"],
        capture_output=True,
        timeout=LIMIT,
        cwd=ROOT,
        encoding="utf-8",
    )
    assert (done.returncode, done.stdout.split()[-1]) == (0, __version__), done.stderr

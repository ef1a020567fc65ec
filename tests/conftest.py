"""What every test may rely on: where the material is, private state, bounded waits, and nothing left running.

Import the helpers with ``from tests.conftest import SHARED, need, wait_until``; the fixtures need no import.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import hypothesis
import psutil
import pytest

ROOT = Path(__file__).resolve().parent.parent
"""The repository."""

SAMPLES = ROOT / "captures"
"""The small captures that travel with the repository (`captures/sample-*`)."""

_BESIDE = ROOT.parent / "shared"
SHARED: Path | None = _BESIDE if (_BESIDE / "spec" / "rules.yaml").is_file() else None
"""The large material beside the repository, None where there is none. Tests reading it are marked `shared`."""

LIMIT = 90.0
"""Seconds after which what was awaited is taken not to come: long, as the machine may have much else to do."""

IN_CI = os.environ.get("CI", "") not in ("", "0", "false")

# Run by nohup or in the background of a script, these are ignored; processes of tests would inherit that, as they do
# not inherit a handler.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)

_leave = subprocess.Popen.__exit__


def _leave_or_end(
    self: subprocess.Popen[Any], kind: type[BaseException] | None, error: BaseException | None, at: Any
) -> None:
    """A test that failed, or took too long, does not wait for the end of what it started in a `with`."""
    if kind is not None and self.poll() is None:
        self.kill()
    _leave(self, kind, error, at)


subprocess.Popen.__exit__ = _leave_or_end  # type: ignore[method-assign]

hypothesis.settings.register_profile("mrtrscope", deadline=None, print_blob=True)
hypothesis.settings.register_profile("ci", deadline=None, print_blob=True, derandomize=True)
hypothesis.settings.load_profile("ci" if IN_CI else "mrtrscope")


def absent(what: str) -> NoReturn:
    """Skip the running test because the machine lacks something; fail it where CI was to provide that."""
    if IN_CI:
        pytest.fail(f"CI must provide this: {what}", pytrace=False)
    pytest.skip(what)


def need(tool: str, reason: str) -> str:
    """The path of a program, or the end of the test: skipped on a developer's machine, failed in CI."""
    return shutil.which(tool) or absent(f"{tool} is not installed: {reason}")


def npm(file: str, reason: str) -> Path:
    """A file of an npm package, by its path in `node_modules`: below the folder MRTRSCOPE_NPM, or the repository."""
    for folder in (os.environ.get("MRTRSCOPE_NPM"), ROOT):
        if folder and (found := Path(folder, "node_modules", file)).exists():
            return found.resolve()
    absent(
        f"{file} is not here ({reason}): npm install --no-save --prefix FOLDER …, and MRTRSCOPE_NPM=FOLDER"
    )


def wait_until[T](condition: Callable[[], T], timeout: float = LIMIT, why: str = "") -> T:
    """Ask until the answer is true, and return it; AssertionError after `timeout` seconds."""
    end = time.monotonic() + timeout
    while not (answer := condition()):
        assert time.monotonic() < end, f"not within {timeout} s: {why or condition}"
        time.sleep(0.005)
    return answer


_ports = itertools.count(os.getpid() * 37)


def free_port() -> int:
    """A loopback port that nobody listens on right now; a program that can listen on port 0 should.

    None of those that the kernel gives to whoever asks for any port, so that it stays free until it is used.
    """
    for n in _ports:
        with socket.socket() as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", 20_000 + n % 12_000))
            return int(s.getsockname()[1])
    raise AssertionError("not reached")


def listening(port: int, host: str = "127.0.0.1") -> bool:
    """Whether somebody accepts connections there."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def mrtrscope(
    *args: str | Path, input: str | None = None, timeout: float = LIMIT, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, as a user would; keywords are environment variables."""
    return subprocess.run(
        [sys.executable, "-m", "mrtrscope", *map(str, args)],
        input=input, capture_output=True, text=True, encoding="utf-8", timeout=timeout, env=os.environ | env,
    )  # fmt: skip


def pytest_runtest_setup(item: pytest.Item) -> None:
    if SHARED is None and item.get_closest_marker("shared"):
        pytest.skip("needs the folder ../shared beside the repository")


_numbers = itertools.count()


@pytest.fixture(autouse=True)
def private_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """State, cache and settings of this test alone; the folders are made by whoever writes into them."""
    home = tmp_path_factory.getbasetemp() / f"home-{next(_numbers)}"
    for name in ("STATE", "CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.delenv("MRTRSCOPE_CAPTURE", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])))
    return home


GRACE = 30.0
"""Seconds in which a process that was told to end, or lost its peer, may still be there."""

_TOKEN = "MRTRSCOPE_TEST_TOKEN"


def _descendants(token: str) -> list[psutil.Process]:
    """Processes that this test started: our children, and orphans, told by their environment."""
    found = {p.pid: p for p in psutil.Process().children(recursive=True)}
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get(_TOKEN) == token:
                found[process.pid] = process
        except (psutil.Error, OSError):
            pass  # gone meanwhile, or somebody else's
    return list(found.values())


def _running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


@pytest.fixture
def no_survivors(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[str]]]:
    """Nothing that the test started may outlive it; what is about to end has a grace.

    Called, it says what is running now, one line a process. Tests marked `live` get it without asking.
    """
    token = f"{os.getpid()}-{next(_numbers)}"
    monkeypatch.setenv(_TOKEN, token)
    before = {p.pid for p in psutil.Process().children(recursive=True)}

    def running() -> list[psutil.Process]:
        return [p for p in _descendants(token) if p.pid not in before and _running(p)]

    def named() -> list[str]:
        lines = []
        for process in running():
            try:
                lines.append(f"{process.pid} {' '.join(process.cmdline())[:200]}")
            except psutil.Error:
                pass
        return lines

    yield named
    end = time.monotonic() + GRACE
    while running() and time.monotonic() < end:
        time.sleep(0.01)
    left = named()
    for process in running():
        process.kill()
    assert not left, "still running after the test:\n" + "\n".join(left)


@pytest.fixture(autouse=True)
def _live_tests_leave_nothing(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("live"):
        request.getfixturevalue("no_survivors")

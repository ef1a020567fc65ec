"""Fixtures for the tests of servers, hosts and SDKs: play a capture, record a session, assert that it is sound.

Known to pytest as soon as mrtrscope is installed. Nothing but the standard library and pytest is imported until a
fixture is used, so that other test runs pay nothing.

    def test_host(mrtr_serve):
        url = mrtr_serve("captures/bakery")          # the recorded server, over HTTP
        command = mrtr_serve.command("captures/bakery")   # the same on stdio, to be started by the host

    def test_server(mrtr_record, mrtr_clean):
        session = mrtr_record()
        run_my_client(session.wrap("python", "server.py"))   # or session.relay("127.0.0.1:8000")
        mrtr_clean(session)
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mrtrscope import model
    from mrtrscope.store.reader import Store

COMMAND = (sys.executable, "-m", "mrtrscope")
LEVELS = {"must": ("must",), "should": ("must", "should"), "info": ("must", "should", "info")}
ENDING = 10.0  # seconds that a process gets to end by itself
PRINTED = 20  # findings that a failing test prints; the rest is counted


class Processes:
    """What a test started; ended with it."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[str]] = []

    def start(self, argv: list[str]) -> str:
        """Start one of our commands and wait until it says where it listens: HOST:PORT and what follows."""
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._running.append(process)
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            for mark in ("listening on ", "serving the recording on "):
                if mark in line:
                    return line.partition(mark)[2].split()[0]
        raise RuntimeError("".join(said[-5:]).strip() or f"{argv[3]} did not start")

    def end(self) -> None:
        """Interrupt all of them, as ctrl-c does, and wait."""
        for process in self._running:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in self._running:
            try:
                process.communicate(timeout=ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
        self._running.clear()


class Served:
    """Plays captures to clients; `capture` is where its own traffic is recorded. Options are those of `replay serve`:
    `when_used_up="repeat"`, `answers="schema"`, `speed=1`."""

    def __init__(self, capture: Path, processes: Processes) -> None:
        self.capture = capture
        self._processes = processes

    def __call__(self, capture: str | os.PathLike[str], **options: Any) -> str:
        """Serve a capture over HTTP on a free port of this machine until the test ends; gives its URL."""
        return self._processes.start([*self._argv(capture, options), "--listen", "127.0.0.1:0"])

    def command(self, capture: str | os.PathLike[str], **options: Any) -> list[str]:
        """The command that serves a capture on its standard input and output, for a host to start."""
        return [*self._argv(capture, options), "--stdio"]

    def _argv(self, capture: str | os.PathLike[str], options: dict[str, Any]) -> list[str]:
        argv = [*COMMAND, "replay", "serve", os.fspath(capture), "--capture", str(self.capture)]
        for name, value in options.items():
            argv += [f"--{name.replace('_', '-')}", str(value)]
        return argv


class Recorded:
    """A session that is being recorded, in the folder `capture`."""

    def __init__(self, capture: Path, processes: Processes) -> None:
        self.capture = capture
        self._processes = processes

    def wrap(self, *command: str) -> list[str]:
        """The command to start in the place of a stdio server, to have it recorded."""
        return [*COMMAND, "wrap", "--capture", str(self.capture), "--", *command]

    def relay(self, target: str) -> str:
        """HOST:PORT to connect to in the place of the plain HTTP server at HOST:PORT, to have it recorded."""
        return self._processes.start([*COMMAND, "relay", "--capture", str(self.capture), "--target", target])

    def operations(self) -> list[model.Operation]:
        """What was recorded so far."""
        from mrtrscope import analyse

        with analyse.bring_up_to_date(self.capture) as store:
            return list(store.operations())

    def findings(self, level: str = "info") -> list[model.Finding]:
        """What was found so far, down to this level: "must", "should" or "info"."""
        return _findings(self.capture, level)


def _findings(capture: Path, level: str) -> list[model.Finding]:
    from mrtrscope import analyse

    with analyse.bring_up_to_date(capture) as store:
        return _down_to(store, level)


def _down_to(store: Store, level: str) -> list[model.Finding]:
    return [finding for finding in store.findings() if finding.level in LEVELS[level]]


def _told(store: Store, found: list[model.Finding]) -> Iterator[str]:
    """The first findings, as `check` prints them: what was seen and expected, secrets hidden, values cut."""
    from mrtrscope.views import ahead
    from mrtrscope.views.masked import Masked
    from mrtrscope.views.rows import finding

    hide = Masked(ahead.redactor(store))
    for one in hide.findings(store, found[:PRINTED]):
        about = hide.redact.text(store.about(one.at))
        yield from finding(one, lambda at, about=about: about, None, False)  # type: ignore[misc]
    if len(found) > PRINTED:
        yield f"… and {len(found) - PRINTED:,} more; `mrtrscope check {store.source} --all` prints them"


def assert_clean(
    session: Recorded | str | os.PathLike[str],
    level: str = "must",
    ignore: Iterable[str] = (),
    party: str = "",
) -> None:
    """Fail unless a capture holds traffic, and no finding down to this level.

    ignore  rules, or areas of rules ("stdio"), that are not looked at      party  only "client" or only "server"
    """
    from mrtrscope import analyse

    capture = session.capture if isinstance(session, Recorded) else Path(session)
    aside = set(ignore)
    told = ""
    try:
        with analyse.bring_up_to_date(capture) as store:
            found = [
                f
                for f in _down_to(store, level)
                if not aside & {f.rule, f.rule.partition("/")[0]} and f.party in (party or f.party, "either")
            ]
            if store.counts()["operations"] == 0:
                told = f"nothing was recorded in {capture}"
            elif found:
                told = "\n".join([f"{len(found):,} findings in {capture}:", *_told(store, found)])
    except analyse.Unreadable as error:
        told = f"nothing was recorded in {capture}: {error}"
    if told:
        pytest.fail(told, pytrace=False)


@pytest.fixture
def mrtr_serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Play a capture to a client: `mrtr_serve(capture)` gives a URL, `.command(capture)` a stdio command."""
    processes = Processes()
    try:
        yield Served(tmp_path_factory.mktemp("mrtr-served"), processes)
    finally:
        processes.end()


@pytest.fixture
def mrtr_record(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Recorded]]:
    """Record a session: `mrtr_record()` gives one, with `.wrap(*command)` and `.relay("HOST:PORT")`."""
    processes = Processes()
    try:
        yield lambda: Recorded(tmp_path_factory.mktemp("mrtr-recorded"), processes)
    finally:
        processes.end()


@pytest.fixture
def mrtr_clean() -> Callable[..., None]:
    """Assert that a recorded session has no findings; see `assert_clean`."""
    return assert_clean

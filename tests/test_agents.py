"""Agents and hosts on the official A2A SDK, in an environment of their own, behind our proxies."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LIMIT, ROOT, mrtrscope
from tests.peers.environments import environment
from tests.peers.mitm import Mitm
from tests.peers.relayed import Relayed

PEERS = ROOT / "tests" / "peers"
SDK = ("a2a-sdk[http-server]==1.3.0", "uvicorn==0.54.0")
OLD_SDK = ("a2a-sdk[http-server]==0.3.26", "uvicorn==0.54.0")
THINKING = 0.3

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]


@pytest.fixture(scope="session")
def agent_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with the A2A SDK."""
    return environment(tmp_path_factory, "a2a", *SDK)


@contextmanager
def running(python: str, agent: str) -> Iterator[int]:
    """The port of an agent that runs."""
    with subprocess.Popen(
        [python, str(PEERS / agent)], stdout=subprocess.PIPE, text=True, env=outside()
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.terminate()
        process.wait(LIMIT)


def outside() -> dict[str, str]:
    """The environment, without a way to our own packages."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


@pytest.fixture
def agent(agent_python: str, no_survivors: object) -> Iterator[int]:
    with running(agent_python, "a2a_agent.py") as port:
        yield port


@pytest.fixture
def relayed(agent: int, agent_python: str, tmp_path: Path) -> Iterator[Any]:
    """Does one thing through a relay, and gives the operations of the capture."""

    def does(what: str, version: str) -> list[dict[str, Any]]:
        capture = tmp_path / "capture"
        with Relayed(capture, agent) as relay:
            host(agent_python, relay.port, what, version)
        return operations(capture)

    yield does


def host(python: str, port: int, what: str, version: str) -> list[str]:
    """What the host was told, an event a line."""
    argv = [python, str(PEERS / "a2a_host.py"), f"http://127.0.0.1:{port}/a2a", what, version]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=240, env=outside())
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def operations(capture: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(mrtrscope("list", capture, "--format", "json").stdout)[
        "operations"
    ]
    return found


def findings(capture: Path) -> list[str]:
    return [f["rule"] for f in json.loads(mrtrscope("check", capture, "--format", "json").stdout)["findings"]]


def states(operation: dict[str, Any]) -> list[str]:
    return [s["state"] for s in operation["task"]["states"]]


def picture(capture: Path, op: str) -> list[str]:
    """What stands in the picture, of these words, in order."""
    words = (
        "asks for input",
        "asks for authorization",
        "answers",
        "input_required",
        "auth_required",
        "completed",
    )
    text = mrtrscope("diagram", capture, op, "--format", "text", "--width", "140").stdout
    return [word for line in text.splitlines()[4:] for word in words if word in line]


def is_the_booking(capture: Path, operation: dict[str, Any], version: str) -> None:
    """One operation that stopped for input, then for authorization, and was done; its times; its picture."""
    assert (operation["kind"], operation["outcome"], len(operation["rounds"])) == ("a2a", "complete", 3)
    stops = [state for state in states(operation) if state not in ("submitted", "working")]
    assert stops == ["input_required", "auth_required", "completed"]
    times = operation["times"]
    assert 2 * THINKING <= times["waiting"] <= times["total"]
    assert times["server"] + times["waiting"] == pytest.approx(times["total"], abs=1e-3)
    assert findings(capture) == []
    assert f"speaks A2A {version}" in mrtrscope("channels", capture).stdout
    seen = picture(capture, operation["id"])
    assert [word for word in seen if word in ("asks for input", "asks for authorization", "answers")] == [
        "asks for input", "answers", "asks for authorization", "answers",
    ]  # fmt: skip
    assert seen[-1] == "completed"


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("how", ["stream", "block"])
def test_an_agent_that_stops_for_input_then_for_authorization(
    how: str, version: str, relayed: Any, tmp_path: Path
) -> None:
    (booking,) = relayed(how, version)
    is_the_booking(tmp_path / "capture", booking, version)


def test_the_same_through_mitmproxy(agent: int, agent_python: str, tmp_path: Path) -> None:
    with Mitm.proxy(tmp_path, "--target", f"http://127.0.0.1:{agent}") as proxy:
        told = host(agent_python, proxy.port, "stream", "1.0")
    assert (told[0], told[-1]) == ("task", "status_update")
    (booking,) = operations(tmp_path / "capture")
    is_the_booking(tmp_path / "capture", booking, "1.0")


@pytest.mark.parametrize("how", ["stream", "block"])
def test_the_same_with_an_agent_on_a_release_before_1_0(
    how: str, agent_python: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    old = environment(tmp_path_factory, "a2a-old", *OLD_SDK)
    with running(old, "a2a_agent_old.py") as port, Relayed(tmp_path / "capture", port) as relay:
        host(agent_python, relay.port, how, "0.3")
    (booking,) = operations(tmp_path / "capture")
    is_the_booking(tmp_path / "capture", booking, "0.3")


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_polls_of_a_task_are_parts_of_it(version: str, relayed: Any, tmp_path: Path) -> None:
    (cooking,) = relayed("poll", version)
    assert (cooking["outcome"], len(cooking["rounds"])) == ("complete", 1)
    assert cooking["task"]["polls"] >= 2 and states(cooking)[-1] == "completed"
    assert cooking["times"]["waiting"] == 0 and findings(tmp_path / "capture") == []


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_stream_that_is_taken_up_again_is_a_part_of_it(version: str, relayed: Any, tmp_path: Path) -> None:
    (cooking,) = relayed("resubscribe", version)
    assert (cooking["outcome"], cooking["task"]["polls"], states(cooking)[-1]) == ("complete", 1, "completed")
    assert findings(tmp_path / "capture") == []


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_messages_and_tasks_of_one_context_are_a_conversation_of_operations(
    version: str, relayed: Any, tmp_path: Path
) -> None:
    hello, soup, cake, thanks = relayed("talk", version)
    assert [op["kind"] for op in (hello, soup, cake, thanks)] == ["single", "a2a", "a2a", "single"]
    assert len({op["context"] for op in (hello, soup, cake, thanks)}) == 1
    joined = {
        "operation": hello["id"],
        "grade": "inferred",
        "evidence": ["context"],
        "candidates": [hello["id"]],
    }
    assert [op["conversation"] for op in (hello, soup, cake, thanks)] == [None, joined, joined, joined]
    assert findings(tmp_path / "capture") == []
    names = ", ".join(op["id"] for op in (hello, soup, cake, thanks))
    listed = mrtrscope("list", tmp_path / "capture").stdout
    assert f"one conversation: {names}; inferred (the same contextId)" in listed
    shown = mrtrscope("show", tmp_path / "capture", cake["id"]).stdout
    assert f"of the conversation that began with {hello['id']}: inferred (the same contextId)" in shown


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_message_that_comes_too_late_is_noted_and_its_refusal_is_right(
    version: str, relayed: Any, tmp_path: Path
) -> None:
    cooking, unknown = relayed("late", version)
    assert (cooking["outcome"], len(cooking["rounds"]), unknown["outcome"]) == ("complete", 1, "error")
    assert findings(tmp_path / "capture") == ["a2a/message-to-finished-task"]


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_a_task_that_its_client_gives_up(version: str, relayed: Any, tmp_path: Path) -> None:
    (booking,) = relayed("cancel", version)
    assert (booking["outcome"], states(booking)[-1]) == ("cancelled", "cancelled")
    assert booking["times"]["waiting"] >= THINKING and findings(tmp_path / "capture") == []

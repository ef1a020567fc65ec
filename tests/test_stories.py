"""Whole stories with real peers: a host on the official SDK, a gateway, a server on the old or the new release.

The old release lives in an environment of its own, made once a session where the package index can be reached.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, mrtrscope
from tests.peers.environments import environment
from tests.peers.relayed import Relayed
from tests.peers.wrapped import wrapped

pytestmark = pytest.mark.timeout(600)

PEERS = ROOT / "tests" / "peers"
OLD = "mcp==1.30.0"
GATEWAY = (sys.executable, str(PEERS / "gateway.py"))
BAKERY = (sys.executable, "-m", "mrtrscope.demo.server")


@pytest.fixture(scope="session")
def old_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python with the old release of the SDK."""
    return environment(tmp_path_factory, "old-sdk", OLD)


def told(tool: str, arguments: dict[str, Any], command: list[str], *options: str) -> str:
    """What the host got from the tool."""
    argv = [
        sys.executable,
        str(PEERS / "asking_host.py"),
        *options,
        tool,
        json.dumps(arguments),
        "--",
        *command,
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def through(capture: Path, options: tuple[str, ...], name: str, *server: str) -> list[str]:
    """The command of a gateway before a server, both wrapped into one capture."""
    return wrapped(capture, "gateway", *GATEWAY, *options, "--", *wrapped(capture, name, *server))


@contextmanager
def on_http(capture: Path, options: tuple[str, ...], name: str, *server: str) -> Iterator[list[str]]:
    """The address of a relay before a gateway on HTTP, whose server is wrapped, all in one capture."""
    command = [*GATEWAY, "--http", *options, "--", *wrapped(capture, name, *server)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as gateway:
        assert gateway.stdout is not None and gateway.stdin is not None
        port = int(gateway.stdout.readline().rpartition(":")[2].partition("/")[0])
        with Relayed(capture, port) as relay:
            yield [f"http://127.0.0.1:{relay.port}/mcp"]
        gateway.stdin.close()


@contextmanager
def tasks_on(by: str, capture: Path, *options: str) -> Iterator[list[str]]:
    """Where a server that makes tasks is to be found, under a wrap or behind a relay."""
    command = [sys.executable, str(PEERS / "task_server.py"), *options]
    if by == "stdio":
        yield wrapped(capture, "yard", *command)
        return
    with subprocess.Popen(
        [*command, "--http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None and server.stdin is not None
        port = int(server.stdout.readline().rpartition(":")[2].partition("/")[0])
        with Relayed(capture, port) as relay:
            yield [f"http://127.0.0.1:{relay.port}/mcp"]
        server.stdin.close()


def followed(where: list[str], *options: str) -> str:
    """What the host that follows tasks got."""
    arguments = [*options, "paint", '{"boat": "Skua"}', "--", *where]
    done = subprocess.run(
        [sys.executable, str(PEERS / "task_host.py"), *arguments], capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def listed(capture: Path) -> dict[str, dict[str, Any]]:
    found = json.loads(mrtrscope("list", capture, "--format", "json").stdout)["operations"]
    return {op["id"]: op for op in found}


def the_call(
    capture: Path, server: str = "", method: str = "tools/call"
) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """(the host's call, the gateway's call for it, what the server asked in that); `server`: its channel."""
    ops = listed(capture)
    calls = [op for op in ops.values() if op["method"] == method]
    (host,) = [op for op in calls if (op["channel"] != server if server else op["channel"] == "gateway")]
    (hop,) = [ops[name] for name in host["hops"]]
    return host, hop, [ops[name] for name in hop["nested"]]


def notes(capture: Path) -> list[tuple[str, str]]:
    """What is said of the gateway: (rule, channel)."""
    found = json.loads(mrtrscope("check", capture, "--format", "json").stdout)["findings"]
    return [(f["rule"], f["channel"]) for f in found if f["rule"].startswith("gateway/")]


def findings(capture: Path) -> list[tuple[str, str]]:
    found = json.loads(mrtrscope("check", capture, "--format", "json").stdout)["findings"]
    return [(f["rule"], f["at"]) for f in found if f["level"] != "info"]


def picture(capture: Path, op: str) -> list[str]:
    """The arrows and what is behind them, in order."""
    text = mrtrscope("diagram", capture, op, "--format", "text", "--width", "120").stdout
    words = (
        "tools/call",
        "elicitation/create",
        "input_required",
        "form",
        "accept",
        "waiting for",
        "complete",
    )
    return [
        next(w for w in words if w in line) for line in text.splitlines()[4:] if any(w in line for w in words)
    ]


@pytest.mark.live
def test_a_modern_host_and_a_server_of_an_older_revision_that_asks(tmp_path: Path, old_python: str) -> None:
    server = (old_python, str(PEERS / "asking_old.py"))
    assert told("order", {"shirts": 3}, through(tmp_path, ("--legacy",), "tailor", *server)) == "3 shirts, M"
    host, hop, (asked,) = the_call(tmp_path)
    assert (host["kind"], len(host["rounds"]), host["outcome"]) == ("mrtr", 2, "complete")
    assert (hop["channel"], hop["kind"], len(hop["rounds"]), hop["outcome"]) == (
        "tailor",
        "legacy",
        1,
        "complete",
    )
    assert (hop["hop_of"]["grade"], "question" in hop["hop_of"]["evidence"]) == ("exact", True)
    assert (asked["method"], asked["within"]["grade"]) == ("elicitation/create", "inferred")
    for op in (host, hop):  # the person took 0.3 s, and both eras say so
        assert 0.3 <= op["times"]["waiting"] <= op["times"]["total"]
        assert op["times"]["server"] + op["times"]["waiting"] == pytest.approx(op["times"]["total"], abs=1e-3)
    assert findings(tmp_path) == notes(tmp_path) == []
    assert picture(tmp_path, host["id"])[:8] == [
        "tools/call", "tools/call", "elicitation/create", "input_required", "form", "waiting for", "accept",
        "tools/call",
    ]  # fmt: skip
    assert "initialize agreed on 2025-11-25" in mrtrscope("channels", tmp_path).stdout


@pytest.mark.live
def test_a_modern_host_and_a_modern_server_that_asks(tmp_path: Path) -> None:
    command = through(tmp_path, (), "bakery", *BAKERY)
    assert told("book_table", {"day": "Friday"}, command) == "A table for 4 on Friday."
    host, hop, nested = the_call(tmp_path)
    assert (host["kind"], len(host["rounds"]), host["outcome"]) == ("mrtr", 2, "complete")
    assert (hop["kind"], len(hop["rounds"]), hop["outcome"], nested) == ("mrtr", 2, "complete", [])
    assert (hop["hop_of"]["operation"], hop["hop_of"]["grade"]) == (host["id"], "exact")
    assert {"state", "question"} <= set(hop["hop_of"]["evidence"])
    assert findings(tmp_path) == notes(tmp_path) == []
    assert '~ /params/_meta/io.modelcontextprotocol~1clientInfo/name  "host" → "gateway"' in (
        mrtrscope("show", tmp_path, host["id"], "--hops").stdout
    )


@pytest.mark.live
@pytest.mark.parametrize(("what", "method", "said"), [
    ("prompt:invitation", "prompts/get", "Write to Ada and invite them to our feast."),
    ("menu://spring", "resources/read", "spring: plum cake, walnut bread, milk buns (left out: nuts)"),
])  # fmt: skip
def test_a_prompt_and_a_resource_that_ask_behind_a_gateway(
    tmp_path: Path, what: str, method: str, said: str
) -> None:
    assert told(what, {"occasion": "feast"}, through(tmp_path, (), "bakery", *BAKERY)) == said
    host, hop, _ = the_call(tmp_path, method=method)
    for op in (host, hop):
        assert (op["kind"], len(op["rounds"]), op["outcome"]) == ("mrtr", 2, "complete")
    assert (hop["channel"], hop["hop_of"]["operation"], hop["hop_of"]["grade"]) == (
        "bakery",
        host["id"],
        "exact",
    )
    assert findings(tmp_path) == notes(tmp_path) == []


@pytest.mark.live
def test_a_field_of_the_older_revision_that_the_gateway_leaks(tmp_path: Path, old_python: str) -> None:
    server = (old_python, str(PEERS / "asking_old.py"))
    told("order", {"shirts": 3}, through(tmp_path, ("--legacy", "--fault", "leak"), "tailor", *server))
    host, _, _ = the_call(tmp_path)
    assert '+ /params/elicitationId  "e-1"' in mrtrscope("show", tmp_path, host["id"], "--hops").stdout


@pytest.mark.live
def test_a_gateway_that_asks_nobody(tmp_path: Path, old_python: str) -> None:
    server = (old_python, str(PEERS / "asking_old.py"))
    command = through(tmp_path, ("--legacy", "--fault", "instant"), "tailor", *server)
    assert told("order", {"shirts": 3}, command) == "3 shirts, no size"
    host, hop, (asked,) = the_call(tmp_path)
    assert (len(host["rounds"]), host["times"]["waiting"]) == (1, 0.0)
    assert asked["times"]["waiting"] < 0.1
    shown = mrtrscope("show", tmp_path, host["id"], "--hops").stdout
    assert "the host was never asked it" in shown
    assert hop["hop_of"]["grade"] == "inferred"
    assert notes(tmp_path) == [("gateway/question-reached-nobody", "tailor")]


@pytest.mark.live
def test_a_gateway_on_http_before_a_server_of_an_older_revision(tmp_path: Path, old_python: str) -> None:
    capture = tmp_path / "capture"
    server = (old_python, str(PEERS / "asking_old.py"))
    with on_http(capture, ("--legacy",), "tailor", *server) as address:
        assert told("order", {"shirts": 3}, address) == "3 shirts, M"
    host, hop, (asked,) = the_call(capture, "tailor")
    assert (host["kind"], len(host["rounds"]), host["outcome"]) == ("mrtr", 2, "complete")
    assert (hop["kind"], hop["hop_of"]["grade"], asked["within"]["grade"]) == ("legacy", "exact", "inferred")
    assert findings(capture) == notes(capture) == []


@pytest.mark.live
@pytest.mark.parametrize("by", ["stdio", "http"])
def test_a_task_that_asks_in_mid_flight(tmp_path: Path, by: str) -> None:
    capture = tmp_path / "capture"
    with tasks_on(by, capture) as where:
        assert followed(where) == "Skua: blue"
    (task,) = [op for op in listed(capture).values() if op["method"] == "tools/call"]
    assert (task["kind"], len(task["rounds"]), task["outcome"]) == ("task", 1, "complete")
    states = task["task"]["states"]
    assert [s["state"] for s in states] == ["working", "input_required", "working", "completed"]
    assert task["task"]["polls"] >= 4 and task["task"]["updates"] == 1
    assert len(task["attached"]) == 2 * (task["task"]["polls"] + 1)
    times = task["times"]
    assert times["waiting"] >= 0.5 and times["server"] >= 0.6  # the person, and twice the work
    assert times["server"] + times["waiting"] == pytest.approx(times["total"], abs=1e-3)
    assert findings(capture) == []
    text = mrtrscope("diagram", capture, task["id"], "--format", "text", "--width", "120").stdout
    words = (
        "tools/call",
        "form “colour”",
        "waiting for the user",
        "accept “colour”",
        "tasks/update",
        "completed",
    )
    at = [text.index(word, text.index("one round")) for word in words]
    assert at == sorted(at)


@pytest.mark.live
def test_a_task_for_a_host_that_never_declared_tasks(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    with tasks_on("stdio", capture, "--always") as where:
        assert followed(where, "--plain") == "ValidationError"
    (task,) = [op for op in listed(capture).values() if op["method"] == "tools/call"]
    assert (task["kind"], task["task"]["declared"], task["outcome"]) == ("task", False, "lost")
    (found,) = findings(capture)
    assert found[0] == "tasks/no-task-without-capability"
    assert "never declared the tasks extension" in mrtrscope("show", capture, task["id"]).stdout


def taken(capture: Path, python: str, *options: str) -> str:
    """What the host of the old release got of a task of 2025-11-25; its API of tasks warns that it is to go."""
    server = wrapped(capture, "yard", python, "-W", "ignore", str(PEERS / "task_server_old.py"))
    host = [python, "-W", "ignore", str(PEERS / "task_host_old.py"), *options, "paint", '{"boat": "Skua"}']
    done = subprocess.run([*host, "--", *server], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.live
@pytest.mark.parametrize("options", [(), ("--polling",)])
def test_a_task_of_an_older_revision_that_asks_in_mid_flight(
    tmp_path: Path, old_python: str, options: tuple[str, ...]
) -> None:
    capture = tmp_path / "capture"
    assert taken(capture, old_python, *options) == "Skua: blue"
    ops = listed(capture)
    (task,) = [op for op in ops.values() if op["method"] == "tools/call"]
    assert (task["kind"], len(task["rounds"]), task["outcome"]) == ("task", 1, "complete")
    # the second "working" is told by a notification, before any poll could
    states = [s["state"] for s in task["task"]["states"]]
    assert states == ["working", "input_required", "working", "completed"]
    assert [op["method"] for op in ops.values()] == [
        "initialize", "tools/list", "tools/call", "elicitation/create",
    ]  # fmt: skip
    (asked,) = [ops[name] for name in task["nested"]]
    assert (asked["within"]["grade"], asked["within"]["evidence"]) == ("exact", ["task"])
    # every poll and tasks/result with their answers, and notifications: that of the end may come behind the result
    assert len(task["attached"]) - 2 * (task["task"]["polls"] + 1) in (1, 2)
    times = task["times"]
    assert times["waiting"] >= 0.7 and times["server"] >= 2.0  # the person, and twice the work
    assert times["server"] + times["waiting"] == pytest.approx(times["total"], abs=1e-3)
    assert findings(capture) == []
    text = mrtrscope("diagram", capture, task["id"], "--format", "text", "--width", "120").stdout
    words = ("with nothing new", "input_required", "fetches the result", "elicitation/create",
             "waiting for the user", "notifications/tasks/status", "Skua: blue")  # fmt: skip
    at = [text.index(word, text.index("one round")) for word in words]
    assert at == sorted(at)


@pytest.mark.live
def test_a_task_of_an_older_revision_that_is_cancelled(tmp_path: Path, old_python: str) -> None:
    capture = tmp_path / "capture"
    assert taken(capture, old_python, "--cancel") == "cancelled"
    (task,) = [op for op in listed(capture).values() if op["method"] == "tools/call"]
    assert (task["kind"], task["outcome"], task["nested"]) == ("task", "cancelled", [])
    states = [s["state"] for s in task["task"]["states"]]
    assert states == ["working", "input_required", "cancelled"]
    assert findings(capture) == []


@pytest.mark.live
def test_a_gateway_with_every_fault(tmp_path: Path, old_python: str) -> None:
    capture = tmp_path / "capture"
    tailor, insister = (
        (old_python, str(PEERS / "asking_old.py")),
        (sys.executable, str(PEERS / "asking_new.py")),
    )

    def on_stdio(fault: str, tool: str, arguments: dict[str, Any], *options: str) -> str:
        server = insister if tool == "insist" else tailor
        faulty = ("--fault", fault) if server is insister else ("--fault", fault, "--legacy")
        front = wrapped(capture, f"to-{fault}", *GATEWAY, *faulty, "--", *wrapped(capture, fault, *server))
        return told(tool, arguments, front, *options)

    def by_http(fault: str) -> str:
        with on_http(capture, ("--legacy", "--fault", fault), fault, *tailor) as address:
            return told("order", {"shirts": 6}, address)

    with ThreadPoolExecutor(3) as at_once:
        heard = [
            at_once.submit(on_stdio, "leave", "sew", {"seconds": 6}, "--patience", "0.5"),
            at_once.submit(on_stdio, "instant", "order", {"shirts": 1}),
            at_once.submit(on_stdio, "swallow", "fit", {"shirts": 2}),
            at_once.submit(on_stdio, "trust", "order", {"shirts": 3}, "--elsewhere", "burn"),
            at_once.submit(on_stdio, "rounds", "insist", {"n": 4}),
            at_once.submit(by_http, "session"),
            at_once.submit(by_http, "header"),
        ]
    assert [one.result() for one in heard] == [
        "error: Request 'tools/call' timed out", "1 shirts, no size", "2 shirts, nobody said which size",
        "3 shirts burnt", "error: too many rounds", "error: session not found",
        "error: missing required header Mcp-Gateway-Key",
    ]  # fmt: skip
    http = {op["channel"] for op in listed(capture).values() if op["channel"].startswith("http")}
    said = {(rule, "http" if channel in http else channel) for rule, channel in notes(capture)}
    assert said == {
        ("gateway/upstream-left-open", "leave"),
        ("gateway/question-reached-nobody", "instant"),
        ("gateway/question-timed-out", "swallow"),
        ("gateway/state-accepted-elsewhere", "to-trust"),
        ("gateway/question-reached-nobody", "rounds"),
        ("gateway/rounds-answered-at-once", "to-rounds"),
        ("gateway/state-bound-to-session", "http"),
        ("gateway/retry-wants-header", "http"),
    }

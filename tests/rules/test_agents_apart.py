"""A2A and MCP on one proxy are never taken for each other; what an agent or its client sends may be anything."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrtrscope import snapshot
from mrtrscope.link import agents
from mrtrscope.link.facts import A2A
from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules.methods import LEGACY_REQUESTS, MODERN_REQUESTS
from tests.conftest import SHARED
from tests.feeding import feed
from tests.link.test_agents import Agent

from .judging import Judged, judged

BIG = 1_000_000
URL = "http://127.0.0.1:8000/rpc"
MCP_METHODS = sorted({*MODERN_REQUESTS, *LEGACY_REQUESTS, *agents.SHARED, "tasks/list", "tasks/result"})
ODD = st.sampled_from([
    None, True, 0, 1.5, 2**70, "", "\ud800", "t1", "c1", [], {}, [[]], {"": None}, "TASK_STATE_COMPLETED", "x" * 600,
    {"state": "TASK_STATE_FAILED"}, {"state": []}, [{"text": 1}],
])  # fmt: skip
NAMES = [
    "id",
    "taskId",
    "contextId",
    "status",
    "kind",
    "final",
    "role",
    "parts",
    "messageId",
    "artifact",
    "message",
]
THING = st.dictionaries(st.sampled_from(NAMES), ODD | st.sampled_from([*agents.KINDS, "user"]), max_size=6)
RESULT = (
    THING
    | st.dictionaries(
        st.sampled_from([*agents.MEMBERS, "resultType", "inputRequests"]), THING | ODD, max_size=2
    )
    | ODD
)
PARAMS = st.fixed_dictionaries({}, optional={
    "message": THING | ODD, "id": ODD, "tenant": ODD, "configuration": ODD, "requestState": ODD, "inputResponses": ODD,
}) | ODD  # fmt: skip
ID = st.sampled_from([1, 2, "1", 1.0, None, True, [], {}, 2**70, "\ud800"])
AGENT_METHOD = st.sampled_from(sorted(agents.METHODS))
MARK = st.sampled_from(
    [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Session-Id", "s"), ("MCP-Protocol-Version", "2025-11-25")]
)


def exchange(
    method: str, params: Any, results: list[Any], *heads: tuple[str, str], id: Any = 1
) -> dict[str, Any]:
    """A request by HTTP and the events that it is answered with."""
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    said = [json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) for result in results]
    head = [
        ["Accept", "application/json, text/event-stream"],
        ["Content-Type", "application/json"],
        *map(list, heads),
    ]
    return {
        "t": 0, "flow": 0, "conn": 1, "t_req_end": 0, "t_end": 1, "closed_by": "server",
        "request": {"method": "POST", "url": URL, "http": "HTTP/1.1", "headers": head, "body": json.dumps(body)},
        "response": {"status": 200, "reason": "", "t": 0.5, "headers": [["Content-Type", "text/event-stream"]],
                     "chunks": [{"t": 0.5, "data": f"data: {text}\n\n"} for text in said]},
    }  # fmt: skip


def transcript(folder: Path, exchanges: list[dict[str, Any]]) -> Path:
    file = folder / "traffic.jsonl"
    lines = [{**one, "flow": n, "t": n, "t_req_end": n, "t_end": n + 0.9} for n, one in enumerate(exchanges)]
    for n, line in enumerate(lines):
        line["response"] = {**line["response"], "t": n + 0.5}
        line["response"]["chunks"] = [{**chunk, "t": n + 0.5} for chunk in line["response"]["chunks"]]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def eras(file: Path) -> set[tuple[str, str]]:
    """(method, era) of every request of a file, and (kind, "") of every operation."""
    pipeline = Pipeline(DictMemory(), salt=b"salt", judge=False)
    feed(pipeline, file)
    batch = pipeline.drain()
    return {(e.method, e.era) for e in batch.exchanges.values()} | {
        (operation.kind, "") for operation in batch.operations.values()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("apart")


@settings(max_examples=60)
@given(st.lists(st.tuples(AGENT_METHOD, PARAMS, st.lists(RESULT, max_size=3), MARK), min_size=1, max_size=4))
def test_what_bears_a_mark_of_mcp_is_never_a2a(
    folder: Path, said: list[tuple[str, Any, list[Any], Any]]
) -> None:
    found = eras(transcript(folder, [exchange(m, p, r, mark) for m, p, r, mark in said]))
    assert not {(one, era) for one, era in found if A2A in (one, era)}


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from(MCP_METHODS), PARAMS, st.lists(RESULT, max_size=3)), min_size=1, max_size=4
    )
)
def test_methods_of_mcp_are_never_a2a_but_for_two_that_name_a_task_as_it_does(
    folder: Path, said: list[tuple[str, Any, list[Any]]]
) -> None:
    found = eras(transcript(folder, [exchange(m, p, r) for m, p, r in said]))
    named = {m for m, p, _ in said if m in agents.SHARED and type(p) is dict and type(p.get("id")) is str}
    assert {method for method, era in found if era == A2A} == named


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(AGENT_METHOD, PARAMS, st.lists(RESULT, max_size=4), ID), min_size=1, max_size=6))
def test_whatever_is_said_to_agents_nothing_raises_and_no_rule_of_mcp_applies(
    folder: Path, monkeypatch: pytest.MonkeyPatch, said: list[tuple[str, Any, list[Any], Any]]
) -> None:
    said = [(m, p if m not in agents.SHARED else {"id": "t1"}, r, id) for m, p, r, id in said]
    exchanges = [exchange(m, p, r, id=id) for m, p, r, id in said]
    found: Judged = judged(transcript(folder, exchanges), monkeypatch)
    assert {f.rule for f in found.findings if not f.rule.startswith("a2a/")} == set()
    assert {rule for rule in found.tested if not rule.startswith("a2a/")} == set()


def test_both_on_one_connection_are_each_judged_by_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"}}  # fmt: skip
    task = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}
    mcp = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tasks/get"), ("Mcp-Name", "t")]
    file = transcript(folder, [
        exchange("tasks/get", {"taskId": "t", "_meta": meta}, [{"resultType": "complete"}], *mcp),
        exchange("GetTask", {"id": "t"}, [task], ("A2A-Version", "1.0"), id=2),
        exchange("tasks/get", {"id": "t"}, [{"kind": "task", **task, "status": {"state": "completed"}}], id=3),
    ])  # fmt: skip
    assert {found for found in eras(file) if found[1]} == {
        ("tasks/get", "modern"), ("GetTask", "a2a"), ("tasks/get", "a2a"),
    }  # fmt: skip
    assert all(
        f.place == {"flow": 0} or f.place == {"flow": 0, "event": 0}
        for f in judged(file, monkeypatch).findings
    )


def _size(tasks: int) -> int:
    """Characters of the checkpoint after so many tasks, each asked for input, polled, and left."""
    world = Agent()
    for n in range(tasks):
        state = {"status": {"state": "TASK_STATE_INPUT_REQUIRED"}}
        world.to(3 * n, 3.0 * n, contextId=f"c{n}")
        world.tells(3 * n, 3.0 * n + 1, {"task": {"id": f"t{n}", "contextId": f"c{n}", **state}})
        world.ends()
        world.send(3 * n + 1, 3.0 * n + 2, "GetTask", id=f"t{n}")
        world.tells(3 * n + 1, 3.0 * n + 2.5, {"id": f"t{n}", "contextId": f"c{n}", **state})
        world.ends()
        world.seen.clear()
        world.exchanges.clear()
    return len(snapshot.dump(world.linker, {"memory": world.linker._memory, "sink": world}))


def test_what_is_kept_does_not_grow_with_the_number_of_tasks() -> None:
    assert _size(3000) < 1.2 * _size(1000)


@pytest.mark.shared
def test_in_all_that_was_recorded_of_mcp_nothing_is_a2a() -> None:
    """A file in which no name of a method of A2A stands cannot hold a request of it: all others are read."""
    assert SHARED is not None
    names = [f"{quote}{name}{quote}".encode() for name in agents.METHODS for quote in ('"', '\\"')]
    read = 0
    for file in sorted((SHARED / "corpus").rglob("*.jsonl*")) + sorted(
        (SHARED / "cases" / "inputs").rglob("*")
    ):
        if file.is_dir() or "a2a" in file.parent.parts:
            continue
        text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        if any(name in text for name in names) or (b"b64" in text and len(text) < BIG):
            read += 1
            assert not {found for found in eras(file) if A2A in found}, file
    assert read

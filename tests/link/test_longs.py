"""Calls that become tasks: one operation, its polls beside the rounds, its time split by whose move it was."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope import snapshot
from mrtrscope.link import longs
from mrtrscope.link.facts import Exchange, Operation

from .world import MODERN, World, accept

META = {"io.modelcontextprotocol/protocolVersion": MODERN}


def made(w: World, id: int, task: str, state: str = "working", *, at: float | None = None) -> Exchange:
    """A call answered with a task."""
    exchange = w.call(id, at=at)
    w.say(
        "s2c", {"jsonrpc": "2.0", "id": id, "result": {"resultType": "task", "taskId": task, "status": state}}
    )
    return exchange


def about(w: World, id: int, method: str, task: str, result: dict[str, Any] | None = None, *, at: float | None = None,
          lasts: float = 0.0625, **params: Any) -> Exchange:  # fmt: skip
    """A request about a task, and its answer."""
    at = round(w.t / 1e6 + 0.01, 6) if at is None else at
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"taskId": task, "_meta": META, **params}}
    request = w.say("c2s", body, at=at)
    if result is not None:
        w.say(
            "s2c", {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **result}}, at=at + lasts
        )
    return w.exchanges[request.key]


def poll(w: World, id: int, task: str, state: str, **how: Any) -> Exchange:
    return about(w, id, "tasks/get", task, {"taskId": task, "status": state}, **how)


def only(w: World) -> Operation:
    (operation,) = w.operations.values()
    return operation


def states(operation: Operation) -> list[str]:
    return [state for _, state in longs.facts(operation)["states"]]


def test_a_task_with_its_polls_and_answers_is_one_operation() -> None:
    w = World()
    made(w, 1, "t", at=1.0)
    poll(w, 2, "t", "input_required", at=2.0)
    update = about(w, 3, "tasks/update", "t", {}, at=5.0, inputResponses=accept("k"))
    poll(w, 4, "t", "completed", at=6.0)
    operation = only(w)
    assert (operation.kind, operation.outcome, operation.count) == ("task", "complete", 1)
    assert states(operation) == ["working", "input_required", "completed"]
    assert update.part == "update"
    # the server's move from 1.0 to 2.0625 and from 5.0 to 6.0625, the client's between
    assert (operation.server, operation.waiting) == (2_125_000, 2_937_500)
    assert operation.server + operation.waiting == operation.t_end - operation.t
    assert w.settled_ones == [(operation.key, "complete")]


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("completed", "complete"),
        ("failed", "error"),
        ("cancelled", "cancelled"),
        ("working", "open"),
        ("odd", "open"),
    ],
)
def test_the_state_of_the_task_decides_the_outcome(state: str, outcome: str) -> None:
    w = World()
    made(w, 1, "t")
    poll(w, 2, "t", state)
    assert only(w).outcome == outcome


def test_a_task_that_ends_at_once() -> None:
    w = World()
    made(w, 1, "t", "completed")
    assert only(w).outcome == "complete"
    assert len(w.settled_ones) == 1


def test_a_cancelled_task_that_completed_all_the_same() -> None:
    w = World()
    made(w, 1, "t")
    about(w, 2, "tasks/cancel", "t", {})
    assert only(w).outcome == "cancelled"
    poll(w, 3, "t", "completed")
    assert only(w).outcome == "complete"


def test_a_finished_task_is_not_opened_again_by_late_polls() -> None:
    w = World()
    made(w, 1, "t")
    poll(w, 2, "t", "completed")
    before = only(w).t_end, only(w).server
    poll(w, 3, "t", "working")
    assert (only(w).outcome, (only(w).t_end, only(w).server)) == ("complete", before)


def test_a_status_notification_belongs_to_the_task() -> None:
    w = World()
    made(w, 1, "t")
    note = {"jsonrpc": "2.0", "method": "notifications/tasks", "params": {"taskId": "t", "status": "failed"}}
    w.say("s2c", note)
    assert only(w).outcome == "error"
    assert w.seen[-1][3] == only(w).key
    assert w.settled_ones == [(only(w).key, "error")]


def test_a_task_nobody_made_is_an_operation_of_its_own() -> None:
    w = World()
    made(w, 1, "t")
    assert poll(w, 2, "other", "working").operation.kind == "single"


@pytest.mark.parametrize("declares", [True, False])
def test_whose_client_never_said_that_it_can_follow_one(declares: bool) -> None:
    w = World()
    capabilities = {"extensions": {"io.modelcontextprotocol/tasks": {}}} if declares else {"elicitation": {}}
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": capabilities}
    params = {"name": "deploy", "arguments": {}, "_meta": meta}
    w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    task = {"resultType": "task", "taskId": "t", "status": "working"}
    w.say("s2c", {"jsonrpc": "2.0", "id": 1, "result": task})
    operation = only(w)
    assert (operation.kind, operation.outcome) == ("task", "open")
    assert ("undeclared" in longs.facts(operation)) is not declares


def test_equal_names_in_two_processes_are_told_apart_and_lead_nowhere_from_a_third() -> None:
    w = World()
    for process in ("p", "q"):
        w.call(1, process=process)
        w.say("s2c", {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "task", "taskId": "t", "status": "working"}},
              process=process)  # fmt: skip
    found = []
    for process in ("p", "q", "r"):
        body = {"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"taskId": "t", "_meta": META}}
        found.append(w.exchanges[w.say("c2s", body, process=process).key])
    assert found[0].operation is not found[1].operation
    assert [e.part for e in found] == ["poll", "poll", ""]


def test_a_task_goes_on_in_the_next_process() -> None:
    w = World()
    first = made(w, 1, "t")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "t", "_meta": META}}
    assert w.exchanges[w.say("c2s", body, process="later").key].operation is first.operation


def test_rounds_before_the_task_stay_rounds() -> None:
    w = World()
    w.call(1)
    w.ask(1, "ok", state="s")
    w.call(2, state="s", answers=accept("ok"))
    w.say(
        "s2c",
        {"jsonrpc": "2.0", "id": 2, "result": {"resultType": "task", "taskId": "t", "status": "working"}},
    )
    poll(w, 3, "t", "completed")
    assert (only(w).kind, only(w).count, only(w).outcome) == ("task", 2, "complete")


def handshake(w: World, version: str = "2025-11-25") -> None:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    w.say("c2s", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    w.say("s2c", {"jsonrpc": "2.0", "id": 0, "result": result})


def test_the_experimental_tasks_of_2025_11_25() -> None:
    w = World()
    handshake(w)
    params = {"name": "deploy", "arguments": {}, "task": {"ttl": 60000}}
    w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, at=1.0)
    w.say(
        "s2c", {"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "t", "status": "working"}}}, at=1.1
    )
    w.say("c2s", {"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"taskId": "t"}}, at=2.0)
    w.say("s2c", {"jsonrpc": "2.0", "id": 2, "result": {"taskId": "t", "status": "completed"}}, at=2.1)
    w.say("c2s", {"jsonrpc": "2.0", "id": 3, "method": "tasks/result", "params": {"taskId": "t"}}, at=3.0)
    w.say("s2c", {"jsonrpc": "2.0", "id": 3, "result": {"content": []}}, at=3.2)
    task = next(o for o in w.operations.values() if o.method == "tools/call")
    assert (task.kind, task.outcome, states(task)) == ("task", "complete", ["working", "completed"])
    assert (task.t_end - task.t, task.server) == (2_200_000, 2_200_000)
    assert len(w.operations) == 2  # the handshake, and the task


def test_without_the_parameter_a_legacy_result_makes_no_task() -> None:
    w = World()
    handshake(w)
    w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "deploy"}})
    w.say("s2c", {"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "t", "status": "working"}}})
    assert next(o for o in w.operations.values() if o.method == "tools/call").kind == "single"


def test_more_tasks_than_are_kept_at_hand() -> None:
    w = World()
    n = longs.AT_HAND + 20
    for i in range(n):
        made(w, i, f"t{i}")
    assert len(w.linker.operations.longs._hand) == longs.AT_HAND
    assert len(w.linker.operations.open) <= longs.AT_HAND
    poll(w, n, "t0", "completed")
    first = min(w.operations.values(), key=lambda o: o.t)
    assert (first.outcome, states(first)) == ("complete", ["working", "completed"])


def test_states_are_bounded() -> None:
    w = World()
    made(w, 1, "t")
    for i in range(longs.STATES + 50):
        poll(w, i + 2, "t", f"s{i}")
    assert len(states(only(w))) == longs.STATES


@pytest.mark.parametrize("stop", range(1, 9))
def test_an_analysis_that_stops_and_goes_on_says_the_same(stop: int) -> None:
    def story(w: World) -> list[Any]:
        made(w, 1, "t", at=1.0)
        yield_at(w, 1)
        poll(w, 2, "t", "input_required", at=2.0)
        yield_at(w, 2)
        request = {
            "jsonrpc": "2.0",
            "id": 3,
            "method": "tasks/update",
            "params": {"taskId": "t", "_meta": META},
        }
        w.say("c2s", request, at=5.0)
        yield_at(w, 3)
        w.say("s2c", {"jsonrpc": "2.0", "id": 3, "result": {"resultType": "complete"}}, at=5.1)
        yield_at(w, 4)
        poll(w, 4, "t", "working", at=6.0)
        yield_at(w, 5)
        poll(w, 5, "t", "completed", at=7.0)
        return [(o.key, o.outcome, o.server, o.waiting, o.more) for o in w.operations.values()]

    def yield_at(w: World, step: int) -> None:
        if w is parts and step == stop:
            memory = w.linker.pending._memory
            text = snapshot.dump(w.linker, {"memory": memory, "sink": w})
            w.linker = snapshot.load(text, {"memory": memory, "sink": w})

    parts = World()
    assert story(parts) == story(World())


def test_a_task_of_the_client_is_its_move_until_it_is_over() -> None:
    """The server asked for it with its question, in 2025-11-25, and waits."""
    w = World()
    ask = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9, "task": {}}}
    task = {"taskId": "t", "status": "working"}
    w.say("s2c", {"jsonrpc": "2.0", "id": 1, **ask}, at=1.0)
    w.say("c2s", {"jsonrpc": "2.0", "id": 1, "result": {"task": task}}, at=1.5)
    w.say("s2c", {"jsonrpc": "2.0", "id": 2, "method": "tasks/get", "params": {"taskId": "t"}}, at=2.0)
    w.say("c2s", {"jsonrpc": "2.0", "id": 2, "result": {**task, "status": "completed"}}, at=2.5)
    operation = only(w)
    assert (operation.kind, operation.outcome) == ("task", "complete")
    assert (operation.server, operation.waiting, operation.t_end) == (0, 1_500_000, 2_500_000)

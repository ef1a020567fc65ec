"""What messages to and from agents met, and which operations are told as one conversation."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.facts import Exchange

from .test_agents import Agent


def facts(exchange: Exchange) -> dict[str, Any]:
    assert exchange.remarks is not None
    found: dict[str, Any] = exchange.remarks["agent"]
    return found


def task(state: str = "TASK_STATE_WORKING", name: str = "t", context: str = "c") -> dict[str, Any]:
    return {"task": {"id": name, "contextId": context, "status": {"state": state}}}


def test_a_message_to_a_task_that_is_over_met_that() -> None:
    a = Agent()
    a.to(1, 1.0)
    a.tells(1, 2.0, task("TASK_STATE_COMPLETED"))
    late = a.to(2, 3.0, taskId="t")
    assert facts(late)["finished"] == ["completed", a.key_of(1)]
    assert facts(late)["context"] == "c"


def test_an_answer_that_was_overtaken_says_nothing_of_the_end() -> None:
    a = Agent()
    asked = a.to(1, 1.0)
    stream = a.stream
    poll = a.send(2, 1.1, "GetTask", id="t")
    polled, a.stream = a.stream, stream
    a.tells(1, 1.2, task("TASK_STATE_COMPLETED"))
    a.stream = polled
    a.tells(2, 1.3, {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}})
    assert facts(poll)["was"] is None
    again = a.send(3, 1.4, "GetTask", id="t")
    a.tells(3, 1.5, {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}})
    assert facts(again)["was"] == ["completed", a.key_of(1)]
    assert asked.operation.outcome == "complete"


def test_a_stream_tells_what_came_before() -> None:
    a = Agent()
    asked = a.to(1, 1.0)
    a.tells(1, 1.1, task())
    assert (facts(asked)["before"], facts(asked)["over"]) == (None, None)
    a.is_in(1, 1.2, "TASK_STATE_FAILED")
    a.tells(1, 1.3, {"artifactUpdate": {"taskId": "t", "contextId": "x", "artifact": {}}})
    found = facts(asked)
    assert found["before"] == {
        "what": "status", "task": "t", "context": "c", "state": "failed", "final": False,
    }  # fmt: skip
    assert (found["over"][0], found["elsewhere"], found["now"]["what"]) == ("failed", "c", "artifact")


@pytest.mark.parametrize(
    ("names", "again"),
    [({}, True), ({"messageId": "m1"}, False), ({"contextId": "c"}, False), ({"taskId": "t"}, False)],
)
def test_a_task_that_another_message_makes_anew(names: dict[str, str], again: bool) -> None:
    a = Agent()
    a.to(1, 1.0)
    a.tells(1, 1.1, task())
    second = a.to(2, 2.0, **names)
    a.tells(2, 2.1, task())
    assert bool(facts(second)["again"]) == again


def test_operations_of_one_context_are_one_conversation_by_inference() -> None:
    a = Agent()
    first = a.to(1, 1.0).operation
    a.tells(1, 1.1, {"message": {"messageId": "x", "role": "ROLE_AGENT", "contextId": "c", "parts": []}})
    second = a.to(2, 2.0, contextId="c").operation
    a.tells(2, 2.1, task(name="t2"))
    third = a.to(3, 3.0).operation
    a.tells(3, 3.1, task(name="t3"))
    other = a.to(4, 4.0, contextId="d").operation
    assert len({op.key for op in (first, second, third, other)}) == 4
    joined = {"in": first.key, "grade": "inferred", "evidence": ["context"], "candidates": [first.key]}
    assert [op.more and op.more.get("talk") for op in (first, second, third, other)] == [
        None,
        joined,
        joined,
        None,
    ]


def test_a_message_of_the_context_never_goes_on_with_its_task() -> None:
    a = Agent()
    first = a.to(1, 1.0).operation
    a.tells(1, 1.1, task("TASK_STATE_INPUT_REQUIRED"))
    second = a.to(2, 2.0, contextId="c").operation
    assert (first.count, second.count, second is first) == (1, 1, False)


def test_tenants_have_tasks_of_their_own() -> None:
    a = Agent()
    said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}]}
    a.send(1, 1.0, "SendMessage", message=said, tenant="one")
    a.tells(1, 1.1, task("TASK_STATE_COMPLETED"))
    elsewhere = a.send(2, 2.0, "SendMessage", message={**said, "taskId": "t"}, tenant="two")
    assert facts(elsewhere)["finished"] is None

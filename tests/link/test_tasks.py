"""Records of tasks: made by results, changed by polls, updates and notifications, found again for ever."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.memory import DictMemory
from mrtrscope.link.tasks import (
    ANSWERED,
    EXTENSION,
    GONE,
    OUT,
    RUNNING,
    Record,
    Seen,
    declares,
    looks_created,
    seen_of,
    task,
    task_created_by,
    told_of,
)
from mrtrscope.wire.events import Message

from .world import MODERN, World

ID = "0c4d0f0e-6f0c-4a39-9d55-2b9c1f2a7d11"
QUESTION = {"method": "elicitation/create", "params": {"message": "Name?"}}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}},
}


class Tasked(World):
    """A world with a memory that can be looked at, and words for tasks."""

    def __init__(self) -> None:
        self.memory = DictMemory()
        super().__init__(self.memory)

    def ask_for(self, method: str, id: int, at: float | None = None, **params: Any) -> Seen:
        body = {"id": id, "method": f"tasks/{method}", "params": {"taskId": ID, **params, "_meta": META}}
        return self.met(self.say("c2s", body, at=at))

    def give(self, id: int, at: float | None = None, **result: Any) -> Seen:
        return self.met(self.say("s2c", {"id": id, "result": {"resultType": "complete", **result}}, at=at))

    def met(self, message: Message) -> Seen:
        exchange = next(e for m, _, e, _ in reversed(self.seen) if m is message)
        found = seen_of(exchange, message)
        assert found is not None
        return found

    def created(self, id: int = 1, **task: Any) -> Seen:
        body = {"id": id, "method": "tools/call", "params": {"name": "build", "_meta": META}}
        self.say("c2s", body)
        return self.give(
            id, **{"resultType": "task", "taskId": ID, "status": "working", "pollIntervalMs": 1000, **task}
        )

    def record(self) -> Record:
        found = task(self.memory, "files", ID)
        assert found is not None
        return found


def test_a_result_makes_a_record() -> None:
    world = Tasked()
    seen = world.created(ttlMs=60000)
    record = world.record()
    assert (record.created, record.status, record.ttl, record.poll) == (seen.at, "working", 60000, 1000)
    assert (record.method, record.target, record.declared) == ("tools/call", "build", ["extensions"])
    assert task_created_by(world.memory, record.call) == ID and not seen.known


def test_polls_that_come_too_early_are_counted() -> None:
    world = Tasked()
    world.created()
    hasty = []
    for n in range(5):
        hasty.append(world.ask_for("get", 10 + n, at=1 + n / 10).hasty)
        world.give(10 + n, taskId=ID, status="working")
    assert hasty == [0, 0, 0, 100_000, 0]  # told once, with the third
    assert world.record().gets == 5


def test_a_poll_after_an_update_is_no_haste() -> None:
    world = Tasked()
    world.created()
    world.ask_for("get", 2, at=1)
    world.give(2, taskId=ID, status="input_required", inputRequests={"q": QUESTION})
    world.ask_for("update", 3, at=1.1, inputResponses={"q": {"action": "decline"}})
    world.give(3)
    world.ask_for("get", 4, at=1.2)
    assert world.record().hasty == 0


def test_a_question_is_out_answered_and_gone() -> None:
    world = Tasked()
    world.created()
    world.ask_for("get", 2)
    world.give(2, taskId=ID, status="input_required", inputRequests={"q": QUESTION})
    states = [world.record().keys["q"][1]]
    seen = world.ask_for("update", 3, inputResponses={"q": {"action": "decline"}, "zz": {}})
    states.append(world.record().keys["q"][1])
    world.give(3)
    world.ask_for("get", 4)
    world.give(4, taskId=ID, status="working")
    states.append(world.record().keys["q"][1])
    assert states == [OUT, ANSWERED, GONE]
    assert (seen.unknown, seen.twice, seen.partial) == (["zz"], [], True)

    world.ask_for("get", 5)
    again = world.give(5, taskId=ID, status="input_required", inputRequests={"q": QUESTION})
    assert [row[:2] for row in again.reused] == [["q", "again"]]


def test_an_answer_that_has_not_taken_effect_is_no_reuse() -> None:
    world = Tasked()
    world.created()
    for n in (2, 4):
        world.ask_for("get", n)
        seen = world.give(n, taskId=ID, status="input_required", inputRequests={"q": QUESTION})
        world.ask_for("update", n + 1, inputResponses={"q": {"action": "decline"}})
        world.give(n + 1)
    assert seen.reused == []


def test_a_notification_is_news_too() -> None:
    world = Tasked()
    world.created()
    message = world.say(
        "s2c", {"method": "notifications/tasks", "params": {"taskId": ID, "status": "failed"}}
    )
    seen = told_of(world.linker.channel(message), message)
    assert seen is not None and (seen.before, seen.record.status, seen.record.over) == (
        "working",
        "failed",
        True,
    )


def test_tasks_that_run_are_bounded_and_end_with_the_task() -> None:
    world = Tasked()
    for n in range(RUNNING + 2):
        world.created(n, taskId=f"{ID}-{n}")
    channel = world.linker.channel(world.seen[-1][0])
    assert len(channel.facts["running"]) == RUNNING
    world.created(1000)
    world.ask_for("cancel", 1001)
    assert ID not in channel.facts["running"]


@pytest.mark.parametrize(
    ("result", "is_one"),
    [
        ({"resultType": "task"}, True),
        ({"taskId": ID, "status": "working"}, True),
        ({"taskId": ID, "status": "working", "content": []}, False),
        ({"taskId": ID, "status": "open"}, False),
        (
            {"task": {"taskId": ID, "status": "working"}},
            False,
        ),  # of an earlier revision, in a modern exchange
    ],
)
def test_what_looks_like_a_task(result: dict[str, Any], is_one: bool) -> None:
    exchange = World().call(1)
    assert looks_created(result, exchange) is is_one and not declares(exchange)

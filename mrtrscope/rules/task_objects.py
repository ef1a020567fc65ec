"""The tasks extension (SEP-2663): what the object of a task carries, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from mrtrscope.link.tasks import (
    GET,
    STATUSES,
    TOLD,
    seen_of,
    subscribed,
    told_of,
)
from mrtrscope.link.tools import CALL
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import CAPABILITY, pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    REMARKED,
    SERVER,
    SHOULD,
    rule,
)
from mrtrscope.rules.tasks import FROM_SERVER, SEP, created
from mrtrscope.wire.events import ABSENT, Message

TASKED = (REMARKED, NOTIFICATION)  # answers about tasks, and notifications/tasks
SHAPES = (CALL, GET, TOLD)  # `methods` for it
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?([Zz]|[+-]\d\d:?\d\d)?")
_OLD_NAMES = {"ttl": "ttlMs", "pollInterval": "pollIntervalMs"}


def shown(message: Message, ctx: Context) -> tuple[dict[str, Any], str] | None:
    """(the task object, where it stands) in a result that creates one, of tasks/get, and in a notification."""
    if message.kind == "notification":
        return message.params, "/params"
    if message.kind != "response" or seen_of(ctx.exchange, message) is None:
        return None
    if created(message, ctx) is None and (ctx.exchange is None or ctx.exchange.method != GET):
        return None
    return message.result, "/result"


@rule("tasks/required-fields", level=MUST, fault=SERVER, on=TASKED, methods=SHAPES, dirs=FROM_SERVER,
      source=SEP + "tasks")  # fmt: skip
def incomplete_task(message: Message, ctx: Context) -> Iterator[Finding]:
    """A task lacks a field, has one of another type, or is written as in 2025-11-25.

    Why it matters: the client does not know how to ask for it, how long it is kept, or when to ask again.
    Cannot tell: whose clock is right; a last update before the creation is noted.
    """
    found = shown(message, ctx)
    if found is None:
        return
    ctx.tested()
    yield from missing_fields(message, ctx, *found)


def missing_fields(message: Message, ctx: Context, task: dict[str, Any], at: str) -> Iterator[Finding]:
    """What the object of a task lacks; `at`: where it stands."""
    if type(task.get("task")) is dict and "taskId" not in task:
        yield ctx.finding(message, saw=sorted(task), expected="the fields of the task themselves", path=f"{at}/task",
                          text="the task stands in a member of its own, as in 2025-11-25")  # fmt: skip
        return
    for name in ("taskId", "createdAt", "lastUpdatedAt"):
        if type(task.get(name)) is not str:
            yield _field(ctx, message, task, at, name, "a string")
        elif name != "taskId" and not _TIME.fullmatch(task[name]):
            yield _field(ctx, message, task, at, name, "a time by ISO 8601")
    if task.get("status") not in STATUSES:
        yield _field(ctx, message, task, at, "status", list(STATUSES))
    for old, new in _OLD_NAMES.items():
        if old in task:
            yield ctx.finding(message, saw=old, expected=new, path=f"{at}/{old}",
                              text=f"the task says {old}, as in 2025-11-25")  # fmt: skip
    ttl = task.get("ttlMs", ABSENT)
    if "ttl" not in task and ttl is not None and not _whole(ttl):
        yield _field(ctx, message, task, at, "ttlMs", "an integer or null")
    poll = task.get("pollIntervalMs", ABSENT)
    if poll is not ABSENT and not _whole(poll):
        yield _field(ctx, message, task, at, "pollIntervalMs", "an integer")
    first, last = _time(task.get("createdAt")), _time(task.get("lastUpdatedAt"))
    if first is not None and last is not None and last < first:
        yield ctx.finding(message, saw=task["lastUpdatedAt"], expected=f"not before {task['createdAt']}", level="info",
                          path=f"{at}/lastUpdatedAt", text="the task was updated before it was created")  # fmt: skip


def _field(
    ctx: Context, message: Message, task: dict[str, Any], at: str, name: str, expected: Any
) -> Finding:
    saw = task.get(name, "absent")
    text = f"the task has no {name}" if name not in task else f"{name} of the task is not sound"
    return ctx.finding(message, saw=saw, expected=expected, path=f"{at}/{name}", text=text)


def _whole(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _time(text: Any) -> float | None:
    if type(text) is not str or not _TIME.fullmatch(text):
        return None
    try:
        when = datetime.fromisoformat(text.upper().replace(",", "."))
    except ValueError:
        return None
    return when.timestamp() if when.tzinfo is not None else None


@rule("tasks/status-payload", level=MUST, fault=SERVER, on=TASKED, methods=(GET, TOLD), dirs=FROM_SERVER,
      source=SEP + "response")  # fmt: skip
def status_without_payload(message: Message, ctx: Context) -> Iterator[Finding]:
    """A task does not carry what its status stands for: the questions, the result, or the error.

    Why it matters: the client learns that something is there and cannot get it anywhere.
    Cannot tell: what belongs to another status beside it is noted.
    """
    found = shown(message, ctx)
    if found is None:
        return
    ctx.tested()
    yield from missing_payload(message, ctx, *found)


_PAYLOAD = {"input_required": "inputRequests", "completed": "result", "failed": "error"}


def missing_payload(message: Message, ctx: Context, task: dict[str, Any], at: str) -> Iterator[Finding]:
    """What the status of a task calls for and is not there."""
    status = task.get("status")
    wanted = _PAYLOAD.get(status) if type(status) is str else None
    if wanted is not None:
        value = task.get(wanted, ABSENT)
        if type(value) is not dict or (wanted == "inputRequests" and not value):
            saw = "absent" if value is ABSENT else value
            yield ctx.finding(message, saw=saw, expected=wanted, path=f"{at}/{wanted}",
                              text=f"a task that is {status} has no {wanted}")  # fmt: skip
    for name in _PAYLOAD.values():
        if name != wanted and name in task and status in STATUSES:
            yield ctx.finding(message, saw=name, level="info", path=f"{at}/{name}",
                              text=f"a task that is {status} has {name}")  # fmt: skip


@rule("tasks/failed-only-for-jsonrpc-errors", level=MUST_NOT, fault=SERVER, on=TASKED, methods=(GET, TOLD),
      dirs=FROM_SERVER, source=SEP + "task-execution-errors")  # fmt: skip
def failed_for_a_tool_error(message: Message, ctx: Context) -> Iterator[Finding]:
    """A task is failed because its tool reported an error.

    Why it matters: the model never sees what the tool said; failed stands for errors of the protocol.
    Cannot tell: why it failed, unless a tool result stands there, or an error without a code.
    """
    found = shown(message, ctx)
    if found is None or found[0].get("status") != "failed":
        return
    ctx.tested()
    task, at = found
    result, error = task.get("result"), task.get("error")
    if type(result) is dict and result.get("isError") is True:
        yield ctx.finding(
            message, saw="a result with isError", expected="completed, with that result", path=f"{at}/result"
        )
    elif type(error) is dict and not _whole(error.get("code")):
        yield ctx.finding(message, saw=error.get("code", "absent"), expected="an integer", path=f"{at}/error/code",
                          text="the error of a failed task is no JSON-RPC error")  # fmt: skip


@rule("tasks/failed-has-status-message", level=SHOULD, fault=SERVER, on=TASKED, methods=(GET, TOLD), dirs=FROM_SERVER,
      source=SEP + "task-execution-errors")  # fmt: skip
def failed_without_a_word(message: Message, ctx: Context) -> Iterator[Finding]:
    """A failed task does not say in words what happened.

    Why it matters: statusMessage is what hosts show.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    found = shown(message, ctx)
    if found is None or found[0].get("status") != "failed":
        return
    ctx.tested()
    if type(found[0].get("statusMessage")) is not str:
        yield ctx.finding(message, saw="absent", expected="statusMessage", path=f"{found[1]}/statusMessage")


@rule("tasks/notification-complete", level=MUST, fault=SERVER, on=NOTIFICATION, methods=(TOLD,), dirs=FROM_SERVER,
      source=SEP + "task-status-notifications")  # fmt: skip
def tells_of_a_task_nobody_named(message: Message, ctx: Context) -> Iterator[Finding]:
    """A notification tells of a task that no open subscription names.

    Why it matters: the client did not ask for it, and may not know the task at all.
    Cannot tell: on stdio, before anybody listens at all; what its fields lack is tasks/required-fields and
    tasks/status-payload.
    """
    seen = told_of(ctx.channel, message)
    if seen is None or "listening" not in ctx.channel.facts:
        return
    ctx.tested()
    if seen.id and not subscribed(ctx.channel, message, seen.id):
        yield ctx.finding(
            message, saw=seen.id, expected="a taskId of the subscription's filter", path="/params/taskId"
        )


@rule("tasks/input-capability-declared", level=ADVISORY, fault=SERVER, on=REMARKED, methods=(GET,), dirs=FROM_SERVER,
      source="2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow item 7")  # fmt: skip
def task_asks_what_nobody_can_answer(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A task asks for a kind of input that its client did not declare.

    Why it matters: the client cannot answer, and the task waits for ever.
    Cannot tell: the sentence is written for rounds; neither the poll nor the call that created the task declared it.
    """
    seen, exchange = seen_of(ctx.exchange, answer), ctx.exchange
    asked = answer.result.get("inputRequests")
    if seen is None or exchange is None or type(asked) is not dict or not seen.record.created:
        return
    declared = {*seen.record.declared, *(exchange.capabilities or ())}
    ctx.tested()
    for key, question in asked.items():
        method = question.get("method") if type(question) is dict else None
        needed = CAPABILITY.get(method) if type(method) is str else None
        if needed is not None and needed not in declared:
            yield ctx.finding(answer, saw=method, expected=needed, path=pointer("result", "inputRequests", key),
                              also=[exchange.request, seen.record.call])  # fmt: skip

"""The tasks extension (SEP-2663): when a task may be created, and what one looks like."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mrtrscope.link.tasks import (
    CANCEL,
    EXTENSION,
    GET,
    UPDATE,
    Seen,
    declares,
    seen_of,
    task_of,
)
from mrtrscope.link.tools import CALL
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    LEGACY_ONLY,
    MUST,
    MUST_NOT,
    REMARKED,
    RESULT,
    SERVER,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

SEP = "seps/2663-tasks-extension#"
FROM_SERVER, FROM_CLIENT = ("s2c",), ("c2s",)
OURS = (GET, UPDATE, CANCEL)
SHORT, LONG, SECOND = 16, 256, 1_000_000  # characters of an id, microseconds
_COUNTER = re.compile(r"(.*?)(\d+)(\D*)")


def created(answer: Message, ctx: Context) -> Seen | None:
    """The task that a result creates; None for anything else."""
    seen = seen_of(ctx.exchange, answer)
    if seen is None or answer.kind != "response" or seen.record.created != answer.key:
        return None
    return seen


@rule("tasks/no-task-without-capability", level=MUST_NOT, fault=SERVER, on=REMARKED, dirs=FROM_SERVER,
      source=SEP + "capability-negotiation")  # fmt: skip
def task_for_whoever_knows_none(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request that did not declare the tasks extension is answered with a task.

    Why it matters: the client takes it for an invalid result; the work goes on and nobody fetches it.
    Cannot tell: tasks of 2025-11-25 are another thing, judged by the era. What other requests declared does not count.
    """
    exchange = ctx.exchange
    if created(answer, ctx) is None or exchange is None:
        return
    ctx.tested()
    if not declares(exchange):
        yield ctx.finding(answer, saw=sorted(exchange.capabilities or ()), also=[exchange.request],
                          expected=f"a final result, or {EXTENSION} in the request")  # fmt: skip


@rule("tasks/only-tools-call", level=MUST, fault=SERVER, on=REMARKED, source=SEP + "supported-methods")
def task_for_another_method(message: Message, ctx: Context) -> Iterator[Finding]:
    """Another request than tools/call is answered with a task, or the client takes such a task up.

    Why it matters: only tools/call is made for it; clients treat it as an invalid result.
    Cannot tell: what a client makes of such a task, unless it polls; then it is said once.
    """
    exchange = ctx.exchange
    if exchange is None:
        return
    seen = created(message, ctx)
    if seen is not None:
        ctx.tested()
        if exchange.method != CALL:
            yield ctx.finding(message, saw=exchange.method, expected=CALL, also=[exchange.request])
        return
    seen = seen_of(exchange, message)
    if seen is None or message is not exchange.request or exchange.method != GET or not seen.record.created:
        return
    if seen.record.method != CALL and seen.record.gets == 1:
        yield ctx.finding(
            message, saw=f"a task of {seen.record.method}", fault="client", also=[seen.record.created],
            text="the client polls a task that is no valid result", expected="the result is treated as invalid",
        )  # fmt: skip


@rule("tasks/result-type-task-only-on-create", level=MUST_NOT, fault=SERVER, on=REMARKED, dirs=FROM_SERVER,
      methods=(CALL, *OURS), source=SEP + "polymorphic-results")  # fmt: skip
def other_result_type(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result says `task` and creates none, or creates one and does not say so.

    Why it matters: clients go by resultType: they wait for a task that is done, or take a task for the final result.
    Cannot tell: two examples of the extension's page show it otherwise; its sentences count.
    """
    exchange = ctx.exchange
    if exchange is None or answer.kind != "response" or answer is not exchange.answer:
        return
    kind = answer.result.get("resultType", ABSENT)
    if exchange.method != CALL:
        ctx.tested()
        if kind is not ABSENT and kind != "complete":
            yield ctx.finding(answer, saw=kind, expected="complete", path="/result/resultType",
                              text=f"a result of {exchange.method} is not of type complete")  # fmt: skip
    elif created(answer, ctx) is not None:
        ctx.tested()
        if kind != "task":
            yield ctx.finding(answer, saw="absent" if kind is ABSENT else kind, expected="task",
                              path="/result/resultType", text="a result is a task and does not say so")  # fmt: skip


@rule("tasks/mrtr-before-task", level=SHOULD, fault=SERVER, on=REMARKED, methods=(CALL, GET), dirs=FROM_SERVER,
      source=SEP + "task-creation")  # fmt: skip
def asks_after_creating(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A task asks at once for what could have been asked before it was created.

    Why it matters: rounds of the call itself are cheaper, and need no polling.
    Cannot tell: whether the question could be known before; only noted. A task that carries a state or questions of a
    round is neither.
    """
    seen, exchange = seen_of(ctx.exchange, answer), ctx.exchange
    if seen is None or exchange is None or answer.kind != "response":
        return
    if created(answer, ctx) is not None:
        ctx.tested()
        for name in ("requestState", "inputRequests"):
            if name in answer.result:
                yield ctx.finding(answer, saw=name, expected="input_required, or a task", path=f"/result/{name}",
                                  text=f"a task is created with {name}, which belongs to a round")  # fmt: skip
        return
    record = seen.record
    if exchange.method == GET and record.created and record.gets == 1 and answer.t - record.t <= SECOND:
        ctx.tested()
        if record.status == "input_required":
            yield ctx.finding(
                answer, saw="input_required at the first poll", level="info", also=[record.created]
            )


@rule("tasks/id-unguessable", level=MUST, fault=SERVER, on=REMARKED, dirs=FROM_SERVER,
      source=SEP + "security-implications")  # fmt: skip
def guessable_id(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The id of a task is short, or counts on from the one before.

    Why it matters: whoever guesses it reads and cancels the work of others.
    Cannot tell: how random a long one is. On stdio nobody else can ask, and where requests are authorized the server
    may check who asks: noted there.
    """
    seen = created(answer, ctx)
    if seen is None or not seen.id or ctx.exchange is None:
        return
    ctx.tested()
    alone = ctx.transport == "stdio" or bool(ctx.exchange.client.credential)
    level = "info" if alone else None
    if _counts_on(seen.record.previous, seen.id):
        saw = [seen.record.previous, seen.id]
        yield ctx.finding(answer, saw=saw, expected="ids that nobody can guess", level=level,
                          path="/result/taskId", text="the ids of tasks count on")  # fmt: skip
    elif len(seen.id) < SHORT:
        yield ctx.finding(answer, saw=f"{len(seen.id)} characters", expected=f"{SHORT} and more", level=level,
                          path="/result/taskId", text="the id of a task is short")  # fmt: skip


def _counts_on(before: str, id: str) -> bool:
    """Two ids of one form whose last number is greater by a few."""
    if max(len(before), len(id)) > LONG:
        return False
    one, other = _COUNTER.fullmatch(before[::-1]), _COUNTER.fullmatch(id[::-1])
    if one is None or other is None or (one[1], one[3]) != (other[1], other[3]):
        return False
    first, second = one[2][::-1], other[2][::-1]
    return max(len(first), len(second)) <= 18 and 0 < int(second) - int(first) <= 16


@rule("tasks/legacy-param-ignored", level=MUST, fault=SERVER, on=REMARKED, methods=(CALL,),
      source=SEP + "backward-compatibility")  # fmt: skip
def old_parameter_counts(message: Message, ctx: Context) -> Iterator[Finding]:
    """The `task` parameter of 2025-11-25 decides how a modern call is answered.

    Why it matters: it has no meaning any more; whoever sends it for another reason gets a task.
    Cannot tell: that a client sends it is only noted.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or "augmented" not in exchange.remarks:
        return
    if message is exchange.request:
        yield ctx.finding(message, saw=message.params.get("task"), level="info", fault="client", path="/params/task",
                          text="a modern call has the task parameter of 2025-11-25")  # fmt: skip
        return
    if message is not exchange.answer:
        return
    ctx.tested()
    if created(message, ctx) is not None and not declares(exchange):
        yield ctx.finding(message, saw="a task", expected="an ordinary result", also=[exchange.request])
    elif said.code(message) == -32602 and re.search(r"\btask\b", said.words(message), re.I):
        yield ctx.finding(
            message, saw=said.words(message), expected="the parameter is ignored", also=[exchange.request]
        )


@rule("tasks/legacy-capability-not-advertised", level=MUST_NOT, fault=SERVER, on=RESULT, methods=("server/discover",),
      dirs=FROM_SERVER, source=SEP + "backward-compatibility")  # fmt: skip
def advertises_old_tasks(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A modern server advertises the tasks of 2025-11-25.

    Why it matters: clients ask for them in the older way, which does not exist in this revision.
    Cannot tell: capabilities that are no object are discover/result-fields.
    """
    capabilities = answer.result.get("capabilities")
    if type(capabilities) is not dict:
        return
    ctx.tested()
    if "tasks" in capabilities:
        yield ctx.finding(answer, saw=capabilities["tasks"], expected=f"extensions, {EXTENSION}",
                          path="/result/capabilities/tasks")  # fmt: skip


@rule("tasks/not-under-2025-11-25", level=MUST_NOT, fault=SERVER, on=REMARKED, dirs=FROM_SERVER, eras=LEGACY_ONLY,
      source=SEP + "backward-compatibility")  # fmt: skip
def extension_in_an_old_session(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A session of an earlier revision gets a task of the extension.

    Why it matters: the client does not know it, whatever the handshake named; it takes it for a final result.
    Cannot tell: a result that does not call itself a task counts as one only with a taskId, a status and no content.
    """
    if created(answer, ctx) is None:
        return
    ctx.tested()
    result = answer.result
    if result.get("resultType") == "task" or task_of(result) is result:
        yield ctx.finding(answer, saw=sorted(result), expected="a result, or {task: {…}} for a call with `task`",
                          also=[ctx.exchange.request if ctx.exchange is not None else None])  # fmt: skip

"""The tasks extension (SEP-2663): who may ask about a task, how, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mrtrscope.link.canonical import canonical
from mrtrscope.link.heads import decoded
from mrtrscope.link.memory import digest
from mrtrscope.link.pairing import past_key
from mrtrscope.link.session import scope_of
from mrtrscope.link.tasks import (
    CANCEL,
    EXTENSION,
    GET,
    RESULT,
    declares,
    seen_of,
    task,
    task_created_by,
)
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    CLIENT,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    REMARKED,
    SERVER,
    rule,
)
from mrtrscope.rules.tasks import FROM_CLIENT, FROM_SERVER, OURS, SEP
from mrtrscope.wire.events import ABSENT, Message
from mrtrscope.wire.jsonrpc import id_text

GRACE = 1_000_000
INVALID, UNKNOWN_METHOD, MISSING_CAPABILITY = -32602, -32601, -32021
OLD_METHODS = (RESULT, "tasks/list")
RELATED = "io.modelcontextprotocol/related-task"
LOST = re.compile(r"not found|no such|unknown|expired|does ?n.t exist|not exist|nonexistent", re.I)


def not_found(answer: Message) -> bool:
    """A refusal that means: there is no such task."""
    code = said.code(answer)
    if answer.kind != "error" or code in said.EXPLAINED_CODES or code == UNKNOWN_METHOD:
        return False
    return code == INVALID or LOST.search(said.words(answer)) is not None


@rule("tasks/unknown-id-code", level=MUST, fault=SERVER, on=REMARKED, methods=OURS, dirs=FROM_SERVER,
      source=SEP + "protocol-errors")  # fmt: skip
def other_code_for_no_task(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request about a task that does not exist is refused with another code than -32602.

    Why it matters: the client cannot tell a task that is gone from a server that fails.
    Cannot tell: that there is no such task, unless the error says so. For an update or a cancellation it is a should; a
    result for an id that was never handed out is noted, since the task may be older than the recording.
    """
    seen, exchange = seen_of(ctx.exchange, answer), ctx.exchange
    if seen is None or exchange is None:
        return
    code = said.code(answer)
    if answer.kind == "response":
        if not seen.known and seen.id and "status" not in answer.result:
            yield ctx.finding(answer, saw="a result", expected=INVALID, level="info", also=[exchange.request],
                              text="a result for a task that was never handed out here")  # fmt: skip
        return
    if code in said.EXPLAINED_CODES or code == UNKNOWN_METHOD or not LOST.search(said.words(answer)):
        if code == INVALID:
            ctx.tested()
        return
    ctx.tested()
    if code != INVALID:
        yield ctx.finding(answer, saw=code, expected=INVALID, also=[exchange.request],
                          level=None if exchange.method == GET else "should")  # fmt: skip


@rule("tasks/methods-need-capability", level=MUST, fault=SERVER, on=REMARKED, methods=(*OURS, "subscriptions/listen"),
      dirs=FROM_SERVER, source=SEP + "protocol-errors")  # fmt: skip
def serves_whoever_declared_nothing(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request about tasks that did not declare the extension is not refused with -32021.

    Why it matters: the client does not learn that it forgot to say so, and other servers refuse it.
    Cannot tell: an id that the server does not know may be refused first.
    """
    exchange = ctx.exchange
    if exchange is None or answer is not exchange.answer or declares(exchange):
        return
    if exchange.method not in OURS:
        wanted = exchange.request.params.get("notifications")
        if type(wanted) is not dict or "taskIds" not in wanted:
            return
    code = said.code(answer)
    if code in said.EXPLAINED_CODES - {MISSING_CAPABILITY} or code == UNKNOWN_METHOD:
        return
    ctx.tested()
    if code != MISSING_CAPABILITY:
        saw = "a result" if answer.kind == "response" else code
        yield ctx.finding(answer, saw=saw, expected=MISSING_CAPABILITY, also=[exchange.request],
                          level="should" if code == INVALID else None)  # fmt: skip


@rule("tasks/client-declares-on-task-methods", level=MUST, fault=CLIENT, on=REMARKED, methods=OURS, dirs=FROM_CLIENT,
      source=SEP + "protocol-errors")  # fmt: skip
def forgets_to_declare(request: Message, ctx: Context) -> Iterator[Finding]:
    """A request about a task does not declare the tasks extension.

    Why it matters: capabilities count for one request; the server must refuse this one.
    Cannot tell: a request without capabilities is meta/client-capabilities-present.
    """
    exchange = ctx.exchange
    if exchange is None or request is not exchange.request or exchange.capabilities is None:
        return
    ctx.tested()
    if not declares(exchange):
        expected = f"extensions, {EXTENSION}"
        yield ctx.finding(request, saw=sorted(exchange.capabilities), expected=expected)


@rule("tasks/mcp-name-header", level=MUST, fault=CLIENT, on=REMARKED, methods=OURS, dirs=FROM_CLIENT,
      transports=frozenset({"http"}), source=SEP + "streamable-http-routing-headers")  # fmt: skip
def task_not_in_the_head(request: Message, ctx: Context) -> Iterator[Finding]:
    """A request about a task does not repeat its id in Mcp-Name.

    Why it matters: gateways route by it to where the task runs.
    Cannot tell: where there is no HTTP, or the taskId is no string.
    """
    id, http = request.params.get("taskId"), request.http
    if http is None or type(id) is not str or ctx.exchange is None or request is not ctx.exchange.request:
        return
    ctx.tested()
    header = http.request_header("mcp-name")
    if header is None:
        yield ctx.finding(request, saw="no header", expected=id, path="Mcp-Name")
    elif header.strip(" \t") != id and decoded(header)[0] != id:
        yield ctx.finding(
            request, saw=header, expected=id, path="Mcp-Name", text="Mcp-Name names another task"
        )


@rule("tasks/cancel-not-by-notification", level=MUST_NOT, fault=CLIENT, on=NOTIFICATION, dirs=FROM_CLIENT,
      methods=("notifications/cancelled",), source=SEP + "task-cancellation")  # fmt: skip
def cancels_a_task_by_notification(message: Message, ctx: Context) -> Iterator[Finding]:
    """A task is cancelled by notifications/cancelled.

    Why it matters: the call that created it was answered long ago; the task goes on.
    Cannot tell: what comes within a second after the task was handed out may have been meant for the call.
    """
    id, exchange = message.params.get("requestId"), ctx.exchange
    if type(id) is str:
        known = task(ctx.memory, message.channel, id)
        if known is not None and exchange is None and not known.legacy:
            ctx.tested()
            yield ctx.finding(message, saw="the id of a task", expected=CANCEL, also=[known.created or None],
                              path="/params/requestId")  # fmt: skip
            return
    if type(id) not in (int, str):
        return
    scope = scope_of(message.peer, message.channel, message.http)
    past = ctx.memory.get("past", past_key(scope + "c2s", id_text(id) or ""))
    key = exchange.key if exchange is not None else (past or "").rpartition("\n")[0]
    known = task(ctx.memory, message.channel, task_created_by(ctx.memory, key))
    if known is None or known.legacy:
        return
    ctx.tested()
    if message.t - known.t > GRACE and not known.over:
        yield ctx.finding(message, saw="the id of a call that was answered with a task", expected=CANCEL,
                          also=[known.call, known.created], path="/params/requestId")  # fmt: skip


@rule("tasks/no-progress-on-listen", level=MUST_NOT, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER,
      methods=("notifications/progress",), source=SEP + "task-status-notifications")  # fmt: skip
def progress_of_a_task(message: Message, ctx: Context) -> Iterator[Finding]:
    """Progress is reported for a call that was answered with a task.

    Why it matters: tasks have no progress; what the client is to know stands in statusMessage.
    Cannot tell: when the token belongs to a call of today as well.
    """
    exchange = ctx.exchange
    token = message.params.get("progressToken", ABSENT)
    if type(token) not in (int, str):
        return
    own = exchange is not None and canonical(exchange.request.meta.get("progressToken")) == canonical(token)
    if own and exchange is not None:
        if exchange.answer is None:
            return
        key = exchange.key
    else:
        scope = scope_of(message.peer, message.channel, message.http)
        given = ctx.memory.get("token", digest(scope + "c2s", canonical(token)))
        key = (given or "").rpartition("\n")[0]
    known = task(ctx.memory, message.channel, task_created_by(ctx.memory, key)) if key else None
    if known is None or known.legacy:
        return
    ctx.tested()
    yield ctx.finding(message, saw=token, expected="statusMessage in notifications/tasks",
                      also=[known.call, known.created])  # fmt: skip


@rule("tasks/removed-methods", level=MUST, fault=SERVER, on=REMARKED, methods=OLD_METHODS, dirs=FROM_SERVER,
      source=SEP + "backward-compatibility")  # fmt: skip
def serves_removed_method(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A method of the tasks of 2025-11-25 is served, or refused with another code than -32601.

    Why it matters: a client cannot tell that the method is gone, and waits in it as it did before.
    Cannot tell: for tasks/list the code follows from another sentence: a should.
    """
    exchange = ctx.exchange
    code = said.code(answer)
    if exchange is None or answer is not exchange.answer or code in said.EXPLAINED_CODES:
        return
    ctx.tested()
    if code != UNKNOWN_METHOD:
        saw = "a result" if answer.kind == "response" else code
        yield ctx.finding(answer, saw=saw, expected=UNKNOWN_METHOD, also=[exchange.request],
                          level=None if exchange.method == RESULT else "should")  # fmt: skip


@rule("tasks/no-related-task-meta", level=ADVISORY, fault=SERVER, on=REMARKED, methods=(GET,), dirs=FROM_SERVER,
      source=SEP + "response")  # fmt: skip
def old_reference_to_the_task(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result of tasks/get refers to its task in `_meta`, as in 2025-11-25.

    Why it matters: it shows a code path of the older revision; no sentence forbids it.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    if seen_of(ctx.exchange, answer) is None or answer.kind != "response":
        return
    ctx.tested()
    for holder, path in ((answer.result, ("result",)), (answer.result.get("result"), ("result", "result"))):
        meta = holder.get("_meta") if type(holder) is dict else None
        if type(meta) is dict and RELATED in meta:
            yield ctx.finding(
                answer, saw=RELATED, expected="taskId alone", path=pointer(*path, "_meta", RELATED)
            )


@rule("tasks/authorization-checked", level=MUST, fault=SERVER, on=REMARKED, methods=OURS, dirs=FROM_SERVER,
      transports=frozenset({"http"}), source=SEP + "security-implications")  # fmt: skip
def task_of_somebody_else(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A task that one user created is served to another.

    Why it matters: it shows its result, and lets others cancel it or answer in the user's place.
    Cannot tell: unless both requests came with tokens that name their subject.
    """
    seen, exchange = seen_of(ctx.exchange, answer), ctx.exchange
    if seen is None or exchange is None or not seen.record.subject or not exchange.client.subject:
        return
    ctx.tested()
    if answer.kind == "response" and exchange.client.subject.hex() != seen.record.subject:
        yield ctx.finding(answer, saw="another subject than the task was created by", expected=INVALID,
                          also=[exchange.request, seen.record.call])  # fmt: skip

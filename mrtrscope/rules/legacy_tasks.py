"""2025-11-25, basic/utilities/tasks: tasks as they were before they became an extension."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.legacy import session_of
from mrtrscope.link.offers import offered
from mrtrscope.link.tasks import (
    CANCEL,
    GET,
    METHODS,
    RESULT,
    TERMINAL,
    TOLD_LEGACY,
    seen_of,
    task_of,
    told_of,
)
from mrtrscope.link.tools import CALL
from mrtrscope.rules import registry as reg
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.legacy_handshake import FROM_SERVER
from mrtrscope.rules.questions import ELICITATION, SAMPLING, pointer
from mrtrscope.rules.registry import (
    EITHER,
    FAULT,
    LEGACY_ONLY,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    REMARKED,
    REQUEST,
    SERVER,
    rule,
)
from mrtrscope.wire.events import Message

PAGE = "2025-11-25/basic/utilities/tasks#"
RELATED = "io.modelcontextprotocol/related-task"
NO_METHOD, INVALID = -32601, -32602
_LOST = re.compile(r"not found|no such|unknown|expired|does ?n.t exist|not exist|nonexistent", re.I)
_STRINGS = ("taskId", "createdAt", "lastUpdatedAt")


def _support(exchange: Exchange) -> str | None:
    """What the tool says about tasks: "forbidden" where it says nothing; None when its definition was not seen."""
    if exchange.tool is None or not exchange.tool.definition.text:
        return None
    text = exchange.tool.definition.text
    if "taskSupport" not in text:
        return "forbidden"
    execution = json.loads(text).get("execution")
    found = execution.get("taskSupport", "forbidden") if type(execution) is dict else "forbidden"
    return found if type(found) is str else None


def _takes_tasks(capabilities: dict[str, Any]) -> bool:
    found: Any = capabilities
    for name in ("tasks", "requests", "tools", "call"):
        found = found.get(name) if type(found) is dict else None
    return type(found) is dict


@rule("legacy/task-opt-in", level=MUST_NOT, fault=EITHER, on=(REQUEST, reg.RESULT, FAULT), methods=(CALL,),
      eras=LEGACY_ONLY, source=PAGE + "capabilities")  # fmt: skip
def task_where_there_is_none(message: Message, ctx: Context) -> Iterator[Finding]:
    """A call asks for a task though the server or the tool has none, or does not where the tool needs one.

    Why it matters: the server refuses it, or does what the client cannot follow.
    Cannot tell: without the handshake, and for a tool whose definition was not seen.
    """
    exchange = ctx.exchange
    if exchange is None:
        return
    asks = "task" in exchange.request.params
    if not asks and exchange.tool is None:
        return
    support, capabilities = _support(exchange), offered(ctx.channel, exchange)
    if capabilities is None:
        return
    able = _takes_tasks(capabilities)
    if message.dir == "s2c":
        if able and support == "required" and not asks:
            ctx.tested()
            if said.code(message) != NO_METHOD:
                saw = "a result" if message.kind == "response" else said.code(message)
                refused = message.kind == "error" or said.tool_error(message)
                how = f"refused with another answer than {NO_METHOD}" if refused else "not refused"
                yield ctx.finding(message, saw=saw, expected=NO_METHOD, fault="server", also=[exchange.request],
                                  text=f"a tool that needs a task is called without one, and {how}")  # fmt: skip
        return
    if not asks and not (able and support is not None):
        return
    ctx.tested()
    also = [exchange.tool.key] if exchange.tool is not None else []
    if asks and not able:
        yield ctx.finding(message, saw=sorted(capabilities), expected="tasks.requests.tools.call", path="/params/task",
                          fault="client", text="a call asks for a task, and the server declared none")  # fmt: skip
    elif asks and support == "forbidden":
        yield ctx.finding(message, saw="no taskSupport, or forbidden", expected="no task", path="/params/task",
                          also=also, fault="client", text="a call asks for a task of a tool that has none")  # fmt: skip
    elif not asks and support == "required":
        yield ctx.finding(message, saw="no task", expected="taskSupport is required", path="/params/task", also=also,
                          fault="client", text="a tool that needs a task is called without one")  # fmt: skip


@rule("legacy/task-created-working", level=MUST, fault=SERVER, on=(REMARKED, NOTIFICATION), dirs=FROM_SERVER,
      methods=(CALL, GET, TOLD_LEGACY), eras=LEGACY_ONLY, source=PAGE + "task-status-lifecycle")  # fmt: skip
def unsound_task(message: Message, ctx: Context) -> Iterator[Finding]:
    """A task does not begin as working, lacks a field, or goes on after it was over.

    Why it matters: the client waits for what has happened, or has taken a result that is none.
    Cannot tell: a status that was not recorded: the first one seen counts. A task of the extension is
    tasks/not-under-2025-11-25.
    """
    seen = seen_of(ctx.exchange, message) or told_of(ctx.channel, message)
    if seen is None or message.kind == "error":
        return
    record = seen.record
    if record.created == message.key:
        task = task_of(message.result)
        if task is message.result:
            return  # tasks/not-under-2025-11-25
        ctx.tested()
        if task.get("status") != "working":
            yield ctx.finding(message, saw=task.get("status", "absent"), expected="working", path="/result/task/status",
                              text="a task does not begin as working")  # fmt: skip
        for name in _STRINGS:
            if type(task.get(name)) is not str:
                yield ctx.finding(message, saw=task.get(name, "absent"), expected="a string",
                                  path=f"/result/task/{name}", text=f"the task has no {name}")  # fmt: skip
        ttl = task.get("ttl", "absent")
        if ttl is not None and type(ttl) not in (int, float):
            yield ctx.finding(message, saw=ttl, expected="a number or null", path="/result/task/ttl",
                              text="the task has no ttl")  # fmt: skip
    elif record.status_key == message.key:
        ctx.tested()
        if seen.before in TERMINAL and record.status != seen.before:
            yield ctx.finding(message, saw=record.status, expected=seen.before, also=[seen.before_key],
                              text="a task that was over has another status")  # fmt: skip


@rule("legacy/task-related-meta", level=MUST, fault=EITHER, on=(REMARKED, REQUEST), dirs=FROM_SERVER, eras=LEGACY_ONLY,
      methods=(RESULT, ELICITATION, SAMPLING), source=PAGE + "associating-task-related-messages")  # fmt: skip
def does_not_name_its_task(message: Message, ctx: Context) -> Iterator[Finding]:
    """The result of a task, or a question that it asks, does not say in `_meta` which task it belongs to.

    Why it matters: the client cannot tell for which of its calls the user is asked, or what it has got.
    Cannot tell: whose question it is, unless nothing else is under way than the wait for one task: probable.
    """
    if message.kind == "response":
        if seen_of(ctx.exchange, message) is None:
            return
        meta, path, probably = message.result.get("_meta"), pointer("result", "_meta", RELATED), ""
    elif message.kind == "request" and message.method in (ELICITATION, SAMPLING):
        session = session_of(ctx.channel, message)
        if session is None or list(session.open.values()) != [RESULT]:
            return
        meta, path, probably = message.meta, pointer("params", "_meta", RELATED), "probably "
    else:
        return
    ctx.tested()
    related = meta.get(RELATED) if type(meta) is dict else None
    if type(related) is not dict or type(related.get("taskId")) is not str:
        what = "the result of a task" if message.kind == "response" else "a question of a task"
        yield ctx.finding(message, saw="absent" if related is None else related, expected=RELATED, path=path,
                          fault="server", text=f"{probably}{what} does not name the task")  # fmt: skip


@rule("legacy/task-error-codes", level=MUST, fault=EITHER, on=REMARKED, methods=METHODS, dirs=FROM_SERVER,
      eras=LEGACY_ONLY, source=PAGE + "protocol-errors")  # fmt: skip
def other_code_about_a_task(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request about an unknown task, or to cancel one that is over, is not refused with -32602.

    Why it matters: the client cannot tell a task that is gone from a server that fails.
    Cannot tell: that there is no such task, unless the error says so.
    """
    seen, exchange = seen_of(ctx.exchange, answer), ctx.exchange
    if seen is None or exchange is None:
        return
    code = said.code(answer)
    if exchange.method == CANCEL and seen.known and seen.before in TERMINAL:
        ctx.tested()
        if code != INVALID and code != NO_METHOD:
            saw = "a result" if answer.kind == "response" else code
            yield ctx.finding(answer, saw=saw, expected=INVALID, fault="server", also=[seen.before_key],
                              text="a task that is over is cancelled, and that is not refused with -32602")  # fmt: skip
    elif answer.kind == "error" and not seen.known and code != NO_METHOD and _LOST.search(said.words(answer)):
        ctx.tested()
        if code != INVALID:
            yield ctx.finding(answer, saw=code, expected=INVALID, fault="server", also=[exchange.request])

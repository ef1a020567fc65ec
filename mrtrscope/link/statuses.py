"""What a message says about a task: its name and its state, in the spelling of whichever protocol it speaks.

Three forms are read: the tasks extension of 2026-07-28 (the task is the result itself, `resultType: "task"`), the
experimental tasks of 2025-11-25 (the task stands under `task` where it is made, and is the result itself elsewhere),
and those of A2A in both of its forms (see `link.agents`).
States are told apart by their words; a peer that invents others has them shown as they came.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link import agents
from mrtrscope.link.agents import name_of, word
from mrtrscope.link.facts import A2A, CANCELLED, COMPLETE, FAILED, LEGACY, MODERN, Exchange
from mrtrscope.wire.events import Message

# Parts of an operation; LATE is a message to a task that had come to its end.
POLL, UPDATE, CANCEL, RESULT, LATE = "poll", "update", "cancel", "result", "late"
OF_MCP = {"tasks/get": POLL, "tasks/update": UPDATE, "tasks/cancel": CANCEL, "tasks/result": RESULT}
PARTS = {
    **OF_MCP,
    **dict.fromkeys(agents.POLLS, POLL), **dict.fromkeys(agents.CANCELS, CANCEL),
}  # fmt: skip
EXTENSION = "io.modelcontextprotocol/tasks"
NOTES = ("notifications/tasks", "notifications/tasks/status")
RELATED = "io.modelcontextprotocol/related-task"

STOPS = frozenset({"input_required", "auth_required"})  # the next move is the client's
ENDS = {"completed": COMPLETE, "failed": FAILED, "cancelled": CANCELLED, "rejected": FAILED}


def created(exchange: Exchange) -> tuple[str, str] | None:
    """(name, state) of the task that the answer to a request makes of it, None when it makes none."""
    answer = exchange.answer
    if answer is None or answer.kind != "response" or exchange.method in PARTS:
        return None
    result = answer.result
    if exchange.era == A2A:
        return agents.told(result) if exchange.method in agents.SENDS else None
    if exchange.era != LEGACY and result.get("resultType") == "task":
        return told(result)
    if exchange.era != MODERN and "task" in exchange.request.params:
        return told(result.get("task"))
    return None


def declared(exchange: Exchange) -> bool:
    """Whether who made the request said that he can follow a task; 2025-11-25 asks for it in the call itself."""
    return exchange.era != MODERN or extends(exchange, EXTENSION)


def extends(exchange: Exchange, name: str) -> bool:
    """Whether the request declares an extension."""
    extensions = (exchange.capabilities or {}).get("extensions")
    return type(extensions) is dict and name in extensions


def named(exchange: Exchange) -> str:
    """The task that a request about tasks names, "" when it is about none."""
    if exchange.era == A2A:
        return agents.named(exchange.request)
    if exchange.method not in OF_MCP:
        return ""
    return name_of(exchange.request.params.get("taskId"))


def seen(exchange: Exchange) -> tuple[str, str] | None:
    """(name, state) that the answer to a request about a task shows."""
    answer = exchange.answer
    if answer is None or answer.kind != "response":
        return None
    return agents.told(answer.result) if exchange.era == A2A else told(answer.result)


def noted(message: Message) -> tuple[str, str] | None:
    """(name, state) that a status notification shows."""
    return told(message.params) if message.method in NOTES else None


def related(message: Message) -> str:
    """The task that the `_meta` of a message says it belongs to, "" when it says nothing."""
    found = message.meta.get(RELATED)
    return name_of(found.get("taskId")) if type(found) is dict else ""


def told(value: Any) -> tuple[str, str] | None:
    """(name, state) of a task object."""
    if type(value) is not dict:
        return None
    name, state = name_of(value.get("taskId")), value.get("status")
    return (name, word(state)) if name and type(state) is str else None

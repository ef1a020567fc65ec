"""What a message says about a task: its name and its state, in the spelling of whichever protocol it speaks.

Two forms are read here: the tasks extension of 2026-07-28 (the task is the result itself, `resultType: "task"`), the
experimental tasks of 2025-11-25 (the task stands under `task` where it is made, and is the result itself elsewhere).
States are told apart by their words; a peer that invents others has them shown as they came.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import CANCELLED, COMPLETE, FAILED, LEGACY, MODERN, Exchange
from mrtrscope.wire.events import Message

WORD = 64  # characters of a state that are kept
NAME = 512  # a longer name of a task is no name

POLL, UPDATE, CANCEL, RESULT = "poll", "update", "cancel", "result"
PARTS = {"tasks/get": POLL, "tasks/update": UPDATE, "tasks/cancel": CANCEL, "tasks/result": RESULT}
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
    if exchange.era != LEGACY and result.get("resultType") == "task":
        return told(result)
    if exchange.era != MODERN and "task" in exchange.request.params:
        return told(result.get("task"))
    return None


def named(exchange: Exchange) -> str:
    """The task that a request about tasks names, "" when it is about none."""
    if exchange.method not in PARTS:
        return ""
    return _name(exchange.request.params.get("taskId"))


def seen(exchange: Exchange) -> tuple[str, str] | None:
    """(name, state) that the answer to a request about a task shows."""
    answer = exchange.answer
    if answer is None or answer.kind != "response":
        return None
    return told(answer.result)


def noted(message: Message) -> tuple[str, str] | None:
    """(name, state) that a status notification shows."""
    return told(message.params) if message.method in NOTES else None


def related(message: Message) -> str:
    """The task that the `_meta` of a message says it belongs to, "" when it says nothing."""
    found = message.meta.get(RELATED)
    return _name(found.get("taskId")) if type(found) is dict else ""


def told(value: Any) -> tuple[str, str] | None:
    """(name, state) of a task object."""
    if type(value) is not dict:
        return None
    name, state = _name(value.get("taskId")), value.get("status")
    return (name, word(state)) if name and type(state) is str else None


def word(state: str) -> str:
    """A state in our spelling: "input_required" for `input-required` and `TASK_STATE_INPUT_REQUIRED` alike."""
    text = state[:WORD].lower().removeprefix("task_state_").replace("-", "_")
    return "cancelled" if text == "canceled" else text


def _name(value: Any) -> str:
    return value if type(value) is str and len(value) <= NAME else ""

"""Results that ask for something without saying `input_required`, and whether a client took one up all the same.

A result without resultType is a final one, and one with an unknown resultType is invalid; a client that goes on with
the state, the keys or the task of such a result read it otherwise. What such results hand out is remembered for ever.
"""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import Exchange
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.remarks import remark
from mrtrscope.wire.events import Message

SPACE = "untyped"
KEYS = 64
KNOWN = ("complete", "input_required", "task")


def note_untyped(memory: Memory, exchange: Exchange, answer: Message) -> None:
    """A result to a modern request: file what it hands out, when its resultType is missing or unknown."""
    result = answer.result
    kind = result.get("resultType")
    if type(kind) is str and kind in KNOWN:
        return
    if result.keys().isdisjoint(("requestState", "inputRequests", "taskId")):
        return
    value = json.dumps([answer.key, "resultType" in result])
    for name in _handed_out(result.get("requestState"), result.get("inputRequests"), result.get("taskId")):
        memory.set(SPACE, _digest(exchange, name), value)


def taken_up(memory: Memory, exchange: Exchange) -> tuple[str, bool] | None:
    """(key of the result, whether it had a resultType) that this request of a client goes on with, None when none."""
    params = exchange.request.params
    for name in _handed_out(params.get("requestState"), params.get("inputResponses"), params.get("taskId")):
        found = memory.get(SPACE, _digest(exchange, name))
        if found is not None:
            key, typed = json.loads(found)
            return key, typed
    return None


def note_poll(memory: Memory, exchange: Exchange) -> None:
    """A request about a task: remark it when only a result of an unknown type named that task."""
    if taken_up(memory, exchange) is not None:
        remark(exchange, "untyped")


def _handed_out(state: Any, keys: Any, task: Any) -> list[tuple[str, str]]:
    found = []
    if type(state) is str:
        found.append(("state", state))
    elif type(keys) is dict and keys:
        found.append(("keys", canonical(sorted(keys)[:KEYS])))
    if type(task) is str:
        found.append(("task", task))
    return found


def _digest(exchange: Exchange, name: tuple[str, str]) -> bytes:
    channel = exchange.request.channel
    if name[0] == "task":
        return digest(channel, *name)
    return digest(channel, exchange.method, exchange.target, *name)

"""Questions of 2025-11-25 whose answer comes with a task: the server asks with `task`, the client answers with a task
at once, and what it was asked for is the result of a later `tasks/result`.

That request gets the remark `deferred`: {"key": of the question, "question": its body}. Names of tasks are the
client's, so they count within a process or session, and from outside only while no other question has the same name:
better no question than a wrong one.

In the tasks extension of 2026-07-28 it is the server's task that asks: `tasks/get` and `notifications/tasks` show its
questions, `tasks/update` answers them. That request gets the remark `due`, of the questions that it answers: key ->
[key of the message that showed it last, its body].
"""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link.agents import name_of
from mrtrscope.link.canonical import compact
from mrtrscope.link.facts import CANCELLED, Exchange
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.nested import QUESTIONS
from mrtrscope.link.remarks import remark
from mrtrscope.link.runs import run_key
from mrtrscope.link.session import scope_of
from mrtrscope.link.statuses import created, named
from mrtrscope.wire.events import Message

FETCH, UPDATE, SHOWN = "tasks/result", "tasks/update", "tasks/get"
SPACE, DUE = "deferred", "due"
KEYS = 128  # questions of one message that are kept


class Deferred:
    """Keeps the questions, in `Memory`: a task may take as long as it likes."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def answered(self, exchange: Exchange) -> None:
        """A client answered a request of the server."""
        task = created(exchange) if exchange.method in QUESTIONS else None
        if task is None:
            return
        row = compact([exchange.key, exchange.request.body])
        for place in _places(exchange.request):
            key = digest(place, task[0])
            self._memory.set(SPACE, key, row if self._memory.get(SPACE, key) is None else "")

    def requested(self, exchange: Exchange) -> None:
        """A server asks something of its client."""
        if exchange.method != FETCH or exchange.operation.outcome == CANCELLED:
            return  # what is left of a question that was withdrawn is no answer to it
        for place in _places(exchange.request):
            row = self._memory.get(SPACE, digest(place, named(exchange)))
            if row is None:
                continue
            if row:
                key, question = json.loads(row)
                remark(exchange, "deferred", {"key": key, "question": question})
            return

    def shown(self, message: Message, body: dict[str, Any]) -> None:
        """A server showed a task, perhaps with questions."""
        task, asked = name_of(body.get("taskId")), body.get("inputRequests")
        for key, question in list(asked.items())[:KEYS] if task and type(asked) is dict else ():
            if type(question) is dict:
                self._memory.set(DUE, _due(message, task, key), compact([message.key, question]))

    def updated(self, exchange: Exchange) -> None:
        """A client answers questions of a task."""
        given, task = exchange.answers, named(exchange)
        if exchange.method != UPDATE or not task or type(given) is not dict:
            return
        found = {}
        for key in list(given)[:KEYS]:
            row = self._memory.get(DUE, _due(exchange.request, task, key))
            if row is not None:
                found[key] = json.loads(row)
        if found:
            remark(exchange, "due", found)


def _due(message: Message, task: str, key: str) -> bytes:
    """Tasks of a server are known to all its clients; on stdio it has one."""
    return digest(message.channel, run_key(message), task, key)


def _places(request: Message) -> tuple[str, str]:
    """Where a name may be known, the closest first."""
    return scope_of(request.peer, request.channel, request.http), request.channel

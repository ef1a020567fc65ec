"""What a message to or from an agent (A2A) met: what was known of its task, its stream and its context before.

Rules read it as the remark `agent` of the exchange, a dict of JSON values:

    finished    [state, key of who said so, in which spelling] when the task named was known to be over at the request
    context     the context of the task named, "" when it is not known
    now         of the answer or event at hand: {"what", "task", "context", "state"}, see `link.agents.said`
    before      the same of the event before it on this stream, None for the first; with `final` (before 1.x)
    over        [state, key] of the event of this stream that ended it, None when none did
    was         [state, key] when the task at hand was over and this answers something that was sent after that
    elsewhere   the context that the task at hand was said to be in, when another one is named now
    again       key of the answer that made this task, when another message makes it anew

A task is known per channel and tenant, for ever: `Memory` space `agent`. Of two contexts the first stays.

Operations of one context are told as one conversation, never merged: `Operation.more["talk"]`, in the form of
`more["within"]` (see `link.nested`), says which operation began it. That is inferred: who may use the name of a context
is the agent's to say.
"""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link import agents
from mrtrscope.link.facts import INFERRED, Exchange, Operation
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.remarks import remark
from mrtrscope.link.statuses import ENDS
from mrtrscope.wire.events import Message

SPACE, TALKS = "agent", "talk"
MESSAGES = 16  # ids of messages that are remembered of a task


class Record:
    """A task as it was told of last.

    state, key, t, exchange   the latest state that was told, where, when and in which exchange
    context                   the first context that it was said to be in
    made, made_t              the answer that it was first seen in, and when
    messages                  digests of the ids of messages that it was the answer to
    """

    __slots__ = ("context", "exchange", "key", "made", "made_t", "messages", "state", "t")

    def __init__(self, values: list[Any]) -> None:
        (self.state, self.key, self.t, self.exchange, self.context, self.made, self.made_t, self.messages) = (
            values
        )

    def text(self) -> str:
        return json.dumps([
            self.state, self.key, self.t, self.exchange, self.context, self.made, self.made_t, self.messages,
        ])  # fmt: skip


class Conversations:
    """Remembers tasks and contexts of agents, and remarks what a message met."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def requested(self, exchange: Exchange) -> None:
        """A request to an agent was linked."""
        name = agents.named(exchange.request)
        record = self._record(exchange, name) if name else None
        facts: dict[str, Any] = {
            "finished": None, "context": record.context if record is not None else "",
            "now": None, "before": None, "over": None, "was": None, "elsewhere": "", "again": "",
        }  # fmt: skip
        if record is not None and record.state in ENDS:
            facts["finished"] = [record.state, record.key]
        remark(exchange, "agent", facts)
        if exchange.part == "" and exchange.method in agents.SENDS:
            self._joins(
                exchange.operation, exchange, agents.name_of(agents.spoken(exchange.request).get("contextId"))
            )

    def said(self, exchange: Exchange, message: Message) -> None:
        """An agent answered, or told one more event on the stream of its answer."""
        facts = exchange.remarks.get("agent") if exchange.remarks is not None else None
        if facts is None:
            return
        facts["before"], facts["was"], facts["elsewhere"], facts["again"] = facts["now"], None, "", ""
        found = agents.said(message.result) if message.kind == "response" else None
        if found is None:
            facts["now"] = {"what": "", "task": "", "context": "", "state": "", "final": False}
            return
        what, value = found
        task, context = agents.name_of(value.get(agents.NAMES[what])), agents.name_of(value.get("contextId"))
        state = agents.word(agents.raw_state(value))
        facts["now"] = {
            "what": what, "task": task, "context": context, "state": state, "final": value.get("final") is True,
        }  # fmt: skip
        if exchange.part == "":
            self._joins(exchange.operation, exchange, context)
        if task and what != agents.MESSAGE:
            self._task(exchange, message, facts, task, context, state)
        if facts["over"] is None and state in ENDS:
            facts["over"] = [state, message.key]

    def _task(
        self, exchange: Exchange, message: Message, facts: dict[str, Any], task: str, context: str, state: str
    ) -> None:
        record = self._record(exchange, task)
        sent = agents.spoken(exchange.request)
        text = sent.get("messageId")
        id = digest(text).hex()[:16] if type(text) is str else ""
        if record is None:
            record = Record(["", "", 0, "", context, message.key, message.t, [id] if id else []])
        else:
            if record.state in ENDS and (exchange.t > record.t or exchange.key == record.exchange):
                facts["was"] = [record.state, record.key]
            if context and record.context and context != record.context:
                facts["elsewhere"] = record.context
            fresh = exchange.method in agents.SENDS and not sent.get("taskId") and not sent.get("contextId")
            if (
                fresh
                and id
                and facts["before"] is None
                and record.made_t < exchange.t
                and id not in record.messages
            ):
                facts["again"] = record.made
            record.context = record.context or context
            if id and id not in record.messages:
                record.messages = [*record.messages, id][-MESSAGES:]
        if state and (
            record.state not in ENDS or facts["was"] is not None
        ):  # else an answer that was overtaken
            record.state, record.key, record.t, record.exchange = state, message.key, message.t, exchange.key
        self._memory.set(SPACE, _digest(exchange, task), record.text())

    def _record(self, exchange: Exchange, task: str) -> Record | None:
        text = self._memory.get(SPACE, _digest(exchange, task))
        return None if text is None else Record(json.loads(text))

    def _joins(self, operation: Operation, exchange: Exchange, context: str) -> None:
        """An operation is of this context, the first that it names."""
        if not context or (operation.more is not None and "context" in operation.more):
            return
        if operation.more is None:
            operation.more = {}
        operation.more["context"] = context
        key = _digest(exchange, context)
        first = self._memory.get(TALKS, key)
        if first is None:
            self._memory.set(TALKS, key, operation.key)
        elif first != operation.key:
            operation.more["talk"] = {
                "in": first, "grade": INFERRED, "evidence": ["context"], "candidates": [first],
            }  # fmt: skip


def _digest(exchange: Exchange, name: str) -> bytes:
    tenant = exchange.request.params.get("tenant")
    return digest(exchange.request.channel, tenant if type(tenant) is str else "", name)

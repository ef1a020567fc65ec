"""Tasks: what is known of each, from the result that created it to its last status.

What a message about a task met is the remark `task` of its exchange (of a notification: `Channel.facts["task"]`), a
`Seen`. The records are kept for ever in `Memory`. Of tasks that run, `Channel.facts["running"]` has the last few:
id -> [`Mark` of the latest news, t of it, pollIntervalMs, `Peer.id`, when that peer last sent a request]. A tools/call
with a `task` parameter has the remark `augmented`.
"""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import LEGACY, MODERN, Exchange
from mrtrscope.link.marks import mark
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.remarks import remark
from mrtrscope.link.runs import run_key, run_of
from mrtrscope.link.session import Channel
from mrtrscope.link.statuses import EXTENSION as EXTENSION  # known by this name here too
from mrtrscope.link.statuses import extends
from mrtrscope.link.subscriptions import open_ones
from mrtrscope.link.tools import CALL
from mrtrscope.wire.events import Event, Message

GET, UPDATE, CANCEL, RESULT, LIST = "tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/list"
METHODS = (GET, UPDATE, CANCEL, RESULT, LIST)
TOLD, TOLD_LEGACY = "notifications/tasks", "notifications/tasks/status"
STATUSES = ("working", "input_required", "completed", "failed", "cancelled")
TERMINAL = ("completed", "failed", "cancelled")
KEYS, RUNNING, ID_LIMIT = 128, 64, 1024
POLL = 5000  # ms between polls where the server names no interval; ours

OUT, ANSWERED, GONE = "outstanding", "answered", "gone"


class Record:
    """One task.

    created     key of the result that created it, "" when that was not seen; `t` when, `call` key of the request
    legacy      one of 2025-11-25               method      of the request that it was created for
    target, arguments   of that: name, digest   declared    kinds of questions that its client can be asked
    subject     of the credential it was created under, hex
    status      the latest, "" while none was seen; `status_key` where
    ttl         the latest ttlMs, None when there is none or it is no number
    poll        the latest pollIntervalMs, None as well
    gets        how many times it was polled; `polled` when last; `hasty` how many times too early
    calm        something happened since that makes the next poll no matter of the interval
    keys        key of a question -> [digest, `OUT`, `ANSWERED` or `GONE`, key of the message, its method]
    run         `runs.run_key` of the server that created it
    cancelled   tasks/cancel was sent           previous    id of the task that this server created before, "" for none
    """

    __slots__ = (
        "arguments", "call", "calm", "cancelled", "created", "declared", "gets", "hasty", "keys", "legacy", "method",
        "poll", "polled", "previous", "run", "status", "status_key", "subject", "t", "target", "ttl",
    )  # fmt: skip

    def __init__(self) -> None:
        self.created = self.call = self.method = self.target = self.arguments = self.subject = ""
        self.status = self.status_key = self.previous = self.run = ""
        self.legacy = self.calm = self.cancelled = False
        self.t = self.gets = self.polled = self.hasty = 0
        self.declared: list[str] = []
        self.ttl: int | None = None
        self.poll: int | None = None
        self.keys: dict[str, list[str]] = {}

    @property
    def over(self) -> bool:
        return self.status in TERMINAL

    def outstanding(self) -> list[str]:
        """Keys of questions that wait for an answer."""
        return [key for key, row in self.keys.items() if row[1] == OUT]


class Seen:
    """What a message about a task met.

    id       the task's id              at       key of the message
    known    a record of it there was   record   as it stands after the message
    before   the status before it, `before_key` where that was seen
    hasty    a poll: µs since the one before, when that was too early for the third time; else 0
    reused   questions under a key that was used before: [[key, "other" or "again", key of the message], …]
    unknown, twice   an update: keys that were never asked; that were answered before
    partial  an update: it leaves out keys that wait, or has keys that do not
    """

    __slots__ = (
        "at", "before", "before_key", "hasty", "id", "known", "partial", "record", "reused", "twice", "unknown",
    )  # fmt: skip

    def __init__(self, id: str, at: str, record: Record, known: bool) -> None:
        self.id = id
        self.at = at
        self.record = record
        self.known = known
        self.before, self.before_key = record.status, record.status_key
        self.hasty = 0
        self.reused: list[list[str]] = []
        self.unknown: list[str] = []
        self.twice: list[str] = []
        self.partial = False


class Tasks:
    """Files the records; all of them stand in `Memory`."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    # -- requests

    def requested(self, channel: Channel, exchange: Exchange) -> None:
        """A client's request was linked."""
        running = channel.facts.get("running")
        if running:
            for row in running.values():
                if row[3] == exchange.peer.id:
                    row[4] = exchange.t
        if exchange.method == CALL:
            if "task" in exchange.request.params:
                remark(exchange, "augmented")
            if type(exchange.answers) is dict and exchange.link is None:
                self._answers_by_call(exchange)
        elif exchange.method in METHODS:
            self._about(channel, exchange)

    def _about(self, channel: Channel, exchange: Exchange) -> None:
        id = exchange.request.params.get("taskId")
        seen = self._seen(exchange.request, id if type(id) is str else "")
        record = seen.record
        if exchange.method == GET:
            since = exchange.t - record.polled
            early = record.poll is not None and since < record.poll * 800
            if record.gets and early and not record.calm and not record.over:
                record.hasty += 1
                seen.hasty = since if record.hasty == 3 else 0
            record.gets += 1
            record.polled, record.calm = exchange.t, False
        elif exchange.method == UPDATE:
            self._updates(exchange, seen)
        elif exchange.method == CANCEL:
            record.cancelled = True
            channel.facts.get("running", {}).pop(seen.id, None)
        remark(exchange, "task", seen)
        self._save(exchange.request, seen)

    def _updates(self, exchange: Exchange, seen: Seen) -> None:
        given, keys = exchange.answers, seen.record.keys
        seen.record.calm = True
        if type(given) is not dict:
            return
        for key in list(given)[:KEYS]:
            if key not in keys:
                seen.unknown.append(key)
            elif keys[key][1] != OUT:
                seen.twice.append(key)
        waiting = seen.record.outstanding()
        seen.partial = set(given) != set(waiting)
        for key in waiting:
            if key in given:
                keys[key][1] = ANSWERED

    def _answers_by_call(self, exchange: Exchange) -> None:
        """A call that answers questions of a task which the same call created."""
        id = self._memory.get("task-call", _call(exchange))
        if id is None:
            return
        seen = self._seen(exchange.request, id)
        if seen.record.status == "input_required" and not set(exchange.answers).isdisjoint(
            seen.record.outstanding()
        ):
            remark(exchange, "task", seen)

    # -- answers

    def answered(self, channel: Channel, exchange: Exchange, answer: Message) -> None:
        """The first final answer to a client's request."""
        result = answer.result
        if exchange.method in METHODS:
            self._of_method(channel, exchange, answer)
        elif result.keys().isdisjoint(("taskId", "task")) and result.get("resultType") != "task":
            return
        elif looks_created(result, exchange):
            self._created(channel, exchange, answer)

    def _of_method(self, channel: Channel, exchange: Exchange, answer: Message) -> None:
        asked = exchange.request.params.get("taskId")
        seen = self._seen(answer, asked if type(asked) is str else "")
        if answer.kind == "response" and exchange.method in (GET, CANCEL):
            self._news(channel, answer, seen, answer.result)
        asked_with = exchange.remarks.get("task") if exchange.remarks is not None else None
        seen.partial = asked_with is not None and asked_with.partial
        remark(exchange, "task", seen)
        self._save(answer, seen)

    def _created(self, channel: Channel, exchange: Exchange, answer: Message) -> None:
        body = task_of(answer.result)
        id = body.get("taskId")
        id = id if type(id) is str else ""
        seen = self._seen(answer, id)
        if seen.record.created and _of_another_run(channel, exchange, seen.record):
            seen = Seen(id, answer.key, Record(), False)  # the server began anew, and so did its names
        record = seen.record
        record.run = run_key(exchange)
        record.created, record.t, record.call = answer.key, answer.t, exchange.key
        record.legacy, record.method, record.target = exchange.era == LEGACY, exchange.method, exchange.target
        record.arguments = digest(canonical(exchange.arguments)).hex()
        record.subject = exchange.client.subject.hex()
        record.declared = sorted(exchange.capabilities or ())
        record.previous = channel.facts.get("task-before", "")
        channel.facts["task-before"] = id[:ID_LIMIT]
        self._news(channel, answer, seen, body, exchange)
        remark(exchange, "task", seen)
        self._save(answer, seen)
        if id:
            self._memory.set("task-of", digest(exchange.key), id)
            self._memory.set("task-call", _call(exchange), id)

    # -- notifications

    def told(self, channel: Channel, message: Message) -> None:
        """A notification of the server."""
        if message.method not in (TOLD, TOLD_LEGACY):
            return
        id = message.params.get("taskId")
        seen = self._seen(message, id if type(id) is str else "")
        seen.record.calm = True
        self._news(channel, message, seen, message.params)
        channel.facts["task"] = seen
        self._save(message, seen)

    # -- what every piece of news changes

    def _news(
        self,
        channel: Channel,
        message: Message,
        seen: Seen,
        body: dict[str, Any],
        exchange: Exchange | None = None,
    ) -> None:
        record = seen.record
        status, ttl = body.get("status"), body.get("ttl" if record.legacy else "ttlMs")
        poll = body.get("pollInterval" if record.legacy else "pollIntervalMs")
        if type(status) is str and status in STATUSES:
            record.status, record.status_key = status, message.key
        record.ttl = ttl if type(ttl) is int else None if "ttlMs" in body or "ttl" in body else record.ttl
        record.poll = poll if type(poll) is int and poll > 0 else record.poll
        if not record.legacy and type(status) is str:
            self._questions(message, seen, body.get("inputRequests"))
        self._running(channel, message, seen, exchange)

    def _questions(self, message: Message, seen: Seen, asked: Any) -> None:
        keys = seen.record.keys
        asked = asked if type(asked) is dict else {}
        for key, row in keys.items():
            if key not in asked and row[1] == ANSWERED:
                row[1] = GONE
        for key, question in list(asked.items())[:KEYS]:
            text = digest(canonical(question)).hex()
            row = keys.get(key, [])
            if row and row[0] != text:
                seen.reused.append([key, "other", row[2]])
            elif row and row[1] == GONE:
                seen.reused.append([key, "again", row[2]])
            elif row:
                continue
            method = question.get("method") if type(question) is dict else None
            keys[key] = [text, OUT, message.key, method if type(method) is str else ""]
            if len(keys) > KEYS:
                del keys[next(iter(keys))]

    def _running(
        self, channel: Channel, message: Message, seen: Seen, exchange: Exchange | None = None
    ) -> None:
        running = channel.facts.get("running")
        if seen.record.over or seen.record.cancelled or seen.record.legacy:
            if running:
                running.pop(seen.id, None)
            return
        if running is None:
            running = channel.facts["running"] = {}
        before = running.pop(seen.id, None)
        peer = message.peer.id if before is None or exchange is not None else before[3]
        running[seen.id] = [mark(message), message.t, seen.record.poll or POLL, peer, message.t]
        if len(running) > RUNNING:
            del running[next(iter(running))]

    # -- records

    def _seen(self, event: Event, id: str) -> Seen:
        found = task(self._memory, event.channel, id)
        at = event.key
        return Seen(id, at, Record() if found is None else found, found is not None)

    def _save(self, event: Event, seen: Seen) -> None:
        if seen.id and (seen.known or seen.record.created or seen.record.status):
            row = [getattr(seen.record, name) for name in Record.__slots__]
            self._memory.set("task", digest(event.channel, seen.id), json.dumps(row))


def task(memory: Memory, channel: str, id: str) -> Record | None:
    """What is known of a task, None when nothing is."""
    text = memory.get("task", digest(channel, id)) if id else None
    if text is None:
        return None
    record = Record()
    for name, value in zip(Record.__slots__, json.loads(text), strict=True):
        setattr(record, name, value)
    return record


def task_created_by(memory: Memory, request: str) -> str:
    """The id of the task that the request with this key was answered with, "" for none."""
    return memory.get("task-of", digest(request)) or ""


def _of_another_run(channel: Channel, exchange: Exchange, record: Record) -> bool:
    """It was created by another process, or by the server that was here before."""
    return record.run != run_key(exchange) or record.t < run_of(channel, exchange).since


def task_of(result: dict[str, Any]) -> dict[str, Any]:
    """The task object in a result that creates one: flat, or nested as in 2025-11-25."""
    nested = result.get("task")
    return nested if type(nested) is dict and "taskId" not in result else result


def looks_created(result: dict[str, Any], exchange: Exchange) -> bool:
    """Whether a result is a task, said or not: the result of a tool may have members of any name, but not all of
    these."""
    if exchange.dir != "c2s":
        return False
    if result.get("resultType") == "task":
        return True
    body = task_of(result)
    named = type(body.get("taskId")) is str and body.get("status") in STATUSES
    return named and "content" not in result and (body is result or exchange.era != MODERN)


def seen_of(exchange: Exchange | None, message: Message) -> Seen | None:
    """What a request or answer about a task met, None when it is about none."""
    if exchange is None or exchange.remarks is None:
        return None
    found: Seen | None = exchange.remarks.get("task")
    return found if found is not None and found.at == message.key else None


def told_of(channel: Channel, message: Message) -> Seen | None:
    """What a notification about a task met."""
    found: Seen | None = channel.facts.get("task")
    return found if found is not None and found.at == message.key else None


def subscribed(channel: Channel, event: Event, id: str) -> bool:
    """Whether somebody listens to what happens to this task."""
    return any(one.wanted.tasks is None or id in one.wanted.tasks for one in open_ones(channel, event))


def declares(exchange: Exchange) -> bool:
    """Whether the request declares the extension."""
    return extends(exchange, EXTENSION)


def _call(exchange: Exchange) -> bytes:
    return digest(exchange.request.channel, exchange.target, canonical(exchange.arguments))

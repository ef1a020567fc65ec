"""Exchanges to operations: what belongs together, how it came out, what a chain amounts to."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from typing import Any

from mrtrscope.link import listens, nested
from mrtrscope.link.canonical import canonical, compact
from mrtrscope.link.chains import chain
from mrtrscope.link.facts import (
    A2A,
    ABANDONED,
    CANCELLED,
    COMPLETE,
    FAILED,
    LOST,
    MRTR_METHODS,
    OPEN,
    Ask,
    Client,
    Exchange,
    Operation,
)
from mrtrscope.link.longs import TASK, Longs
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.pairing import ASKED
from mrtrscope.link.retries import Retries, in_doubt
from mrtrscope.wire.events import ABSENT

SECOND = 1_000_000
ABANDONED_AFTER = 60 * SECOND  # the same client went on for so long without answering
FORGOTTEN_AFTER = 600 * SECOND  # nobody took it up: no longer looked at, unless a retry comes after all
AGAIN_WITHIN = {
    401: 600 * SECOND,
    403: 600 * SECOND,
    503: 60 * SECOND,
}  # the same request, sent again after it
CLIENTS = 4096  # how many are kept
WAITING_AT_HAND, WAITING_AT_ALL = 256, 20_000  # questions that wait for their client: as objects, and by name

OUTCOME = {
    "answered": COMPLETE,
    "failed": FAILED,
    "cancelled": CANCELLED,
    "lost": LOST,
    "asked": OPEN,
    "waiting": OPEN,
}


class Operations:
    """Holds the operations that are not settled; those with rounds can be taken up again from memory for ever."""

    def __init__(self, memory: Memory, retries: Retries) -> None:
        self._memory = memory
        self._retries = retries
        self.open: dict[str, Operation] = {}
        self.longs = Longs(memory, self)
        # operation -> since when it waits for its client, the client's process or connection, what else names it
        self.asked: OrderedDict[str, tuple[int, str, str]] = OrderedDict()
        self._due: deque[tuple[int, str, int]] = deque()  # (time to look again, operation, asked at)
        self._at_hand: deque[tuple[str, int]] = deque()  # operations that wait for their client, asked at
        self._seen: OrderedDict[str, int] = OrderedDict()  # client -> when it last sent a request
        # request as it was sent -> operation, until when it may be sent again, its exchange
        self._refused: OrderedDict[bytes, tuple[str, int, Exchange]] = OrderedDict()

    def join(self, exchange: Exchange, twin: Exchange | None = None) -> Operation:
        """The operation that a new request belongs to; sets `exchange.operation`.

        twin   a request that waits under the same id: nobody can tell their answers apart, so they stay together
        """
        self._client_seen(exchange.client, exchange.t)
        part = self.longs.join(exchange)
        if part is not None:
            return part
        link = exchange.link
        ask = link.chain if link is not None else None
        operation = None
        if ask is not None and (ask.method, ask.target) == (exchange.method, exchange.target):
            operation = self.open.get(ask.operation) or self.recall(ask.operation)
        elif twin is not None:
            operation = twin.operation
        else:
            operation = self._sent_again(exchange)
        if operation is None:
            operation = Operation()
            operation.key, operation.t, operation.kind = exchange.key, exchange.t, "single"
            operation.channel, operation.method = exchange.request.channel, exchange.method
            operation.target = exchange.target
            operation.count = operation.open = operation.server = operation.waiting = 0
            operation.more = None
        elif ask is not None:
            operation.kind = operation.kind if operation.kind == TASK else "mrtr"
            operation.waiting += max(0, exchange.t - ask.t)
            self.asked.pop(operation.key, None)
        operation.count += 1
        operation.open += 1
        operation.last = exchange
        operation.outcome = OPEN
        operation.t_end = exchange.t
        self.open[operation.key] = operation
        exchange.operation = operation
        listens.begun(exchange)
        return operation

    def ended(self, exchange: Exchange, t: int) -> bool:
        """An exchange of it got its end; True when the operation is settled by that."""
        if exchange.part:
            return self.longs.ended(exchange, t)
        operation = exchange.operation
        operation.open -= 1
        spent = max(0, t - exchange.t - nested.waited(operation, t))
        if exchange.dir == "s2c":
            operation.waiting += spent  # it is the client's to answer
        else:
            operation.server += spent
        operation.t_end = max(operation.t_end, t)
        operation.last = exchange
        if exchange.state == ASKED:
            operation.kind = "mrtr"
            self.waits(operation, exchange.client, t)
            self._at_hand.append((operation.key, t))
        listens.ended(exchange)
        settled = self.longs.begun(exchange, t)
        if settled is None:
            settled = self._settle(operation, OUTCOME[exchange.state])
        self._let_go()
        return settled

    def waits(self, operation: Operation, client: Client, t: int) -> None:
        """From now on an operation waits for its client."""
        self.asked[operation.key] = (t, client.peer, _name(client))
        self._due.append((t + ABANDONED_AFTER, operation.key, t))
        if len(self._due) > 256 + 1.5 * len(self.asked):  # the others were taken up meanwhile
            self._due = deque(due for due in self._due if self._stands(due[1], due[2]))

    def _let_go(self) -> None:
        """Keep so many questions that wait for their client; memory has what a retry needs of the others."""
        while len(self._at_hand) > WAITING_AT_HAND:
            key, since = self._at_hand.popleft()
            operation = self.open.get(key)
            asked = self.asked.get(key)
            if operation is not None and not operation.open and asked is not None and asked[0] == since:
                self.keep(operation)
                del self.open[key]
                operation.last = None  # which refers to it in turn: then both would wait for the collector
        if len(self.asked) > WAITING_AT_ALL:
            self.asked.popitem(last=False)

    def answered_after_all(self, exchange: Exchange, lost: int, t: int) -> bool:
        """An exchange taken for lost at that time got its answer; True when the operation is settled by that."""
        operation = exchange.operation
        operation.open += 1
        if exchange.dir != "s2c" and not exchange.part:  # counted already; `ended` counts from the request on
            operation.server -= max(0, lost - exchange.t)
        if not exchange.part:
            self.open[operation.key] = operation
        return self.ended(exchange, t)

    def _settle(self, operation: Operation, outcome: str) -> bool:
        operation.outcome = OPEN if operation.open else outcome
        if operation.outcome == OPEN:
            return False
        if operation.kind in ("mrtr", A2A):
            self.keep(operation)
        self.open.pop(operation.key, None)
        self.asked.pop(operation.key, None)
        return True

    def refused(self, exchange: Exchange) -> None:
        """HTTP refused the request for want of credentials or capacity: it may be sent again as it is."""
        http = exchange.http
        wait = AGAIN_WITHIN.get(http.status or 0) if http is not None else None
        if wait is None or exchange.part:
            return
        operation = exchange.operation
        self.keep(operation)
        self._refused[_as_sent(exchange)] = (operation.key, operation.t_end + wait, exchange)
        if len(self._refused) > CLIENTS:
            self._refused.popitem(last=False)

    def _sent_again(self, exchange: Exchange) -> Operation | None:
        """The operation whose refused request this one repeats word for word."""
        if not self._refused or exchange.http is None:
            return None
        request = _as_sent(exchange)
        found = self._refused.get(request)
        if found is None or exchange.t > found[1]:
            return None
        key, _, before = found
        # A challenge is met with another credential, which makes nobody another client where the id agrees.
        if exchange.client.surely_other(before.client) and (
            exchange.request.id_text != before.request.id_text and exchange.peer is not before.peer
        ):
            return None
        del self._refused[request]
        if before.link is not None:  # with another credential it was taken for a stranger's
            exchange.link, exchange.stranger = before.link, None
        return self.open.get(key) or self.recall(key)

    def overdue(self, now: int) -> list[Operation]:
        """Operations that, by `now`, are known to be abandoned, or are no longer looked at; each once."""
        out = []
        while self._due and self._due[0][0] <= now:
            _, key, since = self._due.popleft()
            if not self._stands(key, since):
                continue  # taken up meanwhile
            asked = self.asked[key]
            if self._went_on(asked):
                operation = self.open.get(key) or self.recall(key)
                if operation is not None:
                    out.append(self._left(operation))
            elif now - since >= FORGOTTEN_AFTER:
                del self.asked[key]
                operation = self.open.pop(key, None)
                if operation is not None:
                    self.keep(operation)
                    out.append(operation)
            else:
                self._due.append((now + ABANDONED_AFTER, key, since))
        return out

    def _stands(self, key: str, since: int) -> bool:
        """Whether what was asked then is what the operation waits for."""
        asked = self.asked.get(key)
        return asked is not None and asked[0] == since

    def peer_ended(self, peer: str) -> list[Operation]:
        """A process or its input ended: what it was asked is abandoned."""
        out = self.longs.peer_ended(peer)
        for key in [key for key, asked in self.asked.items() if asked[1] == peer]:
            operation = self.open.get(key) or self.recall(key)
            if operation is not None:
                out.append(self._left(operation))
        return out

    def _left(self, operation: Operation) -> Operation:
        """Settle it, since its client went on or away. Where a retry may be its, nobody knows that it was abandoned."""
        self._settle(operation, ABANDONED)
        if self._in_doubt(operation):
            operation.outcome = OPEN
            self.keep(operation)
        return operation

    def _in_doubt(self, operation: Operation) -> bool:
        ask = operation.last.ask if operation.last is not None else None
        return ask is not None and in_doubt(self._memory, operation.channel, ask)

    def present(self, now: int) -> dict[str, str]:
        """Outcome as of now, of every operation that is not settled."""
        out = {}
        for key, operation in self.open.items():
            asked = self.asked.get(key)
            gone = not operation.open and asked is not None and self._went_on(asked)
            out[key] = ABANDONED if gone and not self._in_doubt(operation) else OPEN
        return out

    # -- clients

    def _client_seen(self, client: Client, t: int) -> None:
        for name in (client.peer, _name(client)):
            if name:
                self._seen[name] = t
                self._seen.move_to_end(name)
        while len(self._seen) > CLIENTS:
            self._seen.popitem(last=False)

    def _went_on(self, asked: tuple[int, str, str]) -> bool:
        """Whether the client that was asked certainly sent something a minute later or more."""
        since, peer, name = asked
        return max(self._seen.get(peer, 0), self._seen.get(name, 0)) - since >= ABANDONED_AFTER

    # -- chains

    def asks(self, exchange: Exchange) -> Ask:
        """What the `input_required` answer of an exchange asks; filed for the retries to come."""
        answer = exchange.answer
        assert answer is not None
        result = answer.result
        questions = result.get("inputRequests")
        ask = Ask()
        ask.key, ask.exchange, ask.operation = answer.key, exchange.key, exchange.operation.key
        ask.round, ask.t = exchange.operation.count - 1, answer.t
        ask.method, ask.target, ask.arguments = exchange.method, exchange.target, exchange.arguments
        ask.id_text, ask.client = exchange.request.id_text, exchange.client
        ask.state = result.get("requestState", ABSENT)
        ask.questions = questions if type(questions) is dict else {}
        ask.capabilities = exchange.capabilities
        ask.chain = chain(exchange, ask.questions)
        self._retries.file(exchange.request, ask)
        return ask

    def keep(self, operation: Operation) -> None:
        """Have memory know the operation as it is now."""
        self._memory.set("op", digest(operation.key), _dump(operation))

    def recall(self, key: str) -> Operation | None:
        """The operation as memory has it."""
        text = self._memory.get("op", digest(key))
        return None if text is None else _load(text)


def _as_sent(exchange: Exchange) -> bytes:
    params = {name: value for name, value in exchange.request.params.items() if name != "_meta"}
    return digest(exchange.request.channel, exchange.method, canonical(params))


def _name(client: Client) -> str:
    """What names a client whatever its connection, "" when nothing does."""
    if client.credential and client.info and client.host:
        return f"{client.credential.hex()} {client.host} {client.info}"
    return ""


_FIELDS = tuple(name for name in Operation.__slots__ if name != "last")


def _dump(operation: Operation) -> str:
    return compact([getattr(operation, name) for name in _FIELDS])


def _load(text: str) -> Operation:
    operation = Operation()
    for name, value in zip(_FIELDS, json.loads(text), strict=True):
        setattr(operation, name, value)
    operation.last = None
    return operation


def target_of(method: str, params: dict[str, Any]) -> str:
    """The name or uri that a request is about, "" when it has none."""
    if method in MRTR_METHODS:
        value = params.get("uri" if method == "resources/read" else "name")
    else:
        value = params.get("name", params.get("uri", params.get("taskId", "")))
    return value if type(value) is str else ""

"""Operations that go on after their first answer: a call that became a task, with its polls, answers and end; a task
of an A2A agent, where every message that names it is a round.

A request about a known task is a *part* of the operation that made the task, no round of it: `Exchange.part` says
which kind. What the operation looks like over time stands in `Operation.more`:

    task     its name                        states   [[t, state], …] as they were seen to change (the last `STATES`)
    polls    how often it was asked for      updates  how often it was sent answers
    fetched  when its payload was handed out (2025-11-25)   context  (A2A) see `link.conversations`
    undeclared   True: its client never said that it can follow a task
    client   True: the client works at it, since the server asked for a task with its question (2025-11-25)
    turn     "server" or "client": whose move it is, and `since` when; so that server and waiting time add up to all

The clock of a task is that of its observer: a state counts from the message that showed it.

Which operation a task's name leads to is remembered for ever, per process or session and per channel. A name that two
of them use leads nowhere from outside: better no link than a wrong one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from mrtrscope.link import agents, statuses
from mrtrscope.link.facts import A2A, ABANDONED, CANCELLED, COMPLETE, FAILED, LOST, OPEN, Exchange, Operation
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.session import scope_of
from mrtrscope.wire.events import Message

if TYPE_CHECKING:
    from mrtrscope.link.operations import Operations

AT_HAND = 256  # operations kept as objects; the others are read back from memory
STATES = 128
SPACE = "long"
TASK = "task"
SERVER, CLIENT = "server", "client"


class Longs:
    """Keeps them."""

    def __init__(self, memory: Memory, operations: Operations) -> None:
        self._memory = memory
        self._operations = operations
        self._hand: OrderedDict[str, Operation] = OrderedDict()

    # -- requests

    def join(self, exchange: Exchange) -> Operation | None:
        """The operation that a new request is a part of; None when it is not about a known task."""
        name = statuses.named(exchange)
        operation = self.of(exchange.request, exchange.dir, name) if name else None
        if operation is None:
            return None
        exchange.operation = operation
        more = facts(operation)
        operation.open += 1
        if exchange.method in agents.SENDS:
            return self._another_round(exchange, operation)
        exchange.part = statuses.PARTS[exchange.method]
        if exchange.part == statuses.POLL:
            more["polls"] += 1
        elif exchange.part == statuses.UPDATE:
            more["updates"] += 1
            turn(operation, SERVER, exchange.t)
        return operation

    def _another_round(self, exchange: Exchange, operation: Operation) -> Operation:
        """A message to an agent goes on with its task, or comes too late for it."""
        if operation.outcome == ABANDONED:
            self._again(operation)
        if operation.outcome != OPEN:
            exchange.part = statuses.LATE
            return operation
        self._operations.asked.pop(operation.key, None)
        turn(operation, SERVER, exchange.t)
        operation.count += 1
        operation.last = exchange
        return operation

    def ended(self, exchange: Exchange, t: int) -> bool:
        """A part got its end; True when the operation is settled by that."""
        operation = exchange.operation
        operation.open -= 1
        answered = exchange.answer is not None and exchange.state == "answered"
        if exchange.part == statuses.RESULT:
            # The payload itself, or the error in its place: what the caller waited for.
            if exchange.answer is None or exchange.state not in ("answered", "failed"):
                return False
            if operation.outcome in (COMPLETE, FAILED) and facts(operation).setdefault("fetched", t) == t:
                turn(operation, SERVER, t)  # its end was known before: this is when the caller had it
            return self._over(operation, COMPLETE if answered else FAILED, t)
        found = statuses.seen(exchange) if answered else None
        settled = (
            found is not None
            and found[0] == facts(operation)["task"]
            and self._observe(operation, found[1], t, exchange)
        )
        if exchange.part == statuses.CANCEL and answered and operation.outcome == OPEN:
            return self._over(operation, CANCELLED, t)  # a later state may still say otherwise
        return settled

    def begun(self, exchange: Exchange, t: int) -> bool | None:
        """A round of an operation was answered: None unless that made a task of it, else whether it is settled."""
        operation = exchange.operation
        found = statuses.created(exchange) if exchange.state == "answered" else None
        more = facts(operation) if found is not None or operation.more is not None else {}
        if "task" in more:
            more["since"] = max(t, more["since"])  # up to here it is counted as the time of an exchange
            if found is None or found[0] == more["task"]:
                return found is not None and self._observe(operation, found[1], t, exchange)
        if found is None:
            return None
        name, state = found
        operation.kind, operation.outcome = (A2A if exchange.era == A2A else TASK), OPEN
        more |= {"task": name, "states": [], "polls": 0, "updates": 0, "turn": SERVER, "since": t}
        more["peer"] = exchange.peer.id if exchange.http is None else ""
        if not statuses.declared(exchange):
            more["undeclared"] = True
        if exchange.dir == "s2c":
            more["client"] = True
        self._keep(operation)
        self._file(exchange.request, exchange.dir, name, operation.key)
        return self._observe(operation, state, t, exchange)

    def followed(self, exchange: Exchange, message: Message) -> bool:
        """One more event of the stream that an agent answers with; True when its operation is settled by that."""
        found = agents.told(message.result) if exchange.era == A2A else None
        if found is None or facts(exchange.operation).get("task") != found[0]:
            return False
        return self._observe(exchange.operation, found[1], message.t, exchange)

    def told(self, message: Message) -> tuple[Operation, bool] | None:
        """A notification about a task: (its operation, whether that is settled by it)."""
        found = statuses.noted(message)
        if found is None:
            return None
        asker = "c2s" if message.dir == "s2c" else "s2c"
        operation = self.of(message, asker, found[0])
        return None if operation is None else (operation, self._observe(operation, found[1], message.t))

    def peer_ended(self, peer: str) -> list[Operation]:
        """A process ended: nobody there will go on with its tasks."""
        out = []
        for operation in list(self._hand.values()):
            more = facts(operation)
            if more.get("peer") == peer and operation.outcome == OPEN:
                asked = more["turn"] == CLIENT
                self._over(operation, ABANDONED if asked else LOST, operation.t_end)
                out.append(operation)
        return out

    # -- what is known

    def of(self, message: Message, dir: str, name: str) -> Operation | None:
        """The operation that a name of a task leads to from here; `dir` of the request that made it."""
        if not name:
            return None
        scope = scope_of(message.peer, message.channel, message.http)
        key = self._memory.get(SPACE, digest(dir, scope, name))
        key = key or self._memory.get(SPACE, digest(dir, message.channel, name))
        return self._operation(key) if key else None

    def _file(self, request: Message, dir: str, name: str, key: str) -> None:
        scope, channel = scope_of(request.peer, request.channel, request.http), request.channel
        self._memory.set(SPACE, digest(dir, scope, name), key)
        known = self._memory.get(SPACE, digest(dir, channel, name))
        self._memory.set(SPACE, digest(dir, channel, name), key if known in (None, key) else "")

    def _operation(self, key: str) -> Operation | None:
        found = self._hand.get(key) or self._operations.open.get(key) or self._operations.recall(key)
        if found is not None:
            self._keep(found)
        return found

    def _keep(self, operation: Operation) -> None:
        self._hand[operation.key] = operation
        self._hand.move_to_end(operation.key)
        if operation.outcome == OPEN:
            self._operations.open[operation.key] = operation
        if len(self._hand) > AT_HAND:
            for key, other in self._hand.items():
                # An exchange under way holds its operation: there must be no second one of it.
                if not other.open:
                    self._operations.keep(other)
                    self._operations.open.pop(key, None)
                    del self._hand[key]
                    return

    # -- what changes

    def _observe(self, operation: Operation, state: str, t: int, exchange: Exchange | None = None) -> bool:
        """It was seen in a state, by an answer in `exchange`; True when it is settled by that."""
        more = facts(operation)
        states = more["states"]
        if not state:
            operation.t_end = max(operation.t_end, t)
            return False
        if not states or states[-1][1] != state:
            states.append([t, state])
            if len(states) > STATES:
                del states[0]
        outcome = statuses.ENDS.get(state)
        if outcome is not None:
            return self._over(operation, outcome, t)
        if operation.outcome == ABANDONED:
            self._again(operation)
        if operation.outcome == OPEN:
            turn(operation, CLIENT if state in statuses.STOPS else SERVER, t)
            if state not in statuses.STOPS:
                self._operations.asked.pop(operation.key, None)
            elif exchange is not None and operation.kind == A2A:
                self._operations.waits(operation, exchange.client, t)
        return False

    def _again(self, operation: Operation) -> None:
        """Its client comes back to it after all."""
        operation.outcome = OPEN
        self._keep(operation)

    def _over(self, operation: Operation, outcome: str, t: int) -> bool:
        """It came to its end, or its end is known better; True when it was open until now."""
        more = facts(operation)
        was_open = operation.outcome == OPEN
        if was_open or operation.outcome in (CANCELLED, LOST, ABANDONED):
            turn(operation, more["turn"], t)
            operation.outcome = outcome
        self._operations.open.pop(operation.key, None)
        self._operations.asked.pop(operation.key, None)
        self._operations.keep(operation)
        return was_open


def facts(operation: Operation) -> dict[str, Any]:
    """`Operation.more`, made where there is none."""
    if operation.more is None:
        operation.more = {}
    return operation.more


def turn(operation: Operation, whose: str, t: int) -> None:
    """Count the time since the last turn for whose move it was, and go on with `whose`."""
    more = facts(operation)
    span = max(0, t - more["since"])
    if more["turn"] == CLIENT or "client" in more:
        operation.waiting += span
    else:
        operation.server += span
    more["turn"], more["since"] = whose, max(t, more["since"])
    operation.t_end = max(operation.t_end, t)

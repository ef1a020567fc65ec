"""What looks like a retry and takes up nothing of its own: whose state, whose answers are these?

A request that carries an issued state under another credential, or answers to questions that only another target was
asked, is no retry (see `retries`), and it is no accident either. The result it seems to come from is kept beside the
exchange, for the rules about it. So is a second retry that gives the very same answers at the very same moment.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from mrtrscope.link.canonical import spelling
from mrtrscope.link.facts import Ask, Exchange
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.retries import ISSUED, Retries, where_issued
from mrtrscope.wire.events import ABSENT

ASKED_KEYS, ASKED_TARGET = "asked-keys", "asked-target"
LOOKED_AT = 16  # results looked at, of those that asked the same keys or issued the same state
AT_ONCE = 50_000  # two retries within so many microseconds may have come from one answer of a user
RECENT, FILED = 64, 512
PARTS, LENGTH = 32, 1 << 12  # of what is kept to be known again


class Strangers:
    """Files what was asked by keys alone, and finds where a request's state or answers come from."""

    def __init__(self, memory: Memory, retries: Retries) -> None:
        self._memory = memory
        self._retries = retries
        # (time, peer, method, target, digest of what was accepted, result taken up, request), of the last retries
        self._recent: deque[tuple[int, str, str, str, bytes, str, str]] = deque(maxlen=RECENT)
        self._filed: set[tuple[str, ...]] = set()  # what memory knows: whom a target asked, under which keys

    def file(self, channel: str, ask: Ask) -> None:
        """Remember an input_required result; once for a while, where the same keys are asked of the same client."""
        client = ask.client
        asked = (
            channel,
            ask.method,
            ask.target,
            client.peer,
            client.credential.hex(),
            client.info,
            *ask.questions,
        )
        if asked in self._filed:
            return
        if len(self._filed) >= FILED:
            self._filed.clear()
        if len(asked) <= PARTS and sum(map(len, asked)) <= LENGTH:
            self._filed.add(asked)
        self._memory.set(ASKED_TARGET, digest(channel, ask.method, ask.target), "1")
        if ask.questions:
            self._memory.add(ASKED_KEYS, _keys(channel, ask.questions), ask.key)

    def of(self, channel: str, exchange: Exchange) -> Ask | None:
        """The result that a request's state or answers seem to come from, when it takes up none of its own."""
        if exchange.link is not None:
            return None
        state, answers = exchange.request_state, exchange.answers
        if state is not ABSENT:
            return self._of_state(channel, exchange, state)
        if type(answers) is dict and answers:
            return self._of_answers(channel, exchange, answers)
        return None

    def _of_state(self, channel: str, exchange: Exchange, state: Any) -> Ask | None:
        """The state was issued here, to somebody who is certainly another."""
        for ask in self._found(ISSUED, where_issued(channel, state)):
            if exchange.client.surely_other(ask.client):
                return ask
        return None

    def _of_answers(self, channel: str, exchange: Exchange, answers: dict[str, Any]) -> Ask | None:
        """The same client was asked these keys for another target, and this target never asked anything."""
        if self._memory.get(ASKED_TARGET, digest(channel, exchange.method, exchange.target)) is not None:
            return None
        for ask in self._found(ASKED_KEYS, _keys(channel, answers)):
            if exchange.client.surely_same(ask.client):
                return ask
        return None

    def _found(self, space: str, key: bytes) -> list[Ask]:
        keys, _ = self._memory.find(space, key, LOOKED_AT)
        return [ask for ask in map(self._retries.ask, reversed(keys)) if ask is not None]

    def twin(self, exchange: Exchange) -> str:
        """Key of a retry of another call of this client and target that accepted the very same just now, when this
        question was open too; "" when none did."""
        ask = exchange.link.ask if exchange.link is not None else None
        said = _accepted(exchange.answers)
        if ask is None or not said:
            return ""
        mine = (exchange.client.peer, exchange.method, exchange.target, said)
        found = ""
        for t, peer, method, target, other, taken, key in reversed(self._recent):
            if exchange.t - t > AT_ONCE:
                break
            if (peer, method, target, other) == mine and taken != ask.operation and ask.t <= t:
                found = key
                break
        self._recent.append((exchange.t, *mine, ask.operation, exchange.key))
        return found


def _keys(channel: str, keys: dict[str, Any]) -> bytes:
    return digest(channel, "keys", spelling(sorted(keys)))


def _accepted(answers: Any) -> bytes:
    """Digest of the forms that were filled in; b"" when there is none. Models and roots may well answer alike."""
    if type(answers) is not dict:
        return b""
    forms = {
        key: value["content"]
        for key, value in answers.items()
        if type(value) is dict and value.get("action") == "accept" and value.get("content")
    }
    return digest(spelling(forms)) if forms else b""

"""The questions that a stand has asked and that can still be taken up, kept so that the next one is found at once.

Which one a retry takes up, where several fit: the client's own before another's, one that nobody answered before one
that was, the older first. With a hundred clients at one call a list of them all would be walked with each retry.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.replay.recording import Step
from mrtrscope.wire.events import ABSENT

UNSTATED = "-"
SLACK = 64  # entries that may be out of date before a heap is made anew

Entry = tuple[int, int]  # times taken up, number


class Asked:
    """A question that was played to a client and waits for its retry; `taken` counts how often it was taken up."""

    __slots__ = ("client", "key", "number", "questions", "state", "step", "taken")

    def __init__(self, step: Step, client: str, number: int) -> None:
        answer = step.exchange.answer
        result = answer.result if answer is not None else {}
        found = result.get("inputRequests")
        self.step = step
        self.client = client
        self.number = number
        self.key = step.key
        self.state = state_text(result.get("requestState", ABSENT))
        self.questions = frozenset(found) if type(found) is dict else frozenset()
        self.taken = 0


class _Alike:
    """Questions of one state, call and keys."""

    def __init__(self) -> None:
        self.asked: dict[int, Asked] = {}
        self._all: list[Entry] = []
        self._of: dict[str, list[Entry]] = {}
        self._own: dict[str, int] = {}

    def add(self, one: Asked) -> None:
        self.asked[one.number] = one
        self._own[one.client] = self._own.get(one.client, 0) + 1
        self._push(one)

    def took(self, one: Asked) -> None:
        one.taken += 1
        self._push(one)

    def forget(self, one: Asked) -> None:
        del self.asked[one.number]
        self._own[one.client] -= 1
        if not self._own[one.client]:
            del self._own[one.client]
            self._of.pop(one.client, None)

    def best(self, client: str) -> Asked:
        heap = self._of.get(client)
        entry = self._first(heap) if heap else None
        if entry is None:
            entry = self._first(self._all)
        assert entry is not None, "one that is empty is dropped"
        return self.asked[entry[1]]

    def _push(self, one: Asked) -> None:
        entry = (one.taken, one.number)
        heap = self._of.setdefault(one.client, [])
        heapq.heappush(heap, entry)
        if len(heap) > 2 * self._own[one.client] + SLACK:
            heap[:] = [e for e in heap if self._is_so(e)]
            heapq.heapify(heap)
        heapq.heappush(self._all, entry)
        if len(self._all) > 2 * len(self.asked) + SLACK:
            self._all = [e for e in self._all if self._is_so(e)]
            heapq.heapify(self._all)

    def _first(self, heap: list[Entry]) -> Entry | None:
        while heap and not self._is_so(heap[0]):
            heapq.heappop(heap)
        return heap[0] if heap else None

    def _is_so(self, entry: Entry) -> bool:
        one = self.asked.get(entry[1])
        return one is not None and one.taken == entry[0]


class Waiting:
    """At most `most` of them; the oldest are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._next = 0
        self._every: dict[int, Asked] = {}
        self._groups: dict[str, dict[tuple[str, frozenset[str]], _Alike]] = {}

    def __len__(self) -> int:
        return len(self._every)

    def __reversed__(self) -> Iterator[Asked]:
        return reversed(self._every.values())

    def add(self, step: Step, client: str) -> None:
        """A question went out."""
        self._next += 1
        one = self._every[self._next] = Asked(step, client, self._next)
        self._groups.setdefault(one.state, {}).setdefault((one.key, one.questions), _Alike()).add(one)
        if len(self._every) > self._most:
            self._forget(next(iter(self._every.values())))

    def took(self, one: Asked) -> None:
        """A retry went on from it."""
        self._groups[one.state][one.key, one.questions].took(one)

    def best(self, state: Any, key: str, client: str, answers: Any) -> Asked | None:
        """The one that a retry takes up; without a state it has to answer one of its questions."""
        given = answers.keys() if type(answers) is dict else set()
        found = [
            alike.best(client)
            for (of, questions), alike in self._groups.get(state_text(state), {}).items()
            if of == key and (state is not ABSENT or given & questions)
        ]
        return min(found, key=lambda one: (one.client != client, one.taken, one.number), default=None)

    def with_state(self, state: Any) -> list[Asked]:
        """One of each kind that has this state, whatever the call."""
        return [
            next(iter(alike.asked.values())) for alike in self._groups.get(state_text(state), {}).values()
        ]

    def _forget(self, one: Asked) -> None:
        del self._every[one.number]
        groups = self._groups[one.state]
        alike = groups[one.key, one.questions]
        alike.forget(one)
        if not alike.asked:
            del groups[one.key, one.questions]
            if not groups:
                del self._groups[one.state]


def state_text(state: Any) -> str:
    """A state as it is looked up."""
    return UNSTATED if state is ABSENT else canonical(state)

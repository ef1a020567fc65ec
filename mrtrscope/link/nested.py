"""A server's own requests (before 2026-07-28) and the call in which each was asked.

    exact       it came on the HTTP answer of that call, or names the call's task
    inferred    it came on stdio or on the session's GET stream while one call of this client was open, and no other
    ambiguous   several were open: all are listed, none is chosen

Only calls that may ask are looked at (`CALLS`): a server that wants the roots while a list is under way wants them for
itself. The question remains an operation of its own, whose `more["within"]` says this; the call's operation is told of
the time that it waited, so that both eras compare: what a client takes to answer counts as waiting, not as server time.
"""

from __future__ import annotations

from itertools import islice

from mrtrscope.link import longs
from mrtrscope.link.facts import AMBIGUOUS, EXACT, INFERRED, MRTR_METHODS, Exchange, Operation
from mrtrscope.link.pairing import WAITING, Pending

QUESTIONS = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
CALLS = frozenset({*MRTR_METHODS, "tasks/result"})
CANDIDATES = 64  # open calls that are looked at
LEGACY_KIND = "legacy"

Found = tuple[str, tuple[str, ...], list[Exchange]]  # grade, evidence, candidates


class Nested:
    """Finds the call of each question, and keeps the clock of calls that wait."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending
        self._calls: dict[str, Exchange] = {}  # open question -> its call

    def asked(
        self, question: Exchange, scope: str, on: Exchange | None, task: Operation | None
    ) -> Exchange | None:
        """A server asked; returns the call that this belongs to, when it is one.

        on     the request on whose HTTP answer it came      task   the operation whose task it names
        """
        if question.method not in QUESTIONS:
            return None
        if task is not None:
            _say(question, EXACT, ("task",), [task.key], task.key)
            call = task.last
        else:
            found = self._find(scope, on, question)
            if found is None:
                return None
            grade, evidence, calls = found
            call = calls[0] if grade != AMBIGUOUS else None
            keys = list(dict.fromkeys(c.operation.key for c in calls))
            _say(question, grade, evidence, keys, call.operation.key if call is not None else "")
        if call is not None:
            self._calls[question.key] = call
            _wait(call.operation, question.t)
        return call

    def _find(self, scope: str, on: Exchange | None, question: Exchange) -> Found | None:
        if on is not None and on.http is not None and on.http.method == "POST":
            posted = self._pending.by_http.get(on.http.key, [])
            calls = [e for e in posted if e.method in CALLS and e.state == WAITING][:CANDIDATES]
            if calls:
                return (EXACT if len(calls) == 1 else AMBIGUOUS), ("stream",), calls
            return None
        if question.http is not None and scope.endswith("\0"):
            return None  # no session: whose calls are open cannot be told
        waiting = self._pending.by_id.get(scope + "c2s", {})
        calls = [e for same in islice(waiting.values(), 4 * CANDIDATES) for e in same if e.method in CALLS][
            :CANDIDATES
        ]
        if not calls:
            return None
        where = "process" if question.http is None else "session"
        if len(calls) == 1:
            return INFERRED, (where, "only-open"), calls
        return AMBIGUOUS, (where,), calls

    def ended(self, question: Exchange, t: int) -> Exchange | None:
        """A question was answered, cancelled or cut off; returns its call."""
        call = self._calls.pop(question.key, None)
        if call is not None:
            _go_on(call.operation, t)
        return call


def waited(operation: Operation, t: int) -> int:
    """How long of an exchange that ends now was spent waiting for answers to questions; forgets it."""
    asked = operation.more.pop("asked", None) if operation.more is not None else None
    if asked is None:
        return 0
    n, since, total = asked
    if n:
        operation.waiting += max(0, t - since)
        total += max(0, t - since)
    return int(total)


def _say(question: Exchange, grade: str, evidence: tuple[str, ...], keys: list[str], to: str) -> None:
    within = {"in": to, "grade": grade, "evidence": list(evidence), "candidates": keys}
    longs.facts(question.operation)["within"] = within


def _wait(operation: Operation, t: int) -> None:
    more = longs.facts(operation)
    if operation.kind == longs.TASK:
        longs.turn(operation, longs.CLIENT, t)
        return
    if operation.kind == "single":
        operation.kind = LEGACY_KIND
    n, since, total = more.get("asked", (0, t, 0))
    more["asked"] = [n + 1, since if n else t, total]


def _go_on(operation: Operation, t: int) -> None:
    more = longs.facts(operation)
    if operation.kind == longs.TASK:
        if operation.outcome == "open":
            longs.turn(operation, longs.SERVER, t)
        return
    if "asked" not in more:
        return  # the call ended before
    n, since, total = more["asked"]
    span = max(0, t - since) if n == 1 else 0
    operation.waiting += span
    more["asked"] = [n - 1, since, total + span]

"""A recorded operation, sent to a live server with exactly one thing wrong each time, from a fresh state.

An attempt proves something only while the server does what it should when nothing is wrong: so whatever the server did
not simply go on with is followed by its control, the same operation with nothing wrong. Where that fails, too, nothing
can be told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from mrtrscope.recorder import Journal
from mrtrscope.replay import attempt as table
from mrtrscope.replay.answering import Answers, Unanswered
from mrtrscope.replay.attempts import ATTEMPTS, Attempt, Retry
from mrtrscope.replay.client import Connection, Reply, is_url
from mrtrscope.replay.lanes import Lanes
from mrtrscope.replay.plan import request_of
from mrtrscope.replay.probe_choose import Chosen
from mrtrscope.replay.probe_judge import (
    ACCEPTED,
    BROKEN,
    KEPT,
    NOT_MADE,
    SILENT,
    UNSURE,
    Baseline,
    did,
    judge,
)
from mrtrscope.replay.probe_send import NotAsked, Sender
from mrtrscope.replay.probe_whole import WHOLE, Whole
from mrtrscope.replay.recording import Recording, Step

Progress = Callable[[int, int, str], None]


class Tried:
    """An attempt and what came of it.

    op, name, round   what it was made on; the round is 0 when no round of an operation was
    did, outcome      what the server did, in words and in one of `probe_judge`
    verdict, why      KEPT, BROKEN, UNSURE or NOT_MADE           id   of the request that was wrong
    """

    __slots__ = ("attempt", "did", "id", "name", "op", "outcome", "round", "verdict", "why")

    def __init__(self, attempt: Attempt, op: str, name: str, round: int = 0) -> None:
        self.attempt = attempt
        self.op, self.name, self.round = op, name, round
        self.did = self.why = self.outcome = ""
        self.verdict = NOT_MADE
        self.id: Any = None


class Prober:
    """Makes the attempts. `as_headers`: those of another principal; `wait`: seconds before the late retry;
    `progress(made, all of them, what is next)`, called before each."""

    def __init__(
        self, recording: Recording, target: str | list[str], *, journal: Journal | None = None,
        headers: dict[str, str] | None = None, as_headers: dict[str, str] | None = None, wait: float = 0.0,
        answers: Answers | None = None, credentials: bool = False, timeout: float = 30.0,
        progress: Progress | None = None,
    ) -> None:  # fmt: skip
        lanes = Lanes(recording, target, journal, headers or {})
        self._http = isinstance(target, str) and is_url(target)
        self._as = as_headers or {}
        self._wait = wait
        self._sender = Sender(lanes, answers or Answers(), credentials, timeout)
        self._whole = Whole(recording, self._sender, self._http, self._as)
        self._progress = progress or (lambda made, todo, name: None)
        self._made = self._todo = 0
        idle = (step for step in recording.steps if step.exchange.method in ("server/discover", "tools/list"))
        self._idle = next(idle, None)

    async def run(
        self, chosen: list[Chosen], names: Iterable[str] = (), tasks: Iterable[Step] = ()
    ) -> list[Tried]:
        """Every attempt (or those named) on every retry chosen, and those on the server as a whole.

        Unreachable when there is no server.
        """
        tried: list[Tried] = []
        wanted = [ATTEMPTS[name] for name in names] or list(ATTEMPTS.values())
        try:
            plan = [(one, [a for a in wanted if fits(a, one)]) for one in chosen]
            whole = [attempt for attempt in wanted if attempt.on == table.SERVER]
            self._made, self._todo = 0, sum(len(todo) for _, todo in plan) + len(whole)
            for one, todo in plan:
                if todo or not whole:
                    tried += await self._retry(one, todo)
            for attempt in whole:
                self._progress(self._made, self._todo, attempt.name)
                self._made += 1
                tried.append(Tried(attempt, "", WHOLE))
                await self._whole.make(tried[-1], list(tasks))
        finally:
            await self._sender.close()
        return tried

    async def _retry(self, chosen: Chosen, todo: list[Attempt]) -> list[Tried]:
        right = Tried(ATTEMPTS["as-recorded"], chosen.retry.op, chosen.retry.name, chosen.round)
        made = await self._make(right, chosen)
        if made is None:
            return [right]
        right.did = did(made.reply)
        if not made.asked or made.reply.message is None or "error" in made.reply.message:
            right.verdict, right.why = UNSURE, "the operation itself does not work, so nothing can be told"
            return [right]
        right.verdict = KEPT
        baseline = Baseline(made.asked[0], made.asked[-1], made.reply.message)
        tried = [right]
        for attempt in todo:
            self._progress(self._made, self._todo, f"{chosen.retry.op} {chosen.retry.name}: {attempt.name}")
            self._made += 1
            if attempt.name != "as-recorded":
                tried.append(Tried(attempt, chosen.retry.op, chosen.retry.name, chosen.round))
                await self._try(tried[-1], chosen, baseline)
        _mind_idle_states(tried)
        return tried

    async def _try(self, tried: Tried, chosen: Chosen, baseline: Baseline) -> None:
        made = await self._make(tried, chosen)
        if made is None:
            return
        tried.did = did(made.reply)
        tried.outcome = baseline.outcome(made.reply)
        tried.verdict, tried.why = judge(tried.attempt, tried.outcome, made.reply, baseline, made.retry)
        if tried.outcome != ACCEPTED and (why := await self._no_control(tried, chosen, baseline)):
            tried.verdict, tried.why = UNSURE, why
        if tried.verdict != BROKEN:
            return
        if tried.attempt.name == "other-connection" and not self._http:
            tried.verdict = UNSURE
            tried.why = (
                "another process could not go on; on stdio a server may keep its key, or a call, in memory"
            )
        if tried.attempt.name == "other-principal" and await self._sender.serves_anybody(
            chosen.first, self._as
        ):
            tried.verdict, tried.why = (
                UNSURE,
                "the server serves anybody, so there is no principal to bind to",
            )

    async def _no_control(self, tried: Tried, chosen: Chosen, baseline: Baseline) -> str:
        """Why what the server did proves nothing: it does no better when nothing is wrong. "" when it does."""
        made = await self._make(Tried(ATTEMPTS["as-recorded"], "", ""), chosen)
        if made is None or not baseline.works(made.reply):
            return "the unaltered retry was not taken right after it, either"
        if tried.attempt.name == "other-tool" and chosen.other is not None:
            try:
                reply = await self._sender.whole(chosen.other)
            except (OSError, Unanswered, NotAsked) as error:
                return f"the other tool does not work by itself: {error}"
            result = (reply.message or {}).get("result")
            if type(result) is not dict or result.get("isError") is True:
                return f"the other tool does not work by itself: {did(reply)}"
        return ""

    async def _make(self, tried: Tried, chosen: Chosen) -> _Made | None:
        """Make an attempt; None when it cannot be made, and `tried` says why."""
        attempt, sender = tried.attempt, self._sender
        first = request_of(chosen.first, sender.next_id())
        other: Connection | None = None
        try:
            connection = await sender.connected(chosen.first)
            if attempt.on == table.FIRST:
                retry = Retry({"params": {}}, first, {})
                tried.why = attempt.change(retry)
                if tried.why:
                    return None
                tried.id = first["id"]
                return _Made([], await sender.send(connection, chosen.first, first), retry)
            if attempt.name == "other-connection":
                other = await self._warm(chosen)  # before the state is issued, which may be short-lived
            before, asked = await sender.up_to(chosen.path, first)
            retry = await self._built(chosen, connection, first, before, asked[-1])
            tried.why = attempt.change(retry)
            if tried.why:
                return None
            if attempt.name == "after-a-wait":
                await asyncio.sleep(retry.wait)
            tried.id = retry.body["id"]
            reply = await sender.send(other or connection, chosen.retry, retry.body, retry.headers)
            if retry.twice:
                tried.id = retry.body["id"] = sender.next_id()
                reply = await sender.send(connection, chosen.retry, retry.body, retry.headers)
            return _Made(asked, reply, retry)
        except NotAsked as error:
            tried.outcome, tried.did, tried.verdict, tried.why = SILENT, did(error.reply), UNSURE, str(error)
        except (OSError, Unanswered) as error:
            tried.outcome, tried.why, tried.verdict = SILENT, str(error), UNSURE
        finally:
            if other is not None:
                await sender.end(other)
        return None

    async def _built(
        self, chosen: Chosen, connection: Connection, first: dict[str, Any], before: dict[str, Any],
        asked: dict[str, Any],
    ) -> Retry:  # fmt: skip
        retry = await self._sender.retry(chosen.retry, first, asked)
        retry.before = before
        if (other := chosen.other) is not None:
            named, given = other.exchange.arguments, other.exchange.answers
            retry.other = (
                other.exchange.target,
                named if type(named) is dict else {},
                given if type(given) is dict else {},
            )
        retry.http, retry.as_headers, retry.wait = self._http, self._as, self._wait
        retry.minted = dict(connection.minted)
        return retry

    async def _warm(self, chosen: Chosen) -> Connection:
        """Another connection, whose server has begun to answer."""
        other = await self._sender.another(chosen.first)
        if self._idle is not None:
            await self._sender.send(other, self._idle, request_of(self._idle, self._sender.next_id()))
        return other


class _Made:
    """An attempt that was made: the answers before it (none where it was the first request), and what came of it."""

    __slots__ = ("asked", "reply", "retry")

    def __init__(self, asked: list[dict[str, Any]], reply: Reply, retry: Retry) -> None:
        self.asked, self.reply, self.retry = asked, reply, retry


def fits(attempt: Attempt, chosen: Chosen) -> bool:
    """Whether an attempt is made on this retry; those on the first request are made once an operation."""
    return attempt.on == table.RETRY or (attempt.on == table.FIRST and chosen.round == 2)


def _mind_idle_states(made: list[Tried]) -> None:
    """Where an invented state does as well as the right one, the state influences nothing: no need to protect it."""
    outcomes = {one.attempt.name: one.outcome for one in made}
    if outcomes.get("state-invented") != ACCEPTED or outcomes.get("state-dropped") not in (
        ACCEPTED,
        None,
        "",
    ):
        return
    for one in made:
        protects = one.attempt.want in (table.REFUSE, table.NOT_GO_ON)
        if protects and one.verdict == BROKEN and one.outcome == ACCEPTED:
            one.verdict, one.why = UNSURE, "the state influences nothing here, so it need not be protected"

"""A recorded operation, sent to a live server with exactly one thing wrong each time, from a fresh state."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable
from typing import Any

from mrtrscope.recorder import Journal
from mrtrscope.replay import attempts as table
from mrtrscope.replay.answering import Answers, Unanswered
from mrtrscope.replay.attempts import ATTEMPTS, Attempt, Retry
from mrtrscope.replay.client import Connection, Reply, is_url
from mrtrscope.replay.compare import questions_of
from mrtrscope.replay.lanes import Lanes
from mrtrscope.replay.plan import headers_of, request_of
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
from mrtrscope.replay.recording import Recording, Step
from mrtrscope.wire.events import ABSENT


class Tried:
    """An attempt and what came of it: `did` in words, `verdict`, `why`; `id` of the request that was wrong."""

    __slots__ = ("attempt", "did", "id", "name", "op", "outcome", "verdict", "why")

    def __init__(self, attempt: Attempt, step: Step) -> None:
        self.attempt = attempt
        self.op, self.name = step.op, step.name
        self.did = self.why = self.outcome = ""
        self.verdict = NOT_MADE
        self.id: Any = None


class Prober:
    """Makes the attempts. `as_headers`: those of another principal; `wait`: seconds before the late retry."""

    def __init__(
        self, recording: Recording, target: str | list[str], *, journal: Journal | None = None,
        headers: dict[str, str] | None = None, as_headers: dict[str, str] | None = None, wait: float = 0.0,
        answers: Answers | None = None, credentials: bool = False, timeout: float = 30.0,
    ) -> None:  # fmt: skip
        self._lanes = Lanes(recording, target, journal, headers or {})
        self._http = isinstance(target, str) and is_url(target)
        self._as = as_headers or {}
        self._wait = wait
        self._answers = answers or Answers()
        self._credentials = credentials
        self._timeout = timeout
        self._connection: Connection | None = None
        idle = (step for step in recording.steps if step.exchange.method in ("server/discover", "tools/list"))
        self._idle = next(idle, None)

    async def run(self, chosen: list[Chosen], names: Iterable[str] = ()) -> list[Tried]:
        """Every attempt (or those named) on every operation."""
        tried: list[Tried] = []
        try:
            todo = [ATTEMPTS[name] for name in names] or list(ATTEMPTS.values())
            for one in chosen:
                tried += await self._operation(one, todo)
        finally:
            if self._connection is not None:
                await self._connection.close()
        return tried

    async def _operation(self, chosen: Chosen, todo: list[Attempt]) -> list[Tried]:
        right = Tried(ATTEMPTS["as-recorded"], chosen.retry)
        made = await self._make(right, chosen)
        if made is None:
            return [right]
        right.did = did(made.reply)
        if made.asked is None or made.reply.message is None or "error" in made.reply.message:
            right.verdict, right.why = UNSURE, "the operation itself does not work, so nothing can be told"
            return [right]
        right.verdict = KEPT
        baseline = Baseline(made.asked, made.reply.message)
        tried = [right]
        for attempt in todo:
            if attempt.name != "as-recorded":
                tried.append(Tried(attempt, chosen.retry))
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
        if tried.verdict != BROKEN:
            return
        if tried.attempt.name == "other-connection" and not self._http:
            tried.verdict = UNSURE
            tried.why = (
                "another process could not go on; on stdio a server may keep its key, or a call, in memory"
            )
        if tried.attempt.name == "other-principal" and await self._serves_anybody(chosen):
            tried.verdict, tried.why = (
                UNSURE,
                "the server serves anybody, so there is no principal to bind to",
            )

    async def _make(self, tried: Tried, chosen: Chosen) -> _Made | None:
        """Make an attempt; None when it cannot be made, and `tried` says why."""
        attempt, first = tried.attempt, request_of(chosen.first, self._lanes.next_id())
        other: Connection | None = None
        try:
            connection = await self._connected(chosen.first)
            retry = Retry({"params": {}}, first, {})
            if attempt.on_first:
                tried.why = attempt.change(retry)
                if tried.why:
                    return None
                tried.id = first["id"]
                return _Made(None, await self._send(connection, chosen.first, first), retry)
            if attempt.name == "other-connection":
                other = await self._warm(chosen)  # before the state is issued, which may be short-lived
            asked = await self._send(connection, chosen.first, first)
            if asked.message is None or not questions_of(asked.message):
                tried.outcome, tried.did, tried.verdict = SILENT, did(asked), UNSURE
                tried.why = "the server did not ask, so there is nothing to take up"
                return None
            retry = await self._retry(chosen, first, asked.message)
            tried.why = attempt.change(retry)
            if tried.why:
                return None
            if attempt.name == "after-a-wait":
                await asyncio.sleep(retry.wait)
            tried.id = retry.body["id"]
            reply = await self._send(other or connection, chosen.retry, retry.body, retry.headers)
            if retry.twice:
                tried.id = retry.body["id"] = self._lanes.next_id()
                reply = await self._send(connection, chosen.retry, retry.body, retry.headers)
            return _Made(asked.message, reply, retry)
        except (OSError, Unanswered) as error:
            tried.outcome, tried.why, tried.verdict = SILENT, str(error), UNSURE
            return None
        finally:
            if other is not None:
                await other.close()

    async def _warm(self, chosen: Chosen) -> Connection:
        """Another connection, whose server has begun to answer."""
        other = await self._lanes.another(chosen.first)
        if self._idle is not None:
            await self._send(other, self._idle, request_of(self._idle, self._lanes.next_id()))
        return other

    async def _serves_anybody(self, chosen: Chosen) -> bool:
        """Whether a first request without any credential is served like another."""
        nobody = dict.fromkeys(self._as, "")
        first = request_of(chosen.first, self._lanes.next_id())
        reply = await self._send(await self._connected(chosen.first), chosen.first, first, nobody)
        return reply.message is not None and bool(questions_of(reply.message))

    async def _connected(self, step: Step) -> Connection:
        """The connection that is used while its server lives, else a new one."""
        if self._connection is not None and getattr(self._connection, "ended", "") != "":
            await self._connection.close()
            self._connection = None
        if self._connection is None:
            self._connection = await self._lanes.another(step)
        return self._connection

    async def _send(
        self, connection: Connection, step: Step, body: dict[str, Any], more: dict[str, str] | None = None
    ) -> Reply:
        headers = headers_of(step, body, self._credentials) | (more or {})
        return await connection.request(copy.deepcopy(body), headers=headers, timeout=self._timeout)

    async def _retry(self, chosen: Chosen, first: dict[str, Any], asked: dict[str, Any]) -> Retry:
        body = request_of(chosen.retry, self._lanes.next_id())
        answer = chosen.first.exchange.answer
        recorded = questions_of(answer.body) if answer is not None else {}
        given = chosen.retry.exchange.answers
        now = questions_of(asked)
        state = asked["result"].get("requestState", ABSENT)
        body["params"].pop("requestState", None)
        if state is not ABSENT:
            body["params"]["requestState"] = state
        body["params"]["inputResponses"] = await self._answers.to(
            now, recorded, given if type(given) is dict else {}
        )
        retry = Retry(body, first, now)
        retry.other, retry.http, retry.as_headers, retry.wait = chosen.other, self._http, self._as, self._wait
        return retry


class _Made:
    """An attempt that was made: the answer to the first request (None where that was the attempt), and what came."""

    __slots__ = ("asked", "reply", "retry")

    def __init__(self, asked: dict[str, Any] | None, reply: Reply, retry: Retry) -> None:
        self.asked, self.reply, self.retry = asked, reply, retry


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

"""The recorded client, played to a live server, and its answers compared with the recorded ones.

Every request is the recorded one under a new id; into a retry goes the state that the server issued just now. What the
recorded client did wrong with states and answers it does again, so that a server's refusals are compared, too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from mrtrscope.link.facts import CANCELLED
from mrtrscope.recorder import Journal
from mrtrscope.replay.answering import Answers, Unanswered
from mrtrscope.replay.client import Connection, Reply, Unreachable
from mrtrscope.replay.compare import Difference, aligned, differences, questions_of
from mrtrscope.replay.lanes import INITIALIZE, Lanes, Order, greeted
from mrtrscope.replay.plan import Edit, States, headers_of, operations, request_of
from mrtrscope.replay.polling import aside, too_early
from mrtrscope.replay.recording import Recording, Step
from mrtrscope.wire.events import ABSENT

PASSED, DIFFERS, FAILED, NOT_RUN, SKIPPED = "passed", "differs", "failed", "not run", "skipped"
PROGRESS = "notifications/progress"


class Round:
    """One request of an operation as it went now.

    verdict      PASSED, DIFFERS, FAILED (no answer came), NOT_RUN (nothing to send), SKIPPED (the recording has nothing
                 to compare with)                     why   in words, where there is no difference
    differences  of the answer, and of the progress before it
    renamed      key of a question in the recording -> the key under which the server asked it now, of those answered
    """

    __slots__ = ("differences", "renamed", "step", "verdict", "why")

    def __init__(self, step: Step, verdict: str, why: str = "", found: Iterable[Difference] = ()) -> None:
        self.step = step
        self.verdict = verdict
        self.why = why
        self.differences = list(found)
        self.renamed: dict[str, str] = {}


class Driven:
    """One operation as it went now: `op` ("op7"), `name`, `rounds`, `took` in seconds."""

    __slots__ = ("name", "op", "rounds", "took")

    def __init__(self, op: str, name: str) -> None:
        self.op = op
        self.name = name
        self.rounds: list[Round] = []
        self.took = 0.0

    @property
    def verdict(self) -> str:
        """The worst of its rounds."""
        verdicts = {one.verdict for one in self.rounds}
        return next((v for v in (FAILED, DIFFERS, NOT_RUN, SKIPPED) if v in verdicts), PASSED)


class Driver:
    """Plays the client of a recording.

    only     operations to play (all when empty)       edits    to every request that is played
    answers  see `Answers`                             speed    1.0: times as recorded, 0: no waiting
    ignore   paths that are not compared, see `compare` credentials   whether the recorded ones are sent
    timeout  seconds that one answer may take
    """

    def __init__(
        self, recording: Recording, target: str | list[str], *, journal: Journal | None = None,
        headers: dict[str, str] | None = None, only: Iterable[str] = (), edits: Iterable[Edit] = (),
        answers: Answers | None = None, ignore: Iterable[str] = (), speed: float = 0.0, credentials: bool = False,
        timeout: float = 60.0,
    ) -> None:  # fmt: skip
        self._lanes = Lanes(recording, target, journal, headers or {})
        all_of_them = operations(recording)
        wanted = set(only)
        self._plan = {op: steps for op, steps in all_of_them.items() if not wanted or op in wanted}
        self._edits = list(edits)
        self._answers = answers or Answers()
        self._ignore = list(ignore)
        self._speed = speed
        self._credentials = credentials
        self._timeout = timeout
        self._states = States()
        self._tasks: dict[str, str] = {}
        # Of all operations: a retry that fits several goes on with one of them.
        self._replies: dict[Step, Reply] = {}
        self._renamed: dict[Step, dict[str, str]] = {}

    async def run(self) -> list[Driven]:
        """Play everything; what came of each operation, in order of the recording. Unreachable: there is no server."""
        plan = list(self._plan.items())
        spans = [(steps[0].exchange.t, max(_end(step) for step in steps)) for _, steps in plan]
        order = Order(spans)
        begun, first = time.monotonic(), min((start for start, _ in spans), default=0)

        async def play(n: int, op: str, steps: list[Step]) -> Driven:
            try:
                await order.turn(n)
                if self._speed > 0:
                    due = begun + (spans[n][0] - first) / 1e6 / self._speed
                    await asyncio.sleep(max(0.0, due - time.monotonic()))
                return await self._operation(op, steps)
            finally:
                order.ended(n)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(play(n, op, steps)) for n, (op, steps) in enumerate(plan)]
        except* Unreachable as several:
            raise several.exceptions[0] from None
        finally:
            await self._lanes.close()
        return [task.result() for task in tasks]

    async def _operation(self, op: str, steps: list[Step]) -> Driven:
        driven = Driven(op, steps[0].name)
        began = time.monotonic()
        for step in steps:
            one = await self._round(step)
            one.renamed = self._renamed.pop(step, {})
            driven.rounds.append(one)
        driven.took = time.monotonic() - began
        return driven

    async def _round(self, step: Step) -> Round:
        exchange = step.exchange
        if exchange.answer is None:
            why = (
                "was cancelled in the recording"
                if exchange.state == CANCELLED
                else "has no answer in the recording"
            )
            return Round(step, SKIPPED, f"this request {why}")
        try:
            body = await self._request(step)
        except (Unanswered, _NotAsked, ValueError) as error:
            return Round(step, NOT_RUN, str(error))
        if self._speed > 0 and step.parent is not None and step.parent.exchange.answer is not None:
            await asyncio.sleep(max(0, exchange.t - step.parent.exchange.answer.t) / 1e6 / self._speed)
        try:
            connection = await self._lanes.connection(step)
        except OSError as error:
            return Round(step, FAILED, f"no connection to the server: {error.strerror or error}")
        reply = self._replies[step] = await self._settled(connection, step, body)
        if reply.message is None:
            return Round(step, FAILED, reply.error)
        self._learn(step, reply.message)
        if exchange.method == INITIALIZE and "result" in reply.message:
            await greeted(connection, reply.message)
        set_aside = aside(exchange.method, exchange.answer.body, reply.message)
        found = differences(exchange.answer.body, reply.message, [*self._ignore, *set_aside])
        found += _progress(step, reply, self._ignore)
        return Round(step, DIFFERS if found else PASSED, "", found)

    async def _settled(self, connection: Connection, step: Step, body: dict[str, Any]) -> Reply:
        """Send it, a poll of a task as often as it takes; what came last, when the time is over."""
        answer, until = step.exchange.answer, time.monotonic() + self._timeout
        while True:
            reply = await self._send(connection, step, body)
            if answer is None or reply.message is None:
                return reply
            pause = too_early(step.exchange.method, answer.body, reply.message)
            if not pause or time.monotonic() + pause > until:
                return reply
            await asyncio.sleep(pause)
            body = {**body, "id": self._lanes.next_id()}

    async def _send(self, connection: Connection, step: Step, body: dict[str, Any]) -> Reply:
        nested = iter(step.asked)

        async def asked(question: dict[str, Any]) -> dict[str, Any] | None:
            """Answer a server's own request of 2025-11-25 as the recorded client did."""
            recorded = next(nested, None)
            recorded_answer = (
                recorded.answer.body if recorded is not None and recorded.answer is not None else {}
            )
            if recorded is None or recorded.method != question.get("method") or not recorded_answer:
                error = {"code": -32601, "message": "this question was not asked in the recording"}
                return {"jsonrpc": "2.0", "id": question["id"], "error": error}
            return {**recorded_answer, "id": question["id"]}

        headers = headers_of(step, body, self._credentials)
        reply = await connection.request(body, headers=headers, asked=asked, timeout=self._timeout)
        return self._lanes.heard(connection, reply)

    async def _request(self, step: Step) -> dict[str, Any]:
        body = request_of(step, self._lanes.next_id(), self._edits)
        params = body.get("params")
        if type(params) is not dict:
            return body
        if type(task := params.get("taskId")) is str:
            params["taskId"] = self._tasks.get(task, task)
        parent = step.parent
        if parent is None:
            return body
        asked = self._replies.get(parent)
        answer = parent.exchange.answer
        if asked is None or asked.message is None or answer is None:
            raise _NotAsked("the round before it has no answer")
        result = asked.message.get("result")
        if type(result) is not dict or result.get("resultType") != "input_required":
            raise _NotAsked("the server did not ask in the round before")
        state = self._states.for_retry(
            step.exchange.request_state,
            answer.result.get("requestState", ABSENT),
            result.get("requestState", ABSENT),
        )
        _put(params, "requestState", state)
        given, now = step.exchange.answers, questions_of(asked.message)
        if given is not ABSENT or (now and not questions_of(answer.body)):
            recorded, asked_then = given if type(given) is dict else {}, questions_of(answer.body)
            answers = params["inputResponses"] = await self._answers.to(now, asked_then, recorded)
            self._renamed[step] = {
                then: key for key, then in aligned(asked_then, now).items() if key != then and key in answers
            }
        return body

    def _learn(self, step: Step, message: dict[str, Any]) -> None:
        """Remember what the server made anew: states, and names of tasks."""
        recorded = step.exchange.answer
        result = message.get("result")
        if recorded is None or type(result) is not dict:
            return
        self._states.issued(recorded.result.get("requestState", ABSENT), result.get("requestState", ABSENT))
        for old, new in ((recorded.result, result), (recorded.result.get("task"), result.get("task"))):
            if (
                type(old) is dict
                and type(new) is dict
                and type(old.get("taskId")) is str
                and type(new.get("taskId")) is str
            ):
                self._tasks[old["taskId"]] = new["taskId"]


class _NotAsked(Exception):
    """A retry that there is nothing to retry for."""


def _put(params: dict[str, Any], name: str, value: Any) -> None:
    if value is ABSENT:
        params.pop(name, None)
    else:
        params[name] = value


def _end(step: Step) -> int:
    exchange = step.exchange
    return exchange.answer.t if exchange.answer is not None else exchange.t


def _progress(step: Step, reply: Reply, ignore: list[str]) -> list[Difference]:
    """Progress is the one notification that names the request it is about on either transport."""
    recorded = [note.body for note in step.notes if note.method == PROGRESS]
    now = [note for note in reply.notes if note.get("method") == PROGRESS]
    return differences({"progress": recorded}, {"progress": now}, ["/**/progressToken", *ignore])

"""How a probe plays recorded requests to a live server: one connection, fresh states, recorded answers."""

from __future__ import annotations

import copy
import itertools
from typing import Any

from mrtrscope.replay.answering import Answers
from mrtrscope.replay.attempt import Retry
from mrtrscope.replay.client import Connection, Reply
from mrtrscope.replay.compare import questions_of
from mrtrscope.replay.lanes import Lanes
from mrtrscope.replay.plan import headers_of, request_of
from mrtrscope.replay.probe_choose import last_of, path_of
from mrtrscope.replay.recording import Step
from mrtrscope.wire.events import ABSENT


class NotAsked(Exception):
    """The server did not ask, so there is nothing to take up; `reply` is what it did."""

    def __init__(self, reply: Reply) -> None:
        super().__init__("the server did not ask, so there is nothing to take up")
        self.reply = reply


class Sender:
    """Sends what is right, and what it is given."""

    def __init__(self, lanes: Lanes, answers: Answers, credentials: bool, timeout: float) -> None:
        self._lanes = lanes
        self._answers = answers
        self._credentials = credentials
        self._timeout = timeout
        self._connection: Connection | None = None

    def next_id(self) -> int:
        return self._lanes.next_id()

    async def close(self) -> None:
        """End every connection."""
        await self._lanes.close()

    async def connected(self, step: Step) -> Connection:
        """The connection that is used while its server lives, else a new one."""
        if self._connection is not None and getattr(self._connection, "ended", "") != "":
            await self._lanes.end(self._connection)
            self._connection = None
        if self._connection is None:
            self._connection = await self._lanes.another(step)
        return self._connection

    async def another(self, step: Step) -> Connection:
        """A connection of its own, until `end`."""
        return await self._lanes.another(step)

    async def end(self, connection: Connection) -> None:
        await self._lanes.end(connection)

    async def send(
        self, connection: Connection, step: Step, body: dict[str, Any], more: dict[str, str] | None = None
    ) -> Reply:
        """Send a request in the place of a step; `more` headers win, an empty value takes one away."""
        headers = headers_of(step, body, self._credentials) | connection.minted | (more or {})
        reply = await connection.request(copy.deepcopy(body), headers=headers, timeout=self._timeout)
        return self._lanes.heard(connection, reply)

    async def up_to(
        self, path: list[Step], first: dict[str, Any]
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Play a path but for its last step; the last request, and the answers, each of which asks. NotAsked."""
        body, asked = first, []
        for step, following in itertools.pairwise(path):
            reply = await self.send(await self.connected(step), step, body)
            if not _asks(reply.message):
                raise NotAsked(reply)
            assert reply.message is not None
            asked.append(reply.message)
            if following is not path[-1]:
                body = (await self.retry(following, first, reply.message)).body
        return body, asked

    async def retry(self, step: Step, first: dict[str, Any], asked: dict[str, Any]) -> Retry:
        """A recorded retry, with the state and the questions of now."""
        body = request_of(step, self.next_id())
        answer = step.parent.exchange.answer if step.parent is not None else None
        recorded = questions_of(answer.body) if answer is not None else {}
        given = step.exchange.answers
        now = questions_of(asked)
        state = asked["result"].get("requestState", ABSENT)
        body["params"].pop("requestState", None)
        if state is not ABSENT:
            body["params"]["requestState"] = state
        if now or given is not ABSENT:
            answers = await self._answers.to(now, recorded, given if type(given) is dict else {})
            body["params"]["inputResponses"] = answers
        return Retry(body, first, now)

    async def whole(self, step: Step) -> Reply:
        """Play a whole operation, with nothing wrong; the answer at its end. NotAsked."""
        path = path_of(last_of(step)) if step.parent is not None else [step]
        first = request_of(path[0], self.next_id())
        if len(path) > 1:
            _, asked = await self.up_to(path, first)
            body = (await self.retry(path[-1], first, asked[-1])).body
        else:
            body = first
        return await self.send(await self.connected(path[-1]), path[-1], body)

    async def serves_anybody(self, step: Step, named: dict[str, str]) -> bool:
        """Whether a first request without any of these headers is served like another."""
        nobody = dict.fromkeys(named, "")
        body = request_of(step, self.next_id())
        reply = await self.send(await self.connected(step), step, body, nobody)
        return reply.message is not None and "result" in reply.message


def _asks(message: dict[str, Any] | None) -> bool:
    result = message.get("result") if message is not None else None
    return type(result) is dict and result.get("resultType") == "input_required"

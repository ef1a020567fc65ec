"""Plays a step to one client: notifications and own requests as recorded, then the answer, under the client's names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from mrtrscope.link.facts import Exchange
from mrtrscope.replay.recording import Step
from mrtrscope.replay.stand import Miss, Refused, Stand
from mrtrscope.wire.events import ABSENT, Message

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ASK_TIMEOUT = 300.0  # seconds that a client may take to answer a server's own request
NAMED = 1000  # misses that are kept in words


class Talk(Protocol):
    """The way back to the client that asked."""

    async def send(self, message: dict[str, Any]) -> None:
        """A notification or request, before the answer."""

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """A server's own request of 2025-11-25 and before; gives the client's response. Its id is chosen here."""


class Answering(Protocol):
    """What a transport serves: a `Player`, or a server that misbehaves on purpose."""

    async def answer(
        self, request: dict[str, Any], talk: Talk, client: str
    ) -> tuple[dict[str, Any], Step | None]:
        """The response, and the recorded step that it came from."""
        ...


Upstream = Callable[[dict[str, Any], Talk], Awaitable[dict[str, Any]]]


class Player:
    """Answers requests from a recording.

    speed      1.0: times as recorded, 2.0: twice as fast, 0: no waiting
    upstream   where what the recording lacks is sent, None: it is a miss
    misses     what was asked for in vain, in words, with how often; `missed` counts all of them
    """

    def __init__(self, stand: Stand, speed: float = 0.0, upstream: Upstream | None = None) -> None:
        self._stand = stand
        self._speed = speed
        self._upstream = upstream
        self.misses: dict[str, int] = {}
        self.missed = 0
        self.answered = 0

    async def answer(
        self, request: dict[str, Any], talk: Talk, client: str
    ) -> tuple[dict[str, Any], Step | None]:
        """The response to a request, and the step it came from (None: an error of ours, or from upstream)."""
        method, params = request.get("method"), request.get("params", {})
        id = request.get("id")
        if type(method) is not str or type(params) is not dict:
            return _error(id, {"code": -32600, "message": "not a request"}), None
        try:
            step = self._stand.begin(method, params, client)
        except Refused as refused:
            if self._upstream is not None:  # maybe issued by the real server, in answer to an earlier miss
                return await self._upstream(request, talk), None
            return _error(id, refused.error), None
        except Miss as miss:
            if self._upstream is not None:
                return await self._upstream(request, talk), None
            if method == "ping":
                return {"jsonrpc": "2.0", "id": id, "result": {}}, None
            self._note(str(miss))
            return _error(id, miss.error), None
        waited = 0
        for after, what in step.script():
            await self._until(after - waited)
            waited = after
            if isinstance(what, Exchange):
                try:
                    await asyncio.wait_for(talk.ask(_anew(what.request)), ASK_TIMEOUT)
                except TimeoutError:
                    words = f"no answer to {what.method} within {ASK_TIMEOUT:g} s"
                    return _error(id, {"code": -32603, "message": words}), step
            elif (note := _renamed(what, params, id)) is not None:
                await talk.send(note)
        await self._until(step.took - waited)
        answer = step.exchange.answer
        if answer is None:
            return _error(
                id, {"code": -32603, "message": "The recording ends before the answer to this."}
            ), step
        self._stand.played(step, client)
        self.answered += 1
        return {**answer.body, "id": id}, step

    def _note(self, miss: str) -> None:
        self.missed += 1
        if miss in self.misses or len(self.misses) < NAMED:
            self.misses[miss] = self.misses.get(miss, 0) + 1

    async def _until(self, microseconds: int) -> None:
        if self._speed > 0 and microseconds > 0:
            await asyncio.sleep(microseconds / 1e6 / self._speed)


def _error(id: Any, error: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": error}


def _anew(request: Message) -> dict[str, Any]:
    return {k: v for k, v in request.body.items() if k != "id"}


def _renamed(note: Message, params: dict[str, Any], id: Any) -> dict[str, Any] | None:
    """The notification under the names of the new client; None when it gave no token to report progress to."""
    body: dict[str, Any] = note.body
    given = note.params
    meta = params.get("_meta")
    if note.method == "notifications/progress" and "progressToken" in given:
        token = meta.get("progressToken", ABSENT) if type(meta) is dict else ABSENT
        if token is ABSENT:
            return None
        given = {**given, "progressToken": token}
    if SUBSCRIPTION in note.meta:
        given = {**given, "_meta": {**note.meta, SUBSCRIPTION: id}}
    return {**body, "params": given} if given is not note.params else body

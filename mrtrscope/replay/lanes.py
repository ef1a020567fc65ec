"""The connections that a driven recording needs: one for each recorded process or session, opened when first used.

A server of 2025-11-25 gets its handshake on each of them, the recorded one when there is one.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
from typing import Any

from mrtrscope.link.facts import META_VERSION
from mrtrscope.recorder import Journal
from mrtrscope.replay.client import Connection, Reply, Unreachable, connect
from mrtrscope.replay.recording import Recording, Step

INITIALIZE = "initialize"


class Lanes:
    """target   a URL, or the command of a server        headers   sent with every HTTP request

    Until the server said something for the first time, that there is none is an Unreachable: nothing can be played.
    """

    def __init__(
        self, recording: Recording, target: str | list[str], journal: Journal | None, headers: dict[str, str]
    ) -> None:
        self._target = target
        self._journal = journal
        self._headers = headers
        self._open: dict[str, Connection] = {}
        self._every: set[Connection] = set()
        self._locks: dict[str, asyncio.Lock] = {}
        self._numbers = itertools.count()
        self._ids = itertools.count(1)
        self._heard = False
        self._hello = next((s for s in recording.steps if s.exchange.method == INITIALIZE), None)

    def next_id(self) -> int:
        """An id that no other request of this replay has."""
        return next(self._ids)

    async def connection(self, step: Step) -> Connection:
        """The connection for a step; OSError when it cannot be made, ConnectionError when its handshake fails."""
        lane = lane_of(step)
        async with self._locks.setdefault(lane, asyncio.Lock()):
            if lane not in self._open:
                connection = await self._connect()
                self._open[lane] = connection
                if step.exchange.method != INITIALIZE and META_VERSION not in step.exchange.request.meta:
                    await self._shake_hands(connection)
            return self._open[lane]

    async def another(self, step: Step) -> Connection:
        """A connection of its own, a process of its own on stdio; open until `end`, or all are closed."""
        connection = await self._connect()
        if META_VERSION not in step.exchange.request.meta:
            await self._shake_hands(connection)
        return connection

    async def _connect(self) -> Connection:
        try:
            made = await connect(self._target, self._journal, self._headers, next(self._numbers))
        except OSError as error:
            if self._heard:
                raise
            raise Unreachable(f"cannot be started: {error.strerror or error}") from error
        self._every.add(made)
        return made

    def heard(self, connection: Connection, reply: Reply) -> Reply:
        """Look at what came of a request; Unreachable when there is no server and never was."""
        if self._heard or not reply.gone:
            self._heard = True
            return reply
        said = getattr(connection, "said", b"").decode("utf-8", "replace").strip().splitlines()
        raise Unreachable(reply.error + (f", and said: {said[-1].strip()[:200]}" if said else ""))

    async def _shake_hands(self, connection: Connection) -> None:
        if self._hello is None:
            return  # the recorded client spoke without one, so do we
        body = copy.deepcopy(self._hello.exchange.request.body)
        reply = self.heard(connection, await connection.request({**body, "id": self.next_id()}, timeout=30))
        if reply.message is None or "result" not in reply.message:
            raise ConnectionError(reply.error or "the server refused the handshake")
        await greeted(connection, reply.message)

    async def end(self, connection: Connection) -> None:
        """Close one, and forget it."""
        await connection.close()
        self._every.discard(connection)

    async def close(self) -> None:
        """End them all, also those whose user was stopped before it could."""
        await asyncio.gather(*(c.close() for c in self._every), return_exceptions=True)


async def greeted(connection: Connection, answer: dict[str, Any]) -> None:
    """The second half of a handshake: the client says that it heard the answer to `initialize`."""
    result = answer.get("result")
    version = result.get("protocolVersion") if type(result) is dict else None
    if type(version) is str and hasattr(connection, "version"):
        connection.version = version
    await connection.notify({"jsonrpc": "2.0", "method": "notifications/initialized"})


def lane_of(step: Step) -> str:
    """Equal for steps of one recorded process or session; all requests of 2026-07-28 over HTTP are one lane."""
    exchange = step.exchange
    http = exchange.http
    if http is None:
        return exchange.peer.id
    if exchange.method == INITIALIZE:
        return http.response_header("mcp-session-id") or ""
    return http.request_header("mcp-session-id") or ""


class Order:
    """Lets operations begin when all that had ended before them in the recording have ended now, as they did then."""

    def __init__(self, spans: list[tuple[int, int]]) -> None:
        ends = sorted(range(len(spans)), key=lambda n: spans[n][1])
        self._place = {n: place for place, n in enumerate(ends)}
        self._after = [0] * len(spans)
        place = 0
        for n in sorted(range(len(spans)), key=lambda n: spans[n][0]):
            while place < len(ends) and spans[ends[place]][1] < spans[n][0]:
                place += 1
            self._after[n] = place
        self._ended = [False] * len(spans)
        self._done = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def turn(self, n: int) -> None:
        """Until operation number n may begin."""
        if self._after[n] > self._done:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((self._after[n], turn))
            await turn

    def ended(self, n: int) -> None:
        self._ended[self._place[n]] = True
        while self._done < len(self._ended) and self._ended[self._done]:
            self._done += 1
        ready = [turn for after, turn in self._waiting if after <= self._done]
        self._waiting = [one for one in self._waiting if one[0] > self._done]
        for turn in ready:
            if not turn.done():
                turn.set_result(None)

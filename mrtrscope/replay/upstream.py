"""`--record-missing`: what a recording lacks is asked of a real server, and added to the capture."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrtrscope.recorder import Journal
from mrtrscope.replay.client import Connection, is_url
from mrtrscope.replay.client import connect as connect_client

if TYPE_CHECKING:
    from mrtrscope.replay.play import Talk


class Upstream:
    """A real server behind a replay; connected to with the first miss."""

    def __init__(self, target: str, add_to: Path | None) -> None:
        self._target = target
        self._add_to = add_to
        self._connection: Connection | None = None
        self._connecting = asyncio.Lock()
        self._journal: Journal | None = None
        self._next = 0

    async def call(self, request: dict[str, Any], talk: Talk) -> dict[str, Any]:
        """Ask the real server; its response under the client's id."""
        try:
            connection = await self._connected()
        except OSError as error:
            return _failed(request, f"{self._target}: {error.strerror or error}")
        self._next += 1
        mine = {**request, "id": self._next}

        async def asked(question: dict[str, Any]) -> dict[str, Any]:
            answer = await talk.ask({k: v for k, v in question.items() if k != "id"})
            return {**answer, "id": question["id"]}

        reply = await connection.request(mine, note=talk.send, asked=asked)
        if reply.message is None:
            return _failed(request, reply.error)
        return {**reply.message, "id": request.get("id")}

    async def _connected(self) -> Connection:
        async with self._connecting:
            if self._connection is None:
                if self._add_to is not None and self._add_to.is_dir():
                    name = self._target if is_url(self._target) else Path(shlex.split(self._target)[0]).name
                    self._journal = Journal.create(str(self._add_to), "replay", name)
                self._connection = await connect_client(self._target, self._journal)
            return self._connection

    async def close(self) -> None:
        """End the connection, and the journal of it."""
        if self._connection is not None:
            await self._connection.close()
        if self._journal is not None:
            self._journal.close()


def connect(target: str, add_to: Path | None) -> Upstream:
    """Not connected yet: a recording that holds everything needs no server."""
    return Upstream(target, add_to)


def _failed(request: dict[str, Any], why: str) -> dict[str, Any]:
    error = {"code": -32603, "message": f"not in the recording, and the server behind it failed: {why}"}
    return {"jsonrpc": "2.0", "id": request.get("id"), "error": error}

"""A server that misbehaves in one way: what plays it in the place of a recorded one, over the same transports."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from mrtrscope.link.facts import META_VERSION
from mrtrscope.recorder import Journal
from mrtrscope.replay.play import Talk
from mrtrscope.replay.recording import Recording, Step
from mrtrscope.replay.served import Lines, Verbatim
from mrtrscope.replay.ways import CAP, CUT, NOTHING, SILENCE, STREAM, WAYS, Way

INFO = {"name": "mrtrscope-probe", "version": "1"}
STAMP = {"io.modelcontextprotocol/serverInfo": INFO}
MODERN = ("resultType", "ttlMs", "cacheScope", "_meta")  # what a server of before 2026-07-28 does not say
PACE = 0.005  # seconds before each answer, so that who goes round for ever does not take the machine with it


class Misbehaving:
    """Answers requests as a `Player` does, one way wrong. Any tool that is called is there; `tool` is in the list.

    enough   set when it was asked so often that a client is said to go round for ever
    """

    def __init__(self, way: Way, tool: str = "probe") -> None:
        self._way = way
        self._tool = tool
        self._asked = 0
        self.enough = asyncio.Event()

    async def answer(
        self, request: dict[str, Any], talk: Talk, client: str
    ) -> tuple[dict[str, Any], Step | None]:
        """The response to a request."""
        method, params, id = request.get("method"), request.get("params"), request.get("id")
        params = params if type(params) is dict else {}
        modern = type(params.get("_meta")) is dict and META_VERSION in params["_meta"]
        if method == self._way.on or (self._way.legacy and modern):
            await asyncio.sleep(PACE)
            self._asked += 1
            if self._asked > CAP + 1:
                self.enough.set()
            return await self._wrong(params, id, talk), None
        result = self._ordinary(str(method), params)
        if result is None:
            return {
                "jsonrpc": "2.0",
                "id": id,
                "error": {"code": -32601, "message": "Method not found"},
            }, None
        if self._way.legacy:
            result = {k: v for k, v in result.items() if k not in MODERN}
        return {"jsonrpc": "2.0", "id": id, "result": result}, None

    async def _wrong(self, params: dict[str, Any], id: Any, talk: Talk) -> dict[str, Any]:
        result = self._way.answer(params, self._asked - 1)
        response: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "result": result}
        if "error" in result:
            response = {"jsonrpc": "2.0", "id": id, **result}
        if isinstance(result, Verbatim):
            response = Verbatim.around(id, result)
        if self._way.how == STREAM and hasattr(talk, "begin"):
            await talk.begin()
        if self._way.how == CUT and hasattr(talk, "cut"):
            await talk.cut(response)
        if self._way.how == NOTHING:
            await asyncio.Event().wait()
        if self._way.how == SILENCE:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await talk.send(response)
                raise
        return response

    def _ordinary(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        if method in self._way.also:
            found: dict[str, Any] = self._way.also[method]
            return found
        if method == "server/discover":
            can: dict[str, Any] = {"tools": {}} | {name.partition("/")[0]: {} for name in self._way.also}
            return {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": can,
                "ttlMs": 0, "cacheScope": "private", "_meta": STAMP,
            }  # fmt: skip
        if method == "initialize":
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
        if method == "tools/list":
            tool = {
                "name": self._tool,
                "description": "A tool to try clients with.",
                "inputSchema": {"type": "object"},
            }
            return {
                "resultType": "complete",
                "tools": [tool],
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": STAMP,
            }
        if method == "tools/call":
            return {"resultType": "complete", "content": [{"type": "text", "text": "done"}], "_meta": STAMP}
        return {} if method in ("ping", "logging/setLevel") else None


async def on_stdio(way: Way, tool: str, into: Path) -> None:
    """Misbehave on standard input and output until the input ends."""
    from mrtrscope.replay.serve_stdio import StdioServer

    journal = Journal.create(str(into), "replay", way.name)
    try:
        await StdioServer(Misbehaving(way, tool), Lines(journal)).run()
    finally:
        journal.close()


class OverHttp:
    """Misbehaves over HTTP on a loopback address: `url` is for one way, whose traffic is a channel of its own;
    `enough` as with `Misbehaving`."""

    def __init__(self, way: Way, tool: str, into: Path) -> None:
        from mrtrscope.replay.serve_http import HttpServer

        self.way = way
        self.url = ""
        self._journal = Journal.create(str(into), "replay", way.name)
        misbehaving = Misbehaving(way, tool)
        self.enough = misbehaving.enough
        self._server = HttpServer(misbehaving, self._journal)

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> OverHttp:
        """Begin to listen; OSError when it cannot."""
        try:
            where, number = await self._server.start(host, port)
        except OSError:
            self._journal.close()
            raise
        self.url = f"http://{f'[{where}]' if ':' in where else where}:{number}/mcp"
        return self

    async def close(self) -> Path:
        """Stop; gives the journal."""
        await self._server.close()
        self._journal.close()
        return Path(self._journal.path)


def seen(way: Way, *journals: Path) -> tuple[str, str]:
    """(verdict, what was seen) of what a client did, from the journals of it, in order of time."""
    return way.judge([step for journal in journals for step in steps_of(journal)])


def steps_of(journal: Path) -> list[Step]:
    """What a client sent, and what it got."""
    return Recording.load(journal).steps


__all__ = ["WAYS", "Misbehaving", "OverHttp", "on_stdio", "seen", "steps_of"]

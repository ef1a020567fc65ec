"""A recorded server at work: the stand, the player, the transport, and the record of what it does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

from mrtrscope.link.origins import surely_loopback
from mrtrscope.recorder import Journal
from mrtrscope.replay.play import Player
from mrtrscope.replay.recording import Recording
from mrtrscope.replay.serve_stdio import StdioServer
from mrtrscope.replay.served import Lines
from mrtrscope.replay.stand import Stand
from mrtrscope.replay.upstream import Upstream, connect

SHOWN = 20  # misses named at the end


class NotLoopback(OSError):
    """An address that others than this machine could reach, or be."""


class Serving:
    """Plays a recording until its client is done or it is cancelled.

    into      capture folder for the replay's own traffic, None: not recorded
    upstream  URL or command of a real server for what the recording lacks; `add_to` is the capture it is added to
    """

    def __init__(
        self,
        recording: Recording,
        *,
        when_used_up: str = "error",
        answers: str = "any",
        speed: float = 0.0,
        upstream: str | None = None,
        add_to: Path | None = None,
        into: Path | None = None,
        name: str = "replay",
    ) -> None:
        self._into, self._name = into, name
        self._journal: Journal | None = None
        self._upstream: Upstream | None = connect(upstream, add_to) if upstream else None
        call = self._upstream.call if self._upstream is not None else None
        self.player = Player(Stand(recording, when_used_up, answers), speed, call)

    def _record(self, how: str, channel: str) -> Journal | None:
        if self._into is not None:
            self._journal = Journal.create(str(self._into), how, channel)
        return self._journal

    async def stdio(self) -> None:
        """On standard input and output, until the input ends."""
        await StdioServer(self.player, Lines(self._record("replay", self._name))).run()

    async def http(self, host: str, port: int, say: Callable[[str], None]) -> None:
        """On a loopback address, until cancelled. OSError when it cannot listen there."""
        if not surely_loopback(host):
            raise NotLoopback("only loopback addresses are listened on")
        from mrtrscope.replay.serve_http import HttpServer

        server = HttpServer(self.player, self._record("replay", self._name))
        try:
            where, number = await server.start(host, port)
            say(f"serving the recording on http://{f'[{where}]' if ':' in where else where}:{number}/mcp")
            await asyncio.Event().wait()
        finally:
            await server.close()

    async def close(self) -> None:
        """End the connection upstream and the journal."""
        if self._upstream is not None:
            await self._upstream.close()
        if self._journal is not None:
            self._journal.close()

    def summary(self) -> Iterator[str]:
        """What was played and what was missed, a line each."""
        player = self.player
        yield f"{player.answered} answers played, {player.missed} misses"
        for miss, times in list(player.misses.items())[:SHOWN]:
            yield f"  {miss}" + (f" ({times} times)" if times > 1 else "")
        if len(player.misses) > SHOWN:
            yield f"  and {len(player.misses) - SHOWN} more"

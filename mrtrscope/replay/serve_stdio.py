"""`replay serve --stdio`: the recorded server on this process's standard input and output."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

from mrtrscope.replay.play import Answering
from mrtrscope.replay.served import Lines, text_of
from mrtrscope.wire.events import ABSENT
from mrtrscope.wire.jsonrpc import id_text, parse
from mrtrscope.wire.lines import LineSplitter

BLOCK = 1 << 16


class StdioServer:
    """Reads requests from one descriptor and writes answers to another, until the input ends."""

    def __init__(self, player: Answering, lines: Lines, read_fd: int = 0, write_fd: int = 1) -> None:
        self._player = player
        self._lines = lines
        self._read_fd, self._write_fd = read_fd, write_fd
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asked: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._next = 0
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def run(self) -> None:
        """Serve until end of input; what is being played then still gets its answer out."""
        loop = asyncio.get_running_loop()
        arrived = self._arrived

        def read() -> None:
            # A thread, since standard input may be a file, a pipe or a terminal, and asyncio takes not all of them.
            chunk = b"-"
            while chunk:
                try:
                    chunk = os.read(self._read_fd, BLOCK)
                except OSError:
                    chunk = b""
                loop.call_soon_threadsafe(arrived.put_nowait, chunk)

        threading.Thread(target=read, daemon=True).start()
        splitter = LineSplitter()
        while chunk := await arrived.get():
            self._lines.came(chunk)
            for line in splitter.feed(chunk):
                self._take(line.data)
        for line in splitter.finish():
            self._take(line.data)
        for answer in list(self._asked.values()):
            answer.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._lines.ended()

    def _take(self, line: bytes) -> None:
        message = parse(line)[0]
        if type(message) is not dict:
            return
        if "method" not in message:
            self._answered(message)
        elif "id" in message:
            key = id_text(message["id"]) or ""
            task = asyncio.ensure_future(self._answer(message))
            self._tasks[key] = task
            task.add_done_callback(
                lambda done: self._tasks.pop(key, None) if self._tasks.get(key) is done else None
            )
        elif message["method"] == "notifications/cancelled":
            params = message.get("params")
            named = id_text(params.get("requestId", ABSENT)) if type(params) is dict else None
            if named is not None and (running := self._tasks.get(named)) is not None:
                running.cancel()

    async def _answer(self, request: dict[str, Any]) -> None:
        response, _ = await self._player.answer(request, self, "stdio")
        await self.send(response)

    def _answered(self, message: dict[str, Any]) -> None:
        waiting = self._asked.pop(id_text(message.get("id", ABSENT)) or "", None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)

    # -- Talk

    async def send(self, message: dict[str, Any]) -> None:
        data = text_of(message) + b"\n"
        self._lines.went(data)
        view = memoryview(data)
        while view:
            view = view[os.write(self._write_fd, view) :]

    async def cut(self, message: dict[str, Any]) -> None:
        """Send half of a line, close the output, and stop serving, as a server that crashes does."""
        data = text_of(message)
        half = data[: len(data) // 2]
        self._lines.went(half)
        os.write(self._write_fd, half)
        os.close(self._write_fd)
        self._arrived.put_nowait(b"")
        raise asyncio.CancelledError

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        self._next += 1
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[id_text(self._next) or ""] = answer
        key = id_text(self._next) or ""
        try:
            await self.send({**message, "id": self._next})
            return await answer
        finally:
            self._asked.pop(key, None)

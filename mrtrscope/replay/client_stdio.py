"""The client of a child process that speaks MCP on its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from mrtrscope.frames import DATA, EXIT
from mrtrscope.recorder import Journal
from mrtrscope.replay.client import Asked, Note, Reply
from mrtrscope.replay.served import Lines, text_of
from mrtrscope.wire.events import ABSENT
from mrtrscope.wire.jsonrpc import id_text, parse
from mrtrscope.wire.lines import LineSplitter

BLOCK = 1 << 16
GRACE = 2.0  # seconds that a child gets to end by itself, and again after SIGTERM
LAST_WORDS = 1 << 12  # bytes of its stderr that are kept to say why it ended
LATE = 0.5  # seconds that the rest of its stderr may take once it ended


class _Waiting:
    """A request that has no response yet; `token` is that of its progress."""

    __slots__ = ("asked", "done", "note", "reply", "token")

    def __init__(self, reply: Reply, token: Any, note: Note | None, asked: Asked | None) -> None:
        self.reply = reply
        self.token = token
        self.note = note
        self.asked = asked
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class StdioConnection:
    """See `client.Connection`.

    ended   why there will be no more answers, "" while there may be      said   the end of the child's stderr
    """

    def __init__(self, command: list[str], journal: Journal | None, number: int = 0) -> None:
        self._command = command
        self._journal = journal
        self._number = number
        self._lines: Lines | None = None
        self._child: asyncio.subprocess.Process | None = None
        self._waiting: dict[str, _Waiting] = {}
        self._readers: list[asyncio.Task[None]] = []
        self.ended = ""
        self.said = b""
        self.minted: dict[str, str] = {}

    async def start(self) -> None:
        """Start the child; OSError when there is no such command."""
        pipe = asyncio.subprocess.PIPE
        self._child = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, stderr=pipe
        )
        self._lines = Lines(self._journal, self._number)
        self._readers = [asyncio.ensure_future(self._read()), asyncio.ensure_future(self._read_errors())]

    async def request(
        self, message: dict[str, Any], *, headers: dict[str, str] | None = None, note: Note | None = None,
        asked: Asked | None = None, timeout: float = 60,
    ) -> Reply:  # fmt: skip
        """Send a request; the reply when its response came, the child ended, or `timeout` seconds passed."""
        reply = Reply()
        if self.ended:
            reply.error, reply.gone = self.ended, True
            return reply
        key = id_text(message.get("id", ABSENT)) or ""
        waiting = self._waiting[key] = _Waiting(reply, _token(message), note, asked)
        await self.notify(message)
        try:
            await asyncio.wait_for(waiting.done, timeout)
        except TimeoutError:
            reply.error = f"no response within {timeout:g} s"
            cancelled = {"requestId": message.get("id"), "reason": reply.error}
            await self.notify({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        finally:
            if self._waiting.get(key) is waiting:
                del self._waiting[key]
        return reply

    async def notify(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Send a message that gets no response."""
        assert self._child is not None
        assert self._child.stdin is not None
        assert self._lines is not None
        data = text_of(message) + b"\n"
        self._lines.came(data)
        with contextlib.suppress(ConnectionError, RuntimeError):  # that it ended is told by the reader
            self._child.stdin.write(data)
            await self._child.stdin.drain()

    async def _read(self) -> None:
        assert self._child is not None
        assert self._child.stdout is not None
        assert self._lines is not None
        splitter = LineSplitter()
        while chunk := await self._child.stdout.read(BLOCK):
            self._lines.went(chunk)
            for line in splitter.feed(chunk):
                await self._take(line.data)
        code = await self._child.wait()
        await asyncio.wait(self._readers[1:], timeout=LATE)
        self.ended = f"the server ended with exit code {code}"
        what = b'{"code": %d}' % code
        if code < 0:
            self.ended = f"the server was ended by signal {-code}"
            what = b'{"signal": %d}' % -code
        self._lines.ended()
        if self._journal is not None:
            self._journal.append(f"{self._number}z", EXIT, time.monotonic_ns(), what)
        for waiting in self._waiting.values():
            waiting.reply.error, waiting.reply.gone = self.ended, True
            if not waiting.done.done():
                waiting.done.set_result(None)

    async def _read_errors(self) -> None:
        assert self._child is not None
        assert self._child.stderr is not None
        while chunk := await self._child.stderr.read(BLOCK):
            self.said = (self.said + chunk)[-LAST_WORDS:]
            if self._journal is not None:
                self._journal.append(f"{self._number}e", DATA, time.monotonic_ns(), chunk)

    async def _take(self, line: bytes) -> None:
        message = parse(line)[0]
        if type(message) is not dict:
            return
        if "method" not in message:
            waiting = self._waiting.get(id_text(message.get("id", ABSENT)) or "")
            if waiting is not None and not waiting.done.done():
                waiting.reply.message = message
                waiting.done.set_result(None)
        elif "id" in message:
            await self._ask(message)
        else:
            for waiting in self._meant(message):
                waiting.reply.notes.append(message)
                if waiting.note is not None:
                    await waiting.note(message)

    async def _ask(self, question: dict[str, Any]) -> None:
        """The pipe does not say for which call a server of 2025-11-25 asks: the newest that can answer."""
        for waiting in reversed(list(self._waiting.values())):
            if waiting.asked is not None and (answer := await waiting.asked(question)) is not None:
                await self.notify(answer)
                return

    def _meant(self, note: dict[str, Any]) -> list[_Waiting]:
        """The requests that a notification is about: by its progress token, else all that wait."""
        waiting = list(self._waiting.values())
        params = note.get("params")
        if note.get("method") != "notifications/progress" or type(params) is not dict:
            return waiting
        token = id_text(params.get("progressToken", ABSENT))
        return [one for one in waiting if id_text(one.token) == token]

    async def close(self) -> None:
        """End of input, then SIGTERM, then SIGKILL; at once where this is cancelled."""
        if self._child is None:
            return
        try:
            await self._end(self._child)
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                self._child.kill()
            await self._end(self._child)
            raise

    async def _end(self, child: asyncio.subprocess.Process) -> None:
        if child.stdin is not None:
            child.stdin.close()
        for end in (child.terminate, child.kill):
            try:
                await asyncio.wait_for(child.wait(), GRACE)
                break
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    end()
        await child.wait()
        # A grandchild may hold the pipes; what it says is none of ours.
        _, late = await asyncio.wait(self._readers, timeout=GRACE)
        for task in late:
            task.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)


def _token(message: dict[str, Any]) -> Any:
    params = message.get("params")
    meta = params.get("_meta") if type(params) is dict else None
    return meta.get("progressToken", ABSENT) if type(meta) is dict else ABSENT

"""Recordings made for tests, and real peers to play them to."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from mcp.client import Client

from mrtrscope.recorder import Journal
from mrtrscope.replay import Recording
from tests.conftest import LIMIT, ROOT
from tests.peers.wrapped import wrapped

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
FORM = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "?",
        "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    },
}
YES = {"action": "accept", "content": {"n": 1}}
Value = dict[str, Any]
PYTHON = sys.executable


def request(id: Any, method: str, meta: Value = META, **params: Any) -> Value:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}


def call(id: Any, name: str, arguments: Value | None = None, **more: Any) -> Value:
    return request(id, "tools/call", name=name, arguments=arguments or {}, **more)


def result(id: Any, **members: Any) -> Value:
    return {"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", **members}}


def said(id: Any, text: str) -> Value:
    return result(id, content=[{"type": "text", "text": text}])


def asks(id: Any, state: Any = None, **questions: Value) -> Value:
    body = result(id, resultType="input_required", inputRequests=questions or {"q": FORM})
    if state is not None:
        body["result"]["requestState"] = state
    return body


def capture(folder: Path, *messages: Value, channel: str = "srv") -> Path:
    """A capture of one stdio session; what has a method is of the client, unless `_s2c` says otherwise."""
    made = Journal.create(str(folder), "wrap", channel)
    made.append("0i", "open", time.monotonic_ns(), b"{}")
    for message in messages:
        body = {k: v for k, v in message.items() if k != "_s2c"}
        to_server = ("method" in body and "_s2c" not in message) or message.get("_s2c") is False
        made.append(
            "0i" if to_server else "0o", "data", time.monotonic_ns(), json.dumps(body).encode() + b"\n"
        )
    made.close()
    return folder


def recording(folder: Path, *messages: Value) -> Recording:
    return Recording.load(capture(folder, *messages))


def serve_command(capture: Path, into: Path, *options: str) -> list[str]:
    return [PYTHON, "-m", "mrtrscope", "replay", "serve", str(capture), "--capture", str(into), *options]


@contextmanager
def served(capture: Path, into: Path, *options: str) -> Iterator[str]:
    """`replay serve --listen` in a process of its own; gives its URL."""
    argv = [*serve_command(capture, into, *options), "--listen", "127.0.0.1:0"]
    with url_of(argv, stream="stderr", marker="http://") as url:
        yield url


@contextmanager
def url_of(argv: list[str], stream: str = "stdout", marker: str = "http://") -> Iterator[str]:
    """A server that says its address in a line of its output; ended by closing its input and SIGTERM."""
    pipe = subprocess.PIPE
    other = {"stdout": "stderr", "stderr": "stdout"}[stream]
    process = subprocess.Popen(
        argv, stdin=pipe, cwd=ROOT, text=True, **{stream: pipe, other: subprocess.DEVNULL}
    )
    says = getattr(process, stream)
    try:
        for line in says:
            if marker in line:
                yield line[line.index(marker) :].split()[0]
                break
        else:
            raise AssertionError(f"it never said where it listens: exit code {process.wait(LIMIT)}")
    finally:
        assert process.stdin
        process.stdin.close()
        process.terminate()
        try:
            process.wait(LIMIT)
        finally:
            process.kill()
            process.wait()
            says.close()


def stdio(*command: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=command[0], args=list(command[1:]), env=dict(os.environ), cwd=str(ROOT)
    )


def talk[T](target: Any, what: Callable[[Client], Awaitable[T]], **options: Any) -> T:
    """Do something with the official client."""

    async def run() -> T:
        async with Client(target, read_timeout_seconds=20, **options) as client:
            return await what(client)

    return asyncio.run(run())


def bakery(*target: str) -> Value:
    """What the demo's client, on the official SDK, gets from a server: a URL, or a command."""
    done = subprocess.run(
        [PYTHON, "-m", "mrtrscope.demo.client", *target],
        cwd=ROOT, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    got: Value = json.loads(done.stdout)
    return got


CASHIER = str(ROOT / "tests" / "peers" / "mrtr_server.py")


def cashier(*options: str) -> list[str]:
    """The command of a server of `tests/peers/mrtr_server.py`."""
    return [PYTHON, CASHIER, *options]


def paid(folder: Path, *, tools: tuple[str, ...] = ("pay", "owe")) -> Path:
    """A capture of the official client paying at a `sealed` cashier on stdio, through `wrap`."""
    from mcp.types import ElicitResult

    async def yes(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="accept", content={"ok": True})

    async def visit(client: Client) -> list[str]:
        await client.list_tools()
        given = {"erase": {}, "status": {}}
        done = [await client.call_tool(t, given.get(t, {"to": "ann", "amount": 7})) for t in tools]
        return [str(one.content[0].text) for one in done]  # type: ignore[union-attr]

    talk(stdio(*wrapped(folder, "cashier", *cashier("sealed"))), visit, elicitation_callback=yes)
    return folder

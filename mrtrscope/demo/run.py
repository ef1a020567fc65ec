"""Records the demo: which peers talk through which of our recorders, into one capture."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mrtrscope.demo.stage import Actor, DemoError, Interrupted, Stage

__all__ = ["HTTP", "RELAY", "STDIO", "DemoError", "Interrupted", "record"]

STDIO, HTTP, RELAY = "stdio", "http", "relay"
STARTING, VISITING = 20.0, 30.0  # seconds, on a slow machine
NEEDS = "mcp"
MISSING = "the demo's client and server are built on the official SDK: pip install 'mrtrscope[demo]'"

_PYTHON = (sys.executable, "-m")
_SERVER = (*_PYTHON, "mrtrscope.demo.server")
_CLIENTS = {"client": "mrtrscope.demo.client", "broken client": "mrtrscope.demo.broken_client"}


def record(
    capture: Path, transports: Iterable[str] = (STDIO, HTTP), say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Record both clients on each transport into `capture`; returns what each got, by transport and name.

    DemoError when a part fails, Interrupted when a signal came; nothing runs any more after either.
    """
    if find_spec(NEEDS) is None:
        raise DemoError(MISSING)
    got: dict[str, Any] = {}
    through = {
        HTTP: ("proxy", "client ⇄ mrtrscope proxy (mitmproxy) ⇄ server"),
        RELAY: ("relay", "client ⇄ mrtrscope relay ⇄ server"),
    }
    with Stage(capture) as stage:
        webs = {name: _start_web(stage, capture, through[name][0]) for name in transports if name in through}
        if STDIO in transports:
            say("stdio: client ⇄ mrtrscope wrap ⇄ server")
            wrap = ("mrtrscope", "wrap", "--capture", str(capture), "--name", "bakery", "--")
            got |= _visit(stage, STDIO, [*_PYTHON, *wrap, *_SERVER])
        for name, web in webs.items():
            url = web()
            say(f"http: {through[name][1]}")
            got |= _visit(stage, name, [url])
    return got


def _visit(stage: Stage, transport: str, target: list[str]) -> dict[str, Any]:
    got = {}
    for name, module in _CLIENTS.items():
        actor = stage.start(f"{transport} {name}", *_PYTHON, module, *target)
        got[f"{transport} {name}"] = stage.result(actor, VISITING)
    return got


def _start_web(stage: Stage, capture: Path, verb: str) -> Callable[[], str]:
    """Start an HTTP server and `proxy` or `relay` before it, both at once. What is returned waits for both."""
    port, behind = _free_port(), _free_port()
    server = stage.start(f"server behind {verb}", *_SERVER, "--http", str(behind))
    target = {
        "proxy": (f"http://127.0.0.1:{behind}/mcp", "--no-check"),
        "relay": (f"127.0.0.1:{behind}",),
    }
    between = stage.start(
        verb, *_PYTHON, "mrtrscope", verb,
        "--capture", str(capture), "--listen", f"127.0.0.1:{port}", "--target", *target[verb],
    )  # fmt: skip

    def ready() -> str:
        stage.wait(server.said, server, "said where it listens", STARTING)
        stage.wait(lambda: _listens(between, port), between, "opened its port", STARTING)
        return f"http://127.0.0.1:{port}/mcp"

    return ready


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def _listens(actor: Actor, port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return actor.process.poll() is None

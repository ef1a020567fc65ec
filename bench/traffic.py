"""Makes traffic of the shape of a long labelled recording: calls, prompts and resources that ask once to five times.

Some sixteen chains are under way at a time. A server's state is a secret of its own per round, or one constant, or a
step counter, or empty, or 1.6 KB long, or absent, so that a sixth of the retries fit several results; one question in
ten has a name of its own. It asks for a form, a model, a page to open or the roots, in shares of 5 : 2 : 1 : 1. Now and
then a call is a plain one, or fails; one chain in fifty is given up, as hosts answer nearly everything. All of it keeps
the rules. Everything follows from the seed.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGETS = (*("lookup", "work", "deploy") * 2, "brief", "note://shared/1")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench-client", "version": "1.0"},
    "io.modelcontextprotocol/clientCapabilities": {
        "sampling": {},
        "elicitation": {"form": {}, "url": {}},
        "roots": {"listChanged": True},
    },
}
SERVER = {"io.modelcontextprotocol/serverInfo": {"name": "bench-server", "version": "1.0"}}
FORM = {
    "method": "elicitation/create",
    "params": {
        "message": "Go on?",
        "mode": "form",
        "requestedSchema": {
            "type": "object",
            "properties": {"confirm": {"type": "boolean"}},
            "required": ["confirm"],
        },
    },
}
MODEL = {
    "method": "sampling/createMessage",
    "params": {
        "maxTokens": 50,
        "messages": [{"role": "user", "content": {"type": "text", "text": "Summarise"}}],
    },
}
PAGE = {
    "method": "elicitation/create",
    "params": {"message": "Sign in", "mode": "url", "url": "https://example.com/sign-in"},
}
ACCEPTED = {"action": "accept", "content": {"confirm": True}}
SAID = {"role": "assistant", "content": {"type": "text", "text": "short"}, "model": "m"}
# name, question, its answer
ASKS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    *[("confirm", FORM, ACCEPTED)] * 5,
    *[("llm", MODEL, SAID)] * 2,
    ("page", PAGE, {"action": "accept"}),
    ("roots", {"method": "roots/list"}, {"roots": []}),
]
DONE: dict[str, dict[str, Any]] = {
    "tools/call": {"content": [{"type": "text", "text": "done"}], "isError": False},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "brief"}}]},
    "resources/read": {
        "contents": [{"uri": "note://shared/1", "text": "note"}], "ttlMs": 0, "cacheScope": "private",
    },
}  # fmt: skip
PLAIN = 0.11  # of the labelled recording's calls ask nothing
WIDTH = 16  # chains under way at a time
STEP = 760  # microseconds between two messages, on average


class Chain:
    """One call with its rounds still to come."""

    def __init__(self, rng: random.Random, number: int, plain: float) -> None:
        self.target = rng.choice(TARGETS)
        self.method = {"b": "prompts/get", "n": "resources/read"}.get(self.target[0], "tools/call")
        self.rounds = 0 if rng.random() < plain else rng.choice((1, 1, 1, 1, 2, 2, 2, 3, 3, 5))
        self.gives_up = rng.random() < 0.02
        self.style = rng.choice(("own", "own", "own", "long", "constant", "step", "empty", "none"))
        self.params: dict[str, Any] = {"name": self.target}
        if self.method == "resources/read":
            self.params = {"uri": self.target}
        elif self.method == "prompts/get":
            self.params["arguments"] = {"topic": "xyz"[number % 3]}
        else:
            self.params["arguments"] = {"job": f"c{number % 997}", "n": number % 5}
        self.done = 0
        self.asked: dict[str, Any] = {}

    def state(self, rng: random.Random) -> str | None:
        own = f"v1.{rng.getrandbits(190):032x}"
        return {
            "own": own, "long": own * 40, "constant": "phase-1", "step": f"step:{self.done}", "empty": "", "none": None,
        }[self.style]  # fmt: skip


def stdio(requests: int, seed: int = 7, plain: float = PLAIN) -> Iterator[tuple[int, str, bytes]]:
    """Microseconds, direction and text of every message, without line ends, until so many requests were made; `plain`
    is the share of calls that ask nothing."""
    rng = random.Random(seed)
    t, id, number = 0, 0, 0
    chains: list[Chain] = []
    waiting: list[tuple[int, Chain]] = []
    while id < requests or waiting:
        t += rng.randrange(1, 2 * STEP)
        if id < requests and (not waiting or rng.random() < 0.5):
            while len(chains) < WIDTH - len(waiting) or not chains:
                number += 1
                chains.append(Chain(rng, number, plain))
            chain = chains.pop(rng.randrange(len(chains)))
            id += 1
            waiting.append((id, chain))
            yield t, "c2s", _request(id, chain)
        else:
            asked, chain = waiting.pop(rng.randrange(len(waiting)))
            text, more = _answer(asked, chain, rng)
            if more and not chain.gives_up:
                chains.append(chain)
            yield t, "s2c", text


def _request(id: int, chain: Chain) -> bytes:
    params = {"_meta": META, **chain.params, **chain.asked}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": chain.method, "params": params}).encode()


def _answer(id: int, chain: Chain, rng: random.Random) -> tuple[bytes, bool]:
    """The answer, and whether it asks for more."""
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": id}
    if chain.done >= chain.rounds:
        if rng.random() < 0.02:
            body["error"] = {"code": -32603, "message": "it broke"}
        else:
            body["result"] = {"_meta": SERVER, "resultType": "complete", **DONE[chain.method]}
        return json.dumps(body).encode(), False
    chain.done += 1
    name, question, answer = rng.choice(ASKS)
    name = f"q-{rng.getrandbits(40):08x}" if rng.random() < 0.1 else name
    state = chain.state(rng)
    result: dict[str, Any] = {"_meta": SERVER, "resultType": "input_required"}
    if state is None or rng.random() < 0.9:
        result["inputRequests"] = {name: question}
    chain.asked = {"inputResponses": {name: answer}} if "inputRequests" in result else {}
    if state is not None:
        result["requestState"] = chain.asked["requestState"] = state
    body["result"] = result
    return json.dumps(body).encode(), True


def stdio_journal(capture: Path, requests: int, plain: float = PLAIN, seed: int = 7) -> int:
    """A capture of one stdio session as `wrap` would have written it; returns how many messages it holds."""
    with _Journal(capture, "wrap", {"channel": "bench"}) as journal:
        journal.record("0i", "open", 0, b"{}")
        count = 0
        for t, dir, text in stdio(requests, seed, plain):
            journal.record("0i" if dir == "c2s" else "0o", "data", t, text + b"\n")
            count += 1
    return count


def relay_journal(
    capture: Path, requests: int, plain: float = PLAIN, seed: int = 7, connections: int = 16
) -> int:
    """A capture of the same calls over HTTP/1.1 as `relay` would have written it: one connection for one exchange at a
    time, kept alive."""
    with _Journal(capture, "relay", {"channel": "127.0.0.1:8000", "upstream": "127.0.0.1:8000"}) as journal:
        count, fresh = 0, 0
        idle: list[int] = []
        lanes: dict[Any, int] = {}
        for t, dir, text in stdio(requests, seed, plain):
            body = json.loads(text)
            if dir == "c2s":
                if not idle:
                    opened = json.dumps({"client": f"127.0.0.1:{40000 + fresh}"}).encode()
                    journal.record(f"{fresh}c", "open", t, opened)
                    idle.append(fresh)
                    fresh += 1
                lanes[body["id"]] = lane = idle.pop(0)
                journal.record(f"{lane}c", "data", t, _post(body, text))
            else:
                lane = lanes.pop(body["id"])
                idle.append(lane)
                journal.record(f"{lane}s", "data", t, _ok(text))
            count += 1
    return count


def rewritten(transcript: Path, capture: Path) -> int:
    """A capture of what a transcript of stdio says, as `wrap` would have written it; returns how many lines that is."""
    from mrtrscope.sources import open_source

    count, start = 0, None
    with open_source(transcript) as source, _Journal(capture, "wrap", {"channel": "bench"}) as journal:
        for frame in source.frames():
            start = frame.t if start is None else start
            journal.record(frame.lane, frame.kind, frame.t - start, frame.data)
            count += frame.kind == "data"
    return count


def _post(body: dict[str, Any], text: bytes) -> bytes:
    name = body["params"].get("name") or body["params"].get("uri")
    head = (
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept: application/json, text/event-stream\r\n"
        "Content-Type: application/json\r\nUser-Agent: bench\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: {body['method']}\r\nMcp-Name: {name}\r\nContent-Length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text


def _ok(text: bytes) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    return head.encode() + text


class _Journal:
    """A journal whose times are given, not taken."""

    def __init__(self, capture: Path, how: str, header: dict[str, str]) -> None:
        folder = capture / "journals"
        folder.mkdir(0o700, parents=True, exist_ok=True)
        first = {
            "mrj": 1,
            "boot": "",
            "mono": 0,
            "wall": 1_796_000_000_000_000_000,
            "how": how,
            "pid": 1,
            **header,
        }
        self._file = (folder / f"20261129T190000.000Z-{how}-1.mrj").open("wb")
        self._file.write(json.dumps(first).encode() + b"\n")

    def __enter__(self) -> _Journal:
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def record(self, lane: str, kind: str, t: int, data: bytes) -> None:
        self._file.write(f"{lane} {kind} {t} {len(data)}\n".encode() + data + b"\n")

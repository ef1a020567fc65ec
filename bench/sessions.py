"""Is anybody accused who did nothing wrong? `python bench/sessions.py [SESSIONS]` (default 200).

Records live sessions of the official SDK, client and server, half of them on stdio behind `wrap` and half over HTTP
behind `relay`, with one and with many calls in flight, random tools, answers and refusals. Then it judges each, and
prints every rule that found something at must or should level, with one example. That has to be argued or mended.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.types import ElicitRequestFormParams, ElicitResult, Implementation

SERVER = [sys.executable, "-m", "mrtrscope.demo.server"]
ROOT = Path(__file__).resolve().parent.parent


def person(rng: random.Random) -> Any:
    async def answer(context: Any, params: Any) -> ElicitResult:
        await asyncio.sleep(rng.random() * 0.01)
        word = rng.choice(["accept", "accept", "accept", "decline", "cancel"])
        if word != "accept" or not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action=word if word != "accept" else "decline")
        fields = params.requested_schema["properties"]
        known = {"people": 4, "size": "large", "day": "2027-03-01", "words": "For you", "name": "Åsa"}
        return ElicitResult(action="accept", content={f: known.get(f, "nuts") for f in fields})

    return answer


async def session(target: Any, seed: int, at_once: int) -> None:
    """One client's visit: about twenty requests."""
    rng = random.Random(seed)
    who = Implementation(name=f"guest-{seed % 3}", version="1.0")
    async with Client(
        target, elicitation_callback=person(rng), read_timeout_seconds=30, client_info=who
    ) as c:
        await c.list_tools()
        calls = [
            lambda: c.call_tool("book_table", {"day": rng.choice(["Friday", "Sunday"])}),
            lambda: c.call_tool("order_cake", {"kind": rng.choice(["plum", "nut"])}),
            lambda: c.get_prompt("invitation", {"occasion": "fair"}),
            lambda: c.read_resource("menu://spring"),
            lambda: c.call_tool("bake", {"loaves": 3}, progress_callback=progress),
            lambda: c.list_tools(),
        ]

        async def progress(*_: object) -> None:
            pass

        async def worker(n: int) -> None:
            for _ in range(n):
                try:
                    await rng.choice(calls)()
                except Exception as error:  # an answer that the server refuses is an answer
                    if "-32" not in repr(error) and "Error" not in type(error).__name__:
                        raise

        await asyncio.gather(*(worker(12 // at_once) for _ in range(at_once)))


async def all_sessions(n: int, scratch: Path) -> None:
    """Record `n` sessions, each in a capture of its own."""
    env = dict(os.environ, PYTHONPATH=str(ROOT))
    server = subprocess.Popen(
        [*SERVER, "--http", "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    )
    assert server.stdout is not None
    url = server.stdout.readline().decode().strip().split()[-1]
    try:
        for i in range(n):
            capture, at_once = scratch / f"s{i:03}", (1, 4, 12)[i % 3]
            if i % 2:
                await over_http(url, capture, i, at_once, env)
            else:
                wrap = [
                    "-m",
                    "mrtrscope",
                    "wrap",
                    "--capture",
                    str(capture),
                    "--name",
                    "bakery",
                    "--",
                    *SERVER,
                ]
                await session(StdioServerParameters(command=sys.executable, args=wrap, env=env), i, at_once)
            print(f"\r{i + 1} of {n} recorded", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
    finally:
        server.terminate()
        server.wait()


async def over_http(url: str, capture: Path, seed: int, at_once: int, env: dict[str, str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    target = url.split("//")[1].split("/")[0]
    command = [sys.executable, "-m", "mrtrscope", "relay", "--capture", str(capture), "--target", target]
    relay = subprocess.Popen([*command, "--listen", f"127.0.0.1:{port}"], env=env, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            await asyncio.sleep(0.02)
        await session(f"http://127.0.0.1:{port}/mcp", seed, at_once)
    finally:
        relay.terminate()
        relay.wait()


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        scratch, started = Path(folder), time.monotonic()
        asyncio.run(all_sessions(n, scratch))
        rules: Counter[tuple[str, str]] = Counter()
        example: dict[tuple[str, str], str] = {}
        accused = messages = 0
        for capture in sorted(scratch.iterdir()):
            check = [
                sys.executable,
                "-m",
                "mrtrscope",
                "check",
                str(capture),
                "--format",
                "json",
                "--fail-on",
                "never",
            ]
            found = json.loads(subprocess.run(check, capture_output=True, check=True, cwd=ROOT).stdout)[
                "findings"
            ]
            listed = subprocess.run(
                [*check[:3], "messages", str(capture), "--format", "json"], capture_output=True, cwd=ROOT
            )
            messages += len(json.loads(listed.stdout)["messages"])
            serious = [f for f in found if f["level"] != "info"]
            accused += bool(serious)
            for f in serious:
                key = (f["rule"], f["party"])
                rules[key] += 1
                example.setdefault(key, f"{capture.name} {f['at']}: {f['text']}; saw {str(f['saw'])[:120]}")
    print(
        f"{n} sessions, {messages} messages, {time.monotonic() - started:.0f} s; {accused} sessions with a finding"
    )
    for (rule, party), count in rules.most_common():
        print(f"  {rule} ({party}) {count} times, e.g. {example[rule, party]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

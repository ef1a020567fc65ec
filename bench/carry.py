"""What carrying costs: `wrap` against a direct pipe, `relay` against a direct connection.

    python bench/carry.py                   both, 9 rounds; in each, direct and carried are measured in turn
    python bench/carry.py wrap --rounds 3
    python bench/carry.py relay --streams 1280 --silent 40

Each line: the figure direct and carried as medians, then what compares them, as the median of the rounds and its
spread: a difference ("+") or a ratio ("×") within one round, so that a machine that gets slower meanwhile slows both.
The last column is what we hold ourselves to. Servers and clients are plain pipes and sockets, in processes of their
own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import psutil

try:
    from uvloop import run
except ImportError:
    run = asyncio.run

ROOT = Path(__file__).resolve().parent.parent
MRTRSCOPE = [sys.executable, "-m", "mrtrscope"]
ME = [sys.executable, str(Path(__file__))]
PAD = "x" * 64
NAMES = "io.modelcontextprotocol"
META = f'"_meta":{{"{NAMES}/protocolVersion":"2026-07-28","{NAMES}/clientCapabilities":{{}}}}'
Figures = dict[str, float]


def call(n: int, text: str, name: str = "echo") -> bytes:
    return (
        f'{{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{{"name":"{name}",'
        f'"arguments":{{"text":"{text}"}},{META}}}}}'
    ).encode()


def answer(asked: bytes) -> bytes:
    """The result that echoes the text; found without reading JSON, so that the server costs little."""
    at = asked.find(b'"id":') + 5
    text = asked.find(b'"text":"') + 8
    return (
        b'{"jsonrpc":"2.0","id":%b,"result":{"resultType":"complete","content":[{"type":"text","text":"%b"}]}}'
        % (asked[at : asked.find(b",", at)], asked[text : asked.find(b'"', text)])
    )


def percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100)[percent - 1]


# stdio


def serve_stdio() -> None:
    rest = b""
    while chunk := os.read(0, 1 << 16):
        if b"\n" not in chunk:
            rest += chunk
            continue
        *lines, rest = (rest + chunk).split(b"\n")
        view = memoryview(b"".join(answer(line) + b"\n" for line in lines))
        while view:
            view = view[os.write(1, view) :]


class Pipe:
    """A stdio server, direct or wrapped."""

    def __init__(self, capture: str | None) -> None:
        command = [*ME, "serve-stdio"]
        if capture:
            command = [*MRTRSCOPE, "wrap", "--capture", capture, "--", *command]
        self.born = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        assert self.process.stdin
        assert self.process.stdout
        self.to, self.back = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.to, False)

    def ask(self, calls: list[bytes], window: int) -> list[float]:
        """Send all with at most `window` unanswered; how long each answer took, where that is one."""
        took, left, sent, answered, began = [], memoryview(b""), 0, 0, 0.0
        while answered < len(calls):
            if not left and sent < len(calls) and sent - answered <= window // 2:
                upto = min(len(calls), answered + window)
                left, sent = memoryview(b"".join(line + b"\n" for line in calls[sent:upto])), upto
                began = time.perf_counter()
            if left:
                try:
                    left = left[os.write(self.to, left) :]
                except BlockingIOError:
                    pass
            if select.select([self.back], [self.to] if left else [], [], 60)[0]:
                data = os.read(self.back, 1 << 16)
                if not data:
                    raise EOFError(f"{answered} of {len(calls)} answered")
                if n := data.count(b"\n"):
                    took.append(time.perf_counter() - began)
                    answered += n
        return took

    def wrapper(self) -> psutil.Process:
        return psutil.Process(self.process.pid)

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def measure_stdio(wrapped: bool, messages: int) -> Figures:
    with tempfile.TemporaryDirectory() as capture:
        pipe = Pipe(capture if wrapped else None)
        pipe.ask([call(0, PAD)], 1)
        first = (time.perf_counter() - pipe.born) * 1e3
        took = pipe.ask([call(n, PAD) for n in range(3000)], 1)[500:]
        pipe.close()
        figures = {"first": first, "p50": percentile(took, 50) * 1e6, "p99": percentile(took, 99) * 1e6}

    with tempfile.TemporaryDirectory() as capture:
        pipe = Pipe(capture if wrapped else None)
        calls = [call(n, PAD) for n in range(messages)]
        pipe.ask(calls[:100], 1)
        before = pipe.wrapper()
        rss, cpu = before.memory_info().rss, sum(before.cpu_times()[:2])
        began = time.perf_counter()
        pipe.ask(calls, 128)
        figures["calls"] = messages / (time.perf_counter() - began)
        after = pipe.wrapper()
        figures["cpu"] = (sum(after.cpu_times()[:2]) - cpu) / messages / 2 * 1e6
        figures["memory"], figures["growth"] = (
            after.memory_info().rss / 2**20,
            (after.memory_info().rss - rss) / 2**20,
        )
        pipe.close()
        figures["disk"] = sum(p.stat().st_size for p in Path(capture).rglob("*.mrj")) / (2 * (messages + 100))

        pipe = Pipe(capture if wrapped else None)
        bulk = [call(n, "y" * (1 << 18)) for n in range(100)]
        pipe.ask(bulk[:1], 1)
        began = time.perf_counter()
        pipe.ask(bulk, 1)
        figures["bulk"] = len(bulk) / (time.perf_counter() - began)
        pipe.close()
    return figures


# HTTP


class Server(asyncio.Protocol):
    """Answers `echo` at once; `events` and `silent` with an event stream."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.out, self.buffer = cast("asyncio.Transport", transport), b""
        self.stream: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (at := self.buffer.find(b"\r\n\r\n")) >= 0:
            size = int(self.buffer[:at].lower().split(b"content-length: ")[1].split(b"\r")[0])
            if len(self.buffer) < at + 4 + size:
                return
            body, self.buffer = self.buffer[at + 4 : at + 4 + size], self.buffer[at + 4 + size :]
            if b'"name":"echo"' in body:
                self.say(b"application/json", b"Content-Length: %d" % len(answer(body)), answer(body))
            else:
                self.stream = asyncio.ensure_future(
                    self.tell(*json.loads(body)["params"]["arguments"]["text"].split())
                )

    def say(self, kind: bytes, framing: bytes, body: bytes) -> None:
        self.out.write(b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\n%b\r\n\r\n%b" % (kind, framing, body))

    async def tell(self, count: str, pause: str) -> None:
        self.say(b"text/event-stream", b"Transfer-Encoding: chunked", b"")
        for _ in range(int(count)):
            event = b"data: %d\n\n" % time.monotonic_ns()
            self.out.write(b"%x\r\n%b\r\n" % (len(event), event))
            await asyncio.sleep(float(pause))
        self.out.write(b"0\r\n\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        if self.stream:
            self.stream.cancel()


async def serve_http() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Client(asyncio.Protocol):
    """One connection, one request at a time; `came` has the delay of each event."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.out = cast("asyncio.Transport", transport)

    async def post(self, body: bytes) -> bytes:
        self.buffer, self.came, self.seen = b"", list[float](), 0
        self.done = asyncio.get_running_loop().create_future()
        self.out.write(
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        )
        return bytes(await self.done)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self.buffer += data
        at = self.buffer.find(b"\r\n\r\n")
        if at < 0:
            return
        head, body = self.buffer[:at], self.buffer[at + 4 :]
        if b"chunked" in head:
            while (end := self.buffer.find(b"\n\n", self.seen)) >= 0:
                line = self.buffer[self.buffer.rfind(b"data: ", 0, end) + 6 : end]
                self.came.append((now - int(line)) / 1e6)
                self.seen = end + 2
            whole = body.endswith(b"\r\n0\r\n\r\n")
        else:
            whole = len(body) >= int(head.lower().split(b"content-length: ")[1].split(b"\r")[0])
        if whole and not self.done.done():
            self.done.set_result(body)

    def connection_lost(self, exc: Exception | None) -> None:
        if hasattr(self, "done") and not self.done.done():
            self.done.set_exception(ConnectionError("cut"))


async def connected(port: int) -> Client:
    _, client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", port)
    return client


async def load(port: int, clients: int, requests: int) -> tuple[float, list[float]]:
    """Requests a second, and how long each took in milliseconds."""
    todo, took, body = iter(range(requests)), list[float](), call(1, PAD)

    async def one(client: Client) -> None:
        for _ in todo:
            began = time.perf_counter()
            assert PAD.encode() in await client.post(body)
            took.append((time.perf_counter() - began) * 1e3)
        client.out.close()

    them = [await connected(port) for _ in range(clients)]
    began = time.perf_counter()
    await asyncio.gather(*map(one, them))
    return requests / (time.perf_counter() - began), took


async def measure_http(port: int) -> Figures:
    figures = {}
    await load(port, 2, 200)
    for clients, requests in ((1, 1500), (8, 4000), (64, 4000)):
        rate, took = await load(port, clients, requests)
        figures |= {
            f"rate{clients}": rate,
            f"p50{clients}": percentile(took, 50),
            f"p99{clients}": percentile(took, 99),
        }
    client = await connected(port)
    await client.post(call(1, "60 0.01", "events"))
    figures |= {"event": statistics.median(client.came), "event_worst": max(client.came)}
    client.out.close()
    return figures


async def streams(port: int, count: int, at_once: int = 64) -> int:
    """How many of so many event streams are cut."""
    room, cut = asyncio.Semaphore(at_once), 0

    async def one() -> None:
        nonlocal cut
        async with room:
            client = await connected(port)
            try:
                await client.post(call(1, "20 0.01", "events"))
                cut += len(client.came) != 20
            except ConnectionError:
                cut += 1
            client.out.close()

    await asyncio.gather(*(one() for _ in range(count)))
    return cut


async def silent(port: int, seconds: float) -> str:
    client = await connected(port)
    await client.post(call(1, f"2 {seconds / 2}", "events"))
    client.out.close()
    return "whole" if len(client.came) == 2 else "cut"


class Carried:
    """The HTTP server, with a relay before it."""

    def __init__(self, capture: str) -> None:
        self.server = subprocess.Popen([*ME, "serve-http"], stdout=subprocess.PIPE, text=True)
        assert self.server.stdout
        self.port = int(self.server.stdout.readline())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.relayed = probe.getsockname()[1]
        command = [*MRTRSCOPE, "relay", "--capture", capture, "--target", f"127.0.0.1:{self.port}"]
        self.relay = subprocess.Popen(
            [*command, "--listen", f"127.0.0.1:{self.relayed}"], stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert self.relay.stderr
        assert "listening" in self.relay.stderr.readline()

    def close(self) -> None:
        for process in (self.relay, self.server):
            process.terminate()
            process.wait(20)
        assert self.relay.stderr
        assert self.server.stdout
        self.relay.stderr.close()
        self.server.stdout.close()


# figures

Row = tuple[str, str, str, str]  # key, what it is, how to compare, what we hold ourselves to
STDIO: list[Row] = [
    ("p50", "round trip, median, µs", "+", "≤ 15"),
    ("p99", "round trip, p99, µs", "+", "≤ 50"),
    ("calls", "calls a second, 128 under way", "×", "≥ 0.6"),
    ("bulk", "256 KiB calls a second", "×", "≥ 0.5"),
    ("first", "first answer, ms", "+", "≤ 20"),
    ("cpu", "its CPU a message, µs", "", "≤ 1"),
    ("memory", "its memory, MiB", "", "≤ 15"),
    ("growth", "growth of it, MiB", "", "0"),
    ("disk", "bytes on disk a message", "", "≤ 300"),
]
HTTP: list[Row] = [
    ("p501", "request, median, ms", "+", "≤ 0.03"),
    ("rate1", "requests a second, 1 client", "×", "≥ 0.6"),
    ("rate8", "… 8 clients", "×", "≥ 0.45"),
    ("rate64", "… 64 clients", "×", "≥ 0.45"),
    ("p9964", "p99 with 64 clients, ms", "×", "≤ 3"),
    ("event", "events late by, median, ms", "+", ""),
    ("event_worst", "events late by, worst, ms", "", ""),
]


def table(title: str, rows: list[Row], direct: list[Figures], carried: list[Figures]) -> None:
    print(f"\n{title:34} {'direct':>10} {'carried':>10}   compared")
    for key, name, how, bar in rows:
        ours = [f[key] for f in carried]
        theirs = [f.get(key, 0.0) for f in direct]
        compare: Callable[[float, float], float] = {"+": lambda a, b: a - b, "×": lambda a, b: a / b}.get(
            how, lambda a, _: a
        )
        each = [compare(a, b) for a, b in zip(ours, theirs, strict=True)]
        shown = f"{how or '='}{statistics.median(each):.4g} [{min(each):.4g} … {max(each):.4g}]"
        print(
            f"{name:34} {statistics.median(theirs):10.4g} {statistics.median(ours):10.4g}   {shown:34} {bar}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "what", nargs="?", default="both", choices=["both", "wrap", "relay", "serve-stdio", "serve-http"]
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--messages", type=int, default=100_000, help="in the run that counts calls a second")
    parser.add_argument(
        "--streams", type=int, default=0, help="count how many of so many event streams are cut"
    )
    parser.add_argument(
        "--silent", type=float, default=0, help="a stream that says nothing for so many seconds"
    )
    given = parser.parse_args()
    if given.what == "serve-stdio":
        return serve_stdio()
    if given.what == "serve-http":
        return run(serve_http())
    print(f"{given.rounds} rounds on {os.cpu_count()} cores; load average before: {os.getloadavg()[0]:.1f}")
    if given.what in ("both", "wrap"):
        direct, carried = [], []
        for _ in range(given.rounds):
            direct.append(measure_stdio(False, given.messages))
            carried.append(measure_stdio(True, given.messages))
        table("wrap", STDIO, direct, carried)
    if given.what in ("both", "relay"):
        with tempfile.TemporaryDirectory() as capture:
            both = Carried(capture)
            try:
                direct, carried = [], []
                for _ in range(given.rounds):
                    direct.append(run(measure_http(both.port)))
                    carried.append(run(measure_http(both.relayed)))
                table("relay", HTTP, direct, carried)
                print(
                    f"{'its memory, MiB':34} {psutil.Process(both.relay.pid).memory_info().rss / 2**20:21.4g}"
                )
                if given.streams:
                    print(
                        f"{'event streams cut':34} {run(streams(both.relayed, given.streams)):21} of {given.streams}"
                    )
                if given.silent:
                    print(
                        f"{f'a stream silent for {given.silent:g} s':34} {run(silent(both.relayed, given.silent)):>21}"
                    )
            finally:
                both.close()
    print(f"\nload average after: {os.getloadavg()[0]:.1f}")
    return None


if __name__ == "__main__":
    main()

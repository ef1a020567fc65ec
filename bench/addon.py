"""What the addon costs: mitmdump with it against mitmdump with the least addon that lets event streams pass.

    python bench/addon.py                      9 rounds; in each both are started, measured and stopped, in turn
    python bench/addon.py --streams 1280       how many of so many event streams arrive whole, 16 at a time
    python bench/addon.py --silent 40          a stream that says nothing for so many seconds

Each figure is the median of the rounds; "cost" is the median of the ratios within a round, so that a machine that gets
slower meanwhile slows both. The analyser runs beside it, as it does for a user, and has begun when the clock starts.
The server and the clients are plain sockets in processes of their own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

ROOT = Path(__file__).resolve().parent.parent

TEE = """
KEPT = {}
def responseheaders(flow):
    if flow.response.headers.get("content-type", "").startswith("text/event-stream"):
        kept = KEPT.setdefault(flow.id, [])
        def tee(chunk):
            kept.append(chunk)
            return chunk
        flow.response.stream = tee
"""

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


# the server


class Server(asyncio.Protocol):
    """Answers `echo` with JSON at once and `events` with an event stream."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.out, self.buffer, self.stream = transport, b"", None

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (at := self.buffer.find(b"\r\n\r\n")) >= 0:
            fields = dict(line.lower().split(b": ", 1) for line in self.buffer[:at].split(b"\r\n")[1:])
            end = at + 4 + int(fields[b"content-length"])
            if len(self.buffer) < end:
                return
            body, self.buffer = self.buffer[at + 4 : end], self.buffer[end:]
            self.answer(json.loads(body))

    def answer(self, message: dict) -> None:
        params = message["params"]
        if params["name"] == "events":
            self.stream = asyncio.ensure_future(self.events(message["id"], **params["arguments"]))
            return
        result = {
            "resultType": "complete",
            "content": [{"type": "text", "text": params["arguments"]["text"]}],
        }
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.out.write(head + body)

    async def events(self, ident: int, n: int, every: float) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.out.write(head)
        for progress in range(n):
            params = {"progressToken": ident, "progress": progress, "message": str(time.monotonic_ns())}
            self.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            await asyncio.sleep(every)
        self.event({"jsonrpc": "2.0", "id": ident, "result": {"resultType": "complete", "content": []}})
        self.out.write(b"0\r\n\r\n")

    def event(self, message: dict) -> None:
        data = b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"
        self.out.write(b"%x\r\n%s\r\n" % (len(data), data))


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


# the clients


class Client:
    """One connection, one request at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, ident: int, name: str, arguments: dict) -> list[tuple[int, bytes]]:
        """The answer's body in pieces, each with the monotonic ns it came at; an error when it is not whole."""
        if self.streams is None:
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        params = {"name": name, "arguments": arguments, "_meta": META}
        body = json.dumps({"jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": params}).encode()
        writer.write(
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
            b"Mcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s"
            % (name.encode(), len(body), body)
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise OSError(head[:80].decode("latin-1"))
        length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
        if length:
            data = await reader.readexactly(int(length))
            return [(time.monotonic_ns(), data)]
        pieces = []
        while size := int(await reader.readuntil(b"\r\n"), 16):
            data = await reader.readexactly(size + 2)
            pieces.append((time.monotonic_ns(), data[:-2]))
        await reader.readexactly(2)
        return pieces

    def close(self) -> None:
        if self.streams:
            self.streams[1].close()


async def load(port: int, clients: int, requests: int) -> tuple[float, float]:
    """Milliseconds a request: wall time over all, and the median of the single ones."""
    todo, took = iter(range(requests)), []

    async def work() -> None:
        client = Client(port)
        for ident in todo:
            began = time.perf_counter()
            pieces = await client.ask(ident, "echo", {"text": "x" * 64})
            took.append(time.perf_counter() - began)
            assert b"x" * 64 in pieces[0][1]
        client.close()

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(clients)))
    return (time.perf_counter() - began) / requests * 1e3, statistics.median(took) * 1e3


async def delays(port: int, events: int) -> list[float]:
    """Milliseconds between the writing of each event and its arrival."""
    client = Client(port)
    pieces = await client.ask(1, "events", {"n": events, "every": 0.02})
    client.close()
    found = []
    for at, data in pieces:
        message = json.loads(data.partition(b"data: ")[2])
        if "params" in message:
            found.append((at - int(message["params"]["message"])) / 1e6)
    return found


async def whole(port: int, streams: int, n: int, every: float) -> int:
    """How many of so many streams arrive whole, 16 at a time."""
    todo, good = iter(range(streams)), 0

    async def work() -> None:
        nonlocal good
        for ident in todo:
            client = Client(port)
            try:
                pieces = await client.ask(ident, "events", {"n": n, "every": every})
                good += len(pieces) == n + 1 and b'"result"' in pieces[-1][1]
            except (OSError, EOFError, ValueError):
                pass
            client.close()

    await asyncio.gather(*(work() for _ in range(16)))
    return good


# the proxies


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def wait_for(port: int) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


class Proxy:
    """mitmdump with the tee or with the addon."""

    def __init__(self, which: str, folder: Path, target: int) -> None:
        self.port = free_port()
        self.rows = folder / "capture" / "scope.db" if which == "addon" else None
        script = folder / "tee.py"
        script.write_text(TEE, encoding="utf-8")
        options = ["-s", str(script)]
        if which == "addon":
            options = ["-s", str(ROOT / "addons" / "mrtrscope_addon.py")]
            options += ["--set", f"mrtrscope_capture={folder / 'capture'}"]
        command = [str(Path(sys.executable).with_name("mitmdump")), "-q", *options]
        command += ["--mode", f"reverse:http://127.0.0.1:{target}", "--listen-host", "127.0.0.1"]
        command += ["-p", str(self.port), "--set", f"confdir={folder / 'conf'}"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(self.port)
        except OSError:
            self.process.kill()
            raise

    def cpu(self) -> float:
        """Seconds of CPU that mitmdump took, its children aside."""
        fields = (
            Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)


async def figures(proxy: Proxy, clients: list[int], requests: int, events: int) -> dict[str, float]:
    found = {}
    port = proxy.port
    await load(port, 4, 200)  # warm
    while proxy.rows and not proxy.rows.exists():  # the analyser's start-up is no cost of a request
        await asyncio.sleep(0.05)
    began = proxy.cpu()
    for n in clients:
        found[f"{n} clients, ms a request"], found[f"{n} clients, ms median"] = await load(port, n, requests)
    found["CPU, ms a request"] = (proxy.cpu() - began) / (len(clients) * requests) * 1e3
    late = await delays(port, events)
    found["event late, ms median"] = statistics.median(late)
    found["event late, ms worst"] = max(late)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=1500)
    parser.add_argument("--clients", type=lambda s: [int(n) for n in s.split(",")], default=[1, 8, 64])
    parser.add_argument("--events", type=int, default=50)
    parser.add_argument("--streams", type=int, default=0)
    parser.add_argument("--silent", type=float, default=0)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        asyncio.run(serve(given.serve))
        return
    target = free_port()
    server = subprocess.Popen([sys.executable, __file__, "--serve", str(target)])
    rounds: list[dict[str, dict[str, float]]] = []
    try:
        wait_for(target)
        for n in range(given.rounds if not (given.streams or given.silent) else 0):
            found = {}
            for which in ("tee", "addon") if n % 2 else ("addon", "tee"):
                with tempfile.TemporaryDirectory() as folder, Proxy(which, Path(folder), target) as proxy:
                    found[which] = asyncio.run(figures(proxy, given.clients, given.requests, given.events))
            rounds.append(found)
            ratios = (f"{name} {found['addon'][name] / found['tee'][name]:.3f}" for name in found["tee"])
            print(f"round {n + 1}: " + ", ".join(ratios), file=sys.stderr, flush=True)
        if given.streams or given.silent:
            with tempfile.TemporaryDirectory() as folder, Proxy("addon", Path(folder), target) as proxy:
                if given.streams:
                    good = asyncio.run(whole(proxy.port, given.streams, 20, 0.01))
                    print(f"{good} of {given.streams} streams arrived whole")
                if given.silent:
                    good = asyncio.run(whole(proxy.port, 1, 1, given.silent))
                    print(f"a stream silent for {given.silent} s arrived {'whole' if good else 'cut'}")
    finally:
        server.terminate()
        server.wait()
    if rounds:
        table(rounds)


def table(rounds: list[dict[str, dict[str, float]]]) -> None:
    print(f"{'':28} {'tee':>9} {'addon':>9} {'cost':>7}   of {len(rounds)} rounds")
    for name in rounds[0]["tee"]:
        tee, addon = ([r[which][name] for r in rounds] for which in ("tee", "addon"))
        ratios = sorted(b / a for a, b in zip(tee, addon, strict=True))
        print(
            f"{name:28} {statistics.median(tee):9.3f} {statistics.median(addon):9.3f} "
            f"{statistics.median(ratios):7.3f}   {ratios[0]:.3f} to {ratios[-1]:.3f}"
        )


if __name__ == "__main__":
    main()

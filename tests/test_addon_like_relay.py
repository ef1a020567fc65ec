"""The same well-formed HTTP/1.1 traffic through the relay and through the addon says the same of the peers."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LIMIT, mrtrscope, wait_until
from tests.peers.mitm import Mitm
from tests.peers.raw_http import STREAM, Client, Connection, Request, Server, chunk, request

pytestmark = pytest.mark.live

VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
FORM = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}


def answer_to(message: dict[str, Any]) -> dict[str, Any]:
    """A server that asks once, with a state; one tool of it says too much."""
    params = message["params"]
    if params["name"] == "ask" and "inputResponses" not in params:
        return {"resultType": "input_required", "inputRequests": {"q": FORM}, "requestState": "s==/1"}
    if params["name"] == "broken":
        return {"resultType": "input_required"}
    return {"resultType": "complete", "content": [{"type": "text", "text": "é" * 2000}]}


def serve(connection: Connection, request: Request) -> None:
    message = json.loads(request.body)
    text = json.dumps(
        {"jsonrpc": "2.0", "id": message["id"], "result": answer_to(message)}, ensure_ascii=False
    ).encode()
    name = message["params"]["name"]
    if name == "stream":
        progress = {"progressToken": 7, "progress": 1}
        note = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}).encode()
        connection.sock.sendall(STREAM)
        for piece in (
            b"event: message\r\ndata: " + note + b"\r\n\r\n",
            b": ping\n\n",
            b"id: 1\ndata: " + text[:100],
        ):
            connection.sock.sendall(chunk(piece))
        connection.sock.sendall(chunk(text[100:] + b"\n\n") + b"0\r\n\r\n")
    elif name == "chunked":
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sock.sendall(
            head + b"".join(chunk(text[i : i + 700]) for i in range(0, len(text), 700)) + b"0\r\n\r\n"
        )
    elif name == "missing":
        connection.sock.sendall(
            b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nnone"
        )
    else:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text)
        connection.sock.sendall(head + text)


def call(client: Client, host: str, ident: int, name: str, **more: Any) -> dict[str, Any] | None:
    params = {"name": name, "arguments": {"a": 1}, "_meta": META, **more}
    body = json.dumps({"jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": params}).encode()
    headers = [b"Content-Type: application/json", b"Accept: application/json, text/event-stream"]
    headers += [
        f"MCP-Protocol-Version: {VERSION}".encode(),
        b"Mcp-Method: tools/call",
        b"Mcp-Name: " + name.encode(),
    ]
    _, got = client.ask(request("/mcp", body, *headers, host=host))
    return json.loads(got)["result"] if got.startswith(b"{") else None


def traffic(port: int, target: int) -> None:
    host = f"127.0.0.1:{target}"  # as mitmproxy rewrites it
    with Client(port) as client:
        call(client, host, 1, "plain")
        asked = call(client, host, 2, "ask")
        assert asked
        state = asked["requestState"]
        answers = {"q": {"action": "accept", "content": {}}}
        call(client, host, 3, "ask", inputResponses=answers, requestState=state)
        call(client, host, 4, "stream")
        call(client, host, 5, "chunked")
        call(client, host, 6, "broken")
        call(client, host, 7, "missing")
    with Client(port) as client:
        call(client, host, 8, "ask", inputResponses=answers, requestState=state + "x")
        call(client, host, 8, "plain")


@contextmanager
def relay(folder: Path, target: int) -> Iterator[int]:
    command = [sys.executable, "-m", "mrtrscope", "relay", "--capture", str(folder / "capture")]
    command += ["--listen", "127.0.0.1:0", "--target", f"127.0.0.1:{target}"]
    folder.mkdir()
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
    try:
        said = wait_until(
            lambda: re.search(r"listening on \S+:(\d+) ", (folder / "log").read_text(encoding="utf-8"))
        )
        yield int(said.group(1))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT)


ASIDE = {"t", "key", "frames", "source", "client", "times", "http", "exchange_key", "id_key"}


def without(value: Any) -> Any:
    """What cannot be equal in two recordings left out: times, keys, places."""
    if isinstance(value, dict):
        return {k: without(v) for k, v in value.items() if k not in ASIDE and not k.startswith("t_")}
    return [without(v) for v in value] if isinstance(value, list) else value


def said(capture: Path, *command: str) -> Any:
    done = mrtrscope(*command, capture, "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_relay_and_addon_say_the_same(tmp_path: Path) -> None:
    with Server() as server:
        server.answers[b"/mcp"] = serve
        with relay(tmp_path / "relay", server.port) as port:
            traffic(port, server.port)
        mode = f"reverse:http://127.0.0.1:{server.port}"
        with Mitm(tmp_path / "addon", "--mode", mode) as mitm:
            traffic(mitm.port, server.port)
            assert mitm.stop() == 0
    captures = [tmp_path / name / "capture" for name in ("relay", "addon")]
    messages = [without(said(capture, "messages")) for capture in captures]
    assert len(messages[0]["messages"]) == 19 - 1  # nine requests, their answers but one, a notification
    assert messages[0] == messages[1]
    operations = [without(said(capture, "list")) for capture in captures]
    assert max(len(o["rounds"]) for o in operations[0]["operations"]) > 1
    assert operations[0] == operations[1]
    findings = [without(said(capture, "check"))["findings"] for capture in captures]
    assert "mrtr/at-least-one-field" in {f["rule"] for f in findings[0]}

    def known(found: list[dict[str, Any]]) -> list[str]:
        """f-numbers aside: the relay counts opened connections among them, the addon sees none of its own."""
        for finding in found:
            finding["at"] = re.sub(r"^f\d+$", "f", finding["at"])
        return sorted(json.dumps({k: v for k, v in f.items() if k != "id"}, sort_keys=True) for f in found)

    assert known(findings[0]) == known(findings[1])

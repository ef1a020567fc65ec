"""A client that breaks the rules of multi-round-trip requests on purpose, one at a time. Raw bytes, no SDK.

python -m mrtrscope.demo.broken_client URL
python -m mrtrscope.demo.broken_client COMMAND ARGS…      starts the server and talks to its stdio
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable
from typing import Any, Self

VERSION = "2026-07-28"
THINKING = 0.1  # seconds that it takes to answer
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "clumsy", "version": "0.1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}
Value = dict[str, Any]


class Stdio:
    """One line a message, to a server that we start."""

    def __init__(self, command: list[str]) -> None:
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, request: Value) -> Value:
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        while line := self._server.stdout.readline():
            message: Value = json.loads(line)
            if "method" not in message:
                return message
        raise EOFError("the server ended")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin
        self._server.stdin.close()
        try:
            self._server.wait(5)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()


class Http:
    """One POST a message."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._path = parts.path
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=15)

    def ask(self, request: Value) -> Value:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": request["method"],
        }
        if "name" in request["params"]:
            headers["Mcp-Name"] = request["params"]["name"]
        self._connection.request("POST", self._path, json.dumps(request), headers)
        body = self._connection.getresponse().read()
        for line in body.splitlines():
            text = line.removeprefix(b"data:").strip()
            if text.startswith(b"{"):
                message: Value = json.loads(text)
                if "method" not in message:
                    return message
        raise ValueError(f"no answer in {body[:200]!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def request(number: int, method: str, **params: Any) -> Value:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": META, **params}}


def call(number: int, tool: str, arguments: Value, **more: Any) -> Value:
    """A tool call; `more` are the answers and the state of a retry."""
    if more:
        time.sleep(THINKING)
    return request(number, "tools/call", name=tool, arguments=arguments, **more)


def accept(**content: Any) -> Value:
    return {"action": "accept", "content": content}


def state_changed(ask: Callable[[Value], Value]) -> str:
    """Comes back with one character of requestState changed."""
    state = ask(call(1, "book_table", {"day": "Monday"}))["result"]["requestState"]
    at = len(state) // 2
    changed = state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :]
    answers = {"people": accept(people=2)}
    return said(ask(call(2, "book_table", {"day": "Monday"}, inputResponses=answers, requestState=changed)))


def same_id_again(ask: Callable[[Value], Value]) -> str:
    """Retries under the id of the first request."""
    state = ask(call(3, "book_table", {"day": "Tuesday"}))["result"]["requestState"]
    answers = {"people": accept(people=3)}
    return said(ask(call(3, "book_table", {"day": "Tuesday"}, inputResponses=answers, requestState=state)))


def one_answer_missing(ask: Callable[[Value], Value]) -> str:
    """Is asked two questions, answers one, and goes away."""
    state = ask(call(4, "order_cake", {"kind": "lemon"}))["result"]["requestState"]
    answers = {"size": accept(size="small")}
    return said(ask(call(5, "order_cake", {"kind": "lemon"}, inputResponses=answers, requestState=state)))


def said(answer: Value) -> str:
    if "error" in answer:
        return f"error {answer['error']['code']}: {answer['error']['message']}"
    result = answer["result"]
    if result.get("resultType") == "input_required":
        return f"asked for {', '.join(result['inputRequests'])}"
    return str(result["content"][0]["text"])


TRICKS = (state_changed, same_id_again, one_answer_missing)


def main(argv: list[str]) -> int:
    with Http(argv[0]) if len(argv) == 1 else Stdio(argv) as server:
        server.ask(request(0, "tools/list"))
        print(json.dumps({trick.__name__: trick(server.ask) for trick in TRICKS}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

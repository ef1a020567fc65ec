"""A server of the standard library alone that does one thing otherwise than a probe would have it.

python tests/peers/odd_server.py MODE [--http]        stdio, or HTTP with its URL on stdout

right       asks twice, then is done; its state is a name that it remembers, good for one tool
session     right, and mints an Mcp-Session-Id and a cookie without which it knows no retry (HTTP)
badge       mints the same, and never looks at them (HTTP)
sulking     right, until it is brought a state that it does not know: then it refuses everything
alone       right, but has no other tool
stored      answers an id that it has answered before with the answer of then
shared      makes a task for whoever has a credential, and tells of it to whoever has one (HTTP)
owned       the same, and tells of it only to whose it is (HTTP)
slow        makes a task that is done at the fourth poll      other      the same, with another result
stuck       makes a task that is never done
moody       lists its tools in another order each time              fond        lists more tools to clients named "c"
"""

from __future__ import annotations

import itertools
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODE = sys.argv[1]
Value = dict[str, Any]
numbers = itertools.count(1)
issued: dict[str, tuple[str, str]] = {}  # state -> tool, question
answers: dict[Any, Value] = {}
owners: dict[str, str] = {}
polled: dict[str, int] = {}
sulking = False


def form(message: str) -> Value:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }


class Refusal(Exception):
    """The words of an error -32602."""


def asks(tool: str, key: str) -> Value:
    state = f"state-{next(numbers)}"
    issued[state] = (tool, key)
    return {"resultType": "input_required", "inputRequests": {key: form(key)}, "requestState": state}


def call(params: Value, headers: dict[str, str]) -> Value:
    global sulking
    tool, state = params["name"], params.get("requestState")
    if sulking or tool not in (("a",) if MODE == "alone" else ("a", "b")):
        raise Refusal("not now" if sulking else "no such tool")
    if MODE in ("slow", "other", "stuck"):
        task = f"task-{next(numbers)}"
        polled[task] = 0
        return {"resultType": "task", **task_of(task)}
    if MODE in ("shared", "owned"):
        task = f"task-{next(numbers)}"
        owners[task] = whose(headers)
        return {"resultType": "task", **task_of(task)}
    if state is None:
        return asks(tool, "one")
    if MODE == "session" and ("mcp-session-id" not in headers or "cookie" not in headers):
        raise Refusal("unknown session")
    if issued.get(state, ("", ""))[0] != tool:
        sulking = MODE == "sulking"
        raise Refusal("requestState was never issued for this")
    key = issued[state][1]
    given = params.get("inputResponses", {}).get(key)
    if given is None:
        return asks(tool, key)
    if given.get("action") in ("decline", "cancel"):
        return said("as you like")
    if type(given.get("content", {}).get("n")) is not int:
        raise Refusal("that is no answer")
    return asks(tool, "two") if key == "one" else said("done")


def said(text: str) -> Value:
    return {"resultType": "complete", "content": [{"type": "text", "text": text}]}


def whose(headers: dict[str, str]) -> str:
    if "authorization" not in headers:
        raise Refusal("who are you?")
    return headers["authorization"]


def task_of(task: str) -> Value:
    return {"taskId": task, "status": "working", "createdAt": "2026-11-29T19:05:15Z", "ttlMs": 1000,
            "pollIntervalMs": 20}  # fmt: skip


def poll(params: Value, headers: dict[str, str]) -> Value:
    task = params["taskId"]
    if task in polled:
        polled[task] += 1
        if polled[task] < 4 or MODE == "stuck":
            return {"resultType": "complete", **task_of(task)}
        return {"resultType": "complete", **task_of(task), "status": "completed", "result": said(MODE)}
    if headers and headers.get("mcp-name") != task:
        raise Refusal("Mcp-Name does not say which task")
    if owners.get(task) is None or (MODE == "owned" and owners[task] != whose(headers)):
        raise Refusal("no such task")
    return {"resultType": "complete", **task_of(task)}


def tools(params: Value) -> Value:
    names = ["a", "b"]
    if MODE == "moody" and next(numbers) % 2:
        names.reverse()
    if MODE == "fond" and params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "c":
        names.append("c")
    listed = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
    return {"resultType": "complete", "tools": listed, "ttlMs": 0, "cacheScope": "private"}


def answer(request: Value, headers: dict[str, str]) -> Value:
    method, params, id = request["method"], request.get("params", {}), request["id"]
    if MODE == "stored" and id in answers:
        return answers[id]
    error: Value | None = None
    try:
        if method == "tools/call":
            result = call(params, headers)
        else:
            result = poll(params, headers) if method == "tasks/get" else tools(params)
    except Refusal as refusal:
        error = {"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": str(refusal)}}
    answers[id] = error or {"jsonrpc": "2.0", "id": id, "result": result}
    return answers[id]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(answer(request, {k.lower(): v for k, v in self.headers.items()})).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if MODE in ("session", "badge"):
            self.send_header("Mcp-Session-Id", "session-1")
            self.send_header("Set-Cookie", "crumb=7; Path=/; HttpOnly")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


def main() -> None:
    if "--http" in sys.argv:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
        server.serve_forever()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(json.dumps(answer(request, {})), flush=True)


if __name__ == "__main__":
    main()

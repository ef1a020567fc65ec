"""A small MCP gateway, standard library only: its host speaks 2026-07-28, its server that or an older one.

python gateway.py [--legacy] [--http] [--fault NAME] -- COMMAND…      starts the server and talks to its stdio

With `--legacy` the server is greeted by initialize; what it asks in the old way goes to the host as a round, and the
answer back. Without, calls and answers go through under new ids and the gateway's own name. The host is on stdio, or
with `--http` on an address that is the first line of stdout; then the end of stdin ends all. Faults:

    leak       the question keeps a field of the older revision        flatten    structured results become text
    instant    the gateway answers its host's questions itself: nobody is asked
    rounds     it declines every round of its server at once, and gives up after the third
    swallow    the question goes nowhere                               leave      the host's cancelling goes nowhere
    session    a retry has to carry the session id that came with the question (HTTP)
    header     a retry has to carry a header that the revision does not have (HTTP)
    trust      a state is good for any call
"""

from __future__ import annotations

import argparse
import http.server
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

META = "io.modelcontextprotocol/"
NAME = {"name": "gateway", "version": "1.0"}
OURS = {META + "serverInfo": NAME}
SESSION = "Mcp-Session-Id"
DECLINE = {"action": "decline"}
Json = dict[str, Any]


class Front:
    """The host's side on HTTP: a request waits for its answer, one message a POST."""

    def __init__(self) -> None:
        self.came: queue.Queue[tuple[str, Json | None]] = queue.Queue()
        self.heads: dict[str, Mapping[str, str]] = {}  # id -> head of its request
        self.answers: dict[str, queue.Queue[tuple[int, Json, Json]]] = {}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _posted(self))

    def serve(self, came: queue.Queue[tuple[str, Json | None]]) -> None:
        self.came = came
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        print(f"http://127.0.0.1:{self.server.server_port}/mcp", flush=True)

    def answer(self, message: Json, status: int, headers: Json) -> None:
        self.answers.pop(json.dumps(message["id"])).put((status, headers, message))


def _posted(front: Front) -> type[http.server.BaseHTTPRequestHandler]:
    class Posted(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if "id" not in message:
                front.came.put(("host", message))
                self._say(202, {}, b"")
                return
            id, waiting = json.dumps(message["id"]), queue.Queue[tuple[int, Json, Json]]()
            front.heads[id], front.answers[id] = self.headers, waiting
            front.came.put(("host", message))
            status, headers, answer = waiting.get()
            self._say(status, {"Content-Type": "application/json", **headers}, json.dumps(answer).encode())

        def _say(self, status: int, headers: Json, body: bytes) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": len(body)}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Posted


class Gateway:
    """Reads both sides into one queue; everything happens in the thread that takes from it."""

    def __init__(self, command: list[str], legacy: bool, fault: str, front: Front | None) -> None:
        self.legacy, self.fault, self.front = legacy, fault, front
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.came: queue.Queue[tuple[str, Json | None]] = queue.Queue()
        for name, stream in (("host", sys.stdin), ("server", self.server.stdout)):
            threading.Thread(target=self._read, args=(name, stream), daemon=True).start()
        self.ids = self.rounds = 0
        self.calls: dict[Any, Json] = {}  # id upstream -> the request of the host that it is made for
        # state -> (id of the question upstream, id of the call upstream, the host's request)
        self.asked: dict[str, tuple[Any, Any, Json]] = {}
        if front is not None:
            front.serve(self.came)

    def _read(self, name: str, stream: Any) -> None:
        for line in stream:
            self.came.put((name, json.loads(line)))
        self.came.put((name, None))

    def run(self) -> None:
        if self.legacy:
            self._greet()
        while True:
            name, message = self.came.get()
            if message is None:
                break
            (self._of_host if name == "host" else self._of_server)(message)
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.server.wait(90)

    def _greet(self) -> None:
        params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": NAME}
        self._up({"id": self._id(), "method": "initialize", "params": params})
        early = []  # what the host says meanwhile is seen to afterwards
        while (came := self.came.get())[0] != "server":
            early.append(came)
        for came in early:
            self.came.put(came)
        self._up({"method": "notifications/initialized"})

    # -- the host

    def _of_host(self, message: Json) -> None:
        if "id" not in message:
            if message["method"] == "notifications/cancelled":
                self._cancelled(message["params"])
            return
        if message["method"] == "server/discover":
            capabilities: Json = {"tools": {}, "prompts": {}, "resources": {}}
            self._answer(
                message, {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, **_cached()}
            )
            return
        params = dict(message.get("params", {}))
        state = params.get("requestState")
        if state is not None and self._refused(message):
            return
        if self.legacy and state in self.asked:
            question, call, first = self.asked[state]
            if _same(first, message):
                del self.asked[state]
                self.calls[call] = message
                self._up({"id": question, "result": params["inputResponses"]["q"]})
                return
            if self.fault != "trust":
                self._fail(message, -32602, "this requestState belongs to another request")
                return
            del params["requestState"], params["inputResponses"]
        self._forward(message, params)

    def _forward(self, message: Json, params: Json) -> None:
        meta = dict(params.pop("_meta", {}))
        if not self.legacy:
            params["_meta"] = {**meta, META + "clientInfo": NAME}
        id = self._id()
        self.calls[id] = message
        self._up({"id": id, "method": message["method"], "params": params})

    def _refused(self, message: Json) -> bool:
        """Whether a retry is refused for what no client need send."""
        sent = self.front.heads[json.dumps(message["id"])] if self.front is not None else {}
        if self.fault == "session" and sent.get(SESSION) is None:
            self._fail(message, -32001, "session not found", 404)
        elif self.fault == "header" and sent.get("Mcp-Gateway-Key") is None:
            self._fail(message, -32600, "missing required header Mcp-Gateway-Key", 400)
        else:
            return False
        return True

    def _cancelled(self, params: Json) -> None:
        """The host gave up: so does the call upstream."""
        if self.fault == "leave":
            return
        for id, call in list(self.calls.items()):
            if call["id"] == params["requestId"]:
                del self.calls[id]
                self._up({"method": "notifications/cancelled", "params": {**params, "requestId": id}})

    # -- the server

    def _of_server(self, message: Json) -> None:
        if message.get("method") == "elicitation/create":
            self._ask(message)
        elif "method" not in message and message.get("id") in self.calls:
            call = self.calls.pop(message["id"])
            if "error" in message:
                self._down({"id": call["id"], "error": message["error"]})
            elif self.fault == "rounds" and message["result"].get("resultType") == "input_required":
                self._decline(call, message["result"])
            else:
                self._answer(call, self._result(call, message["result"]))

    def _ask(self, question: Json) -> None:
        """The server's question becomes a round of the only call that is open."""
        if self.fault == "swallow":
            return
        if self.fault == "instant":
            self._up({"id": question["id"], "result": DECLINE})
            return
        (id,) = self.calls
        call, state = self.calls.pop(id), f"state-{question['id']}-{id}"
        self.asked[state] = question["id"], id, call
        params = {**question["params"], "mode": "form"}
        params.pop("_meta", None)
        if self.fault == "leak":
            params["elicitationId"] = "e-1"
        asks = {"q": {"method": "elicitation/create", "params": params}}
        headers = {SESSION: f"session-of-{state}"} if self.fault == "session" else {}
        asked = {"resultType": "input_required", "requestState": state, "inputRequests": asks}
        self._answer(call, asked, headers)

    def _decline(self, call: Json, asked: Json) -> None:
        if self.rounds == 3:
            self._fail(call, -32603, "too many rounds")
            return
        self.rounds += 1
        answers = dict.fromkeys(asked["inputRequests"], DECLINE)
        params = {**call["params"], "inputResponses": answers}
        if "requestState" in asked:
            params["requestState"] = asked["requestState"]
        self._forward(call, params)

    def _result(self, call: Json, result: Json) -> Json:
        if self.fault == "flatten":
            result.pop("structuredContent", None)
        return {**result, **_cached()} if self.legacy and call["method"] == "tools/list" else result

    # -- what is written

    def _answer(self, call: Json, result: Json, headers: Json | None = None) -> None:
        meta = {**result.get("_meta", {}), **OURS}
        whole = {"resultType": "complete", **result, "_meta": meta}
        self._down({"id": call["id"], "result": whole}, headers=headers)

    def _fail(self, call: Json, code: int, text: str, status: int = 200) -> None:
        self._down({"id": call["id"], "error": {"code": code, "message": text}}, status)

    def _id(self) -> int:
        self.ids += 1
        return self.ids

    def _up(self, message: Json) -> None:
        assert self.server.stdin is not None
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self.server.stdin, flush=True)

    def _down(self, message: Json, status: int = 200, headers: Json | None = None) -> None:
        whole = {"jsonrpc": "2.0", **message}
        if self.front is not None:
            self.front.answer(whole, status, headers or {})
        else:
            print(json.dumps(whole), flush=True)


def _same(first: Json, retry: Json) -> bool:
    mine, its = ([m["params"].get("name"), m["params"].get("arguments")] for m in (first, retry))
    return bool(first["method"] == retry["method"] and mine == its)


def _cached() -> Json:
    return {"ttlMs": 0, "cacheScope": "private"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--legacy", action="store_true")
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--fault", default="")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    Gateway(given.command, given.legacy, given.fault, Front() if given.http else None).run()

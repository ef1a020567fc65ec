"""A small MCP gateway over stdio, standard library only: its host speaks 2026-07-28, its server that or an older one.

python gateway.py [--legacy] [--fault NAME] -- COMMAND…      starts the server and talks to its stdio

With `--legacy` the server is greeted by initialize; what it asks in the old way goes to the host as a round, and the
answer back. Without, calls and answers go through under new ids and the gateway's own name. Faults:

    leak       the question keeps a field of the older revision        flatten    structured results become text
    instant    the gateway answers its host's questions itself: nobody is asked
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
from typing import Any

META = "io.modelcontextprotocol/"
NAME = {"name": "gateway", "version": "1.0"}
OURS = {META + "serverInfo": NAME}
Json = dict[str, Any]


class Gateway:
    """Reads both sides into one queue; everything happens in the thread that takes from it."""

    def __init__(self, command: list[str], legacy: bool, fault: str) -> None:
        self.legacy, self.fault = legacy, fault
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.came: queue.Queue[tuple[str, Json | None]] = queue.Queue()
        for name, stream in (("host", sys.stdin), ("server", self.server.stdout)):
            threading.Thread(target=self._read, args=(name, stream), daemon=True).start()
        self.ids = 0
        self.calls: dict[Any, Json] = {}  # id upstream -> the request of the host that it is made for
        self.asked: dict[
            str, tuple[Any, Any]
        ] = {}  # state -> (id of the question upstream, id of the call upstream)

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
        self.server.wait(10)

    def _greet(self) -> None:
        params = {"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": NAME}
        self._up({"id": self._id(), "method": "initialize", "params": params})
        early = []  # what the host says meanwhile is seen to afterwards
        while (came := self.came.get())[0] != "server":
            early.append(came)
        for came in early:
            self.came.put(came)
        self._up({"method": "notifications/initialized"})

    def _of_host(self, message: Json) -> None:
        if "id" not in message:
            return
        if message["method"] == "server/discover":
            capabilities: Json = {"tools": {}}
            self._answer(
                message, {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, **_cached()}
            )
            return
        params = dict(message.get("params", {}))
        state = params.get("requestState")
        if self.legacy and state in self.asked:
            question, call = self.asked.pop(state)
            self.calls[call] = message
            self._up({"id": question, "result": params["inputResponses"]["q"]})
            return
        meta = dict(params.pop("_meta", {}))
        if not self.legacy:
            params["_meta"] = {**meta, META + "clientInfo": NAME}
        id = self._id()
        self.calls[id] = message
        self._up({"id": id, "method": message["method"], "params": params})

    def _of_server(self, message: Json) -> None:
        if message.get("method") == "elicitation/create":
            self._ask(message)
        elif "method" not in message and message.get("id") in self.calls:
            call = self.calls.pop(message["id"])
            if "error" in message:
                self._down({"id": call["id"], "error": message["error"]})
            else:
                self._answer(call, self._result(call, message["result"]))

    def _ask(self, question: Json) -> None:
        """The server's question becomes a round of the only call that is open."""
        if self.fault == "instant":
            self._up({"id": question["id"], "result": {"action": "decline"}})
            return
        (id,) = self.calls
        call, state = self.calls.pop(id), f"state-{question['id']}-{id}"
        self.asked[state] = question["id"], id
        params = {**question["params"], "mode": "form"}
        params.pop("_meta", None)
        if self.fault == "leak":
            params["elicitationId"] = "e-1"
        asks = {"q": {"method": "elicitation/create", "params": params}}
        self._answer(call, {"resultType": "input_required", "requestState": state, "inputRequests": asks})

    def _result(self, call: Json, result: Json) -> Json:
        if self.fault == "flatten":
            result.pop("structuredContent", None)
        return {**result, **_cached()} if self.legacy and call["method"] == "tools/list" else result

    def _answer(self, call: Json, result: Json) -> None:
        meta = {**result.get("_meta", {}), **OURS}
        self._down({"id": call["id"], "result": {"resultType": "complete", **result, "_meta": meta}})

    def _id(self) -> int:
        self.ids += 1
        return self.ids

    def _up(self, message: Json) -> None:
        assert self.server.stdin is not None
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self.server.stdin, flush=True)

    def _down(self, message: Json) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def _cached() -> Json:
    return {"ttlMs": 0, "cacheScope": "private"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--legacy", action="store_true")
    parser.add_argument("--fault", default="")
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    Gateway(given.command, given.legacy, given.fault).run()

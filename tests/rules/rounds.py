"""Sessions of revision 2026-07-28 that keep every sentence of the specification, drawn at random, with the truth.

Written from the text of the specification alone: nothing in here asks mrtrscope. A session is a list of clients that
call tools, prompts and resources of one server; the server asks some of them, once or several times. What belongs to
what is known, since it is made here.

`Session(random, transport)`: `lines()` is its transcript in the form that `mrtrscope` reads, `calls` the truth. With
`twins` calls are alike, so that nobody outside can tell which retry goes on with which; `style` is that of all states,
`again` how often a question is repeated as it was.
"""

from __future__ import annotations

import base64
import json
from random import Random
from typing import Any

from .questions import WORDS, may_ask, question, reply

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
ENDS = ("complete", "error", "abandoned", "cancelled", "failed")


class Call:
    """What a client meant by one call, and what became of it.

    rounds    ids of its requests, in order, as JSON text, each with the number of its client
    outcome   complete, error, abandoned (a question nobody took up), cancelled
    """

    def __init__(self, client: Client, method: str, target: str, arguments: dict[str, Any] | None) -> None:
        self.client, self.method, self.target, self.arguments = client, method, target, arguments
        self.rounds: list[tuple[int, str]] = []
        self.outcome = ""
        self.left = 0
        self.round = 0
        self.end = "complete"
        self.asked: dict[str, Any] | None = None
        self.state: str | None = None
        self.open = False
        self.id: Any = None
        self.flow: Flow | None = None
        self.token: Any = None
        self.progress = 0.0
        self.level = ""
        self.capabilities: dict[str, Any] = {}


class Client:
    """Who calls: its number, what it declares on a request, how it counts its ids, and its credential over HTTP."""

    def __init__(self, n: int, random: Random, shared: bool) -> None:
        self.n, self.random = n, random
        self.info = {"name": "host" if shared else f"host {n}", "version": "1"}
        self.bearer = f"Bearer token-of-{n}" if not shared and random.random() < 0.3 else None
        self.count = random.choice([0, 1, 1, 100, 2**53 - 2000])
        self.form = random.choice(["number", "text", "uuid"])
        self.conns = random.choice([1, 1, 3])
        self.has_info = random.random() < 0.95

    def id(self) -> Any:
        self.count += 1
        if self.form == "number":
            return self.count
        if self.form == "text":
            return f"{self.n}-{self.count}" if self.random.random() < 0.9 else f"ü {self.n} {self.count}"
        return f"{self.random.getrandbits(64):016x}"

    def capabilities(self) -> dict[str, Any]:
        elicitation = self.random.choice([{}, {"form": {}}, {"form": {}, "url": {}}, {"form": {}, "url": {}}])
        sampling = self.random.choice([{}, {"tools": {}}, {"tools": {}, "context": {}}])
        whole = {"elicitation": elicitation, "sampling": sampling, "roots": {}}
        whole["extensions"] = {"io.modelcontextprotocol/ui": {}}
        return {name: value for name, value in whole.items() if self.random.random() < 0.9}


class Flow:
    """A request over HTTP and what came back."""

    def __init__(self, t: float, client: Client, headers: list[list[str]], body: str, random: Random) -> None:
        self.t, self.t_end, self.client, self.headers, self.body = t, t, client, headers, body
        self.random = random
        self.conn = client.n * 10 + random.randrange(client.conns)
        self.said: list[tuple[float, str]] = []
        self.status = 200
        self.by = "server"
        self.stream = random.random() < 0.5
        self.eol = random.choice(["\n", "\n", "\r\n", "\r"])

    def event(self, text: str) -> str:
        r, eol = self.random, self.eol
        before = r.choice(["", "", f": keep-alive{eol}{eol}", f":{eol}", f"event: message{eol}"])
        if r.random() < 0.2:  # JSON may be spread over lines, where a space stands
            text = text.replace('", "', f'",{eol}data: "', 1) if '", "' in text else text
        return f"{before}data: {text}{eol}{eol}"

    def row(self, n: int) -> dict[str, Any]:
        response: dict[str, Any] | None = None
        if self.said or self.by == "server":
            many = self.stream or len(self.said) > 1
            headers = (
                [
                    [
                        "Content-Type",
                        self.random.choice(["text/event-stream", "text/event-stream; charset=utf-8"]),
                    ],
                    ["Cache-Control", "no-cache"],
                    ["X-Accel-Buffering", "no"],
                ]
                if many
                else [
                    [
                        "Content-Type",
                        self.random.choice(["application/json", "application/json; charset=utf-8"]),
                    ]
                ]
            )
            data = [(t, (self.event(text) if many else text).encode()) for t, text in self.said]
            if many and self.random.random() < 0.1:
                data[0] = (data[0][0], b"\xef\xbb\xbf" + data[0][1])
            chunks = []
            for t, d in data:
                while d:
                    k = self.random.choice([len(d), len(d), 1, 7, 100])
                    chunks.append({"t": t, "b64": base64.b64encode(d[:k]).decode()})
                    d = d[k:]
            response = {
                "status": self.status,
                "reason": "",
                "t": self.said[0][0] if self.said else self.t_end,
                "headers": headers,
                "chunks": chunks,
            }
        return {
            "t": self.t, "flow": n, "conn": self.conn,
            "request": {"method": "POST", "url": "http://127.0.0.1:8000/mcp", "http": "HTTP/1.1",
                        "headers": self.headers, "body": self.body},
            "t_req_end": self.t, "response": response, "t_end": self.t_end, "closed_by": self.by,
        }  # fmt: skip


class Session:
    """A drawn session: `lines` as a transcript, `calls` as the truth."""

    def __init__(
        self, random: Random, transport: str, twins: bool = False, style: str = "", again: float = 0.2
    ) -> None:
        self.random, self.transport, self.twins, self.again = random, transport, twins, again
        self.t = 1000.0
        self.rows: list[dict[str, Any]] = []
        self.flows: list[Flow] = []
        self.calls: list[Call] = []
        self.issued = 0
        r = random
        many = 1 if transport == "stdio" else r.choice([1, 2, 3])
        self.clients = [Client(n, r, r.random() < 0.5) for n in range(many)]
        self.style = style or r.choice(
            ["token", "json", "mixed", "short", "long", "none", "unicode", "constant", "empty"]
        )
        self.ascii = r.random() < 0.5
        self.logs = r.random() < 0.5
        self.discover(self.clients[0])
        many = r.choice([1, 2, 3, 6, 12])
        open_: list[Call] = []
        while many or open_:
            if many and (not open_ or r.random() < 0.4):
                many -= 1
                open_.append(self.begin())
            else:
                call = r.choice(open_)
                if self.step(call):
                    open_.remove(call)
        if transport == "stdio" and r.random() < 0.7:
            self.t += 3
            self.rows.append({"t": self.t, "dir": "eof"})
            self.rows.append({"t": self.t + 0.1, "dir": "exit", "code": 0})

    # -- the wire

    def tick(self) -> float:
        self.t = round(self.t + self.random.choice([0.0004, 0.01, 0.05, 0.3, 2.0]), 6)
        return self.t

    def text(self, body: dict[str, Any]) -> str:
        return json.dumps(body, ensure_ascii=self.ascii)

    def send(self, call: Call, body: dict[str, Any]) -> None:
        text = self.text(body)
        if self.transport == "stdio":
            self.rows.append({"t": self.tick(), "dir": "c2s", "line": text})
            return
        params = body["params"]
        headers = [["Host", "127.0.0.1:8000"], ["Content-Type", "application/json"],
                   ["Accept", "application/json, text/event-stream"], ["MCP-Protocol-Version", VERSION],
                   ["Mcp-Method", body["method"]]]  # fmt: skip
        if body["method"] in NAMED:
            name = params[NAMED[body["method"]]]
            plain = (
                name.isascii() and name.isprintable() and name == name.strip() and not name.startswith("=?")
            )
            headers.append(
                ["Mcp-Name", name if plain else f"=?base64?{base64.b64encode(name.encode()).decode()}?="]
            )
        if call.client.bearer:
            headers.append(["Authorization", call.client.bearer])
        call.flow = Flow(self.tick(), call.client, headers, text, self.random)
        self.flows.append(call.flow)

    def answer(self, call: Call, body: dict[str, Any]) -> None:
        text, t = self.text(body), self.tick()
        if self.transport == "stdio":
            self.rows.append({"t": t, "dir": "s2c", "line": text})
            return
        assert call.flow is not None
        call.flow.said.append((t, text))
        call.flow.t_end = t + 0.0001

    # -- what is said

    def discover(self, client: Client) -> None:
        call = Call(client, "server/discover", "", None)
        id = self.request(call, {})
        self.answer(call, self.result(id, {
            "supportedVersions": [VERSION], "ttlMs": 0, "cacheScope": "private",
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}, **({"logging": {}} if self.logs else {})},
        }))  # fmt: skip
        call.outcome = "complete"
        self.calls.append(call)

    def request(self, call: Call, params: dict[str, Any]) -> Any:
        r = self.random
        id = call.client.id()
        call.capabilities = call.client.capabilities()
        meta: dict[str, Any] = {
            META + "protocolVersion": VERSION,
            META + "clientCapabilities": call.capabilities,
        }
        if call.client.has_info:
            meta[META + "clientInfo"] = call.client.info
        call.token, call.progress, call.level = None, 0.0, ""
        if r.random() < 0.3:
            number = call.client.n * 10**6 + call.client.count
            call.token = meta["progressToken"] = r.choice([f"p{number}", number])
        if self.logs and r.random() < 0.3:
            call.level = meta[META + "logLevel"] = r.choice(["debug", "info", "warning"])
        if r.random() < 0.1:
            meta["com.example/trace"] = [1, None]
        self.send(
            call, {"jsonrpc": "2.0", "id": id, "method": call.method, "params": {**params, "_meta": meta}}
        )
        call.rounds.append((call.client.n, json.dumps(id)))
        call.open, call.id = True, id
        return id

    def result(self, id: Any, result: dict[str, Any], kind: str = "complete") -> dict[str, Any]:
        r = self.random
        whole = {"resultType": kind, **result}
        if r.random() < 0.8:
            whole["_meta"] = {META + "serverInfo": {"name": "server", "version": "1"}}
        return {"jsonrpc": "2.0", "id": id, "result": whole}

    def begin(self) -> Call:
        r = self.random
        method = r.choice(["tools/call", "tools/call", "prompts/get", "resources/read"])
        target = {"tools/call": r.choice(["deploy", "ask", "a.b-c_d"]), "prompts/get": r.choice(["greet", "größe"]),
                  "resources/read": r.choice(["file:///a%20b", "menu://spring", "urn:x:y"])}[method]  # fmt: skip
        if not self.twins and method == "resources/read" and self.style in ("none", "constant", "empty"):
            self.issued += 1
            target = f"{target}?{self.issued}"
        arguments: dict[str, Any] | None = None
        if method != "resources/read":
            self.issued += 1
            number = f"n{self.issued}" if method == "prompts/get" or r.random() < 0.5 else self.issued
            arguments = {"n": "1"} if self.twins else {"n": number, r.choice(WORDS): r.choice(WORDS)}
            if method == "tools/call" and r.random() < 0.3:
                arguments["deep"] = {"b": [1, 2.5, None, True, {"": []}], "a": 10**20}
        call = Call(r.choice(self.clients), method, target, arguments)
        call.left = r.choice([0, 1, 1, 2, 3, 5])
        call.end = r.choice(ENDS) if r.random() < 0.5 else "complete"
        if call.end == "abandoned" and not call.left:
            call.left = 1
        self.calls.append(call)
        self.request(call, self.params(call))
        return call

    def params(self, call: Call) -> dict[str, Any]:
        params: dict[str, Any] = {NAMED[call.method]: call.target}
        if call.arguments is not None:
            items = list(call.arguments.items())
            self.random.shuffle(items)  # the order of members means nothing
            params["arguments"] = dict(items)
        return params

    def step(self, call: Call) -> bool:
        """One thing that happens to a call; True when it is over."""
        r = self.random
        if call.open:
            if r.random() < 0.3 and self.note(call):
                return False
            if call.left:
                call.left -= 1
                self.ask(call)
                if not call.left and call.end == "abandoned":
                    call.outcome = "abandoned"
                    return True
                return False
            return self.finish(call)
        self.retry(call)
        return False

    def note(self, call: Call) -> bool:
        """A notification for the request that is open, when it asked for any."""
        r = self.random
        if call.flow is not None:
            call.flow.stream = True if call.token is not None or call.level else call.flow.stream
        if call.token is not None and r.random() < 0.6:
            call.progress += r.choice([0.5, 1, 10, 1e-3])
            params: dict[str, Any] = {"progressToken": call.token, "progress": call.progress}
            if r.random() < 0.5:
                params |= {"total": 100, "message": r.choice(WORDS)}
            self.answer(call, {"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            return True
        if call.level and self.transport == "http":
            data = r.choice([{"a": 1}, "text", None, [1]])
            params = {"level": r.choice(["warning", "error", "emergency"]), "data": data}
            self.answer(call, {"jsonrpc": "2.0", "method": "notifications/message", "params": params})
            return True
        return False

    # -- questions and answers

    def new_state(self, call: Call) -> str:
        r = self.random
        self.issued += 1
        unique = f"{self.issued}.{r.getrandbits(128):032x}"
        kind = (
            r.choice(["token", "json", "short", "long", "unicode"]) if self.style == "mixed" else self.style
        )
        if kind == "constant":
            return "go on"
        if kind == "empty":
            return ""
        if kind == "json":
            return json.dumps({"sealed": base64.b64encode(unique.encode()).decode(), "step": call.round})
        if kind == "long":
            return unique + "A" * r.choice([3000, 70_000])
        if kind == "unicode":
            return f"é\u2028\u0000{unique}🎂\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")
        if kind == "short":
            return base64.b64encode(r.getrandbits(64).to_bytes(8, "big")).decode()
        return base64.b64encode(unique.encode()).decode()

    def ask(self, call: Call) -> None:
        r = self.random
        call.round += 1
        caps = call.capabilities
        kinds = [kind for kind in ("elicitation", "sampling", "roots") if kind in caps]
        questions: dict[str, Any] = {}
        if call.asked and r.random() < self.again and all(may_ask(q, caps) for q in call.asked.values()):
            questions = call.asked  # the same again, until it is answered as it should be
        for _ in range(r.choice([0, 1, 1, 1, 2, 4]) if kinds and not questions else 0):
            key = r.choice([*WORDS, "q1", "q2", "confirm", "github_login"]) + r.choice(
                ["", "", str(call.round)]
            )
            questions[key] = question(r, r.choice(kinds), caps)
        state = (
            None
            if questions and (self.style == "none" or (call.method != "resources/read" and r.random() < 0.3))
            else self.new_state(call)
        )
        result: dict[str, Any] = {}
        if questions:
            result["inputRequests"] = questions
        if state is not None:
            result["requestState"] = state
        call.asked, call.state, call.open = questions, state, False
        self.answer(call, self.result(call.id, result, "input_required"))

    def retry(self, call: Call) -> None:
        r = self.random
        params = self.params(call)
        if call.asked:
            items = [(key, reply(r, asked)) for key, asked in call.asked.items()]
            r.shuffle(items)
            params["inputResponses"] = dict(items)
        if call.state is not None:
            params["requestState"] = call.state
        self.request(call, params)

    def finish(self, call: Call) -> bool:
        r = self.random
        call.open = False
        if call.end in ("error", "failed"):
            code = r.choice([-32602, 1, 4711])
            error = {"code": code, "message": r.choice(["No", "It went wrong", "größer"])}
            if r.random() < 0.3:
                error["data"] = {"why": [1]}
            call.outcome = "error"
            if call.end == "error":
                self.answer(call, {"jsonrpc": "2.0", "id": call.id, "error": error})
                return True
            call.outcome = "complete"
        if call.end == "cancelled":
            call.outcome = "cancelled"
            if self.transport == "stdio":
                params = {"requestId": call.id, "reason": "no"}
                told = self.text({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
                self.rows.append({"t": self.tick(), "dir": "c2s", "line": told})
            else:
                assert call.flow is not None
                call.flow.stream = True
                call.flow.by, call.flow.t_end = "client", self.tick()
            return True
        text = {"type": "text", "text": r.choice(WORDS)}
        final: dict[str, Any]
        if call.method == "tools/call":
            linked = {"type": "resource_link", "uri": "menu://x", "name": "x"}
            final = {"content": r.choice([[], [text], [text, linked]])}
            if call.end == "failed" and call.outcome == "complete":
                final["isError"] = True
            elif r.random() < 0.2:
                value = r.choice([{"a": 1}, [1, 2], "s"])
                final = {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
        elif call.method == "prompts/get":
            final = {"messages": [{"role": "user", "content": text}], "description": "d"}
        else:
            final = {"contents": [{"uri": call.target, "text": "t"}], "ttlMs": 0, "cacheScope": "private"}
        call.outcome = call.outcome or "complete"
        self.answer(call, self.result(call.id, final))
        return True

    def lines(self) -> list[dict[str, Any]]:
        if self.transport == "stdio":
            return self.rows
        return [flow.row(n) for n, flow in enumerate(self.flows)]

"""Cases: the tiny captures beside the rules, `cases/<area>/<rule>/{violates,conforms}-<what>.jsonl`.

A case is test and documentation at once, so it is written short and completed here to a transcript in the
form that `sources` reads. Its first line says what it shows, each further line is one thing that happened:

    {"case": "The answer asks for nothing and hands out no state"}
    {"c2s": {"id": 1, "method": "tools/call", "params": {"name": "deploy"}}}
    {"s2c": {"id": 1, "result": {"resultType": "input_required"}}, "expect": true}

First line, all but `case` optional:

    transport     "stdio" or "http"; default: both that the rule knows, the case runs on each
    capabilities  what the client declares on every request; default: everything
    era           "modern" (default) or a revision: nothing is put into `_meta`, headers name that revision;
                  "A2A 1.0" or "A2A 0.3": nor any mark of MCP
    also          rules that may be raised anywhere in the case, because two sentences truly overlap there

Lines:

    c2s, s2c      a message. As an object it gets `jsonrpc`, and a modern request its `_meta`, where they are
                  absent, and params that are "…", or "… and a message", are those of an ordinary
                  elicitation or sampling request; as a string, or with "raw": true, it is sent as it stands
    expect        true: the rule of this case is raised here; a list: these rules are
    t             seconds since the beginning; default: 0.1 after the line before
    handshake     a revision: initialize, its answer, initialized; `client`, `server`: their capabilities
    discover      capabilities: server/discover and its answer
    stderr        a line the server wrote there (stdio)
    eof, exit     the client closed stdin (true); the process ended: {"code": n} or {"signal": n}, see `frames` (stdio)
    process       number of the process that the line belongs to, default 0 (stdio)

Over HTTP a message of the client is a POST with the right headers, and what the server says goes into the
answer to the request with its id, else into the latest one that is open; several messages make a stream:

    headers       changes the head of the message's request or answer: a value, or null to leave one out
    status, sse   of the answer               conn      number of the TCP connection, default 1
    on            id of the request in whose answer it stands
    closed_by     on the last line of an answer, default "server"; on a request: ended without a word
    url           of the endpoint
    status        on a request: it is answered by HTTP alone, with the headers in `reply` and the text in `answer`
    get, post     a request that is no message: see `plain_http`
    http          a whole line of an HTTP transcript, as it stands
    expect        may also be {"event": k}, for what is not on a line of its own
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from mrtrscope.link.facts import META_CAPABILITIES, META_CLIENT_INFO, META_VERSION, MODERN_SINCE
from mrtrscope.rules.plain_http import expanded, response

EVERYTHING: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "roots": {},
    "sampling": {"context": {}, "tools": {}},
}
FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
CLIENT = {"name": "example-client", "version": "1.0"}
SERVER = {"name": "example-server", "version": "1.0"}
NAMED = {
    "tools/call": "name", "prompts/get": "name", "resources/read": "uri",
    "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}  # fmt: skip
STATUS = {-32601: 404, -32020: 400, -32021: 400, -32022: 400}
URL = "http://127.0.0.1:8000/mcp"
AGENT = "A2A "  # before a version in `era`
PRIMES = "2025-11-25"  # this revision wants an event stream to begin with an id to take it up by

Place = tuple[tuple[str, int], ...]  # items of {"line": n}, {"flow": n} or {"flow": n, "event": k}


class Case:
    """One case file.

    rule, violates, name    from its path          title, also    from its first line
    text       the lines after the first, as they are written
    """

    def __init__(self, rule: str, name: str, text: str) -> None:
        self.rule = rule
        self.name = name
        self.violates = name.startswith("violates-")
        head, *lines = text.split("\n")  # at nothing else: U+2028 may stand in a string
        self.head: dict[str, Any] = json.loads(head)
        self.title: str = self.head["case"]
        self.also: list[str] = self.head.get("also", [])
        self.text = [line for line in lines if line.strip()]
        self.lines: list[dict[str, Any]] = [expanded(json.loads(line)) for line in self.text]

    def transports(self, known: list[str]) -> list[str]:
        """On which transports the case runs, of those the rule knows."""
        only = self.head.get("transport")
        if only:
            return [only]
        if any("http" in line for line in self.lines):
            return ["http"]
        return sorted(known)

    def transcript(self, transport: str) -> tuple[str, dict[Place, list[str]]]:
        """The case as a transcript, and which rules have to be raised where."""
        steps = list(_steps(self.head, self.lines))
        expected: dict[Place, list[str]] = {}
        out = _stdio(steps) if transport == "stdio" else _http(steps, self.head.get("era", "modern"))
        lines = []
        for line, marks in out:
            lines.append(json.dumps(line, ensure_ascii=False))
            for place, mark in marks:
                expected[tuple(sorted(place.items()))] = [self.rule] if mark is True else list(mark)
        return "\n".join(lines) + "\n", expected


def cases_of(rule: str) -> list[Case]:
    """The cases of a rule, violating ones first."""
    folder = files("mrtrscope.rules").joinpath("cases", *rule.split("/"))
    if not folder.is_dir():
        return []
    found = [(_name(f), f) for f in folder.iterdir() if f.name.endswith(".jsonl")]
    order = sorted(found, key=lambda item: (not item[0].startswith("violates-"), item[0]))
    return [Case(rule, name, f.read_text(encoding="utf-8")) for name, f in order]


def rules_with_cases() -> Iterator[str]:
    """Ids of the rules that have a folder of cases."""
    root = files("mrtrscope.rules").joinpath("cases")
    for area in sorted(root.iterdir(), key=lambda f: f.name) if root.is_dir() else ():
        for folder in sorted(area.iterdir(), key=lambda f: f.name):
            yield f"{area.name}/{folder.name}"


def _name(file: Traversable) -> str:
    return file.name.removesuffix(".jsonl")


class _Step:
    """One completed line: when, which way, what text, and the rest of the line."""

    __slots__ = ("body", "dir", "line", "t", "text")

    def __init__(self, t: float, dir: str, body: Any, line: dict[str, Any]) -> None:
        self.t = t
        self.dir = dir
        self.body = body  # None where the text is no object of our making
        self.text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        self.line = line


def _steps(head: dict[str, Any], lines: list[dict[str, Any]]) -> Iterator[_Step]:
    t = 0.0
    for line in lines:
        t = line.get("t", t)
        for dir, body in _spoken(head, line):
            yield _Step(round(t, 6), dir, body, line)
            t += 0.1


def _spoken(head: dict[str, Any], line: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What the line stands for, one message or a shorthand for several."""
    modern = head.get("era", "modern") == "modern"
    if "handshake" in line:
        shared = {"protocolVersion": line["handshake"]}
        client = {**shared, "capabilities": line.get("client", EVERYTHING), "clientInfo": CLIENT}
        server = {**shared, "capabilities": line.get("server", {"tools": {}}), "serverInfo": SERVER}
        yield "c2s", {"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": client}
        yield "s2c", {"jsonrpc": "2.0", "id": "init", "result": server}
        yield "c2s", {"jsonrpc": "2.0", "method": "notifications/initialized"}
    elif "discover" in line:
        result = {
            "resultType": "complete",
            "supportedVersions": [MODERN_SINCE],
            "capabilities": line["discover"],
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": SERVER},
        }
        yield "c2s", _completed({"id": "discover", "method": "server/discover"}, head)
        yield "s2c", {"jsonrpc": "2.0", "id": "discover", "result": result}
    else:
        dir = next(d for d in ("c2s", "s2c", "stderr", "http", "eof", "exit") if d in line)
        body = line[dir]
        if type(body) is dict and dir in ("c2s", "s2c") and not line.get("raw"):
            body = _unfolded(body)
            if modern and dir == "c2s" and "method" in body and "id" in body:
                body = _completed(body, head)
            elif "jsonrpc" not in body:
                body = {"jsonrpc": "2.0", **body}
        yield dir, body


def _unfolded(body: dict[str, Any]) -> dict[str, Any]:
    """The message with ordinary params where it has "…"."""
    result = body.get("result")
    questions = result.get("inputRequests") if type(result) is dict else None
    if type(result) is dict and type(questions) is dict:
        asked = {key: _unfolded(q) if type(q) is dict else q for key, q in questions.items()}
        return {**body, "result": {**result, "inputRequests": asked}}
    params = body.get("params")
    if type(params) is not str or not params.startswith("…"):
        return body
    said = params.removeprefix("…").strip()
    if body.get("method") == "sampling/createMessage":
        block = {"type": "text", "text": said or "Name a town"}
        return {**body, "params": {"messages": [{"role": "user", "content": block}], "maxTokens": 20}}
    return {**body, "params": {"mode": "form", "message": said or "Really?", "requestedSchema": FORM}}


def _completed(request: dict[str, Any], head: dict[str, Any]) -> dict[str, Any]:
    """A modern request with what every one must carry, where the case leaves it out."""
    params = request.get("params", {})
    if type(params) is dict and type(params.get("_meta", {})) is dict:
        meta = {
            META_VERSION: MODERN_SINCE,
            META_CLIENT_INFO: CLIENT,
            META_CAPABILITIES: head.get("capabilities", EVERYTHING),
        }
        params = {**params, "_meta": meta | params.get("_meta", {})}
    return {"jsonrpc": "2.0", **request, "params": params}


_Line = tuple[dict[str, Any], list[tuple[dict[str, int], Any]]]


def _stdio(steps: list[_Step]) -> Iterator[_Line]:
    for n, step in enumerate(steps):
        expect = step.line.get("expect")
        said = step.body if step.dir == "exit" else {} if step.dir == "eof" else {"line": step.text}
        line = {"t": step.t, "dir": step.dir, **said}
        if "process" in step.line:
            line["process"] = step.line["process"]
        yield line, [({"line": n}, expect)] if expect else []


def _http(steps: list[_Step], era: str) -> Iterator[_Line]:
    flows: list[_Flow] = []
    for step in steps:
        if step.dir == "http":
            flows.append(_Flow(step, whole=step.body))
        elif step.dir == "c2s":
            flows.append(_Flow(step, era=era))
        elif step.dir == "s2c":
            _flow_of(step, flows).said.append(step)
    for n, flow in enumerate(flows):
        yield flow.line(n)


def _flow_of(step: _Step, flows: list[_Flow]) -> _Flow:
    """The answer that this message of the server stands in."""
    body = step.body if type(step.body) is dict else {}
    wanted = step.line.get("on", body.get("id") if "method" not in body else None)
    asking = [flow for flow in flows if flow.asks()]
    named = (
        [flow for flow in asking if json.dumps(flow.id) == json.dumps(wanted)] if wanted is not None else []
    )
    still = [flow for flow in asking if not flow.answered()]
    return (named or still or asking)[-1]


class _Flow:
    """One HTTP request of the case, and what was said in its answer."""

    def __init__(self, step: _Step, era: str = "", whole: dict[str, Any] | None = None) -> None:
        self.step = step
        self.era = era
        self.whole = whole
        self.said: list[_Step] = []
        self.id = step.body.get("id") if type(step.body) is dict else None

    def asks(self) -> bool:
        return type(self.step.body) is not dict or ("method" in self.step.body and "id" in self.step.body)

    def answered(self) -> bool:
        return any(type(s.body) is dict and "method" not in s.body for s in self.said)

    def line(self, n: int) -> _Line:
        expect = self.step.line.get("expect")
        event = {"event": expect["event"]} if type(expect) is dict else {}
        marks = [({"flow": n, **event}, True if event else expect)] if expect else []
        if self.whole is not None:
            return {"t": self.step.t, "flow": n, **self.whole}, marks
        last = self.said[-1] if self.said else self.step
        line: dict[str, Any] = {
            "t": self.step.t,
            "flow": n,
            "conn": self.step.line.get("conn", 1),
            "request": {
                "method": "POST",
                "url": self.step.line.get("url", URL),
                "http": "HTTP/1.1",
                "headers": _changed(self._request_headers(), self.step),
                "body": self.step.text,
            },
            "t_req_end": self.step.t,
            "response": self._response(),
            "t_end": round(last.t + 0.01, 6),
            "closed_by": last.line.get("closed_by", "server" if self._answers() else "open"),
        }
        for k, step in enumerate(self.said):
            if step.line.get("expect"):
                marks.append(({"flow": n, "event": k}, step.line["expect"]))
        return line, marks

    def _answers(self) -> bool:
        return bool(self.said) or "status" in self.step.line or not self.asks()

    def _request_headers(self) -> dict[str, str]:
        headers = {
            "Host": self.step.line.get("url", URL).split("/")[2],
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        if self.era.startswith(AGENT):
            return {**headers, "A2A-Version": self.era.removeprefix(AGENT)}
        body = self.step.body if type(self.step.body) is dict else {}
        method = body.get("method")
        if self.era != "modern":
            return headers if method == "initialize" else {**headers, "MCP-Protocol-Version": self.era}
        params = body.get("params")
        params = params if type(params) is dict else {}
        meta = params.get("_meta")
        declared = meta.get(META_VERSION) if type(meta) is dict else None
        headers["MCP-Protocol-Version"] = declared if isinstance(declared, str) else MODERN_SINCE
        if isinstance(method, str):
            headers["Mcp-Method"] = method
            name = params.get(NAMED.get(method, ""))
            if isinstance(name, str):
                headers["Mcp-Name"] = name
        return headers

    def _response(self) -> dict[str, Any] | None:
        line = self.step.line
        if "status" in line:
            return {**response(line["status"], line.get("reply", {}), line.get("answer")), "t": self.step.t}
        if not self.said:
            if self.asks():
                return None
            return {
                "status": 202,
                "reason": "",
                "t": self.step.t,
                "headers": [["Content-Length", "0"]],
                "chunks": [],
            }
        first = self.said[0]
        stream = first.line.get("sse", len(self.said) > 1)
        if stream:
            headers = {
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
            chunks = [{"t": s.t, "data": f"data: {s.text}\n\n"} for s in self.said]
            if self.era == PRIMES:
                prime = f"id: {self.step.t:g}\nretry: 500\ndata: \n\n"
                chunks.insert(0, {"t": first.t, "data": prime})
        else:
            headers = {"Content-Type": "application/json"}
            chunks = [{"t": first.t, "data": first.text}]
        error = first.body.get("error") if type(first.body) is dict else None
        code = error.get("code") if type(error) is dict else None
        status = first.line.get("status", 200 if stream or type(code) is not int else STATUS.get(code, 200))
        return {
            "status": status,
            "reason": "",
            "t": first.t,
            "headers": _changed(headers, first),
            "chunks": chunks,
        }


def _changed(headers: dict[str, str], step: _Step) -> list[list[str]]:
    """Headers with the changes that the line asks for; a value may be a list, for a header sent twice."""
    wanted: dict[str, Any] = dict(headers)
    for name, value in step.line.get("headers", {}).items():
        old = next((k for k in wanted if k.lower() == name.lower()), None)
        if old is not None:
            del wanted[old]
        if value is not None:
            wanted[name] = value
    return [[name, v] for name, value in wanted.items() for v in (value if type(value) is list else [value])]

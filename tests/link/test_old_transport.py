"""HTTP+SSE of 2024-11-05: what is posted is answered on the stream that named the address."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.link.facts import Exchange
from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.sources import open_source

ORIGIN = "http://127.0.0.1:8000"
INIT = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "c", "version": "1"},
}
AGREED = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}


def stream(
    n: int, address: str, *said: tuple[float, dict[str, Any]], end: float | None = None
) -> dict[str, Any]:
    """A GET on which the server names `address` and says what it has to say."""
    chunks = [{"t": 0.5 + n / 10, "data": f"event: endpoint\r\ndata: {address}\r\n\r\n"}]
    chunks += [{"t": t, "data": f"event: message\r\ndata: {json.dumps(body)}\r\n\r\n"} for t, body in said]
    head = {"status": 200, "reason": "OK", "headers": [["Content-Type", "text/event-stream"]], "t": 0.4}
    ends = {"closed_by": "open"} if end is None else {"closed_by": "server", "t_end": end}
    request = {
        "method": "GET",
        "url": f"{ORIGIN}/sse",
        "headers": [["Accept", "text/event-stream"]],
        "body": "",
    }
    return {
        "t": n / 10,
        "flow": n,
        "conn": n,
        "request": request,
        "response": {**head, "chunks": chunks},
        **ends,
    }


def post(
    n: int, t: float, address: str, body: dict[str, Any], status: int = 202, **head: str
) -> dict[str, Any]:
    headers = [["Content-Type", "application/json"], ["Accept", "*/*"]]
    said = [[name.replace("_", "-"), value] for name, value in head.items()]
    answer = {"status": status, "reason": "", "t": t + 0.01, "headers": said,
              "chunks": [{"t": t + 0.01, "data": "Accepted"}]}  # fmt: skip
    request = {"method": "POST", "url": f"{ORIGIN}{address}", "headers": headers, "body": json.dumps(body)}
    return {"t": t, "flow": n, "conn": n, "request": request, "t_req_end": t, "response": answer, "t_end": t + 0.02,
            "closed_by": "server"}  # fmt: skip


def request(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def result(id: int, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def read(
    tmp_path: Path, rows: list[dict[str, Any]], stop: bool = False
) -> tuple[list[Exchange], set[tuple[str, str]]]:
    """The exchanges in order of time, and (level, rule) of what was found; `stop`: with a checkpoint at each frame."""
    path = tmp_path / "old.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in sorted(rows, key=lambda row: row["t"])), encoding="utf-8"
    )
    memory = DictMemory()
    pipeline = Pipeline(memory, b"salt")
    exchanges: dict[str, Exchange] = {}
    found = set()
    with open_source(path) as source:
        for name, header in source.headers().items():
            pipeline.source(name, header)
        for frame in source.frames():
            pipeline.feed(frame)
            batch = pipeline.drain()
            exchanges |= batch.exchanges
            found |= {(f.level, f.rule) for f in batch.findings}
            if stop:
                pipeline = Pipeline.restore(pipeline.snapshot(), memory, b"salt")
    found |= {(f.level, f.rule) for f in pipeline.finish().findings}
    return sorted(exchanges.values(), key=lambda e: e.t), found


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("addresses", [
    ("/messages/?session_id=a", "/messages/?session_id=b"),
    ("messages?sid=a", "messages?sid=b"),
    ("http://elsewhere.test/m?s=a", "http://elsewhere.test/m?s=b"),
])  # fmt: skip
def test_each_answer_finds_the_request_of_its_own_session(
    tmp_path: Path, addresses: tuple[str, str], stop: bool
) -> None:
    rows = []
    for n, address in enumerate(addresses):
        to = "/" + address.removeprefix("http://elsewhere.test").removeprefix("/")
        rows += [
            stream(n, address, (1.2 + n / 10, result(0, AGREED)), (2.5 - n / 10, result(1, {"content": [], "n": n})),
                   (3.0, request(7, "roots/list")), (3.2, result(2, {"content": []}))),
            post(10 + n, 1.0 + n / 20, to, request(0, "initialize", **INIT)),
            post(20 + n, 1.5, to, {"jsonrpc": "2.0", "method": "notifications/initialized"}),
            post(30 + n, 2.0 + n / 20, to, request(1, "tools/call", name="t", arguments={}), Content_Type="text/plain"),
            post(40 + n, 2.9, to, request(2, "tools/call", name="u", arguments={})),
            post(50 + n, 3.1, to, result(7, {"roots": []})),
        ]  # fmt: skip
    exchanges, found = read(tmp_path, rows, stop)
    assert [(e.method, e.operation.outcome) for e in exchanges if e.dir == "c2s"] == [
        ("initialize", "complete")] * 2 + [("tools/call", "complete")] * 4  # fmt: skip
    assert [e.answer.result.get("n") for e in exchanges if e.target == "t" and e.answer] == [0, 1]
    assert {(e.era, e.version, e.request.channel) for e in exchanges} == {
        ("legacy", "2024-11-05", f"{ORIGIN}/sse")
    }
    assert [e.operation.outcome for e in exchanges if e.dir == "s2c"] == ["complete", "complete"]
    assert not [f for f in found if f[0] != "info"]


def test_what_is_refused_or_left_when_the_stream_ends_is_not_answered(tmp_path: Path) -> None:
    to = "/messages?session_id=a"
    rows = [
        stream(0, to, (1.2, result(0, AGREED)), end=4.0),
        post(1, 1.0, to, request(0, "initialize", **INIT)),
        post(2, 2.0, to, request(1, "tools/call", name="t", arguments={}), status=400),
        post(3, 3.0, to, request(2, "tools/call", name="u", arguments={})),
    ]
    exchanges, _ = read(tmp_path, rows)
    assert [(e.target, e.operation.outcome) for e in exchanges] == [
        ("", "complete"),
        ("t", "error"),
        ("u", "lost"),
    ]


@pytest.mark.parametrize("address", ["", "http://[", "/other?session_id=a", "\ud800"])
def test_an_address_that_nobody_posts_to_changes_nothing(tmp_path: Path, address: str) -> None:
    body = request(1, "tools/call", name="t", arguments={})
    exchanges, _ = read(tmp_path, [stream(0, address), post(1, 1.0, "/mcp", body, status=500)])
    assert [(e.request.channel, e.operation.outcome) for e in exchanges] == [(f"{ORIGIN}/mcp", "error")]


def test_a_call_whose_stream_was_taken_up_again_is_counted_once(tmp_path: Path) -> None:
    """Revision 2025-11-25: a server may end the stream early, to be asked again with Last-Event-ID."""
    agreed = result(0, {**AGREED, "protocolVersion": "2025-11-25"})
    call = json.dumps(request(1, "tools/call", name="t", arguments={}))
    session = ["MCP-Session-Id", "7f0c1c2e"]
    events = [["Content-Type", "text/event-stream"], session]
    said = [["Content-Type", "application/json"], ["Accept", "application/json, text/event-stream"]]

    def exchange(
        n: int, t: float, method: str, headers: list[list[str]], body: str, data: str
    ) -> dict[str, Any]:
        asked = {"method": method, "url": f"{ORIGIN}/mcp", "headers": headers, "body": body}
        answer = {"status": 200, "headers": events, "t": t + 1, "chunks": [{"t": t + 1, "data": data}]}
        return {"t": t, "flow": n, "conn": n, "request": asked, "t_req_end": t, "response": answer, "t_end": t + 2,
                "closed_by": "server"}  # fmt: skip

    hello = json.dumps(request(0, "initialize", **INIT | {"protocolVersion": "2025-11-25"}))
    taken_up = [["Accept", "text/event-stream"], ["Last-Event-ID", "a-0"], session]
    rows = [
        exchange(1, 0, "POST", said, hello, f"id: i-0\ndata: \n\nid: i-1\ndata: {json.dumps(agreed)}\n\n"),
        exchange(2, 10, "POST", [*said, session], call, "id: a-0\nretry: 500\ndata: \n\n"),
        exchange(3, 14, "GET", taken_up, "", f"id: a-1\ndata: {json.dumps(result(1, {'content': []}))}\n\n"),
    ]
    exchanges, found = read(tmp_path, rows)
    operation = exchanges[-1].operation
    assert (operation.outcome, operation.server, operation.waiting) == ("complete", 5_000_000, 0)
    assert operation.t_end - operation.t == 5_000_000
    assert not [rule for _, rule in found if rule == "jsonrpc/unanswered-request"]

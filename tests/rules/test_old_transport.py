"""A session over the HTTP+SSE of 2024-11-05 is judged as the same session over stdio is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules.catalogue import ENTRIES
from mrtrscope.rules.examples import Case, cases_of, rules_with_cases
from tests.feeding import feed

ORIGIN, POST_TO = "http://127.0.0.1:8000", "/messages?session=a"
# These say something of a transport, or know a client again over several sessions.
OTHERS = (
    "stdio/",
    "era/http-sse-transport",
    "icons/src-scheme",
    "version/stdio-",
    "version/era-decision-cached",
)


# How servers acknowledge a post; nothing asks for a form.
ACKNOWLEDGED: tuple[tuple[int, str, str], ...] = (
    (202, "", "Accepted"),
    (202, "text/plain", "Accepted"),
    (202, "application/json", '{"message":"Accepted"}'),
    (200, "application/json", '{"ok":true}'),
    (204, "", ""),
)


def old_transport(
    lines: list[dict[str, Any]], acknowledged: tuple[int, str, str] = ACKNOWLEDGED[0]
) -> list[dict[str, Any]]:
    """What a process and its client said, said over HTTP+SSE."""
    status, kind, words = acknowledged
    told = [line for line in lines if line["dir"] in ("c2s", "s2c")]
    start = told[0]["t"] - 1
    chunks = [{"t": 0.1, "data": f"event: endpoint\r\ndata: {POST_TO}\r\n\r\n"}]
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(told, 2):
        t = line["t"] - start
        if line["dir"] == "s2c":
            chunks.append({"t": t, "data": f"event: message\r\ndata: {line['line']}\r\n\r\n"})
            continue
        head = {"method": "POST", "url": ORIGIN + POST_TO, "headers": [["Content-Type", "application/json"]]}
        answer = {
            "status": status,
            "reason": "",
            "t": t,
            "headers": [["Content-Type", kind]] if kind else [],
            "chunks": [{"t": t, "data": words}] if words else [],
        }
        rows.append({"t": t, "flow": number, "conn": number, "request": {**head, "body": line["line"]},
                     "t_req_end": t, "response": answer, "t_end": t, "closed_by": "server"})  # fmt: skip
    head = {"method": "GET", "url": f"{ORIGIN}/sse", "headers": [["Accept", "text/event-stream"]], "body": ""}
    stream = {"status": 200, "reason": "", "t": 0.05, "headers": [["Content-Type", "text/event-stream"]],
              "chunks": chunks}  # fmt: skip
    return [{"t": 0, "flow": 1, "conn": 1, "request": head, "response": stream, "closed_by": "open"}, *rows]


def said(path: Path) -> tuple[Counter[tuple[str, str, str]], set[str]]:
    """(rule, level, party) of what was found, and the rules that had an occasion."""
    pipeline = Pipeline(DictMemory(), b"salt")
    feed(pipeline, path)
    batch = pipeline.drain()
    found = [*batch.findings, *pipeline.finish().findings]
    return Counter((f.rule, f.level, f.party) for f in found if not f.rule.startswith(OTHERS)), {
        rule for _, rule in batch.tested if not rule.startswith(OTHERS)
    }


ODD = (
    "process",
    "stderr",
    "eof",
    "exit",
    "raw",
    "http",
    "get",
    "post",
    "headers",
    "status",
    "closed_by",
    "url",
)


def sessions() -> list[Case]:
    """Cases with a handshake, of rules for any transport, in which both sides say whole messages and nothing else."""
    out = []
    for rule in rules_with_cases():
        for case in cases_of(rule):
            begins = any("handshake" in line for line in case.lines)
            odd = any(name in line for line in case.lines for name in ODD)
            spoken = all(type(line.get(dir, {})) is dict for line in case.lines for dir in ("c2s", "s2c"))
            if begins and spoken and not odd and "stdio" in case.transports(ENTRIES[rule]["transports"]):
                out.append(case)
    return out


@pytest.mark.parametrize("case", sessions(), ids=lambda case: f"{case.rule}/{case.name}")
def test_a_session_is_judged_over_the_old_transport_as_over_stdio(case: Case, tmp_path: Path) -> None:
    text, _ = case.transcript("stdio")
    pipe, old = tmp_path / "pipe.jsonl", tmp_path / "old.jsonl"
    pipe.write_text(text, encoding="utf-8")
    rows = old_transport([json.loads(line) for line in text.splitlines()])
    old.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (found, occasions), (found_old, occasions_old) = said(pipe), said(old)
    assert found_old == found
    assert occasions <= occasions_old


@pytest.mark.parametrize("acknowledged", ACKNOWLEDGED, ids=str)
@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25"])
def test_nothing_is_asked_of_what_acknowledges_a_post(
    version: str, acknowledged: tuple[int, str, str], tmp_path: Path
) -> None:
    """Whatever revision is agreed on: the answer comes on the other stream, and this body is nobody's."""
    hands = {"protocolVersion": version, "capabilities": {}}
    spoken: list[tuple[str, dict[str, Any]]] = [
        (
            "c2s",
            {
                "id": 1,
                "method": "initialize",
                "params": {**hands, "clientInfo": {"name": "c", "version": "1"}},
            },
        ),
        ("s2c", {"id": 1, "result": {**hands, "serverInfo": {"name": "s", "version": "1"}}}),
        ("c2s", {"method": "notifications/initialized"}),
        ("c2s", {"id": 2, "method": "ping"}),
        ("s2c", {"id": 2, "result": {}}),
    ]
    lines = [
        {"t": 2.0 + number / 10, "dir": dir, "line": json.dumps({"jsonrpc": "2.0", **what})}
        for number, (dir, what) in enumerate(spoken)
    ]
    path = tmp_path / "old.jsonl"
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in old_transport(lines, acknowledged)), encoding="utf-8"
    )
    found, _ = said(path)
    assert not found


def test_nothing_is_said_of_answers_where_the_requests_went_past_the_recorder(tmp_path: Path) -> None:
    """The address to post to is on another host: every answer answers nothing that was seen."""
    lines = [
        {"t": 2.0, "dir": "s2c", "line": json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"tools": []}})},
        {"t": 2.1, "dir": "s2c", "line": json.dumps({"jsonrpc": "2.0", "method": "notifications/progress",
                                                     "params": {"progressToken": 1, "progress": 1}})},
        {"t": 2.2, "dir": "s2c", "line": json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                                     "params": {"requestId": 3}})},
    ]  # fmt: skip
    path = tmp_path / "old.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in old_transport(lines)), encoding="utf-8")
    found, _ = said(path)
    assert not [one for one in found if one[1] != "info"]

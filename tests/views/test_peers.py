"""Who is who: names from the messages themselves, else from the introduction of the same client; never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import analyse
from mrtrscope.views import detail
from mrtrscope.views.build import build
from tests.captures import Line, journal
from tests.conftest import SAMPLES


def exchange(t: float, conn: str, sent: dict[str, Any], got: dict[str, Any], **heads: str) -> dict[str, Any]:
    """A line of an HTTP transcript; `session` is sent, `given` comes back."""
    type_ = ["Content-Type", "application/json"]
    back = [type_, ["Mcp-Session-Id", heads["given"]]] if "given" in heads else [type_]
    return {
        "t": t, "t_end": t + 0.5, "conn": conn,
        "request": {"method": "POST", "url": "http://s.example/mcp", "body": json.dumps(sent),
                    "headers": [type_, ["Mcp-Session-Id", heads["session"]]] if "session" in heads else [type_]},
        "response": {"status": 200, "headers": back, "chunks": [{"t": t + 0.4, "data": json.dumps(got)}], "end": True},
    }  # fmt: skip


def greeting(t: float, name: str, **heads: str) -> dict[str, Any]:
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": name, "version": "2"},
    }
    result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "ferry"}}
    sent = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    return exchange(t, f"greeting {t}", sent, {"jsonrpc": "2.0", "id": 0, "result": result}, **heads)


def call(t: float, **heads: str) -> dict[str, Any]:
    sent = {"jsonrpc": "2.0", "id": t, "method": "tools/call", "params": {"name": "x"}}
    return exchange(t, f"call {t}", sent, {"jsonrpc": "2.0", "id": t, "result": {"content": []}}, **heads)


def named(path: Path, rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with analyse.bring_up_to_date(path) as store:
        return [(one.client, one.server) for one in detail.details(store, store.operations())]


def test_a_session_tells_whose_call_it_is(tmp_path: Path) -> None:
    rows = [
        greeting(1, "anna", given="s1"), greeting(2, "bert", given="s2"),
        call(3, session="s1"), call(4, session="s2"), call(5, session="s3"), call(6),
    ]  # fmt: skip
    assert named(tmp_path / "http.jsonl", rows) == [
        ("anna 2", "ferry"), ("bert 2", "ferry"), ("anna 2", "ferry"), ("bert 2", "ferry"),
        ("", "ferry"), ("", "ferry"),  # one of the two, nobody knows which
    ]  # fmt: skip


def test_without_a_session_all_that_were_met_must_say_the_same(tmp_path: Path) -> None:
    rows = [call(0.5), greeting(1, "anna"), call(2), greeting(3, "anna"), call(4)]
    assert named(tmp_path / "http.jsonl", rows) == [
        ("", ""), ("anna 2", "ferry"), ("anna 2", "ferry"), ("anna 2", "ferry"), ("anna 2", "ferry"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "params",
    [{}, {"clientInfo": None}, {"clientInfo": {"name": 7}}, {"clientInfo": ["x"]}, [], None],
)
def test_what_is_no_introduction_names_nobody(params: Any, tmp_path: Path) -> None:
    lines: list[Line] = []
    for n, (method, sent) in enumerate([("initialize", params), ("tools/call", {"name": "x"})], 1):
        request = {"jsonrpc": "2.0", "id": n, "method": method, "params": sent}
        answer = {"jsonrpc": "2.0", "id": n, "result": {"serverInfo": "x", "_meta": []}}
        lines.append((1000 * n, "c2s", json.dumps(request).encode()))
        lines.append((1000 * n + 400, "s2c", json.dumps(answer).encode()))
    journal(tmp_path / "capture", lines).close()
    with analyse.bring_up_to_date(tmp_path / "capture") as store:
        assert {(one.client, one.server) for one in detail.details(store, store.operations())} == {("", "")}


@pytest.mark.parametrize(
    ("sample", "op", "names"),
    [
        ("sample-legacy", "op2", ["", "mcp 0.1.0", "legacy-elicitation"]),
        ("sample-task-legacy", "op3", ["", "host 1.0", "yard 1.0"]),
        ("sample-gateway", "op3", ["", "host 1.0", "gateway", "tailor 1.30.0"]),
    ],
)
def test_older_revisions_have_names_in_pictures(sample: str, op: str, names: list[str]) -> None:
    with analyse.bring_up_to_date(SAMPLES / sample) as store:
        found = detail.load(store, op)
    assert found is not None
    drawn = [who.name for who in build(found).participants]
    assert len(drawn) == len(names)
    assert all(
        name.startswith(start) if start else not name for name, start in zip(drawn, names, strict=True)
    )

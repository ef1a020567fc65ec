"""Whatever a peer sends, no rule raises, and reading it twice finds the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrtrscope.frames import Frame
from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules.judge import MANY, Judge

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}, "sampling": {}},
}
ODD = st.sampled_from([
    None, True, 0, -1, 1.5, 2**70, "", "\ud800", "…", "accept", "input_required", [], {}, [[]], {"": None},
    {"action": []}, {"method": []}, {"method": "elicitation/create"}, {"method": "elicitation/create", "params": []},
    {"error": {}}, {"result": {}, "id": 1}, {"action": "accept", "content": {"ok": True}}, {"roots": [None]},
    {"role": "x", "content": 1}, "eyJ1c2VyIjoiYW5uIn0", "a=1&b=2", "{", '{"resultType":"input_required"}', "Infinity",
])  # fmt: skip
KEY = st.sampled_from(["ok", "", "a/b~c", "\ud800", "resultType"])
MAP = st.dictionaries(KEY, ODD, max_size=3)
PARTS = {
    "inputRequests": ODD | MAP,
    "requestState": ODD,
    "resultType": st.just("input_required") | ODD,
    "content": ODD | st.lists(ODD, max_size=2),
    "structuredContent": ODD,
    "ttlMs": ODD,
    "isError": ODD,
    "_meta": ODD,
}
RESULT = st.fixed_dictionaries({}, optional=PARTS) | ODD
PARAMS = (
    st.fixed_dictionaries(
        {"_meta": st.just(META) | ODD},
        optional={
            "name": st.just("deploy") | ODD,
            "arguments": ODD,
            "inputResponses": ODD | MAP,
            "requestState": ODD,
            "requestId": ODD,
            "progressToken": ODD,
            "protocolVersion": ODD,
            "capabilities": ODD,
        },
    )
    | ODD
)
ID = st.sampled_from([1, 2, "1", 1.0, None, True, [], 2**70])
METHOD = st.sampled_from([
    "tools/call", "tools/list", "prompts/get", "resources/read", "initialize", "tasks/update", "elicitation/create",
    "notifications/progress", "notifications/cancelled", "subscriptions/listen", "server/discover", "", "rpc.x",
]) | ODD  # fmt: skip
BODY = st.one_of(
    st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0"), "id": ID, "method": METHOD}, optional={"params": PARAMS}
    ),
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": ID, "result": RESULT}),
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "method": METHOD}, optional={"params": PARAMS}),
    st.fixed_dictionaries(
        {
            "id": ID,
            "error": st.fixed_dictionaries({}, optional={"code": ODD, "message": ODD, "data": ODD}) | ODD,
        }
    ),
    ODD,
)
LINES = st.lists(st.tuples(st.sampled_from(["0i", "0o"]), BODY | st.lists(BODY, max_size=2)), max_size=12)


def found(lines: list[tuple[str, Any]]) -> list[tuple[str, str, str]]:
    pipeline = Pipeline(DictMemory(), salt=b"salt")
    pipeline.source("t", {"how": "wrap", "channel": "odd", "whole": True})
    for n, (lane, body) in enumerate(lines):
        pipeline.feed(
            Frame("t", n, n, n * 1000, lane, "data", json.dumps(body).encode() + b"\n", {"line": n})
        )
    batch = pipeline.drain()
    return sorted((f.id, f.rule, f.at) for f in batch.findings + pipeline.finish().findings)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(LINES)
def test_no_line_makes_a_rule_raise_and_twice_is_the_same(
    monkeypatch: pytest.MonkeyPatch, lines: list[tuple[str, Any]]
) -> None:
    monkeypatch.setattr(Judge, "strict", True)
    assert found(lines) == found(lines)


def test_deep_and_wide_values_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judge, "strict", True)
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}
    wide = {f"k{n}": {"method": "roots/list"} for n in range(20_000)}
    ask = {"resultType": "input_required", "inputRequests": wide, "requestState": "x" * 100_000}
    call = {"name": "t", "arguments": deep, "_meta": META}
    retry = call | {
        "requestState": "x" * 99_999,
        "inputResponses": {key: {"action": "accept"} for key in wide},
    }
    lines: list[tuple[str, Any]] = [
        ("0i", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}),
        ("0o", {"jsonrpc": "2.0", "id": 1, "result": ask}),
        ("0i", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": retry}),
        ("0o", {"jsonrpc": "2.0", "id": 2, "result": {"resultType": "complete", "content": []}}),
    ]
    rules = [rule for _, rule, _ in found(lines)]
    assert {"mrtr/response-type-matches-request", "mrtr/input-request-capability-declared"} <= set(rules)
    assert rules.count("mrtr/response-type-matches-request") == MANY

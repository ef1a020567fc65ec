"""The schema of each revision: what is called ordinary fits it, what does not fit is one readable fault."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrtrscope.rules.ordinary import plain_text, shaped
from mrtrscope.rules.ordinary_offers import introduced, offered
from mrtrscope.rules.wire_shapes import (
    WireFault,
    notification_faults,
    request_faults,
    result_faults,
    schema_version,
)
from mrtrscope.wire.events import Message

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "text", "a"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["type", "text", "a", "uri"]), inner, max_size=3)
    ),
    max_leaves=4,
)
PARAMS = st.dictionaries(
    st.sampled_from(
        ["name", "arguments", "cursor", "uri", "progressToken", "progress", "total", "message", "x"]
    ),
    VALUES,
    max_size=4,
)
BLOCKS = st.lists(st.just({"type": "text", "text": "x"}) | VALUES, max_size=2)
RESULTS = st.one_of(
    st.builds(
        lambda c, more: {"content": c, **more}, BLOCKS, st.dictionaries(st.sampled_from(["isError"]), VALUES)
    ),
    st.builds(
        lambda m: {"messages": [{"role": "user", "content": m}]},
        st.just({"type": "text", "text": ""}) | VALUES,
    ),
    st.builds(lambda c: {"contents": [c], "ttlMs": 0, "cacheScope": "private"}, VALUES),
)


def message(body: dict[str, Any], kind: str) -> Message:
    made = Message()
    made.body, made.kind, made.raw = body, kind, json.dumps(body).encode()
    made.method, made.dir = body.get("method"), "c2s"
    return made


METHODS = [
    "tools/call", "prompts/get", "resources/read", "tools/list", "prompts/list", "resources/list",
    "resources/templates/list", "server/discover",
]  # fmt: skip


@given(st.sampled_from(METHODS), PARAMS)
def test_a_request_called_ordinary_fits(method: str, params: dict[str, Any]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    made = message(body, "request")
    if shaped(made, False):
        assert request_faults(body, "c2s", method, MODERN, made.raw) == []


@given(st.sampled_from(["notifications/progress", "notifications/tools/list_changed"]), PARAMS)
def test_a_notification_called_ordinary_fits(method: str, params: dict[str, Any]) -> None:
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    made = message(body, "notification")
    if shaped(made, False):
        assert notification_faults(body, "s2c", method, MODERN, made.raw) == []


@given(RESULTS)
def test_a_result_called_ordinary_fits(result: dict[str, Any]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", **result}}
    made = message(body, "response")
    method = {"messages": "prompts/get", "contents": "resources/read"}.get(next(iter(result)), "tools/call")
    if shaped(made, plain_text(result)):
        assert result_faults(body, "s2c", method, MODERN, made.raw) == []


def _usual(**members: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of these members, most as they should be, and now and then one more."""
    known = {name: st.just(value) | st.just(value) | VALUES for name, value in members.items()}
    return st.fixed_dictionaries({}, optional={**known, "x": VALUES})


FLAGS, NAMED = {"listChanged": True}, {"name": "n", "version": "1"}
SERVES = _usual(
    tools=FLAGS,
    prompts=FLAGS,
    resources={"subscribe": True},
    logging={},
    completions={},
    extensions={"a/b": {}},
)
SCHEMA = _usual(
    type="object", properties={"a": {"type": "string"}}, required=["a"], additionalProperties=False
)
TOOL = st.builds(
    lambda tool, schema: {**tool, "inputSchema": schema},
    _usual(
        name="n",
        title="t",
        description="d",
        annotations={"readOnlyHint": True},
        outputSchema={"type": "object"},
    ),
    SCHEMA,
)
PROMPT = _usual(name="n", title="t", arguments=[{"name": "a", "required": True}], description="d")
PLACE = _usual(name="n", uri="file:///a", uriTemplate="file:///{a}", mimeType="text/plain", title="t")
AROUND = _usual(_meta={}, nextCursor="c", instructions="i")
OFFERS = {
    "server/discover": st.builds(lambda c: {"supportedVersions": [MODERN], "capabilities": c}, SERVES),
    "initialize": st.builds(lambda c, p: {"protocolVersion": LEGACY, "capabilities": c, **p}, SERVES,
                            _usual(serverInfo=NAMED)),
    "tools/list": st.builds(lambda tools: {"tools": tools}, st.lists(TOOL, max_size=2)),
    "prompts/list": st.builds(lambda prompts: {"prompts": prompts}, st.lists(PROMPT, max_size=2)),
    "resources/list": st.builds(lambda places: {"resources": places}, st.lists(PLACE, max_size=2)),
    "resources/templates/list": st.builds(lambda ps: {"resourceTemplates": ps}, st.lists(PLACE, max_size=2)),
}  # fmt: skip
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN]


@settings(max_examples=400)
@given(
    st.sampled_from(sorted(OFFERS)).flatmap(lambda m: st.tuples(st.just(m), OFFERS[m], AROUND)),
    st.sampled_from(VERSIONS),
)
def test_an_offer_called_ordinary_fits(
    offer: tuple[str, dict[str, Any], dict[str, Any]], version: str
) -> None:
    method, result, around = offer
    modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if version == MODERN else {}
    body = {"jsonrpc": "2.0", "id": 1, "result": {**modern, **around, **result}}
    if offered(method, body["result"]):
        assert not result_faults(body, "s2c", method, version, json.dumps(body).encode())


ASKED = {"roots": FLAGS, "sampling": {}, "elicitation": {}}


@given(_usual(protocolVersion=LEGACY, capabilities=ASKED, clientInfo=NAMED), st.sampled_from(VERSIONS))
def test_a_handshake_called_ordinary_fits(params: dict[str, Any], version: str) -> None:
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    if introduced(params):
        assert not request_faults(body, "c2s", "initialize", version, json.dumps(body).encode())


def test_what_nearly_every_capture_has_is_called_ordinary() -> None:
    hints = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    tool = {
        "name": "n",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    }
    for method, result in {
        "server/discover": {**hints, "supportedVersions": [MODERN], "capabilities": {"tools": FLAGS}},
        "initialize": {"protocolVersion": LEGACY, "capabilities": {"tools": FLAGS}, "serverInfo": NAMED},
        "tools/list": {**hints, "tools": [tool]},
        "prompts/list": {"prompts": [{"name": "n", "arguments": [{"name": "a"}]}]},
        "resources/list": {**hints, "resources": [{"name": "n", "uri": "file:///a"}]},
        "resources/templates/list": {"resourceTemplates": [{"name": "n", "uriTemplate": "file:///{a}"}]},
    }.items():
        assert offered(method, result), method
        assert not offered("tools/call", result)
    params = {"protocolVersion": LEGACY, "capabilities": {"roots": FLAGS}, "clientInfo": NAMED}
    assert introduced(params)


@given(st.sampled_from(METHODS), VALUES, st.sampled_from([MODERN, LEGACY]))
def test_anything_gets_an_answer(method: str, value: Any, version: str) -> None:
    for body in (
        {"method": method, "params": value},
        {"params": {"name": value, "_meta": value}},
        {"result": value},
    ):
        raw = json.dumps(body).encode()
        for look in (request_faults, notification_faults, result_faults):
            for dir in ("c2s", "s2c"):
                found = look(body, dir, method, version, raw)
                assert found is None or all(isinstance(f, WireFault) and f.words() for f in found)


def faults(
    look: Any, body: dict[str, Any], method: str, version: str = MODERN, dir: str = "s2c"
) -> list[str]:
    found = look(body, dir, method, version, json.dumps(body).encode())
    assert found is not None
    return [fault.words() for fault in found]


@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
        ("tools/list", {"tools": [{"name": 3, "inputSchema": {"type": "object"}}]},
         ["/result/tools/0/name should be a valid string"]),
        ("tools/list", {"tools": [{"name": "a", "title": None, "inputSchema": {"type": "object"}}]},
         ["/result/tools/0/title should be a valid string"]),
        ("tools/list", {"tools": [{"inputSchema": {"type": "object", "x": None}}]},
         ["/result/tools/0/name is missing"]),
        ("tools/call", {"content": [{"type": "song"}]},
         ["/result/content/0 has none of the shapes allowed here"]),
        ("tools/call", {"content": [], "structuredContent": None, "isError": "no"},
         ["/result/isError should be a valid boolean"]),
        ("resources/list", {"resources": [{"uri": "a:b", "name": "a", "size": 1.5}]}, []),
        ("resources/list", {"resources": [{"uri": "a:b", "name": "a", "size": "1"}]},
         ["/result/resources/0/size should be a valid integer"]),
        ("completion/complete", {"completion": {"values": [], "total": 2.0}}, []),
    ],
)  # fmt: skip
def test_a_fault_names_its_place_and_what_should_be_there(method: str, result: Any, words: list[str]) -> None:
    body = {"result": {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}}
    assert faults(result_faults, body, method) == words


def test_what_has_rules_of_its_own_is_left_to_them() -> None:
    body = {"params": {"name": "a", "_meta": 7, "inputResponses": 7, "requestState": 7}}
    assert faults(request_faults, body, "tools/call", dir="c2s") == []
    assert (
        faults(result_faults, {"result": {"resultType": 7, "_meta": 7, "ttlMs": "soon"}}, "tools/list") == []
    )


def test_a_method_that_the_revision_does_not_know_is_nobodys_fault() -> None:
    assert request_faults({"params": {}}, "c2s", "ping", MODERN, b"") is None
    assert request_faults({"params": {}}, "c2s", "acme/do", LEGACY, b"") is None


@pytest.mark.parametrize(
    ("era", "version", "found"),
    [("modern", MODERN, MODERN), ("modern", "", MODERN), ("modern", "2027-01-01", None), ("legacy", LEGACY, LEGACY),
     ("legacy", "2024-01-01", None), ("unknown", "", None)],
)  # fmt: skip
def test_the_schema_is_that_of_the_revision(era: str, version: str, found: str | None) -> None:
    assert schema_version(era, version) == found

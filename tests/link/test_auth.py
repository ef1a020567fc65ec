"""Flows of authorization: followed through, no secret kept, nothing a peer may send raises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrtrscope.link.discovery import KEPT, Discovery
from mrtrscope.link.memory import DictMemory
from mrtrscope.link.session import Sessions
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules.examples import cases_of
from mrtrscope.rules.judge import Judge
from tests.feeding import feed

SECRETS = ("code-1", "st-1", "v" * 43, "rt-1", "rt-2")


def fed(file: Path) -> tuple[Pipeline, DictMemory]:
    memory = DictMemory()
    pipeline = Pipeline(memory, salt=b"salt")
    feed(pipeline, file)
    return pipeline, memory


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        ("auth/resource-parameter", "conforms-named"),
        ("auth/refresh-rotation", "conforms-rotated"),
        ("auth/state-verified", "violates-callback"),
        ("auth/credentials-bound-to-issuer", "violates-reused"),
    ],
)
def test_what_is_kept_of_a_flow_holds_no_secret(rule: str, name: str, tmp_path: Path) -> None:
    case = next(case for case in cases_of(rule) if case.name == name)
    file = tmp_path / "case.jsonl"
    file.write_text(case.transcript("http")[0], encoding="utf-8")
    pipeline, memory = fed(file)
    findings = pipeline.drain().findings + pipeline.finish().findings
    kept = pipeline.snapshot().decode() + json.dumps([*memory._one.values(), *memory._many.values()])
    shown = json.dumps([[f.text, f.saw, f.expected, f.path] for f in findings])
    assert "as.example" in kept  # the flow was followed
    assert [secret for secret in SECRETS if secret in kept or secret in shown] == []


def test_tables_of_endpoints_are_bounded() -> None:
    discovery = Discovery(Sessions(DictMemory(), b""), DictMemory())
    for n in range(KEPT + 50):
        discovery.resource(f"https://s{n}.example/mcp")
    assert len(discovery.resources) == KEPT


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8) | st.just("https://as.example"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from([
    "authorization_servers", "resource", "scopes_supported", "issuer", "authorization_endpoint", "token_endpoint",
    "registration_endpoint", "code_challenge_methods_supported", "redirect_uris", "grant_types", "client_id",
    "access_token", "refresh_token", "token_type", "application_type", "error",
])  # fmt: skip
DOCUMENT = st.dictionaries(NAMES, JSON | st.just("https://as.example/token"), max_size=6)
PLACES = [
    "https://s.example/mcp", "https://s.example/.well-known/oauth-protected-resource/mcp",
    "https://s.example/.well-known/oauth-protected-resource", "https://as.example/.well-known/oauth-authorization-server",
    "https://as.example/.well-known/openid-configuration", "https://as.example/authorize", "https://as.example/token",
    "https://as.example/register", "http://127.0.0.1:5000/cb",
]  # fmt: skip
FORM = st.dictionaries(
    st.sampled_from(
        ["grant_type", "code", "state", "client_id", "redirect_uri", "resource", "scope", "refresh_token"]
    )
    | st.text(max_size=5),
    st.sampled_from(
        ["authorization_code", "refresh_token", "http://127.0.0.1:5000/cb", "https://app.example/c"]
    )
    | st.text(max_size=8),
    max_size=6,
)
STEP = st.tuples(
    st.sampled_from(PLACES), st.sampled_from(["GET", "POST", "DELETE"]), FORM, DOCUMENT | st.none(),
    st.sampled_from([200, 201, 302, 401, 403, 404]), st.sampled_from(["Bearer at-1", "Basic YTpi", ""]),
    st.text(alphabet='Berarscope="x, ', max_size=20),
)  # fmt: skip
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
}}})  # fmt: skip


def row(n: int, step: Any) -> dict[str, Any]:
    url, method, form, document, status, authorization, challenge = step
    headers = [["Host", "s.example"], *([["Authorization", authorization]] if authorization else [])]
    body = "" if method != "POST" else CALL if url.endswith("/mcp") else urlencode(form)
    target = f"{url}?{urlencode(form)}" if method == "GET" and "well-known" not in url else url
    return {
        "t": float(n),
        "flow": n,
        "conn": 1,
        "request": {"method": method, "url": target, "http": "HTTP/1.1", "headers": headers, "body": body},
        "response": {
            "status": status,
            "headers": [
                ["Content-Type", "application/json"],
                ["WWW-Authenticate", challenge],
                ["Location", target],
            ],
            "t": n + 0.1,
            "chunks": [{"t": n + 0.2, "data": json.dumps(document)}] if document is not None else [],
        },
        "t_end": n + 0.3,
        "closed_by": "server",
    }


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(STEP, min_size=1, max_size=10))
def test_no_flow_whatever_it_holds_makes_anything_raise(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    before, Judge.strict = Judge.strict, True
    try:
        file = tmp_path_factory.mktemp("flow") / "flow.jsonl"
        lines = [json.dumps(row(n, step)) for n, step in enumerate(steps)]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        pipeline, memory = fed(file)
        pipeline.drain()
        again = Pipeline.restore(pipeline.snapshot(), memory, b"salt")
        assert len(again.finish().findings) == len(pipeline.finish().findings)
    finally:
        Judge.strict = before

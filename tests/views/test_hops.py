"""`show --hops`: what a gateway made of a call, field by field; its host speaks this revision, its server an older."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import mrtrscope

T = 1_795_000_000.0
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}  # fmt: skip
SCHEMA = {"type": "object", "properties": {"size": {"type": "string"}}}
LEGACY = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "gate", "version": "1"}}


class Script:
    """Lines of one stdio channel."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[str] = []

    def __call__(self, at: float, dir: str, **body: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", **body})
        self.lines.append(json.dumps({"t": T + at, "dir": dir, "line": line}))

    def write(self) -> Path:
        self.path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return self.path


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One call through a gateway whose server asks in the old way."""
    folder = tmp_path_factory.mktemp("hops")
    host, up = Script(folder / "gateway.jsonl"), Script(folder / "tailor.jsonl")
    up(0.0, "c2s", id=0, method="initialize", params=LEGACY)
    up(
        0.1,
        "s2c",
        id=0,
        result={"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "tailor"}},
    )
    call = {"name": "order", "arguments": {"n": 7}}
    host(1.0, "c2s", id=1, method="tools/call", params={**call, "_meta": META})
    up(1.1, "c2s", id=5, method="tools/call", params=call)
    up(
        1.2,
        "s2c",
        id=9,
        method="elicitation/create",
        params={"message": "Which size?", "requestedSchema": SCHEMA},
    )
    params = {"message": "Which size?", "requestedSchema": SCHEMA, "mode": "form", "elicitationId": "e1"}
    asks = {"method": "elicitation/create", "params": params}
    host(
        1.3,
        "s2c",
        id=1,
        result={"resultType": "input_required", "requestState": "s", "inputRequests": {"q": asks}},
    )
    given = {"q": {"action": "accept", "content": {"size": "M"}}}
    host(4.0, "c2s", id=2, method="tools/call",
         params={**call, "_meta": META, "requestState": "s", "inputResponses": given})  # fmt: skip
    up(4.1, "c2s", id=9, result={"action": "accept", "content": {"size": "L"}})
    up(
        4.2,
        "s2c",
        id=5,
        result={"content": [{"type": "text", "text": "cut"}], "structuredContent": {"done": True}},
    )
    host(4.3, "s2c", id=2, result={"resultType": "complete", "content": [{"type": "text", "text": "cut"}]})
    target = folder / "capture"
    done = mrtrscope("import", host.write(), up.write(), "--capture", target)
    assert done.returncode == 0, done.stderr
    return target


def operations(capture: Path) -> dict[str, dict[str, Any]]:
    found = json.loads(mrtrscope("list", capture, "--format", "json").stdout)["operations"]
    return {op["id"]: op for op in found}


def test_the_two_sides_are_one_operation_with_its_question(capture: Path) -> None:
    ops = operations(capture)
    (host,) = [op for op in ops.values() if op["hops"]]
    (hop,) = [ops[name] for name in host["hops"]]
    assert (host["kind"], len(host["rounds"]), hop["kind"], hop["nested"]) == ("mrtr", 2, "legacy", ["op4"])
    assert (hop["hop_of"]["operation"], hop["hop_of"]["grade"]) == (host["id"], "exact")
    # both eras compare: the host waited 2.7 s for its user, the gateway 2.9 s for the host
    assert [round(op["times"][name], 1) for op in (host, hop) for name in ("server", "waiting", "total")] == [
        0.6, 2.7, 3.3, 0.2, 2.9, 3.1,
    ]  # fmt: skip


def test_every_field_that_was_added_dropped_or_altered_is_said(capture: Path) -> None:
    assert mrtrscope("show", capture, "op2", "--hops").stdout.splitlines() == [
        "",
        "op3  tools/call order on tailor: exact (the same result came back, the same question came back, same tool,"
        " same arguments and while that call was in flight)",
        "  to the server  m3 → m4",
        "    ~ /id  1 → 5",
        f"    - /params/_meta  {json.dumps(META)[:119]}…",
        "  back to the host  m9 → m10",
        "    ~ /id  5 → 2",
        '    - /result/structuredContent  {"done": true}',
        '    + /result/resultType  "complete"',
        "  question m5 → m6 “q”",
        '    + /params/mode  "form"',
        '    + /params/elicitationId  "e1"',
        "  answer to m6 “q” → m5",
        '    ~ /content/size  "M" → "L"',
    ]


def test_a_hop_leads_to_its_host(capture: Path) -> None:
    assert (
        mrtrscope("show", capture, "op3", "--hops").stdout
        == mrtrscope("show", capture, "op2", "--hops").stdout
    )


def test_what_has_no_hops_says_so(capture: Path) -> None:
    done = mrtrscope("show", capture, "op1", "--hops")
    assert (done.returncode, "op1 has no hops" in done.stderr) == (2, True)


def test_the_picture_has_the_gateway_between(capture: Path) -> None:
    text = mrtrscope("diagram", capture, "op2", "--format", "text", "--width", "110").stdout
    assert all(name in text for name in ("user", "client", "gateway", "server"))
    assert (
        text.index("tools/call order  id 1")
        < text.index("tools/call order  id 5")
        < text.index("input_required")
    )

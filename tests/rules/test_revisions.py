"""What a revision does not say is not asked of its sessions; what it says more softly is said more softly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.rules.examples import Case

from .judging import judged

# Case of the rule that holds in an earlier revision, the revision that first says it.
BEGAN = [
    ("auth/as-metadata-order", "conforms-earlier", "2025-11-25"),
    ("auth/client-uses-challenge-metadata", "conforms-earlier", "2025-11-25"),
    ("auth/pkce-s256", "conforms-earlier", "2025-11-25"),
    ("elicitation/default-type", "conforms-earlier", "2025-11-25"),
    ("schema/json-schema-valid", "conforms-earlier", "2025-11-25"),
    ("tools/output-schema-object", "conforms-earlier", "2025-06-18"),
    ("jsonrpc/no-batch", "conforms-first", "2025-06-18"),
]


def _found(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """Rules that were raised and their level."""
    file = tmp_path / "case.jsonl"
    file.write_text(case.transcript(case.transports(["http", "stdio"])[0])[0], encoding="utf-8")
    return {f.rule: f.level for f in judged(file, monkeypatch).findings}


def _text(rule: str, name: str) -> str:
    root = Path(__file__).parents[2] / "mrtrscope/rules/cases"
    return (root / rule / f"{name}.jsonl").read_text(encoding="utf-8")


def _of(version: str, text: str) -> str:
    """The same in a session of another revision."""
    head, *rows = [json.loads(line) for line in text.splitlines()]
    head["era"] = version
    rows = [row | {"handshake": version} if "handshake" in row else row for row in rows]
    return "".join(json.dumps(row) + "\n" for row in [head, *rows])


@pytest.mark.parametrize(("rule", "name", "since"), BEGAN)
def test_a_sentence_counts_from_the_revision_that_has_it(
    rule: str, name: str, since: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = _text(rule, name)
    assert rule not in _found(Case(rule, name, text), monkeypatch, tmp_path)
    assert rule in _found(Case(rule, name, _of(since, text)), monkeypatch, tmp_path)


def _session(version: str, *rows: dict[str, Any]) -> str:
    head: list[dict[str, Any]] = [
        {"case": "…", "era": version, "transport": "stdio"},
        {"handshake": version, "client": {"sampling": {}}, "server": {"tools": {}}},
    ]
    return "".join(json.dumps(row) + "\n" for row in (*head, *rows))


def test_what_became_a_requirement_later_is_milder_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    params = {
        "messages": [{"role": "user", "content": {"type": "text", "text": "Name a town"}}],
        "maxTokens": 10,
    }
    words = " ".join(f"word{n}" for n in range(120))
    said = {"role": "assistant", "content": {"type": "text", "text": words}, "model": "m-1"}
    long = _session(
        "2025-11-25",
        {"c2s": {"id": 1, "method": "tools/call", "params": {"name": "deploy"}}},
        {"s2c": {"id": "q", "method": "sampling/createMessage", "params": params}},
        {"c2s": {"id": "q", "result": said}},
    )
    rule = "sampling/max-tokens-respected"
    assert _found(Case(rule, "long", long), monkeypatch, tmp_path)[rule] == "info"
    stops = _session(
        "2025-11-25",
        {"c2s": {"id": 1, "method": "tools/list"}},
        {"s2c": {"id": 1, "result": {"tools": [], "nextCursor": "2"}}},
        {"c2s": {"id": 2, "method": "tools/list", "params": {"cursor": "2"}}},
        {"s2c": {"id": 2, "result": {"tools": [], "nextCursor": ""}}},
        {"c2s": {"id": 3, "method": "ping"}, "t": 9},
        {"s2c": {"id": 3, "result": {}}},
    )
    rule = "pagination/empty-cursor-not-end"
    assert _found(Case(rule, "stops", stops), monkeypatch, tmp_path)[rule] == "should"

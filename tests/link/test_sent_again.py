"""A retry that HTTP refused for want of credentials, sent again as it was with others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.link.facts import Exchange
from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from tests.feeding import feed

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
QUESTION = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": FORM}}
ASK = {"resultType": "input_required", "inputRequests": {"ok": QUESTION}}
DONE = {"resultType": "complete", "content": []}


def post(
    n: int, id: int, bearer: str, result: dict[str, Any] | None, conn: int = 1, **params: Any
) -> dict[str, Any]:
    """A tools/call and its answer; without a result it is refused with 401."""
    body = {
        "jsonrpc": "2.0",
        "id": id,
        "method": "tools/call",
        "params": {"name": "t", "_meta": META, **params},
    }
    headers = [["Content-Type", "application/json"], ["Accept", "application/json, text/event-stream"],
               ["MCP-Protocol-Version", "2026-07-28"], ["Mcp-Method", "tools/call"], ["Mcp-Name", "t"],
               ["Authorization", f"Bearer {bearer}"]]  # fmt: skip
    said = json.dumps({"jsonrpc": "2.0", "id": id, "result": result}) if result is not None else ""
    answer = {"status": 200 if said else 401, "t": n + 0.1, "headers": [["Content-Type", "application/json"]],
              "chunks": [{"t": n + 0.1, "data": said}] if said else []}  # fmt: skip
    request = {
        "method": "POST",
        "url": "http://127.0.0.1:8000/mcp",
        "headers": headers,
        "body": json.dumps(body),
    }
    return {"t": n, "flow": n, "conn": conn, "request": request, "t_req_end": n, "response": answer, "t_end": n + 0.2,
            "closed_by": "server"}  # fmt: skip


def read(path: Path, rows: list[dict[str, Any]]) -> list[Exchange]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pipeline = Pipeline(DictMemory(), b"salt")
    feed(pipeline, path)
    return sorted(pipeline.drain().exchanges.values(), key=lambda e: e.t)


@pytest.mark.parametrize("state", [{"requestState": "v1.abcdef0123456789"}, {}])
@pytest.mark.parametrize(("id", "conn"), [(2, 1), (2, 2), (3, 1)])
def test_a_retry_sent_again_with_another_credential_stays_with_its_operation(
    state: dict[str, str], id: int, conn: int, tmp_path: Path
) -> None:
    given = {"inputResponses": {"ok": {"action": "decline"}}, **state}
    exchanges = read(tmp_path / "a.jsonl", [
        post(1, 1, "old", {**ASK, **state}), post(2, 2, "old", None, **given), post(3, id, "new", DONE, conn, **given),
    ])  # fmt: skip
    assert len({e.operation.key for e in exchanges}) == 1
    operation = exchanges[2].operation
    assert (operation.kind, operation.count, operation.outcome) == ("mrtr", 3, "complete")
    assert [e.link.to if e.link is not None else None for e in exchanges[1:]] == [exchanges[0].answer.key] * 2  # type: ignore[union-attr]
    assert exchanges[2].stranger is None


def test_the_same_words_of_another_client_are_another_operation(tmp_path: Path) -> None:
    given = {"inputResponses": {"ok": {"action": "decline"}}}
    exchanges = read(tmp_path / "a.jsonl", [
        post(1, 1, "old", ASK), post(2, 2, "old", None, **given), post(3, 7, "new", DONE, 2, **given),
    ])  # fmt: skip
    assert len({e.operation.key for e in exchanges}) == 2
    assert exchanges[2].link is None

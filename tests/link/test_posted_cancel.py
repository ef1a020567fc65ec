"""A cancellation that a client posts: of this revision it has no force, and of requests with one id it names none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from tests.feeding import feed

URL = "http://127.0.0.1:8000/mcp"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def posted(flow: int, t: float, version: str, body: dict[str, Any], status: int, *answers: tuple[float, Any],
           by: str = "server") -> dict[str, Any]:  # fmt: skip
    """A message that one client posts over a connection of its own, and the stream that answers."""
    head = [["Content-Type", "application/json"], ["MCP-Protocol-Version", version]]
    chunks = [{"t": t, "data": f"data: {json.dumps({'jsonrpc': '2.0', **said})}\n\n"} for t, said in answers]
    end = answers[-1][0] if answers else t
    return {
        "t": t,
        "flow": flow,
        "conn": flow,
        "request": {"method": "POST", "url": URL, "headers": head, "body": json.dumps({"jsonrpc": "2.0", **body})},
        "t_req_end": t,
        "response": {"status": status, "reason": "", "t": t, "chunks": chunks,
                     "headers": [["Content-Type", "text/event-stream"]] if answers else []},
        "t_end": end + 0.1,
        "closed_by": by,
    }  # fmt: skip


def call(flow: int, t: float, version: str, id: int, name: str, *answers: tuple[float, Any], by: str = "server"
         ) -> dict[str, Any]:  # fmt: skip
    params = {"name": name, **({"_meta": MODERN} if version == "2026-07-28" else {})}
    return posted(
        flow, t, version, {"id": id, "method": "tools/call", "params": params}, 200, *answers, by=by
    )


def cancel(flow: int, t: float, version: str, id: int) -> dict[str, Any]:
    return posted(flow, t, version, {"method": "notifications/cancelled", "params": {"requestId": id}}, 202)


def outcomes(path: Path, *rows: dict[str, Any]) -> tuple[dict[str, str], str]:
    """How each call ended, by its tool, and to which one the cancellation belongs."""
    path.write_text(
        "".join(json.dumps(row) + "\n" for row in sorted(rows, key=lambda row: row["t"])), "utf-8"
    )
    pipeline = Pipeline(DictMemory(), b"salt")
    feed(pipeline, path)
    batch = pipeline.drain()
    pipeline.finish()
    [named] = [
        operation for message, _, operation in batch.messages if message.method == "notifications/cancelled"
    ]
    ends = {operation.target: operation.outcome for operation in batch.operations.values()}
    return ends, batch.operations[named].target if named else ""


RESULT: dict[str, Any] = {"resultType": "complete", "content": []}
TOLD = {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}


def test_what_is_posted_cancels_nothing_that_goes_on(tmp_path: Path) -> None:
    """The server knows the closed stream alone, and rightly answers."""
    rows = call(1, 1, "2026-07-28", 7, "pay", (3, {"id": 7, "result": RESULT})), cancel(2, 2, "2026-07-28", 7)
    assert outcomes(tmp_path / "c.jsonl", *rows) == ({"pay": "complete"}, "pay")


def test_the_closed_stream_cancels(tmp_path: Path) -> None:
    rows = call(1, 1, "2026-07-28", 7, "pay", (2.1, TOLD), by="client"), cancel(2, 2, "2026-07-28", 7)
    assert outcomes(tmp_path / "c.jsonl", *rows) == ({"pay": "cancelled"}, "pay")


@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
def test_of_two_requests_with_the_id_none_is_chosen(version: str, tmp_path: Path) -> None:
    """Two clients count from 1, on one channel without sessions."""
    rows = (
        call(1, 1, version, 7, "pay", (5, {"id": 7, "result": RESULT})),
        call(2, 1.5, version, 7, "ship", (4, {"id": 7, "result": RESULT})),
        cancel(3, 2, version, 7),
    )
    assert outcomes(tmp_path / "c.jsonl", *rows) == ({"pay": "complete", "ship": "complete"}, "")


def test_an_earlier_revision_cancels_by_what_it_posts(tmp_path: Path) -> None:
    rows = call(1, 1, "2025-11-25", 7, "pay", (3, TOLD)), cancel(2, 2, "2025-11-25", 7)
    assert outcomes(tmp_path / "c.jsonl", *rows) == ({"pay": "cancelled"}, "pay")

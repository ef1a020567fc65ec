"""What `scope.db` may hold of credentials once the exchanges that used them are over: nothing that is of use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mrtrscope.analyse import bring_up_to_date
from mrtrscope.sources import open_source
from mrtrscope.sources.importing import import_source

SECRET = "s3cr3t"
URL = f"https://tools.example/mcp?access_token={SECRET}-in-query&v=1"
VERSION = "2025-11-25"


def flow(t: int, body: dict[str, Any], answer: dict[str, Any] | None, session: str = "") -> dict[str, Any]:
    head = [
        ["Content-Type", "application/json"],
        ["Authorization", f"Bearer {SECRET}-bearer"],
        ["Cookie", f"sid={SECRET}-cookie"],
        ["MCP-Protocol-Version", VERSION],
    ]
    said = [["Content-Type", "application/json"], ["Set-Cookie", f"sid={SECRET}-set"]]
    if session:
        head.append(["Mcp-Session-Id", session])
    else:
        said.append(["Mcp-Session-Id", f"{SECRET}-session"])
    status = 200
    if answer is None:
        status, said = 401, [["WWW-Authenticate", f'Bearer nonce="{SECRET}-nonce"']]
    chunks = [] if answer is None else [{"t": t + 0.1, "data": json.dumps({"jsonrpc": "2.0", **answer})}]
    return {
        "t": t,
        "request": {
            "method": "POST",
            "url": URL,
            "headers": head,
            "body": json.dumps({"jsonrpc": "2.0", **body}),
        },
        "response": {"status": status, "headers": said, "chunks": chunks},
    }


def test_credentials_of_what_is_over_are_not_in_the_database(tmp_path: Path) -> None:
    hello = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    welcome = {
        "protocolVersion": VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    session = f"{SECRET}-session"
    call = {"method": "tools/call", "params": {"name": "x", "arguments": {}}}
    flows = [
        flow(1, {"id": 1, "method": "initialize", "params": hello}, {"id": 1, "result": welcome}),
        flow(2, {"id": 2, **call}, {"id": 2, "result": {"content": []}}, session),
        flow(3, {"id": 3, **call}, None, session),
        flow(4, {"id": 4, **call}, {"id": 4, "result": {"content": []}}, session),
    ]
    (tmp_path / "a.json").write_text(json.dumps(flows), encoding="utf-8")
    with open_source(tmp_path / "a.json") as source:
        assert len(list(import_source(source, tmp_path / "c"))) == 1
    with bring_up_to_date(tmp_path / "c") as store:
        assert store.count("messages") == 7
        checkpoint = store.db.conn.execute("select value from meta where key = 'checkpoint'").fetchone()[0]
    at = checkpoint.find(SECRET.encode())
    assert at < 0, checkpoint[max(0, at - 200) : at + 100]
    for path in (tmp_path / "c").glob("scope.db*"):
        assert SECRET.encode() not in path.read_bytes(), path

"""What is told beside the operations: addresses that are none of ours, and messages that nobody judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import cli
from mrtrscope.analyse import bring_up_to_date
from mrtrscope.link import session
from mrtrscope.views import beside
from tests.captures import call, content, journal
from tests.conftest import SAMPLES

# the heads of the first requests to two of ours stood beyond the limit, before anything told what they are
OTHERS = {"addresses": 5, "more": True, "requests": 82}
JSON = [["Content-Type", "application/json"]]


def flow(n: int, url: str, body: str = "", answer: str = "<p>", **more: Any) -> dict[str, Any]:
    request = {"method": "POST" if body else "GET", "url": url, "headers": JSON if body else [], "body": body}
    said = {"status": 200, "headers": JSON if body else [["Content-Type", "text/html"]]}
    return {
        "t": n,
        "request": request | more,
        "response": said | {"chunks": [{"t": n + 0.1, "data": answer}]},
    }


def called(n: int, url: str) -> dict[str, Any]:
    return flow(n, url, call(n).decode(), json.dumps({"jsonrpc": "2.0", "id": n, "result": {}}))


def transcript(path: Path, flows: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(flows), encoding="utf-8")
    return path


def test_addresses_that_carried_nothing_of_ours_are_counted_and_are_no_channels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beyond so many they share one place; what turns out to be ours later gets its own."""
    monkeypatch.setattr(session, "ADDRESSES", 5)
    pages = [flow(n, f"https://shop.example/page/{n % 40}") for n in range(80)]
    ours = [
        called(80, "https://shop.example/page/39"),  # an address that was asked before
        called(81, "https://tools.example/mcp"),
        flow(82, "https://auth.example/.well-known/oauth-authorization-server", answer="{}"),
        flow(83, "https://quiet.example/mcp", headers=[["Mcp-Session-Id", "x"]]),
    ]
    path = transcript(tmp_path / "a.json", [*pages, *ours])
    with bring_up_to_date(path) as store:
        assert [(c.name, c.messages) for c in store.channels()] == [
            ("https://shop.example/page/39", 2), ("https://tools.example/mcp", 2),
            ("https://auth.example/.well-known/oauth-authorization-server", 0), ("https://quiet.example/mcp", 0),
        ]  # fmt: skip
        rows = store.db.conn.execute("select count(*) from channels").fetchone()[0]
        assert rows <= 4 + 5 + 1
        assert store.other_addresses() == OTHERS
        assert list(beside.lines(store)) == [
            "more than 5 other HTTP addresses carried nothing of MCP, A2A or OAuth (82 requests)."
        ]
    assert cli.run(["channels", str(path)]) == 0
    assert (
        capsys.readouterr().out.splitlines()[-1]
        == "more than 5 other HTTP addresses carried nothing of MCP, A2A or OAuth (82 requests)."
    )
    for command in (["list"], ["check", "--fail-on", "never"], ["channels"]):
        assert cli.run([*command, str(path), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["other_addresses"] == OTHERS


def test_few_other_addresses_change_nothing(tmp_path: Path) -> None:
    ours = [called(n, "https://tools.example/mcp") for n in (1, 3, 5)]
    pages = [flow(n, f"https://shop.example/{n}") for n in (2, 4)]
    one = transcript(tmp_path / "a.json", ours)
    two = transcript(tmp_path / "b.json", sorted([*ours, *pages], key=lambda f: f["t"]))
    with bring_up_to_date(one) as a, bring_up_to_date(two) as b:
        first, second = content(a), content(b)
        assert [c["name"] for c in second["channels"]] == ["https://tools.example/mcp"]
        assert [o["method"] for o in first["operations"]] == [o["method"] for o in second["operations"]]
        assert list(beside.lines(a)) == []
        assert list(beside.lines(b)) == [
            "2 other HTTP addresses carried nothing of MCP, A2A or OAuth (2 requests)."
        ]


def test_what_was_kept_and_not_judged_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 600 + b"]" * 600 + b"}"
    long = b'{"jsonrpc":"2.0","id":2,"result":"' + b"x" * (1 << 21) + b'"}'
    monkeypatch.setattr("mrtrscope.wire.jsonrpc.MAX_SIZE", 1 << 20)
    journal(tmp_path, [(1, "c2s", call(1)), (2, "s2c", deep), (3, "s2c", long), (4, "s2c", deep)]).close()
    line = (
        "3 messages were kept, but not judged: 1 longer than 64 MiB or of more than 4,000,000 values and"
        " 2 nested deeper than 512."
    )
    for command in (["list"], ["check", "--fail-on", "never"], ["channels"]):
        assert cli.run([*command, str(tmp_path)]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == line
        assert cli.run([*command, str(tmp_path), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["not_judged"] == {"too-long": 1, "too-deep": 2}


def test_a_connection_of_which_no_request_is_an_address_of_its_own_is_not_counted() -> None:
    with bring_up_to_date(SAMPLES / "sample-relay") as store:
        assert store.other_addresses()["addresses"] == 0
        assert list(beside.lines(store)) == []

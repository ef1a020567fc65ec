"""The JSON that scripts rely on: the names that were promised, and numbers that mean the same in every output."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.cli import run
from tests.conftest import SAMPLES, SHARED

SAMPLE = ["sample-demo", "sample-relay", "sample-stdio"]


def said(capsys: pytest.CaptureFixture[str], verb: str, path: Path) -> dict[str, Any]:
    assert run([verb, str(path), "--format", "json"]) in (0, 1)
    out = capsys.readouterr().out
    assert out.isascii()
    found: dict[str, Any] = json.loads(out)
    return found


def copied(name: str, folder: Path) -> Path:
    return shutil.copytree(
        SAMPLES / name, folder / name, ignore=shutil.ignore_patterns("scope.db*", "*.lock")
    )


@pytest.mark.parametrize("name", SAMPLE)
def test_operations(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    operations = said(capsys, "list", copied(name, tmp_path))["operations"]
    assert [op["id"] for op in operations] == [f"op{n}" for n in range(1, len(operations) + 1)]
    linked = 0
    for op in operations:
        assert op.keys() >= {
            "id",
            "kind",
            "channel",
            "method",
            "target",
            "outcome",
            "rounds",
            "attached",
            "findings",
        }
        assert op["outcome"] in ("complete", "error", "open", "abandoned", "cancelled", "lost")
        assert op["times"].keys() == {"server", "waiting", "total"}
        assert op["kind"] != "mrtr" or len(op["rounds"]) > 0
        for one in op["rounds"]:
            assert one.keys() >= {"request", "answer", "link"}
            if link := one["link"]:
                linked += 1
                assert link.keys() >= {"to", "grade", "evidence", "candidates"}
                assert link["grade"] in ("exact", "inferred", "suspect", "ambiguous")
                assert link["to"] is None or link["grade"] == "suspect" or link["to"] in link["candidates"]
    assert linked > 5


@pytest.mark.parametrize("name", SAMPLE)
def test_messages(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copied(name, tmp_path)
    found = said(capsys, "messages", path)
    messages = found["messages"]
    assert type(found["non_messages"]) is int and type(found["undelivered"]) is int
    assert [m["m"] for m in messages] == [f"m{n}" for n in range(1, len(messages) + 1)]
    assert [m["t"] for m in messages] == sorted(m["t"] for m in messages)
    rounds = [r for op in said(capsys, "list", path)["operations"] for r in op["rounds"]]
    asked, answered = {r["request"] for r in rounds}, {r["answer"] for r in rounds if r["answer"]}
    for m in messages:
        assert m.keys() >= {
            "m",
            "t",
            "channel",
            "dir",
            "kind",
            "id",
            "method",
            "operation",
            "frames",
            "source",
        }
        assert m["kind"] in ("request", "response", "error", "notification", "invalid")
        assert m["source"]["file"].endswith(".mrj") and m["frames"]
        assert (m["m"] in asked) == (m["kind"] == "request")
    assert answered <= {m["m"] for m in messages if m["kind"] in ("response", "error")}


@pytest.mark.parametrize("name", SAMPLE)
def test_findings(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = copied(name, tmp_path)
    found = said(capsys, "check", path)
    messages = {m["m"] for m in said(capsys, "messages", path)["messages"]}
    counts = {
        level: sum(f["level"] == level for f in found["findings"]) for level in ("must", "should", "info")
    }
    assert found["counts"] == counts and counts["must"] > 0
    for f in found["findings"]:
        assert f.keys() >= {"rule", "level", "keyword", "party", "at", "also", "operation", "saw", "expected", "text",
                            "source"}  # fmt: skip
        assert f["party"] in ("client", "server", "either")
        assert f["keyword"] in ("must", "must-not", "should", "should-not", "advisory")
        assert f["at"] in messages or f["at"].startswith("f")


def test_places_in_a_stdio_transcript(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.name.jsonl"
    ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    rows = [{"t": 1, "dir": "c2s", "line": "noise"}, {"t": 2, "dir": "c2s", "line": ping}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (message,) = said(capsys, "messages", path)["messages"]
    assert {k: v for k, v in message["source"].items() if v is not None} == {
        "file": "some.name.jsonl",
        "line": 1,
    }


def test_places_in_an_http_transcript(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.json"
    answers = ['{"jsonrpc":"2.0","method":"notifications/message"}', '{"jsonrpc":"2.0","id":1,"result":{}}']
    row = {
        "t": 1,
        "flow": 7,
        "request": {
            "method": "POST",
            "url": "http://x/mcp",
            "headers": [["content-type", "application/json"]],
            "body": '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        },
        "response": {
            "status": 200,
            "headers": [["content-type", "text/event-stream"]],
            "chunks": [{"t": 2 + n, "data": f"data: {text}\n\n"} for n, text in enumerate(answers)],
        },
        "t_end": 4,
    }
    path.write_text(json.dumps([row]), encoding="utf-8")
    messages = said(capsys, "messages", path)["messages"]
    assert [{k: v for k, v in m["source"].items() if v is not None} for m in messages] == [
        {"file": "a.json", "flow": 7},
        {"file": "a.json", "flow": 7, "event": 0},
        {"file": "a.json", "flow": 7, "event": 1},
    ]


@pytest.mark.shared
def test_every_small_input_gives_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert SHARED is not None
    inputs = sorted((SHARED / "cases" / "inputs").iterdir())
    assert len(inputs) > 30
    for path in inputs:
        for verb in ("list", "messages", "check"):
            assert said(capsys, verb, path)

"""A tool that failed answers in good order: the operation is complete, and every list says that it is no success."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import analyse
from mrtrscope.cli import run
from mrtrscope.views.report import markdown, pages
from mrtrscope.views.report.choose import Choice
from tests.captures import journal

FAILED: dict[str, Any] = {"content": [{"type": "text", "text": "no such row"}], "isError": True}
ENDS: list[dict[str, Any]] = [
    {"result": FAILED},
    {"result": {"content": [], "isError": False}},
    {"result": {"content": [], "isError": "yes"}},
    {"error": {"code": -32602, "message": "Unknown tool: x"}},
    {"result": {"taskId": "t", "status": "completed", "resultType": "complete", "result": FAILED}},
]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    lines = []
    for n, end in enumerate(ENDS, 1):
        request = {
            "jsonrpc": "2.0",
            "id": n,
            "method": "tools/call",
            "params": {"name": "x", "arguments": {}},
        }
        lines.append((2000 * n, "c2s", json.dumps(request).encode()))
        lines.append((2000 * n + 900, "s2c", json.dumps({"jsonrpc": "2.0", "id": n, **end}).encode()))
    journal(tmp_path / "capture", lines).close()
    return tmp_path / "capture"


def test_the_row_says_it(capture: Path) -> None:
    with analyse.bring_up_to_date(capture) as store:
        found = [(operation.outcome, operation.tool_error) for operation in store.operations()]
        alone = [store.operation(f"op{n}") for n in range(1, len(ENDS) + 1)]
    assert found == [
        ("complete", True), ("complete", False), ("complete", False), ("error", False), ("complete", True),
    ]  # fmt: skip
    assert [(one.outcome, one.tool_error) for one in alone if one is not None] == found


def test_lists_and_reports_say_it(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", str(capture)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("op")]
    assert ["complete, isError" in line for line in lines] == [True, False, False, False, True]
    assert run(["show", str(capture), "op1"]) == 0
    assert "1 round, complete, isError" in capsys.readouterr().out
    assert run(["list", str(capture), "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)["operations"]
    assert [one["tool_error"] for one in listed] == [True, False, False, False, True]
    with analyse.bring_up_to_date(capture) as store:
        made = pages.write(store, tmp_path / "page.html", Choice(("isError",)))
        markdown.write(store, tmp_path / "page.md")
    assert made.operations == 2
    assert (tmp_path / "page.md").read_text(encoding="utf-8").count("| complete, isError |") == 2


def test_a_lane_and_its_sentence_say_it(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diagram", str(capture), "--session", "--format", "svg"]) == 0
    assert "op1 tools/call x: complete, isError after 1 round" in capsys.readouterr().out

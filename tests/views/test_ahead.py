"""A secret is hidden wherever it stands in a capture, however far from the place where it is named."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import analyse
from mrtrscope.cli import run
from mrtrscope.views import ahead, detail
from mrtrscope.views.redact import Redactor
from mrtrscope.views.report import markdown, pages
from mrtrscope.views.report.choose import Choice
from tests.captures import Line, journal

SECRET, OTHER = "kq7XplanetS", "zv3WcometQ"


def said(id: int, result: str = "done", **arguments: Any) -> tuple[bytes, bytes]:
    call = {"name": "open", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}
    answer = {"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": result}]}}
    return json.dumps(request).encode(), json.dumps(answer).encode()


def recorded(capture: Path, calls: int) -> None:
    """Calls of a tool: what the first and the second say in passing, only the last ones name."""
    lines: list[Line] = []
    for n in range(1, calls + 1):
        given: dict[str, Any] = {"door": n}
        if n == calls:
            given = {"password": SECRET}
        elif n == calls - 1:
            given = {"headers": {"api-key": OTHER}}
        text = {1: f"it opens with {SECRET}", 2: f"or ({OTHER}), not {OTHER}s"}.get(n, "done")
        request, answer = said(n, text, **given)
        lines += [(2000 * n, "c2s", request), (2000 * n + 900, "s2c", answer)]
    journal(capture, lines).close()


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More operations than are read together."""
    made = tmp_path_factory.mktemp("ahead") / "capture"
    recorded(made, detail._MOST + 40)
    return made


def unpacked(page: Path) -> str:
    found = re.findall(
        r'<script type="text/plain" id="[a-z0-9-]+">([A-Za-z0-9+/=]*)</script>',
        page.read_text(encoding="utf-8"),
    )
    return "".join(zlib.decompress(base64.b64decode(data), -15).decode() for data in found)


def test_a_report_hides_what_is_named_thousands_of_operations_later(capture: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    with analyse.bring_up_to_date(capture) as store:
        made = pages.write(store, page)
    text = unpacked(page)
    assert made.operations > detail._MOST and made.hidden == 2
    assert SECRET not in text and f"({OTHER})" not in text
    hidden = json.dumps("‹hidden 1›")[1:-1]
    assert f"it opens with {hidden}" in text and f"{OTHER}s" in text  # a longer word is another one


def test_what_is_not_chosen_is_looked_through_too(capture: Path, tmp_path: Path) -> None:
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    with analyse.bring_up_to_date(capture) as store:
        made = pages.write(store, page, Choice(("op1",)))
        markdown.write(store, text, Choice(("op1",)))
    assert made.operations == 1 and made.hidden == 1  # what is not shown is not listed as hidden
    assert "it opens with" in unpacked(page) and SECRET not in unpacked(page)
    assert SECRET not in text.read_text(encoding="utf-8")


def test_every_picture_of_a_capture_hides_the_same(tmp_path: Path) -> None:
    recorded(tmp_path / "capture", 6)
    assert run(["diagram", str(tmp_path / "capture"), "--all", "-o", str(tmp_path / "all")]) == 0
    pictures = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "all").iterdir()}
    assert len(pictures) == 6 and not any(SECRET in text for text in pictures.values())
    assert "‹hidden 1›" in pictures["op1"] and "‹hidden 1›" in pictures["op6"]


@pytest.mark.parametrize("command", [
    ["show", "op1"], ["show", "m2"], ["diagram", "op1"], ["diagram", "op1", "--format", "text"],
    ["diagram", "m2", "--format", "mermaid"], ["check", "--format", "json", "--all"], ["check", "--all"],
    ["report", "--format", "md", "--only", "op1"], ["list"], ["messages"],
], ids=" ".join)  # fmt: skip
def test_every_command_hides_what_others_name(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = tmp_path / "capture"
    recorded(capture, 6)
    whole = [command[0], str(capture), *command[1:]]
    assert run(whole) in (0, 1)
    out = capsys.readouterr().out
    assert SECRET not in out
    if command[0] in ("show", "diagram"):
        assert "‹hidden 1›" in out and "it opens with" in out
        assert run([*whole, "--raw"]) == 0
        assert SECRET in capsys.readouterr().out


def test_a_picture_hides_what_stands_as_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }
    call = {"name": "open", "arguments": {SECRET: 1}, "_meta": meta}
    schema = {"type": "object", "properties": {SECRET: {"type": "string"}}}
    form = {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": schema}}
    asked = {"resultType": "input_required", "inputRequests": {SECRET: form, f"{SECRET}/b": form}}
    answers = {SECRET: {"action": "accept", "content": {SECRET: "x"}}}
    lines = [
        (n * 1000, dir, json.dumps({"jsonrpc": "2.0", **body}).encode())
        for n, (dir, body) in enumerate([
            ("c2s", {"id": 1, "method": "tools/call", "params": {**call, "arguments": {"password": SECRET}}}),
            ("s2c", {"id": 1, "result": {"resultType": "complete", "content": []}}),
            ("c2s", {"id": SECRET, "method": "tools/call", "params": call}),
            ("s2c", {"id": SECRET, "result": asked}),
            ("c2s", {"id": 3, "method": "tools/call", "params": {**call, "inputResponses": answers}}),
            ("s2c", {"id": 3, "result": {"resultType": "complete", "content": []}}),
        ], 1)
    ]  # fmt: skip
    journal(tmp_path / "capture", lines).close()
    for format in ("svg", "dot", "mermaid", "plantuml", "text"):
        assert run(["diagram", str(tmp_path / "capture"), "op2", "--format", format]) == 0
        out = capsys.readouterr().out
        assert "hidden 1" in out and SECRET not in out


def test_a_finding_that_repeats_what_another_message_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[Line] = []
    request, answer = said(1, password=SECRET)
    lines += [(1000, "c2s", request), (2000, "s2c", answer)]
    odd = {"jsonrpc": SECRET, "id": 2, "method": "ping"}
    lines.append((3000, "c2s", json.dumps(odd).encode()))
    journal(tmp_path / "capture", lines).close()
    assert run(["check", str(tmp_path / "capture"), "--all"]) == 1
    out = capsys.readouterr().out
    assert "jsonrpc/" in out and "‹hidden 1›" in out and SECRET not in out


def test_raw_looks_for_nothing(tmp_path: Path) -> None:
    recorded(tmp_path / "capture", 6)
    with analyse.bring_up_to_date(tmp_path / "capture") as store:
        text = f"{SECRET} {OTHER}"
        assert ahead.redactor(store, raw=True).text(text) == text
        assert ahead.redactor(store).text(text) == "‹hidden 1› ‹hidden 2›"


def test_no_secret_is_in_the_database(tmp_path: Path) -> None:
    recorded(tmp_path / "capture", 6)
    with analyse.bring_up_to_date(tmp_path / "capture") as store:
        rows = list(store.db.conn.execute("select back, size, why, digest from secrets order by why"))
    assert [row[:3] for row in rows] == [(0, 10, "value of api-key"), (0, 11, "value of password")]
    assert all(len(row[3]) == 16 and row[3] not in (SECRET.encode(), OTHER.encode()) for row in rows)


def test_a_value_remembered_gets_a_stand_in_when_it_is_shown() -> None:
    redact = Redactor()
    redact.remember(SECRET, "value of password")
    assert redact.count == 0 and redact.known("else") is None
    assert redact.text(f"{SECRET}: {SECRET}, {SECRET}2, _{SECRET}") == (
        f"‹hidden 1›: ‹hidden 1›, {SECRET}2, _{SECRET}"
    )
    assert redact.hidden == {"‹hidden 1›": "value of password"}

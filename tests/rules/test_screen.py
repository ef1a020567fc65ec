"""What the screen calls ordinary is beyond reproach, and what it calls odd is sorted to the right rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.frames import Frame
from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules import judge, registry
from mrtrscope.rules.examples import Case, cases_of, rules_with_cases
from mrtrscope.rules.judge import Judge
from mrtrscope.rules.screen import (
    DECLARES_ODDLY,
    META_ODD,
    ODD,
    RESULT_ODD,
    TRACED,
    WITH_META,
)
from mrtrscope.rules.screen import (
    screen as the_screen,
)
from mrtrscope.wire.events import Message
from mrtrscope.wire.reader import Reader
from tests.feeding import feed

MINE = ODD | WITH_META | META_ODD | TRACED | DECLARES_ODDLY | RESULT_ODD  # others have tests of their own
OURS = "io.modelcontextprotocol/"
META: dict[str, Any] = {
    f"{OURS}protocolVersion": "2026-07-28",
    f"{OURS}clientInfo": {"name": "c", "version": "1"},
    f"{OURS}clientCapabilities": {"elicitation": {"form": {}}, "extensions": {"com.acme/x": {}}},
}
SERVER = {f"{OURS}serverInfo": {"name": "s", "version": "1"}}


def screen(message: Message) -> int:
    return the_screen(message) & MINE


def everything(message: Message) -> int:
    """Every group that a message of its kind may fall into."""
    bits = the_screen(message) | ODD | META_ODD | TRACED
    if message.kind == "request" and message.dir == "c2s":
        bits |= DECLARES_ODDLY
    return bits | RESULT_ODD if message.kind == "response" else bits


def message(lane: str, text: str | dict[str, Any]) -> Message:
    reader = Reader()
    reader.source("j", {"how": "wrap", "channel": "c"})
    line = text if isinstance(text, str) else json.dumps(text, separators=(",", ":"))
    made = reader.feed(Frame("j", 0, 0, 1, lane, "data", line.encode() + b"\n"))[-1]
    assert isinstance(made, Message)
    return made


def request(**changes: Any) -> Message:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "_meta": META}}
    return message("0i", {**body, **changes})


def call(meta: Any) -> Message:
    return request(params={"name": "x", "_meta": meta})


def result(value: Any, **more: Any) -> Message:
    return message("0o", {"jsonrpc": "2.0", "id": 1, "result": value, **more})


def test_ordinary_messages() -> None:
    assert screen(request()) == WITH_META
    assert screen(result({"resultType": "complete", "content": [], "_meta": SERVER})) == WITH_META
    assert screen(message("0o", {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}})) == 0
    assert screen(message("0o", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})) == 0


@pytest.mark.parametrize(
    "changes",
    [{"jsonrpc": "1.0"}, {"id": None}, {"id": 1.5}, {"id": True}, {"method": "rpc.x"}, {"method": "notifications/x"}],
)  # fmt: skip
def test_odd_form(changes: dict[str, Any]) -> None:
    assert screen(request(**changes)) & ODD


def test_odd_text_and_params() -> None:
    assert screen(message("0o", '{"jsonrpc":"2.0","jsonrpc":"2.0","method":"notifications/x"}')) == ODD
    assert (
        screen(message("0i", {"jsonrpc": "2.0", "id": 1, "method": "x", "params": []}))
        == ODD | DECLARES_ODDLY
    )
    assert screen(message("0o", {"jsonrpc": "2.0", "method": "x", "params": None})) == ODD
    assert screen(result({}, error={"code": 1, "message": "x"})) == ODD | RESULT_ODD
    assert screen(result([])) == ODD | RESULT_ODD


@pytest.mark.parametrize(
    "change",
    [
        {f"{OURS}protocolVersion": None}, {f"{OURS}protocolVersion": 2026}, {f"{OURS}clientInfo": {"name": "c"}},
        {f"{OURS}clientInfo": {"name": "c", "version": "1", "websiteUrl": "x"}}, {f"{OURS}clientCapabilities": []},
        {f"{OURS}clientCapabilities": {"tasks": {}}}, {f"{OURS}clientCapabilities": {"roots": {"listChanged": True}}},
        {f"{OURS}clientCapabilities": {"elicitation": True}},
        {f"{OURS}clientCapabilities": {"extensions": {"noprefix": {}}}},
    ],
)  # fmt: skip
def test_odd_declarations(change: dict[str, Any]) -> None:
    meta = {k: v for k, v in {**META, **change}.items() if v is not None}
    assert screen(call(meta)) == WITH_META | DECLARES_ODDLY


def test_odd_meta() -> None:
    assert screen(call({**META, "_x": 1})) == WITH_META | META_ODD
    assert screen(call({**META, "progressToken": 1.5})) == WITH_META | META_ODD
    assert screen(call({**META, "traceparent": "x", "com.acme/y": 1})) == WITH_META | TRACED
    assert screen(call([])) == META_ODD | DECLARES_ODDLY
    deep = {"resultType": "complete", "content": [{"type": "text", "text": "", "_meta": {}}], "_meta": SERVER}
    assert screen(result(deep)) == WITH_META | META_ODD


@pytest.mark.parametrize(
    "value",
    [
        {"content": [], "_meta": SERVER}, {"resultType": "other", "_meta": SERVER}, {"resultType": [], "_meta": SERVER},
        {"resultType": "complete", "_meta": {}}, {"resultType": "complete", "status": "working", "_meta": SERVER},
    ],
)  # fmt: skip
def test_odd_results(value: dict[str, Any]) -> None:
    assert screen(result(value)) & ~WITH_META == RESULT_ODD


def _runs(area: str) -> Iterator[tuple[Case, str]]:
    rules = registry.load()
    for id in (id for id in rules_with_cases() if id.startswith(f"{area}/")):
        for case in cases_of(id):
            for transport in case.transports(sorted(rules[id].transports)):
                yield case, transport


def _findings(file: Path) -> list[tuple[str, str]]:
    pipeline = Pipeline(DictMemory(), salt=b"salt")
    feed(pipeline, file)
    return sorted((f.id, f.rule) for f in pipeline.drain().findings + pipeline.finish().findings)


@pytest.mark.parametrize("area", sorted({id.partition("/")[0] for id in rules_with_cases()}))
def test_rules_find_nothing_in_what_is_called_ordinary(
    area: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the screen taken away every rule sees every message of every case: no finding more, none less."""
    monkeypatch.setattr(Judge, "strict", True)
    file = tmp_path / "case.jsonl"
    for case, transport in _runs(area):
        file.write_text(case.transcript(transport)[0], encoding="utf-8")
        usual = _findings(file)
        with monkeypatch.context() as patch:
            patch.setattr(judge, "screen", everything)
            assert _findings(file) == usual, f"{case.rule}/{case.name} {transport}"

"""What stands under an arrow: of an answer that lists or greets, what it says in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.views import labels
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import RoundDetail, Said


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        ({"tools": [{"name": "a"}, {"name": "b"}]}, ["2 tools: a, b"]),
        ({"tools": [{"name": str(n)} for n in range(1200)]}, ["1,200 tools: 0, 1, 2, 3 and 1,196 more"]),
        ({"tools": []}, ["0 tools"]),
        ({"tools": {"a": 1}}, []),
        ({"tools": ["x", None, {}, {"name": ["y"]}]}, ['4 tools: x, null, ?, ["y"]']),
        ({"resourceTemplates": [{"uriTemplate": "x"}]}, ["1 template: ?"]),
        ({"roots": [{"uri": "file:///home"}]}, ["1 root: file:///home"]),
        ({"completion": {"values": ["Oslo", "Omsk"]}}, ["2 values: Oslo, Omsk"]),
        ({"protocolVersion": "2025-11-25", "serverInfo": {"name": "x"}}, ["agrees on 2025-11-25"]),
        ({"supportedVersions": ["2026-07-28", "2025-11-25"]}, ["speaks 2026-07-28, 2025-11-25"]),
        ({"content": [{"type": "text", "text": "done"}]}, ["done"]),
        ({"content": [{"type": "text", "text": '{\n  "a": 1,\r\n\t"b": 2\n}'}]}, ['{ "a": 1, "b": 2 }']),
        ({}, []),
    ],
)
def test_an_answer_says_what_it_brings(result: dict[str, Any], lines: list[str]) -> None:
    said = Said("m2", 2.0, "s2c", "response", {"jsonrpc": "2.0", "id": 1, "result": result})
    assert [line.text for line in labels.answer(said, Redactor())[1]] == lines


@pytest.mark.parametrize(("version", "lines"), [("2025-11-25", ["offers 2025-11-25"]), (7, []), (None, [])])
def test_a_greeting_says_what_it_offers(version: Any, lines: list[str]) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": version}}
    label, found, _ = labels.request(RoundDetail(Said("m1", 1.0, "c2s", "request", body)), Redactor(), False)
    assert label == "initialize  id 1"
    assert [line.text for line in found] == lines

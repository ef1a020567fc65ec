"""One operation, exchange or frame in full: what is there, what changed, where the state went, and nothing secret."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.cli import run
from tests.captures import journal
from tests.conftest import SAMPLES

STATE = "s" * 20 + "0123456789" * 5
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def line(id: int, state: str | None = None, **more: Any) -> bytes:
    params = {"_meta": META, "name": "deploy", "arguments": {"password": "hunter2"}} | more
    if state is not None:
        params |= {"requestState": state, "inputResponses": {"ok": {"action": "accept", "content": {}}}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()


def answer(id: int, **result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": result}).encode()


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    asks = {
        "ok": {
            "method": "elicitation/create",
            "params": {"mode": "form", "message": "?", "requestedSchema": {}},
        }
    }
    asked = answer(1, resultType="input_required", inputRequests=asks, requestState=STATE)
    done = answer(2, resultType="complete", content=[{"type": "text", "text": "x" * 400}])
    lines = [(10, "c2s", line(1)), (20, "s2c", asked), (30, "c2s", line(2, STATE)), (40, "s2c", done)]
    journal(tmp_path, lines).close()
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *args: str | Path) -> str:
    assert run(["show", *map(str, args)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_an_operation(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, capture, "op1")
    assert re.match(
        r"op1  tools/call deploy on srv: 2 rounds, complete\nbegan 20\d\d-.*; server 0.0 ms, waiting", out
    )
    assert "Round 1 of 2  m1 → m2\n" in out and "Round 2 of 2  m3 → m4\n" in out
    assert "  takes up m2: exact (state equal, " in out
    assert re.search(
        r"  changed since m1:\n    - /id  1\n    \+ /id  2\n"
        r"    \+ /params/requestState  ssssss…6789 #[0-9a-f]{6}  70 characters\n"
        r'    \+ /params/inputResponses  \{"ok": ',
        out,
    )
    (issued, brought) = re.findall(r"^  (m. \w+ +)(ssssss…6789 #\w{6})  70 characters$", out, re.M)
    assert (issued[0].split(), brought[0].split()) == (["m2", "issued"], ["m3", "brought"])
    assert issued[1] == brought[1]
    assert STATE not in out and "hunter2" not in out and '"‹hidden 1›"' in out
    assert "… (400 characters)" in out


def test_raw_hides_and_shortens_nothing(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, capture, "op1", "--raw")
    assert STATE in out and "hunter2" in out and "x" * 400 in out and "hidden" not in out


@pytest.mark.parametrize("m", ["m3", "m4"])
def test_an_exchange(capture: Path, capsys: pytest.CaptureFixture[str], m: str) -> None:
    out = shown(capsys, capture, m)
    assert out.startswith("m3  of op1, on srv, client ")
    assert re.findall(r"^  (m\d)  [\d:.]+ ([→←] .*)$", out, re.M) == [
        ("m3", "→ request 2 tools/call deploy"),
        ("m4", "← answer to 2"),
    ]


def test_a_frame(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert re.fullmatch(r"f1  opened, on srv\n  20.* UTC  c2s  .*\.mrj:\d+\n", shown(capsys, capture, "f1"))


def test_heads_of_http_without_credentials(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, SAMPLES / "sample-relay", "m1")
    assert re.search(r"^  POST http://127\.0\.0\.1:\d+/mcp$", out, re.M)
    assert re.search(r"^      mcp-method: server/discover$", out, re.M | re.I)
    assert re.search(r"^  200 OK$", out, re.M)


def test_a_message_that_is_gone_is_said_to_be(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown(capsys, capture, "op1")
    for path in (capture / "journals").iterdir():
        path.unlink()
    out = shown(capsys, capture, "op1", "--no-update")
    assert out.count("(not in the files any more)") == 4

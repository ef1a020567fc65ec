"""A capture as steps: the numbers of `list`, parents, and what was scrubbed."""

from __future__ import annotations

import json
from pathlib import Path

from mrtrscope.replay import Recording
from tests.conftest import SAMPLES, mrtrscope
from tests.replay.world import YES, asks, call, recording, said


def test_operations_are_numbered_as_list_numbers_them() -> None:
    listed = json.loads(mrtrscope("list", SAMPLES / "sample-demo", "--format", "json").stdout)["operations"]
    steps = Recording.load(SAMPLES / "sample-demo").steps
    named = {op["id"]: (op["method"], op["target"] or "", len(op["rounds"])) for op in listed}
    assert len(named) == 26
    assert {
        s.op: (s.exchange.method, s.exchange.target, sum(t.op == s.op for t in steps))
        for s in steps
        if s.parent is None
    } == named


def test_a_retry_knows_the_question_it_takes_up(tmp_path: Path) -> None:
    got = recording(
        tmp_path,
        call(1, "a"),
        asks(1, "s"),
        call(2, "a", inputResponses={"q": YES}, requestState="s"),
        said(2, "x"),
    )
    first, second = got.steps
    assert (first.children, second.parent, got.firsts) == ([second], first, [first])
    assert (first.op, second.op, second.name) == ("op1", "op1", "tools/call a")
    assert not got.scrubbed


def test_a_credential_that_was_taken_out_is_noticed(tmp_path: Path) -> None:
    lines = []
    for value in ("Bearer [REDACTED]", "Bearer abcdef0123456789"):
        exchange = {
            "request": {
                "method": "POST", "url": "http://127.0.0.1:1/mcp", "headers": [["Authorization", value]],
                "body": json.dumps(call(1, "a")),
            },
            "response": {
                "status": 200, "headers": [["content-type", "application/json"]], "body": json.dumps(said(1, "x"))
            },
        }  # fmt: skip
        path = tmp_path / f"{len(lines)}.jsonl"
        path.write_text(json.dumps(exchange) + "\n", encoding="utf-8")
        lines.append(Recording.load(path))
    assert [r.scrubbed for r in lines] == [True, False]

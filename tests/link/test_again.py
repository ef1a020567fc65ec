"""A request once more after its answer broke off: told on evidence, graded, never a fact."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.link import again
from mrtrscope.link.facts import Operation
from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from tests.feeding import feed

ME, OTHER = {"name": "atlas", "version": "1"}, {"name": "rover", "version": "1"}
Flow = dict[str, Any]


def call(t: float, n: int = 1, *, end: str = "", who: Any = ME, credential: str = "", session: str = "", era: str = "",
         method: str = "tools/call") -> Flow:  # fmt: skip
    """A flow: a call at `t` that is answered a second later, or breaks off (`end`) then."""
    meta: Flow = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    if who:
        meta["io.modelcontextprotocol/clientInfo"] = who
    params: Flow = {"name": "go", "arguments": {"n": n}}
    if not era:
        params["_meta"] = meta
    body = {"jsonrpc": "2.0", "id": int(t * 1000), "method": method, "params": params}
    headers = [["Content-Type", "application/json"], ["MCP-Protocol-Version", era or "2026-07-28"]]
    if credential:
        headers.append(["Authorization", f"Bearer {credential}"])
    if session:
        headers.append(["Mcp-Session-Id", session])
    answer = {"jsonrpc": "2.0", "id": body["id"], "result": {"resultType": "complete", "content": []}}
    data = "event: message\ndata: " + json.dumps(answer) + "\n\n"
    response: Flow = {"status": 200, "headers": [["Content-Type", "text/event-stream"]]}
    response["chunks"] = [{"t": t + 1, "data": ": wait\n\n" if end else data}]
    if end:
        response["end"] = end
    request = {"method": "POST", "url": "https://x.test/mcp", "headers": headers, "body": json.dumps(body)}
    return {"t": t, "request": request, "response": response}


def told(tmp_path: Path, *flows: Flow) -> list[tuple[int, str, tuple[str, ...], list[int]] | None]:
    """For each operation: (number of the one that it repeats or -1, grade, evidence, candidates), or None."""
    file = tmp_path / "flows.json"
    file.write_text(json.dumps(list(flows)), encoding="utf-8")
    pipeline = Pipeline(DictMemory(), judge=False)
    feed(pipeline, file)
    ops: list[Operation] = sorted(pipeline.drain().operations.values(), key=lambda o: o.t)
    number = {op.key: n for n, op in enumerate(ops)} | {"": -1}
    out: list[tuple[int, str, tuple[str, ...], list[int]] | None] = []
    for op in ops:
        found = (op.more or {}).get("again")
        out.append(found and (
            number[found["in"]], found["grade"], tuple(found["evidence"]), [number[c] for c in found["candidates"]],
        ))  # fmt: skip
    return out


CUT = "aborted_by_server"


def test_the_same_call_after_its_stream_was_lost(tmp_path: Path) -> None:
    assert told(tmp_path, call(0, end=CUT), call(5)) == [
        None, (0, "inferred", ("lost", "params", "name", "soon"), [0]),
    ]  # fmt: skip


def test_equal_credentials_and_names(tmp_path: Path) -> None:
    (_, found) = told(tmp_path, call(0, end=CUT, credential="a"), call(5, credential="a"))
    # a transcript knows no addresses: not all is present, so that it is not certain
    assert found is not None and found[:2] == (0, "inferred")


def test_the_same_session_of_an_earlier_revision(tmp_path: Path) -> None:
    (_, found) = told(
        tmp_path, call(0, end=CUT, session="s", era="2025-11-25"), call(5, session="s", era="2025-11-25")
    )
    assert found == (0, "inferred", ("lost", "params", "session", "soon"), [0])


@pytest.mark.parametrize(
    "second",
    [
        call(5, n=2),
        call(5, method="tools/list"),
        call(62),
        call(5, credential="b"),
    ],
    ids=["other arguments", "another method", "too late", "another client"],
)
def test_what_is_no_repeat(tmp_path: Path, second: Flow) -> None:
    assert told(tmp_path, call(0, end=CUT, credential="a"), second) == [None, None]


@pytest.mark.parametrize("first", [call(0), call(0, end="aborted_by_client")], ids=["answered", "given up"])
def test_what_was_not_lost_is_not_repeated(tmp_path: Path, first: Flow) -> None:
    assert told(tmp_path, first, call(5)) == [None, None]


def test_of_whom_nothing_is_known_a_candidate_is_named_and_not_chosen(tmp_path: Path) -> None:
    (_, found) = told(tmp_path, call(0, end=CUT, who=None), call(5, who=None))
    assert found == (-1, "ambiguous", ("lost", "params", "soon"), [0])
    (_, found) = told(tmp_path, call(0, end=CUT), call(5, who=OTHER))
    assert found == (-1, "ambiguous", ("lost", "params", "soon"), [0])


def test_of_two_that_fit_none_is_chosen(tmp_path: Path) -> None:
    (*_, found) = told(tmp_path, call(0, end=CUT), call(0.1, end=CUT), call(5))
    assert found == (-1, "ambiguous", ("lost", "params", "name", "soon"), [0, 1])


def test_one_repeat_takes_the_loss_and_a_second_call_is_a_call(tmp_path: Path) -> None:
    found = told(tmp_path, call(0, end=CUT), call(5), call(7))
    assert found[1] is not None and found[2] is None


def test_a_repeat_that_is_lost_in_turn(tmp_path: Path) -> None:
    found = told(tmp_path, call(0, end=CUT), call(5, end=CUT), call(10))
    assert [f and f[:2] for f in found] == [None, (0, "inferred"), (1, "inferred")]


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "KEPT", 4)
    monkeypatch.setattr(again, "SAME", 2)
    lost = [call(n / 100, n, end=CUT) for n in range(8)]
    found = told(tmp_path, *lost, call(5, 0), call(6, 7))
    assert (found[8], found[9] and found[9][0]) == (None, 7)
    (*_, last) = told(tmp_path, *(call(n / 100, end=CUT) for n in range(8)), call(20))
    assert last is not None and last[3] == [6, 7]

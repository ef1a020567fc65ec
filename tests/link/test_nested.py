"""A server's own requests, and the calls they were asked in; the time of a call is split by who was to answer."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope import snapshot
from mrtrscope.link.facts import Exchange, Operation
from mrtrscope.wire.events import HttpExchange

from .test_longs import handshake
from .world import World

QUESTION = {"message": "Which size?", "requestedSchema": {"type": "object", "properties": {}}}


def call(w: World, id: int, at: float, method: str = "tools/call", **how: Any) -> Operation:
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": "tailor"}}
    return w.exchanges[w.say("c2s", body, at=at, **how).key].operation


def question(w: World, id: int, at: float, method: str = "elicitation/create", **how: Any) -> Operation:
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": how.pop("params", QUESTION)}
    return w.exchanges[w.say("s2c", body, at=at, **how).key].operation


def answered(w: World, id: int, at: float, dir: str = "c2s", **how: Any) -> None:
    w.say(dir, {"jsonrpc": "2.0", "id": id, "result": {"content": []}}, at=at, **how)


def within(operation: Operation) -> dict[str, Any]:
    assert operation.more is not None
    found: dict[str, Any] = operation.more["within"]
    return found


def test_a_question_while_one_call_is_open_was_asked_in_it() -> None:
    w = World()
    handshake(w)
    op = call(w, 1, 1.0)
    asked = question(w, 7, 1.5)
    assert within(asked) == {"in": op.key, "grade": "inferred", "evidence": ["process", "only-open"],
                             "candidates": [op.key]}  # fmt: skip
    answered(w, 7, 3.5)
    answered(w, 1, 4.0, "s2c")
    assert (op.kind, op.outcome, op.server, op.waiting) == ("legacy", "complete", 1_000_000, 2_000_000)
    assert (asked.kind, asked.server, asked.waiting) == ("single", 0, 2_000_000)


def test_with_several_calls_open_none_is_chosen() -> None:
    w = World()
    handshake(w)
    first, second = call(w, 1, 1.0), call(w, 2, 1.1)
    asked = question(w, 7, 1.5)
    assert within(asked) == {"in": "", "grade": "ambiguous", "evidence": ["process"],
                             "candidates": [first.key, second.key]}  # fmt: skip
    answered(w, 7, 3.5)
    answered(w, 1, 4.0, "s2c")
    assert (first.kind, first.server, first.waiting) == ("single", 3_000_000, 0)


def test_a_list_that_is_open_asks_nothing() -> None:
    w = World()
    handshake(w)
    call(w, 1, 1.0, "tools/list")
    assert question(w, 7, 1.5, "roots/list").more is None


def test_another_process_asks_for_itself() -> None:
    w = World()
    handshake(w)
    call(w, 1, 1.0)
    assert question(w, 7, 1.5, process="other").more is None


def test_a_ping_is_no_question() -> None:
    w = World()
    handshake(w)
    call(w, 1, 1.0)
    assert question(w, 7, 1.5, "ping").more is None


def test_questions_that_overlap_wait_once() -> None:
    w = World()
    handshake(w)
    op = call(w, 1, 1.0)
    question(w, 7, 2.0)
    question(w, 8, 3.0)
    answered(w, 7, 4.0)
    answered(w, 8, 5.0)
    answered(w, 1, 6.0, "s2c")
    assert (op.server, op.waiting) == (2_000_000, 3_000_000)


def test_a_call_that_ends_before_its_question_is_answered() -> None:
    w = World()
    handshake(w)
    op = call(w, 1, 1.0)
    question(w, 7, 2.0)
    answered(w, 1, 3.0, "s2c")
    answered(w, 7, 9.0)
    assert (op.outcome, op.server, op.waiting) == ("complete", 1_000_000, 1_000_000)


def http(w: World, key: str, method: str, session: str | None) -> HttpExchange:
    peer = w.peers.setdefault("web", type(w.peers["p"])("web", "http"))
    found = HttpExchange(key, 1, peer, "files", 0)
    found.method = method
    if session:
        found.request_headers = [("Mcp-Session-Id", session)]
    return found


def on_http(w: World, dir: str, body: dict[str, Any], exchange: HttpExchange) -> Exchange | None:
    """Say it as if it had come on this HTTP exchange."""
    feed, key = w.linker.feed, ""

    def moved(message: Any) -> None:
        nonlocal key
        message.http, message.peer, key = exchange, exchange.peer, message.key
        feed(message)

    w.linker.feed = moved  # type: ignore[method-assign, assignment]
    try:
        w.say(dir, body)
    finally:
        w.linker.feed = feed  # type: ignore[method-assign]
    return w.exchanges.get(key)


def test_over_http_the_stream_says_it() -> None:
    w = World()
    handshake(w)
    tools = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "tailor"}}
    first, second = http(w, "h1", "POST", "s"), http(w, "h2", "POST", "s")
    call_1 = on_http(w, "c2s", {**tools, "id": 1}, first)
    on_http(w, "c2s", {**tools, "id": 2}, second)
    asked = on_http(
        w, "s2c", {"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": QUESTION}, first
    )
    assert call_1 is not None and asked is not None
    assert within(asked.operation) == {"in": call_1.operation.key, "grade": "exact", "evidence": ["stream"],
                                       "candidates": [call_1.operation.key]}  # fmt: skip


@pytest.mark.parametrize(("session", "grade"), [("s", "inferred"), (None, None)])
def test_on_the_get_stream_only_a_session_tells_whose_calls_are_open(
    session: str | None, grade: str | None
) -> None:
    w = World()
    handshake(w)
    tools = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tailor"}}
    on_http(w, "c2s", tools, http(w, "h1", "POST", session))
    body = {"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": QUESTION}
    asked = on_http(w, "s2c", body, http(w, "h2", "GET", session))
    assert asked is not None
    assert (within(asked.operation)["grade"] if asked.operation.more else None) == grade


def test_a_question_that_names_a_task_was_asked_in_that() -> None:
    w = World()
    handshake(w)
    params = {"name": "tailor", "task": {}}
    task = w.exchanges[
        w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, at=1.0).key
    ]
    w.say(
        "s2c", {"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "t", "status": "working"}}}, at=2.0
    )
    meta = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
    asked = question(w, 7, 3.0, params={**QUESTION, "_meta": meta})
    answered(w, 7, 5.0)
    assert (within(asked)["in"], within(asked)["grade"]) == (task.operation.key, "exact")
    assert (task.operation.server, task.operation.waiting) == (2_000_000, 2_000_000)


@pytest.mark.parametrize("stop", range(4))
def test_an_analysis_that_stops_and_goes_on_says_the_same(stop: int) -> None:
    def story(w: World) -> Any:
        handshake(w)
        op = call(w, 1, 1.0).key
        for step, (who, id, at) in enumerate((("s", 7, 2.0), ("s", 8, 3.0), ("c", 7, 4.0), ("c", 8, 5.0))):
            if w is parts and step == stop:
                memory = w.linker.pending._memory
                text = snapshot.dump(w.linker, {"memory": memory, "sink": w})
                w.linker = snapshot.load(text, {"memory": memory, "sink": w})
            if who == "s":
                question(w, id, at)
            else:
                answered(w, id, at)
        answered(w, 1, 6.0, "s2c")
        found = w.operations[op]
        return found.server, found.waiting, found.kind, found.outcome

    parts = World()
    assert story(parts) == story(World()) == (2_000_000, 3_000_000, "legacy", "complete")

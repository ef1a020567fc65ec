"""The checkpoint: what is read back goes on as if nothing had happened, and what is no checkpoint is refused."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope import snapshot
from mrtrscope.link.facts import Difference
from mrtrscope.link.session import scope_of
from mrtrscope.wire.events import ABSENT, HttpExchange, Peer

from .link.test_canonical import VALUES
from .link.world import World, accept

PLAIN = st.recursive(
    VALUES | st.binary() | st.just(ABSENT),
    lambda inner: st.tuples(inner, inner) | st.lists(inner, max_size=3) | st.sets(st.integers(), max_size=3),
    max_leaves=8,
)


@given(PLAIN)
def test_plain_values_come_back_with_their_types(value: Any) -> None:
    again = snapshot.load(snapshot.dump(value, {}), {})
    assert (again, type(again)) == (value, type(value))


def test_collections_keep_their_kind_and_order() -> None:
    value = [deque([1, 2], maxlen=5), OrderedDict([("b", 1), ("a", 2)]), {(1, "x"): b"y"}, frozenset({"z"})]
    again = snapshot.load(snapshot.dump(value, {}), {})
    assert again == value
    assert [type(part) for part in again] == [deque, OrderedDict, dict, frozenset]
    assert again[0].maxlen == 5


def test_one_object_stays_one_object() -> None:
    peer = Peer("a/1", "http", "127.0.0.1:1")
    first, second = snapshot.load(snapshot.dump([peer, peer], {}), {})
    assert first is second
    assert (first.id, first.transport, first.address, first.whole) == ("a/1", "http", "127.0.0.1:1", False)


def test_externals_are_left_out_and_put_in_again() -> None:
    mine, theirs = object(), object()
    text = snapshot.dump([mine], {"memory": mine})
    assert snapshot.load(text, {"memory": theirs}) == [theirs]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[0,null,[]]",
        b'[1,["o",0],[["os:system"]]]',
        b'[1,["o",0],[["mrtrscope.link.facts:subprocess"]]]',
        b'[1,["o",0],[["mrtrscope.link.memory:blake2b"]]]',
        b'[1,["o",0],[["mrtrscope.link.facts:Any"]]]',
        b'[1,["o",9],[]]',
        b'[1,["x","nothing"],[]]',
        b'[1,["?"],[]]',
        b'[1,["o",0],[["mrtrscope.link.facts:Difference","__class__",1]]]',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_what_is_no_checkpoint_is_refused_and_runs_nothing(text: bytes) -> None:
    with pytest.raises(ValueError):
        snapshot.load(text, {})


def test_an_object_of_somebody_else_is_not_written() -> None:
    with pytest.raises(TypeError, match="has no place in a checkpoint"):
        snapshot.dump(json.JSONDecoder(), {})


def test_the_fields_of_slotted_classes_come_back() -> None:
    again = snapshot.load(snapshot.dump(Difference("state-changed", "padding lost"), {}), {})
    assert (again.what, again.text) == ("state-changed", "padding lost")


def _story(w: World, step: int) -> None:
    """One of the steps of a session in which everything is open at some time."""
    n = step // 6
    match step % 6:
        case 0:
            w.call(f"a{n}", arguments={"n": n})
        case 1:
            w.call(f"b{n}", "order")
        case 2:
            w.ask(f"a{n}", "ok", state=f"s{n}")
        case 3:
            w.call(f"c{n}", arguments={"n": n}, state=f"s{n}", answers=accept("ok"))
        case 4:
            w.ask(f"b{n}", "size")
        case 5:
            w.done(f"c{n}")


def _told(w: World) -> list[Any]:
    """Everything the linker said, as values."""
    links = [
        (e.key, e.state, e.operation.key, e.link and (e.link.to, e.link.grade, e.link.candidates))
        for e in w.exchanges.values()
    ]
    outcomes = {key: (o.outcome, o.count, o.server, o.waiting) for key, o in w.operations.items()}
    return [[(m.key, role, op) for m, role, _, op in w.seen], links, outcomes, w.settled_ones]


@given(st.sets(st.integers(min_value=1, max_value=29), max_size=6))
def test_an_analysis_that_stops_and_goes_on_says_what_one_in_a_single_piece_says(stops: set[int]) -> None:
    whole, parts = World(), World()
    memory = parts.linker.pending._memory
    for step in range(30):
        _story(whole, step)
        if step in stops:
            text = snapshot.dump(parts.linker, {"memory": memory, "sink": parts})
            parts.linker = snapshot.load(text, {"memory": memory, "sink": parts})
            assert snapshot.dump(parts.linker, {"memory": memory, "sink": parts}) == text
        _story(parts, step)
    assert _told(parts) == _told(whole)


def test_no_credential_of_what_is_over_reaches_a_checkpoint() -> None:
    http = HttpExchange("j:0", 1, Peer("a/1", "http"), "http://127.0.0.1/mcp", 5)
    http.request_headers = [("Authorization", "Bearer s3cret"), ("Cookie", "sid=s3cret"), ("Accept", "*/*")]
    http.response_headers = [("Set-Cookie", "sid=s3cret; Path=/")]
    http.t_end = 9
    text = snapshot.dump(http, {})
    assert b"s3cret" not in text
    again = snapshot.load(text, {})
    assert again.request_headers == [("Authorization", "Bearer …"), ("Cookie", "…"), ("Accept", "*/*")]
    assert (again.key, again.response_headers, again.status) == ("j:0", [("Set-Cookie", "…")], None)


def test_of_what_is_over_a_session_is_known_again_and_cannot_be_taken_up() -> None:
    def exchange(session: str) -> HttpExchange:
        http = HttpExchange("j:0", 1, Peer("a/1", "http"), "http://127.0.0.1/mcp", 5)
        http.url = f"http://127.0.0.1/mcp?a=1&access_token={session}&b=2#code={session}"
        http.request_headers = [("Mcp-Session-Id", session)]
        http.response_headers = [("WWW-Authenticate", f'Bearer nonce="{session}"')]
        http.t_end = 9
        return http

    text = snapshot.dump(exchange("s3cret"), {})
    assert b"s3cret" not in text
    once = snapshot.load(text, {})
    twice = snapshot.load(snapshot.dump(once, {}), {})
    for again in (once, twice):
        assert again.url == "http://127.0.0.1/mcp?a=1&access_token=…&b=2#code=…"
        scopes = [scope_of(http.peer, "c", http) for http in (again, exchange("s3cret"), exchange("other"))]
        assert scopes[0] == scopes[1] != scopes[2]
        assert "s3cret" not in scopes[0]

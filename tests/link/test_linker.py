"""Pairing, cancellation, sessions and outcomes on stdio."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.facts import Exchange
from mrtrscope.link.pairing import CANCEL, CUT, NEXT, RECENT, end_of
from mrtrscope.wire.events import EXIT, GAP, LANE_END, HttpExchange, Message, Peer, Signal

from .world import World, accept


def signal(
    w: World, what: str, detail: dict[str, Any], *, at: float | None = None, process: str = "p"
) -> None:
    """Something happened to the process of `w`."""
    s = Signal()
    w.t = int(at * 1e6) if at is not None else w.t + 1000
    s.journal, s.offset, s.part, s.t = "test", 10**9 + w.t, 0, w.t
    s.channel, s.dir, s.lane, s.peer = "files", "s2c", "0z", w.peers[process]
    s.http = s.place = None
    s.cut = s.edited = False
    s.what, s.detail = what, detail
    w.linker.feed(s)


def roles(w: World) -> list[str]:
    return [role for _, role, _, _ in w.seen]


def answer_of(exchange: Exchange) -> Message:
    assert exchange.answer is not None
    return exchange.answer


@pytest.mark.parametrize("id", [0, "", -1, "1", 1, 2**70, 1.5])
def test_any_id_but_null_pairs_by_value_and_type(id: Any) -> None:
    w = World()
    exchange, other = w.call(id), w.call(f"{id}x")
    done = w.done(id)
    assert exchange.answer is done
    assert other.answer is None
    assert roles(w) == ["request", "request", "result"]


def test_the_number_1_and_the_string_1_are_two_ids() -> None:
    w = World()
    number, string = w.call(1), w.call("1")
    assert w.done("1") is string.answer
    assert number.answer is None


def test_a_null_id_makes_no_exchange() -> None:
    w = World()
    w.say("c2s", {"jsonrpc": "2.0", "id": None, "method": "tools/list"})
    assert (roles(w), w.exchanges) == ([""], {})


def test_an_id_used_twice_is_answered_in_order() -> None:
    w = World()
    first, second = w.call(5), w.call(5)
    a, b = w.done(5), w.done(5)
    assert (first.answer, second.answer) == (a, b)


def test_a_second_answer_is_extra_and_one_to_nothing_is_stray() -> None:
    w = World()
    exchange = w.call(1)
    w.done(1)
    again, stray = w.done(1), w.done(77)
    assert roles(w) == ["request", "result", "extra", "stray"]
    assert exchange.extra == [again]
    assert w.seen[-1][0] is stray


def test_a_second_answer_is_extra_also_when_the_exchange_is_long_gone() -> None:
    w = World()
    first = w.call(-1)
    w.done(-1)
    for n in range(RECENT + 1):
        w.call(n)
        w.done(n)
    w.done(-1)
    assert w.seen[-1][1:] == ("extra", None, first.operation.key)


def test_a_stray_answer_behind_a_gap_is_nobodys_fault() -> None:
    w = World()
    w.call(1)
    signal(w, GAP, {"bytes": 9})
    w.done(77)
    assert roles(w) == ["request", ""]


def test_a_cancel_ends_what_waits_and_is_attached_to_it() -> None:
    w = World()
    exchange = w.call(1)
    w.say("c2s", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    late = w.done(1)
    assert (exchange.state, exchange.operation.outcome, exchange.answer) == ("cancelled", "cancelled", late)
    assert w.seen[1][2] is exchange


def test_a_cancel_of_what_was_answered_ends_nothing_but_is_attached() -> None:
    w = World()
    exchange = w.call(11)
    w.ask(11, "seat", state="s")
    retry = w.call(12, state="s", answers=accept("seat"))
    w.say("c2s", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 11}})
    assert (exchange.state, retry.state, retry.operation.outcome) == ("asked", "waiting", "open")
    assert w.seen[-1][3] == exchange.operation.key


def test_a_server_cannot_cancel_a_request_of_the_client() -> None:
    w = World()
    exchange = w.call(1)
    w.say("s2c", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
    assert exchange.state == "waiting"


def test_progress_is_attached_by_its_token_also_after_the_end() -> None:
    w = World()
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "progressToken": 0}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "_meta": meta}}
    request = w.say("c2s", call)
    progress = {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": 0, "progress": 1},
    }
    w.say("s2c", progress)
    w.done(1)
    w.say("s2c", progress)
    w.say("s2c", progress | {"params": {"progressToken": "0", "progress": 1}})
    assert [operation for _, _, _, operation in w.seen] == [request.key] * 4 + [""]


def test_a_process_that_ends_loses_what_waits_and_abandons_what_was_asked() -> None:
    w = World()
    waiting, asked, other = w.call(1), w.call(2), w.call(3, process="q")
    w.ask(2, "ok", state="s")
    signal(w, EXIT, {"code": 1})
    assert (waiting.operation.outcome, asked.operation.outcome) == ("lost", "abandoned")
    assert other.operation.outcome == "open"


def test_end_of_input_abandons_what_was_asked_and_waits_for_the_rest() -> None:
    w = World()
    waiting, asked = w.call(1), w.call(2)
    w.ask(2, "ok", state="s")
    signal(w, LANE_END, {"lane": "i"})
    assert (waiting.operation.outcome, asked.operation.outcome) == ("open", "abandoned")
    assert w.settled_ones == [(asked.key, "abandoned")]


@pytest.mark.parametrize("ends", [True, False])
def test_nobody_says_which_of_two_calls_alike_was_abandoned(ends: bool) -> None:
    w = World()
    twins = [w.call(n) for n in (1, 2)]
    for n in (1, 2):
        w.ask(n, "ok", state="constant", at=float(n))
    w.call(3, state="constant", answers=accept("ok"))
    w.done(3)
    if ends:
        signal(w, EXIT, {"code": 0})
    else:
        w.call(4, "other", at=62.5)
    assert [t.operation.outcome for t in twins] == ["open", "open"]
    w.call(5, "another")
    w.ask(5, "ok", state="constant")
    assert set(w.linker.operations.present(w.linker.now).values()) == {"open"}


def test_asked_is_abandoned_once_the_same_client_went_on_for_a_minute() -> None:
    w = World()
    asked = w.call(1, at=1)
    w.ask(1, "ok", state="s", at=2)
    w.call(2, at=61)
    assert asked.operation.outcome == "open"
    w.call(3, at=62.5)
    assert w.settled_ones == [(asked.key, "abandoned")]
    retry = w.call(4, state="s", answers=accept("ok"), at=70)  # taken up late, after all
    assert retry.operation.key == asked.key
    w.done(4)
    assert (retry.operation.outcome, retry.operation.count) == ("complete", 2)


def test_asked_stays_open_while_its_client_is_silent() -> None:
    w = World()
    w.call(1, at=1)
    w.ask(1, "ok", state="s", at=2)
    w.call(2, at=300, process="q")
    assert list(w.linker.operations.present(w.t).values()) == ["open", "open"]


@pytest.mark.parametrize(("left", "end"), [(False, CUT), (True, CANCEL)])
def test_a_request_whose_client_left_first_is_cancelled(left: bool, end: str) -> None:
    http = HttpExchange("j:1", 1, Peer("j:0", "http"), "http://s.test/mcp", 0)
    http.status, http.closed_by, http.error = None, "server", "closed before the answer was complete"
    http.facts |= {"left": True} if left else {}
    assert end_of(http) == end


def test_times_of_an_operation_add_up() -> None:
    w = World()
    first = w.call(1, at=1)
    w.ask(1, "ok", state="s", at=1.5)
    w.call(2, state="s", answers=accept("ok"), at=4)
    w.done(2, at=4.25)
    operation = first.operation
    assert (operation.server, operation.waiting, operation.t_end - operation.t) == (
        750_000,
        2_500_000,
        3_250_000,
    )


def test_a_chain_remembers_what_it_amounts_to() -> None:
    w = World()
    w.call(1)
    w.ask(1, "a", state="s1")
    w.call(2, state="s1", answers=accept("a"))
    w.ask(2, "a", state="s2")
    w.call(3, state="s2", answers=accept("a"))
    last = w.ask(3, "a", questions={"a": {"method": "roots/list"}}, state="s3")
    ask = w.linker.retries.ask(last.key)
    assert ask is not None
    chain = ask.chain
    assert (chain.rounds, chain.ids, chain.repeats, chain.changed) == (3, ["1", "2", "3"], 0, ["a"])
    assert chain.kinds == ["elicitation/create", "roots/list"]


def test_a_handshake_makes_a_process_legacy_and_a_declared_request_stays_modern() -> None:
    w = World()
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "c", "version": "1"},
    }
    w.say("c2s", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    w.say("s2c", {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18", "capabilities": {}}})
    old = w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    exchange = w.exchanges[old.key]
    assert (exchange.era, exchange.version, exchange.capabilities) == ("legacy", "2025-06-18", {"roots": {}})
    assert w.call(2).era == "modern"
    stranger = w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, process="q")
    assert w.exchanges[stranger.key].era == "unknown"


def test_a_request_of_the_server_is_answered_by_the_client() -> None:
    w = World()
    w.call(1)
    question = w.say("s2c", {"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    answer = w.say("c2s", {"jsonrpc": "2.0", "id": 1, "result": {"roots": []}})
    exchange = w.exchanges[question.key]
    assert (exchange.dir, exchange.answer) == ("s2c", answer)
    assert roles(w) == ["request", "request", "result"]


def test_the_table_knows_every_state_it_leads_to_and_no_end_is_undone() -> None:
    states = {state for state, _ in NEXT} | set(NEXT.values())
    assert states == {"waiting", "answered", "asked", "failed", "cancelled", "lost"}
    assert {
        NEXT["waiting", what] for what in ("result", "input_required", "error", "cancel", "cut")
    } == states - {"waiting"}
    assert all(after != "waiting" for after in NEXT.values())


def test_nothing_is_kept_of_what_is_over() -> None:
    w = World()
    for n in range(2000):
        w.call(n, arguments={"n": n})
        w.ask(n, "ok", state=f"s{n}")
        w.call(n, arguments={"n": n}, state=f"s{n}", answers=accept("ok"))
        w.done(n)
    pending = w.linker.pending
    assert (pending.by_id, pending.by_token, pending.by_http) == ({}, {}, {})
    assert len(pending.recent) == RECENT
    assert w.linker.operations.open == {}
    assert len(w.linker.operations.asked) == 0


def test_two_requests_under_one_id_are_one_operation_since_nobody_can_tell_their_answers_apart() -> None:
    w = World()
    first, second = w.call(5), w.call(5)
    assert first.operation is second.operation
    w.done(5)
    assert first.operation.outcome == "open"
    w.done(5)
    assert (first.operation.outcome, first.operation.count) == ("complete", 2)
    assert w.call(5).operation is not first.operation

"""What is noticed about a gateway: who was asked, what was left, what was said too late."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link import gateways
from mrtrscope.link.facts import Exchange

from .test_hops import answer, call, text
from .test_nested import QUESTION, answered, question
from .world import ABSENT, World

ASKS = {"k": {"method": "elicitation/create", "params": QUESTION}}
NO = {"k": {"action": "decline"}}


def asks(w: World, exchange: Exchange, state: str) -> None:
    answer(w, exchange, {"resultType": "input_required", "inputRequests": ASKS, "requestState": state})


def retry(w: World, channel: str, state: str, at: float | None = None) -> Exchange:
    if at is not None:
        w.t = int(at * 1e6)
    return call(w, channel, {"n": 1}, requestState=state, inputResponses=NO)


def remarks(exchange: Exchange) -> dict[str, Any]:
    return {
        name: value for name, value in (exchange.remarks or {}).items() if name not in ("undeclared", "first")
    }


def test_rounds_that_are_passed_on_are_no_matter() -> None:
    w = World()
    host, up = call(w, "host", {"n": 1}), call(w, "up", {"n": 1})
    asks(w, up, "s")
    asks(w, host, "s")
    again, on = retry(w, "host", "s"), retry(w, "up", "s")
    answer(w, on, text("done"))
    answer(w, again, text("done"))
    assert [remarks(e) for e in (host, up, again, on)] == [{"fronts": True}, {}, {"fronts": True}, {}]


def test_rounds_answered_at_once_are_counted() -> None:
    w = World()
    host, up = call(w, "host", {"n": 1}), call(w, "up", {"n": 1})
    rounds = []
    for n in range(3):
        asks(w, up, f"s{n}")
        up = retry(w, "up", f"s{n}")
        rounds.append(up)
    asks(w, up, "s3")
    answer(w, host, text("gave up"))
    assert [remarks(e) for e in rounds] == [{"unasked": host.key}, {}, {}]
    assert remarks(host) == {"gave_up": [3, up.operation.key]}


def test_rounds_that_took_their_time_are_each_unasked() -> None:
    w = World()
    host, up = call(w, "host", {"n": 1}), call(w, "up", {"n": 1})
    for n in range(2):
        asks(w, up, f"s{n}")
        up = retry(w, "up", f"s{n}", at=w.t / 1e6 + 1)
        assert remarks(up) == {"unasked": host.key}
    answer(w, up, text("done"))
    answer(w, host, text("done"))
    assert remarks(host) == {}


def test_a_question_that_was_passed_to_nobody() -> None:
    w = World()
    host, up = call(w, "host", {"n": 1}), call(w, "up", {"n": 1})
    asks(w, up, "s")
    answer(w, host, text("cannot"))
    assert up.answer is not None and remarks(host) == {"unpassed": up.answer.key}


def test_a_call_that_its_host_gave_up_by_leaving_a_question() -> None:
    w = World()
    host, up = call(w, "host", {"n": 1}), call(w, "up", {"n": 1})
    asked = question(w, 7, w.t / 1e6 + 0.01, channel="up", process="up")
    asks(w, host, "s")
    call(w, "host", {"n": 2})
    w.t = 70_000_000
    call(w, "host", {"n": 3})  # a minute later the host does other things
    assert host.operation.outcome == "abandoned"
    assert up.operation.more is not None and up.operation.more["hop"]["left"] == 70_010_000
    taken_up = retry(w, "host", "s", at=80)  # and comes back after all
    answered(w, 7, 80.1, channel="up", process="up")
    answer(w, up, text("done"))
    answer(w, taken_up, text("done"))
    assert asked.outcome == "complete"
    assert (remarks(up), remarks(taken_up)) == ({}, {"fronts": True})


def test_a_question_that_was_not_waited_for() -> None:
    w = World()
    call(w, "host", {"n": 1})
    up = call(w, "up", {"n": 1})
    question(w, 7, w.t / 1e6 + 0.01, channel="up", process="up")
    w.t += 500_000
    answer(w, up, text("done"))
    assert remarks(up) == {}


def test_without_a_join_nothing_is_said() -> None:
    w = World()
    for n in range(2):
        host, up = call(w, "host", {"n": n}), call(w, "up", {"m": n})
        asks(w, up, f"s{n}")
        answer(w, host, text("cannot"))
        assert remarks(host) == remarks(up) == {}


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateways, "KEPT", 8)
    monkeypatch.setattr(gateways, "CHANNELS", 4)
    monkeypatch.setattr(gateways, "WAITING", 2)
    w = World()
    for n in range(20):
        trace = f"00-{n + 1:032x}-{'1' * 16}-01"
        host, up = (call(w, f"{side}{n}", {"n": n}, trace=trace) for side in ("host", "up"))
        for id in range(4):
            question(w, id, w.t / 1e6 + 0.01, channel=f"up{n}", process=f"up{n}")
        share = w.linker.hops._shares.get(up.key)
        assert share is not None and len(share.waiting) == 2
        answer(w, host, text("x"))
    kept = w.linker.hops.gateways
    assert (len(kept._ended), len(kept._asked), len(kept._fronts)) == (8, 8, 4)
    assert host.request_state is ABSENT

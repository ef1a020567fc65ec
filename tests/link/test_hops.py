"""Calls that a gateway makes for those of its host: joined on evidence, graded, never on a guess."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope import snapshot
from mrtrscope.link import hops, shares
from mrtrscope.link.facts import Exchange

from .gateway_traffic import Gateway
from .test_nested import QUESTION, answered, question
from .world import MODERN, World

TRACE, OTHER = f"00-{'a' * 32}-{'1' * 16}-01", f"00-{'b' * 32}-{'1' * 16}-01"


def call(
    w: World, channel: str, arguments: Any, tool: str = "work", trace: str = "", info: str = "", **more: Any
) -> Exchange:
    meta: dict[str, Any] = {"io.modelcontextprotocol/protocolVersion": MODERN}
    if trace:
        meta["traceparent"] = trace
    if info:
        meta["io.modelcontextprotocol/clientInfo"] = {"name": info, "version": "1"}
    params = {"name": tool, "arguments": arguments, "_meta": meta, **more}
    body = {"jsonrpc": "2.0", "id": w.ids, "method": "tools/call", "params": params}
    return w.exchanges[w.say("c2s", body, channel=channel, process=channel).key]


def answer(w: World, exchange: Exchange, result: dict[str, Any]) -> None:
    body = {"jsonrpc": "2.0", "id": exchange.request.id, "result": result}
    w.say("s2c", body, channel=exchange.request.channel, process=exchange.request.channel)


def text(value: str) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": value}]}


def hop(exchange: Exchange) -> tuple[str, str, list[str]] | None:
    """(what it is a hop of, grade, evidence)."""
    found = (exchange.operation.more or {}).get("hop")
    return (found["in"], found["grade"], found["evidence"]) if found else None


def test_the_same_call_on_another_channel_while_one_is_in_flight() -> None:
    w = World()
    host = call(w, "host", {"n": 1})
    up = call(w, "up", {"n": 1})
    assert hop(up) == (host.key, "inferred", ["tool", "arguments", "time"])
    assert hop(host) is None


def test_a_call_on_the_same_channel_is_no_hop() -> None:
    w = World()
    call(w, "other", {"n": 2})
    call(w, "host", {"n": 1})
    assert hop(call(w, "host", {"n": 1})) is None


@pytest.mark.parametrize("arguments", [{"n": 2}, {"n": True}, {"n": 1.5}, {}])
def test_other_arguments_are_another_call(arguments: Any) -> None:
    w = World()
    call(w, "host", {"n": 1})
    assert hop(call(w, "up", arguments)) is None


def test_what_was_answered_before_is_not_in_flight() -> None:
    w = World()
    answer(w, call(w, "host", {"n": 1}), text("x"))
    assert hop(call(w, "up", {"n": 1})) is None


@pytest.mark.parametrize(("mine", "theirs", "fits"), [
    ("files_read", "read", True), ("files__read", "read", True), ("files.read", "read", True),
    ("bread", "read", False), ("read", "files_read", False), ("_read", "read", False),
])  # fmt: skip
def test_a_prefix_of_the_gateway_before_the_name(mine: str, theirs: str, fits: bool) -> None:
    w = World()
    host = call(w, "host", {"n": 1}, mine)
    found = hop(call(w, "up", {"n": 1}, theirs))
    assert found == ((host.key, "inferred", ["tool-renamed", "arguments", "time"]) if fits else None)


@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
@pytest.mark.parametrize("legacy", [False, True])
def test_prompts_and_resources_are_joined_as_tools_are(method: str, legacy: bool) -> None:
    w = World()
    names = ("doc://srv/a", "doc://a") if method == "resources/read" else ("srv_a", "a")
    meta = {} if legacy else {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}
    asked = []
    for channel, name in zip(("host", "up"), names, strict=True):
        params = {"uri" if method == "resources/read" else "name": name, **(meta if channel == "up" else {})}
        body = {"jsonrpc": "2.0", "id": w.ids, "method": method, "params": params}
        asked.append(w.exchanges[w.say("c2s", body, channel=channel, process=channel).key])
    host, up = asked
    assert hop(up) == (host.key, "inferred", ["tool-renamed", "arguments", "time"])
    result = (
        {"contents": [{"uri": names[1], "text": "x"}]} if method == "resources/read" else {"messages": [{}]}
    )
    answer(w, up, result)
    answer(w, host, result)
    assert hop(up) == (host.key, "inferred", ["result", "tool-renamed", "arguments", "time"])


@pytest.mark.parametrize(("mine", "theirs", "fits"), [
    ("doc://srv/a", "doc://a", True), ("doc://srv/a/b", "doc://a/b", True), ("doc://xa", "doc://a", False),
    ("doc://srv/a", "txt://a", False), ("doc://a", "doc://srv/a", False), ("doc://srv/", "doc://", False),
])  # fmt: skip
def test_a_prefix_of_the_gateway_in_a_uri(mine: str, theirs: str, fits: bool) -> None:
    assert hops._renamed(theirs, mine) is fits


def test_a_trace_makes_it_exact_whatever_else_was_changed() -> None:
    w = World()
    call(w, "host", {"n": 2}, trace=OTHER)
    host = call(w, "host", {"n": 1}, trace=TRACE)
    assert hop(call(w, "up", {"n": 1}, trace=TRACE)) == (
        host.key,
        "exact",
        ["trace", "tool", "arguments", "time"],
    )
    assert hop(call(w, "up", {"m": 7}, "other", trace=TRACE)) == (host.key, "exact", ["trace", "time"])


def test_another_trace_is_another_call() -> None:
    w = World()
    call(w, "host", {"n": 1}, trace=OTHER)
    assert hop(call(w, "up", {"n": 1}, trace=TRACE)) is None


def test_two_that_fit_are_listed_and_none_is_chosen() -> None:
    w = World()
    first, second = call(w, "host", {"n": 1}), call(w, "host", {"n": 1})
    up = call(w, "up", {"n": 1})
    assert hop(up) == ("", "ambiguous", ["tool", "arguments", "time"])
    more = up.operation.more
    assert more is not None and more["hop"]["candidates"] == [second.key, first.key]


def test_a_question_that_only_one_can_have_passed_on() -> None:
    w = World()
    first, second = call(w, "host", {"n": 1}), call(w, "host", {"n": 1})
    ups = [call(w, "up", {"n": 1}), call(w, "up", {"n": 1})]
    asks = {"method": "elicitation/create", "params": QUESTION}
    answer(w, ups[1], {"resultType": "input_required", "inputRequests": {"k": asks}})
    answer(w, first, {"resultType": "input_required", "inputRequests": {"other-key": asks}})
    assert hop(ups[1]) == (first.key, "exact", ["question", "tool", "arguments", "time"])
    found = hop(ups[0])
    assert found is not None and found[1] == "ambiguous"
    assert second.operation.outcome == "open"


def test_a_question_in_the_old_way_upstream_and_in_the_new_way_downstream() -> None:
    w = World()
    host, _ = call(w, "host", {"n": 1}), call(w, "host", {"n": 1})
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "work", "arguments": {"n": 1}},
    }
    up = w.exchanges[w.say("c2s", body, channel="up", process="up").key]
    asked = question(w, 7, w.t / 1e6 + 0.01, channel="up", process="up")
    asks = {"method": "elicitation/create", "params": {**QUESTION, "mode": "form"}}
    answer(w, host, {"resultType": "input_required", "inputRequests": {"k": asks}})
    assert asked.more is not None and asked.more["within"]["in"] == up.key
    assert hop(up) == (host.key, "exact", ["question", "tool", "arguments", "time"])
    answered(w, 7, w.t / 1e6 + 0.01, channel="up", process="up")


def test_two_calls_upstream_at_once_for_one_are_nobodys_until_proved() -> None:
    w = World()
    host = call(w, "host", {"n": 1})
    ups = [call(w, "up", {"n": 1}), call(w, "up", {"n": 1})]
    assert [hop(up) for up in ups] == [("", "ambiguous", ["tool", "arguments", "time"])] * 2
    answer(w, ups[0], text("only mine"))
    answer(w, host, text("only mine"))
    assert hop(ups[0]) == (host.key, "inferred", ["result", "tool", "arguments", "time"])


def test_a_host_of_the_same_name_with_two_servers_is_no_gateway() -> None:
    w = World()
    host = call(w, "host", {"n": 1}, info="atlas")
    up = call(w, "up", {"n": 1}, info="atlas")
    assert hop(up) == ("", "ambiguous", ["tool", "arguments", "time"])
    answer(w, up, text("the answer"))
    answer(w, host, text("the answer"))
    assert hop(up) == (host.key, "inferred", ["result", "tool", "arguments", "time"])


def test_a_call_that_outlives_another_is_not_its_hop() -> None:
    w = World()
    first, second = call(w, "host", {"n": 1}), call(w, "host", {"n": 1})
    up = call(w, "up", {"n": 1})
    answer(w, first, text("out of a cache"))
    assert hop(up) == (second.key, "inferred", ["tool", "arguments", "time"])


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "SHARES", 8)
    monkeypatch.setattr(hops, "IN_FLIGHT", 8)
    w = World()
    for n in range(30):
        call(w, "host", {"n": n})
        call(w, "up", {"n": n})
    assert len(w.linker.hops._flying) == len(w.linker.hops._shares) == 8


def judged(gateway: Gateway) -> tuple[int, int, int]:
    """(joins said, of these wrong, hops there are)."""
    said = wrong = 0
    for key, host in gateway.truth.items():
        found = (gateway.world.operations[key].more or {}).get("hop")
        if found is not None and found["grade"] in ("exact", "inferred"):
            said += 1
            wrong += found["in"] != host
    return said, wrong, sum(map(bool, gateway.truth.values()))


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_thousand_calls_through_a_gateway(seed: int, legacy: bool, record_property: Any) -> None:
    gateway = Gateway(seed, legacy=legacy)
    gateway.run(1000, 16)
    said, wrong, there_are = judged(gateway)
    record_property("recall", said / there_are)
    assert wrong == 0
    assert said / there_are > 0.8


def test_an_analysis_that_stops_and_goes_on_says_the_same() -> None:
    def story(stops: bool) -> Any:
        gateway = Gateway(7)
        for n in range(12):
            gateway.run(5, 4)
            if stops and n % 2:
                w = gateway.world
                memory = w.linker.pending._memory
                text = snapshot.dump(w.linker, {"memory": memory, "sink": w})
                w.linker = snapshot.load(text, {"memory": memory, "sink": w})
        return {key: o.more for key, o in gateway.world.operations.items()}

    assert story(True) == story(False)

"""What a client does after a refusal; what it takes up that asked for nothing; what it never answers."""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.versions import CLIENTS

from .world import World, accept

HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}


def refuse(world: World, id: Any, code: int, **data: Any) -> None:
    world.say("s2c", {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "x", "data": data}})


def handshake(world: World, id: Any, **how: Any) -> Exchange:
    body = {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": HANDSHAKE}
    return world.exchanges[world.say("c2s", body, **how).key]


def remark(exchange: Exchange, name: str) -> Any:
    return (exchange.remarks or {}).get(name)


def test_the_next_request_knows_of_the_refusal_and_the_one_after_does_not() -> None:
    world = World()
    world.call(1)
    refuse(world, 1, -32022, supported=["2027-01-01", 7])
    other = world.call(2, process="q")
    second, third = world.call(2), world.call(3)
    assert remark(other, "refused") is None and remark(third, "refused") is None
    found = remark(second, "refused")
    assert (found["code"], found["supported"], found["method"]) == (-32022, ["2027-01-01"], "tools/call")


def test_other_errors_mark_nobody_as_modern() -> None:
    world = World()
    world.call(1)
    refuse(world, 1, -32602)
    assert remark(world.call(2), "refused") is None


def test_fallbacks_in_a_row_are_counted() -> None:
    world = World()
    counts = []
    for n in range(3):
        world.call(f"a{n}")
        refuse(world, f"a{n}", -32000)
        counts.append(remark(handshake(world, f"b{n}"), "fallbacks"))
    assert counts == [1, 2, 3]
    assert remark(handshake(world, "again"), "fallbacks") is None


def test_a_success_ends_the_row() -> None:
    world = World()
    world.call(1)
    refuse(world, 1, -32000)
    handshake(world, 2)
    world.call(3)
    world.done(3)
    world.call(4)
    refuse(world, 4, -32000)
    assert remark(handshake(world, 5), "fallbacks") == 1


def test_clients_are_bounded() -> None:
    world = World()
    for n in range(CLIENTS + 3):
        world.call(1, process=f"p{n}")
        world.say(
            "s2c", {"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "x"}}, process=f"p{n}"
        )
    assert len(world.linker.versions.refused) == len(world.linker.versions.falls) == CLIENTS


def test_a_result_without_a_type_that_is_taken_up() -> None:
    from mrtrscope.link.untyped import taken_up

    world = World()
    memory = world.linker._memory  # what rules are given as ctx.memory
    world.call(1)
    answer = world.say("s2c", {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "requestState": "s"}})
    world.call(2, "other")
    world.say(
        "s2c", {"jsonrpc": "2.0", "id": 2, "result": {"resultType": "later", "inputRequests": {"k": {}}}}
    )
    assert taken_up(memory, world.call(3, state="s")) == (answer.key, False)
    assert taken_up(memory, world.call(4, state="t")) is None
    assert taken_up(memory, world.call(5, "elsewhere", state="s")) is None
    found = taken_up(memory, world.call(6, "other", answers=accept("k")))
    assert found is not None and found[1] is True


def test_questions_are_counted_by_kind() -> None:
    world = World()
    world.call(1)
    world.ask(1, "a", "b", state="s")
    world.call(2, answers=accept("a"), state="s")
    counts = world.linker.sessions.channels["files"].facts["questions"]
    assert list(counts.values()) == [{"elicitation/create": [2, 1]}]


def test_ids_in_use_and_calls_sent_again() -> None:
    world = World()
    first = world.call(1, at=1)
    clash = world.call(1, "other", at=1.1)
    parallel = world.call(2, at=1.2)
    again = world.call(3, at=30)
    assert remark(clash, "clash") == first.key and remark(clash, "repeats") is None
    assert remark(parallel, "repeats") is None
    assert remark(again, "repeats") in (first.key, parallel.key)
    assert remark(world.call(4, arguments={"n": 1}, at=60), "repeats") is None

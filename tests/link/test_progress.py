"""Progress is followed for each request by itself, also where two share a token."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.facts import Exchange
from mrtrscope.wire.events import Message, SseEvent

from .world import World


def call(world: World, id: int, token: Any, **how: Any) -> Exchange:
    params = {"name": f"t{id}", "_meta": {"progressToken": token}}
    message = world.say("c2s", {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}, **how)
    return world.exchanges[message.key]


def tell(world: World, token: Any, value: Any, **how: Any) -> Message:
    params = {"progressToken": token, "progress": value}
    return world.say("s2c", {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}, **how)


def values(exchange: Exchange) -> tuple[Any, Any]:
    assert exchange.progress is not None
    return exchange.progress.previous, exchange.progress.last


def test_the_last_two_values_are_known() -> None:
    world = World()
    exchange = call(world, 1, "p")
    assert exchange.progress is None
    for value, expected in ((1, (None, 1)), (2.5, (1, 2.5)), ("x", (1, 2.5)), (2, (2.5, 2))):
        tell(world, "p", value)
        assert values(exchange) == expected


def test_tokens_of_two_types_are_two_tokens() -> None:
    world = World()
    number, text = call(world, 1, 7), call(world, 2, "7")
    tell(world, 7, 1)
    tell(world, "7", 2)
    assert (values(number), values(text)) == ((None, 1), (None, 2))


def test_a_shared_token_belongs_to_the_later_request_until_that_is_answered() -> None:
    world = World()
    older, newer = call(world, 1, "p"), call(world, 2, "p")
    assert newer.remarks is not None and newer.remarks["token"] == older.key
    tell(world, "p", 1)
    world.done(2)
    tell(world, "p", 9)
    assert (values(newer), values(older)) == ((None, 1), (None, 9))
    world.done(1)
    assert world.linker.pending.by_token == {}


def test_an_event_that_is_told_again_changes_nothing() -> None:
    world = World()
    exchange = call(world, 1, "p")
    tell(world, "p", 1)
    message = tell(world, "p", 2)
    from mrtrscope.link.progress import follow

    message.sse = SseEvent(0, None, "e-2", None)
    follow(exchange, message)
    assert values(exchange) == (2, 2) and exchange.progress is not None and not exchange.progress.again
    follow(exchange, message)
    assert values(exchange) == (2, 2) and exchange.progress.again


@pytest.mark.parametrize(("a_second", "fast"), [(80, 4), (50, 0)])
def test_how_many_seconds_in_a_row_were_fast(a_second: int, fast: int) -> None:
    world = World()
    exchange = call(world, 1, "p", at=9)
    for n in range(a_second * 4):
        tell(world, "p", n, at=10 + n / a_second)
    assert exchange.progress is not None and exchange.progress.fast == fast
    for n in range(60):
        tell(world, "p", 1000 + n, at=20 + n / 60)
    assert exchange.progress.fast == 1

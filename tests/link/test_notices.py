"""Which request a notification belongs to, and what a cancellation does to the request it names."""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.wire.events import Message

from .world import World

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def notify(world: World, dir: str, method: str, **params: Any) -> Message:
    return world.say(dir, {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params})


def owner(world: World, message: Message) -> Exchange | None:
    return next(exchange for seen, _, exchange, _ in world.seen if seen is message)


def test_a_server_ends_a_subscription() -> None:
    world = World()
    listen = world.call(1, method="subscriptions/listen")
    told = notify(world, "s2c", "cancelled", requestId=1)
    assert (owner(world, told), listen.state, listen.cancel) == (listen, "cancelled", told)


def test_a_server_cannot_cancel_a_call() -> None:
    world = World()
    call = world.call(1)
    told = notify(world, "s2c", "cancelled", requestId=1)
    assert (owner(world, told), call.state, call.cancel) == (call, "waiting", None)
    world.done(1)
    assert call.state == "answered"


def test_ids_of_the_two_sides_are_two() -> None:
    world = World()
    call = world.call(1)
    told = notify(world, "c2s", "cancelled", requestId="1")
    assert (owner(world, told), call.state) == (None, "waiting")
    told = notify(world, "c2s", "cancelled", requestId=1)
    assert (owner(world, told), call.state) == (call, "cancelled")
    assert call.remarks is not None and call.remarks["cancelled"] is True


def test_a_notification_of_a_subscription_names_it() -> None:
    world = World()
    first = world.call(1, method="subscriptions/listen")
    second = world.call("2", method="subscriptions/listen")
    for id, exchange in ((1, first), ("1", first), (2, second), (3, None), (None, None)):
        message = notify(world, "s2c", "tools/list_changed", _meta={SUBSCRIPTION: id})
        assert owner(world, message) is exchange


def test_a_made_up_notification_that_repeats_an_open_question() -> None:
    world = World()
    handshake = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    world.say("c2s", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": handshake})
    world.say("s2c", {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}})
    asked = world.say("s2c", {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"})
    wrong = world.say("c2s", {"jsonrpc": "2.0", "method": "roots/response", "params": {"n": [], "to": "q1"}})
    known = notify(world, "c2s", "roots/list_changed", to="q1")
    other = world.say("c2s", {"jsonrpc": "2.0", "method": "roots/response", "params": {"to": "q2"}})
    assert owner(world, wrong) is world.exchanges[asked.key]
    assert owner(world, known) is None and owner(world, other) is None


def test_progress_of_a_request_that_is_over() -> None:
    world = World()
    params = {"name": "x", "_meta": {"progressToken": 7}}
    call = world.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    world.done(1)
    assert (
        owner(world, notify(world, "s2c", "progress", progressToken=7, progress=1))
        is world.exchanges[call.key]
    )
    assert owner(world, notify(world, "s2c", "progress", progressToken="7", progress=1)) is None

"""What is kept of subscriptions: filters, acknowledgments, ends, and lists that changed in silence."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.subscriptions import (
    BY_CLIENT,
    BY_SERVER,
    ERROR,
    KEPT,
    RESULT,
    SUBSCRIPTION,
    URIS,
    Filter,
    Listen,
    listen_of,
    of_process,
    open_ones,
    other_type,
)

from .world import MODERN, World

META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


def listen(world: World, id: Any, wanted: Any = None) -> Listen:
    params = {"notifications": wanted if wanted is not None else {"toolsListChanged": True}, "_meta": META}
    message = world.say("c2s", {"id": id, "method": "subscriptions/listen", "params": params})
    found = listen_of(world.exchanges[message.key])
    assert found is not None
    return found


def tell(world: World, method: str, id: Any, **params: Any) -> str:
    meta = {"_meta": {SUBSCRIPTION: id}}
    return world.say("s2c", {"method": f"notifications/{method}", "params": {**meta, **params}}).key


def test_a_filter_is_read_as_far_as_it_is_sound() -> None:
    found = Filter(
        {"toolsListChanged": True, "promptsListChanged": "yes", "resourceSubscriptions": ["a", "b"]}
    )
    assert (found.types, found.uris, found.tasks) == (
        ["toolsListChanged", "resourceSubscriptions"],
        ["a", "b"],
        [],
    )


@pytest.mark.parametrize("uris", ["a", [1], ["u"] * (URIS + 1)])
def test_addresses_that_cannot_be_kept_are_unknown_not_absent(uris: Any) -> None:
    assert Filter({"resourceSubscriptions": uris}).uris is None


def test_the_acknowledgment_and_what_came_before_it_are_known() -> None:
    world = World()
    found = listen(world, 1)
    early = tell(world, "tools/list_changed", 1)
    ack = tell(world, "subscriptions/acknowledged", 1, notifications={"toolsListChanged": True})
    tell(world, "tools/list_changed", 1)
    assert (found.early, found.ack) == (early, ack)
    assert found.acked is not None and found.acked.types == ["toolsListChanged"]


def test_an_acknowledgment_without_an_id_is_that_of_the_one_that_waits() -> None:
    world = World()
    found = listen(world, 1)
    key = world.say("s2c", {"method": "notifications/subscriptions/acknowledged", "params": {}}).key
    assert found.ack == key


@pytest.mark.parametrize(
    ("dir", "body", "end"),
    [
        ("s2c", {"id": 1, "result": {"resultType": "complete"}}, RESULT),
        ("s2c", {"id": 1, "error": {"code": -32603, "message": "full"}}, ERROR),
        ("c2s", {"method": "notifications/cancelled", "params": {"requestId": 1}}, BY_CLIENT),
        ("s2c", {"method": "notifications/cancelled", "params": {"requestId": 1}}, BY_SERVER),
    ],
)
def test_how_a_subscription_ended(dir: str, body: dict[str, Any], end: str) -> None:
    world = World()
    found = listen(world, 1)
    message = world.say(dir, body)
    channel = world.linker.channel(message)
    assert (found.end, found.end_key, found.end_t) == (end, message.key, message.t)
    assert open_ones(channel, message) == [] and of_process(channel, message) == {"1": found}


def test_the_oldest_subscriptions_of_a_process_are_forgotten() -> None:
    world = World()
    for id in range(KEPT + 3):
        listen(world, id)
    message = tell_something(world)
    known = of_process(world.linker.channel(message), message)
    assert list(known) == [str(id) for id in range(3, KEPT + 3)]


def tell_something(world: World) -> Any:
    return world.say("s2c", {"method": "notifications/message", "params": {"level": "info", "data": ""}})


def test_ids_that_differ_in_their_type_alone() -> None:
    assert other_type(1, "1") and not other_type(1, 1) and not other_type(1, "2")

"""What a server shows of itself: capabilities, versions, traits of the older era, lists by name."""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.runs import Run
from mrtrscope.link.servers import advertised, supported
from mrtrscope.link.session import Channel

from .world import World

OURS = "io.modelcontextprotocol/"


def ask(world: World, id: int, method: str, client: str = "") -> Exchange:
    meta: dict[str, Any] = {f"{OURS}protocolVersion": "2026-07-28", f"{OURS}clientCapabilities": {}}
    if client:
        meta[f"{OURS}clientInfo"] = {"name": client, "version": "1"}
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": meta}}
    return world.exchanges[world.say("c2s", body).key]


def served(world: World, id: int, method: str, result: dict[str, Any], client: str = "") -> Exchange:
    exchange = ask(world, id, method, client)
    world.say("s2c", {"jsonrpc": "2.0", "id": id, "result": result})
    return exchange


def refused(world: World, id: int, method: str, **error: Any) -> Exchange:
    exchange = ask(world, id, method)
    world.say("s2c", {"jsonrpc": "2.0", "id": id, "error": {"message": "x", **error}})
    return exchange


def channel(world: World) -> Channel:
    return world.linker.sessions.channels["files"]


def facts(world: World) -> dict[str, Any]:
    (run,) = channel(world).facts["runs"].values()
    assert isinstance(run, Run)
    return run.facts


DISCOVERED = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
HINTS = {"ttlMs": 0, "cacheScope": "private"}


def test_capabilities_and_versions() -> None:
    world = World()
    exchange = ask(world, 9, "tools/list")
    assert advertised(channel(world), exchange) is None and supported(channel(world), exchange) is None
    served(world, 1, "server/discover", DISCOVERED | HINTS)
    assert advertised(channel(world), exchange) == {"tools": {}}
    refused(world, 2, "tools/list", code=-32022, data={"supported": ["2027-01-01", "2026-07-28"]})
    found = supported(channel(world), exchange)
    assert found is not None and found["list"] == ["2027-01-01", "2026-07-28"]


def test_lists_of_something_else_are_passed_over() -> None:
    world = World()
    served(world, 1, "server/discover", {**DISCOVERED, "supportedVersions": [1], "capabilities": []})
    refused(world, 2, "tools/list", code=-32022, data="2026-07-28")
    exchange = ask(world, 9, "tools/list")
    assert supported(channel(world), exchange) is None
    assert advertised(channel(world), exchange) is None


def test_a_discover_that_was_refused_is_told_with_the_first_thing_that_is_served() -> None:
    world = World()
    refused(world, 1, "server/discover", code=-32601)
    assert "discover_refused" in facts(world)
    first = served(world, 2, "tools/list", {"resultType": "complete", "tools": [], **HINTS})
    second = served(world, 3, "tools/list", {"resultType": "complete", "tools": [], **HINTS})
    assert first.remarks is not None and first.remarks["discover"] is True
    assert "discover" not in (second.remarks or {})
    assert facts(world)["discover_lacking"].id == 1


def test_two_traits_of_the_older_era_are_told_once() -> None:
    world = World()
    one = served(world, 1, "tools/call", {"content": []})
    two = served(world, 2, "tools/list", {"resultType": "complete", "tools": []})
    three = refused(world, 3, "resources/read", code=-32002)
    assert "mixed" not in (one.remarks or {}) and "mixed" not in (three.remarks or {})
    assert two.remarks is not None and two.remarks["mixed"] == ["no resultType", "no caching hints"]
    assert set(facts(world)["traits"]) == {"no resultType", "no caching hints", "error"}


def test_a_list_that_depends_on_the_name() -> None:
    world = World()
    lists = {"acme": {"tools": ["a", "b"]}, "other": {"tools": ["a"]}}
    told = []
    for id, name in enumerate(["acme", "other", "acme", "other", "acme"]):
        exchange = served(world, id, "tools/list", {"resultType": "complete", **lists[name], **HINTS}, name)
        told.append("by name" in (exchange.remarks or {}))
    assert told == [False, False, False, False, True]


def test_a_list_that_changed_for_everybody() -> None:
    world = World()
    for id, name in enumerate(["acme", "other"] * 4):
        tools = ["a"] if id < 4 else ["b"]
        exchange = served(world, id, "tools/list", {"resultType": "complete", "tools": tools, **HINTS}, name)
        assert "by name" not in (exchange.remarks or {})

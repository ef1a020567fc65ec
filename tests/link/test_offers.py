"""Tools, lists, addresses and declarations: what the linker notes of them for rules."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope import snapshot
from mrtrscope.link.facts import Exchange
from mrtrscope.link.linker import Linker
from mrtrscope.link.listings import NAMES, newest
from mrtrscope.link.memory import DictMemory
from mrtrscope.link.offers import offered
from mrtrscope.link.tools import headers_asked, network_refs, walk

from .world import World

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def listing(w: World, id: int, names: list[str], *, cursor: Any = None, following: Any = None,
            method: str = "tools/list", **how: Any) -> Exchange:  # fmt: skip
    """A page of a list is asked for and given."""
    params: dict[str, Any] = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    if cursor is not None:
        params["cursor"] = cursor
    asked = w.say("c2s", {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, **how)
    member = "prompts" if method == "prompts/list" else "tools"
    entries = [{"name": name, "inputSchema": SCHEMA} for name in names]
    result = {"resultType": "complete", member: entries}
    if following is not None:
        result["nextCursor"] = following
    w.say("s2c", {"jsonrpc": "2.0", "id": id, "result": result}, **how)
    return w.exchanges[asked.key]


def remarks(exchange: Exchange) -> dict[str, Any]:
    return exchange.remarks or {}


def test_a_call_has_the_newest_definition_of_its_tool() -> None:
    w = World()
    assert w.call(1, "weather").tool is None
    first = listing(w, 2, ["weather"])
    tool = w.call(3, "weather").tool
    assert tool is not None and first.answer is not None
    assert (tool.name, tool.key, tool.definition.input) == ("weather", first.answer.key, SCHEMA)
    again = listing(w, 4, ["weather"])
    newer = w.call(5, "weather").tool
    assert newer is not None and again.answer is not None
    assert newer.key == again.answer.key and newer.definition is tool.definition
    assert w.call(6, "other").tool is None


def test_definitions_come_back_from_memory_and_out_of_a_checkpoint() -> None:
    memory = DictMemory()
    w = World(memory)
    listing(w, 1, ["weather"])
    called = w.call(2, "weather")
    text = snapshot.dump(w.linker, {"memory": memory, "sink": w})
    w.linker = snapshot.load(text, {"memory": memory, "sink": w})
    assert isinstance(w.linker, Linker)
    tool = w.call(3, "weather").tool
    assert tool is not None and called.tool is not None
    assert (tool.key, tool.definition.digest) == (called.tool.key, called.tool.definition.digest)
    assert tool.definition is not called.tool.definition


def test_another_process_is_not_held_to_the_list_of_the_first() -> None:
    w = World()
    listing(w, 1, ["weather"])
    assert w.call(2, "weather", process="other").tool is None


def test_a_list_is_whole_with_its_last_page() -> None:
    memory = DictMemory()
    w = World(memory)
    listing(w, 1, ["a"], following="2")
    call = w.call(2, "a")
    assert newest(memory, call, "tools/list") is None
    last = listing(w, 3, ["b"], cursor="2")
    found = newest(memory, call, "tools/list")
    assert found is not None and last.answer is not None
    assert (found["names"], found["key"]) == (["a", "b"], last.answer.key)


def test_too_many_names_make_no_whole_list() -> None:
    memory = DictMemory()
    w = World(memory)
    long = listing(w, 1, [str(n) for n in range(NAMES + 5)])
    assert newest(memory, long, "tools/list") is None


def test_names_given_twice_are_remarked_with_where() -> None:
    w = World()
    assert remarks(listing(w, 1, ["a", "a"], following="2"))["again"] == [["a", "page"]]
    assert remarks(listing(w, 2, ["a"], cursor="2", following="3"))["again"] == [["a", "earlier page"]]
    w.say("s2c", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    assert remarks(listing(w, 3, ["a"], cursor="3"))["again"] == [["a", "changed"]]


def test_another_order_of_the_same_names_is_remarked() -> None:
    w = World()
    first = listing(w, 1, ["a", "b"])
    assert first.answer is not None
    assert remarks(listing(w, 2, ["b", "a"]))["reordered"] == first.answer.key
    assert "reordered" not in remarks(listing(w, 3, ["b", "a", "c"]))


@pytest.mark.parametrize(
    ("sent", "of", "like"),
    [("eyJ4IjoxfQ", "", True), ("p-2", "prompts/list", False), ("made up", "", False)],
)
def test_a_cursor_that_was_not_issued_is_remarked(sent: str, of: str, like: bool) -> None:
    w = World()
    listing(w, 1, ["p"], following="p-2", method="prompts/list")
    listing(w, 2, ["a"], following="eyJ4IjoxfQ==")
    found = remarks(listing(w, 3, ["b"], cursor=sent))["cursor"]
    assert found["of"] == of and (found["like"] is not None) is like


def test_an_issued_cursor_is_none_and_so_is_one_of_a_client_that_began_elsewhere() -> None:
    w = World()
    listing(w, 1, ["a"], following="c-2")
    assert "cursor" not in remarks(listing(w, 2, ["b"], cursor="c-2"))
    assert "cursor" not in remarks(listing(w, 3, ["b"], cursor="zz", process="other"))


def test_capabilities_that_come_and_go_are_remarked_the_second_time() -> None:
    w = World()
    seen = []
    for n, declared in enumerate([{"sampling": {}}, {}, {"sampling": {}}, {}, {"sampling": {}}]):
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": declared,
        }
        params = {"name": "a", "_meta": meta}
        asked = w.say("c2s", {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params})
        seen.append(remarks(w.exchanges[asked.key]).get("flips"))
    assert seen == [None, None, ["sampling"], None, None]


def test_what_a_server_offers_is_that_of_the_era() -> None:
    w = World()
    call = w.call(1)
    channel = w.linker.sessions.channels["files"]
    assert offered(channel, call) is None
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    w.say("c2s", {"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params}, process="old")
    result = {**params, "capabilities": {"tools": {}}}
    w.say("s2c", {"jsonrpc": "2.0", "id": 2, "result": result}, process="old")
    plain = w.say("c2s", {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}, process="old")
    assert offered(channel, w.exchanges[plain.key]) == {"tools": {}}
    assert offered(channel, call) is None


@pytest.mark.parametrize(
    ("schema", "faults"),
    [
        ({"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}, [[]]),
        ({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}, [["name"]]),
        ({"properties": {"a": {"type": "string", "x-mcp-header": 7}}}, [["name"]]),
        ({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}, [["primitive"]]),
        ({"properties": {"a": {"x-mcp-header": "A"}}}, [["primitive"]]),
        ({"properties": {"a": {"type": ["string", "null"], "x-mcp-header": "A"}}}, [[]]),
        ({"properties": {"a": {"properties": {"items": {"type": "string", "x-mcp-header": "A"}}}}}, [[]]),
        ({"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}}, [["reachable"]]),
        ({"type": "object", "x-mcp-header": "A"}, [["primitive", "reachable"]]),
        ({"$defs": {"a": {"type": "string", "x-mcp-header": "A"}}}, [["reachable"]]),
        ({"properties": {n: {"type": "string", "x-mcp-header": n} for n in "aA"}}, [[], ["unique"]]),
        ({"properties": {"a": {"default": {"x-mcp-header": ""}}}}, []),
        ("no schema", []),
    ],
)
def test_annotations_and_what_is_wrong_with_them(schema: Any, faults: list[list[str]]) -> None:
    assert [note.faults for note in headers_asked(schema)] == faults


def test_headers_to_send_are_those_of_a_sound_definition() -> None:
    w = World()
    schema = {"properties": {"user": {"properties": {"id": {"type": "integer", "x-mcp-header": "User"}}}}}
    w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    tools = [{"name": "a", "inputSchema": schema}, {"name": "b", "inputSchema": {"x-mcp-header": ""}}]
    w.say("s2c", {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}})
    sound, broken = w.call(2, "a").tool, w.call(3, "b").tool
    assert sound is not None and broken is not None
    assert sound.definition.headers == [("User", ("user", "id"), "integer")]
    assert not broken.definition.sound and broken.definition.headers == []


def test_network_references_are_those_that_the_document_does_not_hold() -> None:
    schema = {
        "$id": "https://a.example/root.json",
        "$defs": {"x": {"$id": "https://a.example/x.json"}},
        "properties": {
            "a": {"$ref": "https://a.example/x.json#/y"},
            "b": {"$ref": "https://b.example/z.json"},
            "c": {"$ref": "#/$defs/x"},
            "d": {"default": {"$ref": "https://c.example/data.json"}},
        },
    }
    assert network_refs(schema) == ["https://b.example/z.json"]


def test_walking_a_schema_ends_whatever_its_size() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"not": deep}
    assert sum(1 for _ in walk(deep)) <= 50_000

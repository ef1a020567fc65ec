"""Sessions of earlier revisions on stdio and over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mrtrscope.link.legacy import DELETED, GONE, Session, name_of, sessions
from mrtrscope.link.memory import DictMemory
from mrtrscope.link.session import Channel
from mrtrscope.pipeline import Pipeline
from tests.feeding import feed

from .world import World

URL = "http://127.0.0.1:8000/mcp"
ID = "7f0c1c2e-0d7a-4d55-9c1b"
VERSION = "2025-11-25"
INIT = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
DONE = {"protocolVersion": VERSION, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


def initialize(world: World, id: int = 0) -> None:
    world.say("c2s", {"id": id, "method": "initialize", "params": INIT})
    world.say("s2c", {"id": id, "result": DONE})


def session(world: World) -> Session:
    return sessions(world.linker.channel(world.seen[-1][0]))["files/p"]


def test_a_handshake_begins_a_session_and_the_client_says_that_it_is_ready() -> None:
    world = World()
    initialize(world)
    found = session(world)
    assert found.begun is not None and (found.version, found.initialized, found.asking) == (
        VERSION,
        False,
        "",
    )
    world.say("c2s", {"method": "notifications/initialized"})
    assert found.initialized and not found.skipped


def test_whoever_goes_on_without_saying_so_skipped_it() -> None:
    world = World()
    initialize(world)
    message = world.say("c2s", {"id": 1, "method": "tools/list"})
    found = session(world)
    assert found.skipped and found.open == {message.key: "tools/list"}
    world.say("s2c", {"id": 1, "result": {"tools": []}})
    assert found.open == {}


def test_a_refused_handshake_may_be_tried_again() -> None:
    world = World()
    world.say("c2s", {"id": 0, "method": "initialize", "params": INIT})
    world.say("s2c", {"id": 0, "error": {"code": -32602, "message": "version"}})
    again = world.say("c2s", {"id": 1, "method": "initialize", "params": INIT})
    assert "second" not in (world.exchanges[again.key].remarks or {})


def test_a_second_handshake_and_a_used_id_are_remarked() -> None:
    world = World()
    initialize(world, 7)
    second = world.say("c2s", {"id": 8, "method": "initialize", "params": INIT})
    assert "second" in (world.exchanges[second.key].remarks or {})
    again = world.say("c2s", {"id": 7, "method": "tools/list"})
    first = world.seen[0][0].key
    assert (world.exchanges[again.key].remarks or {}).get("reused") == first


# -- over HTTP


Head = dict[str, str]


def flow(
    n: int, method: str, head: Head, body: Any = None, answer: Any = None, status: int = 200, minted: str = ""
) -> dict[str, Any]:
    sent = [["Host", "127.0.0.1:8000"], ["Accept", "application/json, text/event-stream"], *head.items()]
    given = [["Content-Type", "application/json"]]
    if minted:
        given.append(["Mcp-Session-Id", minted])
    text = json.dumps({"jsonrpc": "2.0", **body}) if body else ""
    chunks = [{"t": n, "data": json.dumps({"jsonrpc": "2.0", **answer})}] if answer else []
    return {
        "t": n, "flow": n, "conn": 1, "t_req_end": n, "t_end": n, "closed_by": "server",
        "request": {"method": method, "url": URL, "http": "HTTP/1.1", "headers": sent, "body": text},
        "response": {"status": status, "reason": "", "headers": given, "t": n, "chunks": chunks},
    }  # fmt: skip


def run(tmp_path: Path, *flows: dict[str, Any]) -> Channel:
    file = tmp_path / "flows.jsonl"
    file.write_text("\n".join(map(json.dumps, flows)) + "\n", encoding="utf-8")
    pipeline = Pipeline(DictMemory(), salt=b"salt", judge=False)
    feed(pipeline, file)
    return pipeline.linker.sessions.channels[URL]


ASK, SAY = {"id": 0, "method": "initialize", "params": INIT}, {"id": 0, "result": DONE}
BEGIN = flow(0, "POST", {}, ASK, SAY, minted=ID)
WITH = {"Mcp-Session-Id": ID, "Mcp-Protocol-Version": VERSION}


def test_a_session_over_http_is_known_by_a_digest_of_its_id(tmp_path: Path) -> None:
    found = sessions(run(tmp_path, BEGIN))
    assert list(found) == [name_of(URL, ID)] and ID not in next(iter(found))


def test_a_session_ends_with_delete(tmp_path: Path) -> None:
    channel = run(tmp_path, BEGIN, flow(1, "DELETE", WITH))
    assert sessions(channel)[name_of(URL, ID)].end == DELETED


def test_a_session_that_is_not_found_is_gone_and_who_still_names_it_is_counted(tmp_path: Path) -> None:
    body, error = {"id": 2, "method": "tools/list"}, {"id": 2, "error": {"code": -32001, "message": "gone"}}
    lost = [flow(n, "POST", WITH, {**body, "id": n}, {**error, "id": n}, 404) for n in (1, 2, 3)]
    found = sessions(run(tmp_path, BEGIN, *lost))[name_of(URL, ID)]
    assert (found.end, found.after) == (GONE, 2)


def test_servers_without_ids_have_one_session_for_all(tmp_path: Path) -> None:
    channel = run(tmp_path, flow(0, "POST", {}, ASK, SAY))
    assert list(sessions(channel)) == [""] and not sessions(channel)[""].named
    assert channel.facts["handed_out"] == [0, 1]

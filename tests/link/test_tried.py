"""What a channel speaks, and what was tried before."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope import model
from mrtrscope.link import tried
from mrtrscope.views.eras import line

from .test_longs import META, handshake
from .world import World


def told(w: World, era: str = "legacy") -> str:
    (channel,) = w.linker.sessions.channels.values()
    story = tried.story(channel)
    steps = [model.Tried(**{k: v for k, v in step.items() if k != "key"}) for step in story["tried"]]
    counts: dict[str, Any] = {"messages": 0, "operations": 0, "findings": 0}
    return line(
        model.Channel(name="files", transport="stdio", era=era, speaks=story["speaks"], tried=steps, **counts)
    )


def discover(w: World, answer: dict[str, Any] | None) -> None:
    w.say("c2s", {"jsonrpc": "2.0", "id": 90, "method": "server/discover", "params": {"_meta": META}})
    if answer is not None:
        w.say("s2c", {"jsonrpc": "2.0", "id": 90, **answer})


def test_a_handshake() -> None:
    w = World()
    handshake(w, "2025-06-18")
    assert told(w) == "files speaks 2025-06-18; initialize agreed on 2025-06-18"


def test_a_server_that_chooses_another_revision() -> None:
    w = World()
    params = {"protocolVersion": "2025-11-25", "capabilities": {}}
    w.say("c2s", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    w.say("s2c", {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2024-11-05", "capabilities": {}}})
    assert told(w) == "files speaks 2024-11-05; initialize offered 2025-11-25 and got 2024-11-05"


@pytest.mark.parametrize(
    ("answer", "got"), [(None, "no answer"), ({"error": {"code": -32601, "message": "no"}}, "error -32601")]
)
def test_a_fallback_says_what_was_tried_before(answer: dict[str, Any] | None, got: str) -> None:
    w = World()
    discover(w, answer)
    handshake(w)
    assert told(w) == (
        "files speaks 2025-11-25; initialize agreed on 2025-11-25;"
        f" server/discover with 2026-07-28 got {got}, so its client fell back to initialize"
    )


def test_a_modern_server() -> None:
    w = World()
    discover(w, {"result": {"resultType": "complete", "supportedVersions": ["2026-07-28", "2025-11-25"]}})
    w.call(1)
    w.done(1)
    assert told(w, "modern") == (
        "files speaks 2026-07-28; server/discover was answered (it supports 2026-07-28, 2025-11-25)"
    )


def test_requests_alone() -> None:
    w = World()
    w.call(1)
    w.done(1)
    assert told(w, "modern") == "files speaks 2026-07-28; every request says so, nothing was asked before"


def test_equal_steps_are_counted_and_others_bounded() -> None:
    w = World()
    for _ in range(5):
        handshake(w)
    for n in range(tried.STEPS + 5):
        discover(w, {"error": {"code": -32000 - n, "message": "no"}})
    (channel,) = w.linker.sessions.channels.values()
    steps = tried.story(channel)["tried"]
    assert (steps[0]["n"], len(steps)) == (5, tried.STEPS)


def test_probes_that_nobody_answers_are_bounded() -> None:
    w = World()
    for n in range(tried.TRYING + 5):
        w.say("c2s", {"jsonrpc": "2.0", "id": n, "method": "server/discover", "params": {"_meta": META}})
    (channel,) = w.linker.sessions.channels.values()
    assert len(channel.facts["trying"]) == tried.TRYING
    assert tried.story(channel)["tried"][0]["outcome"] == "no answer"

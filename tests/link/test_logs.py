"""Levels that requests ask for, and how fast log messages come."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.logs import LEVELS, LOG_LEVEL, levels_asked, rank, seconds_of_flood
from mrtrscope.wire.events import Message

from .world import MODERN, World


def call(world: World, id: int, level: Any, at: float | None = None) -> Message:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        LOG_LEVEL: level,
    }
    return world.say("c2s", {"id": id, "method": "tools/call", "params": {"name": "a", "_meta": meta}}, at=at)


def log(world: World, at: float | None = None) -> Message:
    return world.say(
        "s2c", {"method": "notifications/message", "params": {"level": "info", "data": 1}}, at=at
    )


@pytest.mark.parametrize("value", ["warn", "INFO", 3, None, []])
def test_other_values_are_no_level(value: Any) -> None:
    assert rank(value) == -1


def test_the_eight_levels_stand_in_order() -> None:
    assert [rank(level) for level in LEVELS] == list(range(8))


def test_a_level_counts_until_a_moment_after_its_request() -> None:
    world = World()
    message = call(world, 1, "error", at=1)
    assert (world.exchanges[message.key].remarks or {})["level"] == "error"
    channel = world.linker.channel(message)
    assert levels_asked(channel, log(world)) == [rank("error")]
    world.done(1, at=2)
    assert levels_asked(channel, log(world, at=2.5)) == [rank("error")]
    assert levels_asked(channel, log(world, at=4)) == []


def test_floods_are_counted_by_seconds_in_a_row() -> None:
    world = World()
    for n in range(360):
        message = log(world, at=1 + n / 120)
    assert seconds_of_flood(world.linker.channel(message), message, None) == 3
    message = log(world, at=60)
    assert seconds_of_flood(world.linker.channel(message), message, None) == 0

"""Whether the results of a tool or prompt look alike with and without a round trip before them."""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.session import Channel

TARGETS = 256  # of one channel
DIRECT_RICH, DIRECT_PLAIN, AFTER_RICH, AFTER_PLAIN = range(4)


def note_shape(channel: Channel, exchange: Exchange) -> None:
    """Count a final result: `facts["shapes"]`, method and target -> how many [direct rich, direct plain, …]."""
    answer = exchange.answer
    if exchange.method not in ("tools/call", "prompts/get") or answer is None or answer.kind != "response":
        return
    result = answer.result
    if result.get("isError") is True or result.get("resultType", "complete") != "complete":
        return
    shapes: dict[str, list[int]] = channel.facts.setdefault("shapes", {})
    key = f"{exchange.method} {exchange.target}"
    counts = shapes.get(key)
    if counts is None:
        if len(shapes) >= TARGETS:
            return
        counts = shapes[key] = [0, 0, 0, 0]
    after = AFTER_RICH if exchange.link is not None else DIRECT_RICH
    counts[after + (not _rich(result))] += 1


def shape(channel: Channel, exchange: Exchange) -> list[int]:
    """[direct rich, direct plain, after rounds rich, after rounds plain] so far, for the target of this exchange."""
    shapes: dict[str, list[int]] = channel.facts.get("shapes", {})
    return shapes.get(f"{exchange.method} {exchange.target}", [0, 0, 0, 0])


def _rich(result: dict[str, Any]) -> bool:
    """More than one text block or message."""
    content, messages = result.get("content"), result.get("messages")
    blocks = content if type(content) is list else []
    return (
        "structuredContent" in result
        or any(type(block) is dict and block.get("type") != "text" for block in blocks)
        or (type(messages) is list and len(messages) > 1)
    )

"""What an answer says in words, and whether it ends well: shared by the rules about how servers react."""

from __future__ import annotations

import re

from mrtrscope.wire.events import Message

LIMIT = 4096  # characters of an error's text that are looked at

# Refusals that a header, a version or a capability explains, whatever else the request carried.
EXPLAINED_CODES = frozenset({-32020, -32021, -32022})

_STATE = re.compile(
    r"state|expire|verif|signature|\bmac\b|hmac|tamper|decrypt|integrity|redeem|consumed|already used|replay",
    re.I,
)


def complete(answer: Message) -> bool:
    """A final result, and no tool error: the request was carried out."""
    if answer.kind != "response":
        return False
    result = answer.result
    return (
        result.get("resultType", "complete") == "complete"
        and result.get("isError") is not True
        and bool(result)
    )


def tool_error(answer: Message) -> bool:
    """A tool result that says it failed."""
    return answer.kind == "response" and answer.result.get("isError") is True


def words(answer: Message) -> str:
    """The text of an error or of a tool error, bounded; "" for anything else."""
    if answer.kind == "error":
        message, data = answer.error.get("message"), answer.error.get("data")
        parts = [message if type(message) is str else ""]
        if type(data) is str:
            parts.append(data)
        elif type(data) is dict:
            parts += [v for v in data.values() if type(v) is str]
        return " ".join(parts)[:LIMIT]
    if not tool_error(answer):
        return ""
    return " ".join(texts(answer))[:LIMIT]


def texts(answer: Message) -> list[str]:
    """The text blocks of a tool result."""
    content = answer.result.get("content")
    blocks = content if type(content) is list else []
    return [
        b["text"]
        for b in blocks
        if type(b) is dict and b.get("type") == "text" and type(b.get("text")) is str
    ]


def code(answer: Message) -> int | None:
    """The code of an error, None when it is no integer or there is none."""
    found = answer.error.get("code") if answer.kind == "error" else None
    return found if type(found) is int else None


def about_the_state(answer: Message) -> bool:
    """Whether a refusal speaks of the requestState: it failed verification, lapsed, was used before."""
    return _STATE.search(words(answer)) is not None

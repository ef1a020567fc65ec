"""Content blocks, of tools, prompts and sampling: which members they need, and in what form.

`block_faults` yields (JSON pointer below the block, what was seen, what is wrong, level or None for the rule's own).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mrtrscope.rules.formats import base64_fault, is_media_type
from mrtrscope.wire.events import ABSENT

BLOCKS = frozenset({"text", "image", "audio", "resource_link", "resource"})
SAMPLED = frozenset({"text", "image", "audio", "tool_use", "tool_result"})
SHOWN = 1000  # blocks of one list that are looked at

Place = tuple[str, Any, str, str | None]


def block_faults(block: Any, kinds: frozenset[str]) -> Iterator[Place]:
    """What is wrong with one block that may be of these kinds."""
    if type(block) is not dict:
        yield "", block, "is no block", None
        return
    kind = block.get("type", ABSENT)
    if type(kind) is not str or kind not in kinds:
        saw = "absent" if kind is ABSENT else kind
        yield "/type", saw, "has no type" if kind is ABSENT else f"has the type {kind!r:.60}", None
        return
    yield from _CHECKS[kind](block)


def _string(block: dict[str, Any], name: str) -> Iterator[Place]:
    value = block.get(name, ABSENT)
    if type(value) is not str:
        absent = value is ABSENT
        yield (
            f"/{name}",
            "absent" if absent else value,
            f"has no {name}" if absent else f"has a {name} that is no string",
            None,
        )


def _text(block: dict[str, Any]) -> Iterator[Place]:
    yield from _string(block, "text")


def media(block: dict[str, Any]) -> Iterator[Place]:
    """Base64 data and a media type; line breaks in Base64 are noted."""
    yield from _string(block, "data")
    yield from _base64(block, "data")
    yield from _string(block, "mimeType")


def _base64(block: dict[str, Any], name: str) -> Iterator[Place]:
    value = block.get(name)
    fault = base64_fault(value) if type(value) is str else ""
    if fault == "line breaks":
        yield f"/{name}", "Base64 with line breaks", f"has line breaks in the Base64 of {name}", "info"
    elif fault:
        yield f"/{name}", str(value)[:80], f"has {name} that is no Base64: {fault}", None


def _link(block: dict[str, Any]) -> Iterator[Place]:
    yield from _string(block, "uri")
    yield from _string(block, "name")


def _resource(block: dict[str, Any]) -> Iterator[Place]:
    inner = block.get("resource", ABSENT)
    if type(inner) is not dict:
        yield "/resource", "absent" if inner is ABSENT else inner, "has no resource object", None
        return
    for path, saw, what, level in resource_faults(inner):
        yield "/resource" + path, saw, what, level


def resource_faults(contents: dict[str, Any]) -> Iterator[Place]:
    """A uri, and either text or Base64 in blob; the one that is null beside the other is not there."""
    yield from _string(contents, "uri")
    there = [name for name in ("text", "blob") if name in contents]
    both = [name for name in there if contents[name] is not None] or there
    if len(both) != 1:
        yield "", both or "neither", "has both text and blob" if both else "has neither text nor blob", None
    for name in both:
        yield from _string(contents, name)
    if "blob" in both:
        yield from _base64(contents, "blob")


def _use(block: dict[str, Any]) -> Iterator[Place]:
    yield from _string(block, "id")
    yield from _string(block, "name")
    if type(block.get("input")) is not dict:
        yield "/input", block.get("input", "absent"), "has no input object", None


def _result(block: dict[str, Any]) -> Iterator[Place]:
    yield from _string(block, "toolUseId")
    content = block.get("content", ABSENT)
    if type(content) is not list:
        yield "/content", "absent" if content is ABSENT else content, "has no content array", None
        return
    for n, inner in enumerate(content[:SHOWN]):
        for path, saw, what, level in block_faults(inner, BLOCKS):
            yield f"/content/{n}{path}", saw, f"has a block that {what}", level


_CHECKS: dict[str, Callable[[dict[str, Any]], Iterator[Place]]] = {
    "text": _text,
    "image": media,
    "audio": media,
    "resource_link": _link,
    "resource": _resource,
    "tool_use": _use,
    "tool_result": _result,
}


def media_type_fault(block: dict[str, Any]) -> tuple[str, str | None]:
    """What is wrong with the mimeType of an image or audio block, and the level; ("", None) when nothing is."""
    kind = block.get("mimeType")
    if type(kind) is not str:
        return "", None
    if not is_media_type(kind):
        return f"has the mimeType {kind!r:.60}, which is no type/subtype", None
    if not kind.lower().startswith(f"{block.get('type')}/"):
        return f"has the mimeType {kind!r:.60}", "info"
    return "", None


def blocks_of(value: Any) -> list[Any]:
    """A list of blocks, one block as a list, nothing for anything else."""
    if type(value) is dict:
        return [value]
    return value[:SHOWN] if type(value) is list else []

"""basic/index#meta: `_meta` objects wherever they stand, and the names of their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LEGACY, META_CAPABILITIES
from mrtrscope.link.processes import DISCOVER
from mrtrscope.rules import keys
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import sender
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    BOTH,
    DECLARATION,
    EITHER,
    META,
    MUST,
    SHOULD,
    SHOULD_NOT,
    WITH_META,
    rule,
)
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/basic/index#meta"
KEY_FORMAT = PAGE + " (key name format)"

KEYS_SINCE = "2025-06-18"  # the revision that gave keys a format
RESERVED_SINCE = "2025-11-25"  # and the one that reserved prefixes by their second label
LIMIT = 2000  # `_meta` objects of one message that are looked at


@rule("meta/is-object", level=MUST, fault=EITHER, on=META, exercised=WITH_META, eras=BOTH,
      source="schema/2026-07-28/schema.ts MetaObject")  # fmt: skip
def meta_of_another_type(message: Message, ctx: Context) -> Iterator[Finding]:
    """_meta is no object.

    Why it matters: readers that look a key up in it stop there, and with it the whole message.
    Cannot tell: a member of this name in arguments, structured content or schemas is data.
    """
    for path, meta in metas(message):
        if type(meta) is not dict:
            yield ctx.finding(message, saw=meta, expected="an object", path=path, fault=sender(message))


@rule(
    "meta/key-prefix-syntax",
    level=MUST,
    fault=EITHER,
    on=META,
    exercised=WITH_META,
    eras=BOTH,
    source=KEY_FORMAT,
)
def bad_prefix(message: Message, ctx: Context) -> Iterator[Finding]:
    """The prefix of a _meta key is no series of labels.

    Why it matters: whoever sorts keys by their prefix takes it for somebody else's, or for nobody's.
    Cannot tell: keys without a slash have no prefix.
    """
    if _applies(ctx, KEYS_SINCE):
        for path, key in _faulty(message, keys.PREFIX):
            yield ctx.finding(
                message,
                saw=key,
                expected="labels, separated by dots, before one slash",
                path=path,
                fault=sender(message),
            )


@rule(
    "meta/key-name-syntax",
    level=MUST,
    fault=EITHER,
    on=META,
    exercised=WITH_META,
    eras=BOTH,
    source=KEY_FORMAT,
)
def bad_name(message: Message, ctx: Context) -> Iterator[Finding]:
    """The name of a _meta key does not begin and end with a letter or digit, or holds other characters than -_.

    Why it matters: intermediaries may drop or rewrite keys that they cannot read.
    Cannot tell: the empty name behind a prefix is legal.
    """
    if _applies(ctx, KEYS_SINCE):
        for path, key in _faulty(message, keys.NAME):
            yield ctx.finding(
                message,
                saw=key,
                expected="letters and digits, with - _ . between",
                path=path,
                fault=sender(message),
            )


@rule("meta/key-reverse-dns", level=SHOULD, fault=EITHER, on=(META, DECLARATION), exercised=WITH_META,
      eras=BOTH, facet="declaration", source=KEY_FORMAT)  # fmt: skip
def prefix_the_other_way_round(message: Message, ctx: Context) -> Iterator[Finding]:
    """A prefix is a domain name the usual way round.

    Why it matters: com.example/ and example.com/ are two owners to whoever compares prefixes.
    Cannot tell: labels may be anything; only well-known endings are noticed, and only noted.
    """
    if _applies(ctx, RESERVED_SINCE):
        for path, key in _all(message, ctx, keys.ORDER):
            prefix = key.partition("/")[0]
            turned = ".".join(reversed(prefix.split(".")))
            yield ctx.finding(
                message, saw=key, expected=f"{turned}/…", path=path, level="info", fault=sender(message)
            )


@rule("meta/reserved-prefix", level=SHOULD_NOT, fault=EITHER, on=(META, DECLARATION), exercised=WITH_META,
      eras=BOTH, facet="declaration", source=PAGE + " (prefix and reserved keys)")  # fmt: skip
def reserved_for_others(message: Message, ctx: Context) -> Iterator[Finding]:
    """A key stands under a prefix that is reserved for MCP.

    Why it matters: a later revision may give the same key another meaning.
    Cannot tell: keys under MCP's own prefix that are not known here may belong to an extension younger than this tool;
    they are only noted. com.example.mcp/ is not reserved.
    """
    if not _applies(ctx, RESERVED_SINCE):
        return
    for fault, level in ((keys.RESERVED, None), (keys.OFFICIAL, "info")):
        for path, key in _all(message, ctx, fault):
            yield ctx.finding(message, saw=key, path=path, level=level, fault=sender(message))


def _applies(ctx: Context, since: str) -> bool:
    return ctx.era != LEGACY or ctx.version >= since


def _faulty(message: Message, fault: str) -> Iterator[tuple[str, str]]:
    for path, meta in metas(message):
        if type(meta) is dict:
            for key in meta:
                if fault in keys.faults(key):
                    yield f"{path}{pointer(key)}", key


def _all(message: Message, ctx: Context, fault: str) -> Iterator[tuple[str, str]]:
    """Keys of `_meta`, and extension identifiers, which follow the same rules."""
    yield from _faulty(message, fault)
    for path, key in extensions(message, ctx):
        if fault in keys.faults(key):
            yield path, key


def extensions(message: Message, ctx: Context) -> Iterator[tuple[str, str]]:
    """(JSON pointer, identifier) of the extensions that a message declares, on either side."""
    if message.kind == "request":
        capabilities, path = (
            message.meta.get(META_CAPABILITIES),
            pointer("params", "_meta", META_CAPABILITIES),
        )
    elif ctx.exchange is not None and ctx.exchange.method == DISCOVER:
        capabilities, path = message.result.get("capabilities"), "/result/capabilities"
    else:
        return
    declared = capabilities.get("extensions") if type(capabilities) is dict else None
    for key in declared if type(declared) is dict else ():
        yield f"{path}{pointer('extensions', key)}", key


def metas(message: Message) -> Iterator[tuple[str, Any]]:
    """(JSON pointer, value) of every `_meta` of a message that the schema puts there; never those within data."""
    found = 0
    for path, holder in _holders(message):
        if "_meta" in holder:
            yield f"{path}/_meta", holder["_meta"]
            found += 1
            if found == LIMIT:
                return


def _holders(message: Message) -> Iterator[tuple[str, dict[str, Any]]]:
    if message.kind in ("request", "notification"):
        params = message.params
        yield "/params", params
        yield from _content("/params", params)
        yield from _entries("/params", params, "inputResponses", "")
    elif message.kind == "response":
        result = message.result
        yield "/result", result
        yield from _content("/result", result)
        yield from _entries("/result", result, "inputRequests", "/params")
        for name in ("tools", "resources", "resourceTemplates", "prompts", "contents", "roots"):
            yield from _list(f"/result/{name}", result.get(name))


def _entries(
    path: str, holder: dict[str, Any], name: str, inner: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    entries = holder.get(name)
    for key, entry in entries.items() if type(entries) is dict else ():
        value = entry.get(inner[1:]) if inner and type(entry) is dict else entry
        if type(value) is dict:
            at = f"{path}/{name}{pointer(key)}{inner}"
            yield at, value
            yield from _content(at, value)


def _content(path: str, holder: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Content blocks: of a tool result, of messages of a prompt or of sampling; embedded resources in them."""
    content = holder.get("content")
    if type(content) is dict:
        content = (
            [content] if content.get("type") in ("text", "image", "audio", "tool_use", "tool_result") else []
        )
    for at, block in _list(f"{path}/content", content):
        yield at, block
        inner = block.get("resource")
        if type(inner) is dict:
            yield f"{at}/resource", inner
    messages = holder.get("messages")
    for at, entry in _list(f"{path}/messages", messages):
        yield from _content(at, entry)


def _list(path: str, items: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for n, item in enumerate(items) if type(items) is list else ():
        if type(item) is dict:
            yield f"{path}/{n}", item

"""server/tools#x-mcp-header: which arguments a tool wants in HTTP headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.tools import HEADER, Annotation, headers_asked
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    CLIENT,
    MUST,
    MUST_NOT,
    REMARKED,
    RESULT,
    SERVER,
    SHAPE,
    SHOULD_NOT,
    rule,
)
from mrtrscope.rules.secrets import asks_for_private_data, secret_kind
from mrtrscope.rules.tool_lists import listed, tool_name
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/server/tools#x-mcp-header"
EXTENSION = "2026-07-28/basic/transports/streamable-http#schema-extension"
LIST, CALL = ("tools/list",), ("tools/call",)
_PARAM = "mcp-param-"
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")


def _annotated(answer: Message) -> Iterator[tuple[str, str, Annotation, Any]]:
    """(path, tool, annotation, annotated schema) of every x-mcp-header in a list of tools."""
    if b"x-mcp-header" not in answer.raw and b"\\u" not in answer.raw:
        return
    for path, tool in listed(answer):
        schema = tool.get("inputSchema")
        for note in headers_asked(schema):
            node: Any = schema
            for step in note.path:
                node = node[step]
            yield f"{path}/inputSchema{pointer(*note.path, HEADER)}", tool_name(tool), note, node


@rule(
    "tools/x-mcp-header-name",
    level=MUST_NOT,
    fault=SERVER,
    on=RESULT,
    methods=LIST,
    dirs=("s2c",),
    source=PAGE,
)
def header_name_is_none(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An x-mcp-header is empty or no token of HTTP.

    Why it matters: it becomes a part of a header's name; clients have to leave the whole tool out.
    Cannot tell: on stdio there are no headers; the definition is wrong all the same, and noted.
    """
    for path, tool, note, _ in _annotated(answer):
        ctx.tested()
        if "name" in note.faults:
            yield ctx.finding(answer, saw=note.value, expected="a token (RFC 9110)", path=path,
                              level="info" if ctx.transport == "stdio" else None,
                              text=f"the tool {tool[:80]!r} has the x-mcp-header {note.value!r:.60}")  # fmt: skip


@rule(
    "tools/x-mcp-header-unique", level=MUST, fault=SERVER, on=RESULT, methods=LIST, dirs=("s2c",), source=PAGE
)
def header_name_given_twice(answer: Message, ctx: Context) -> Iterator[Finding]:
    """Two arguments of a tool want the same header.

    Why it matters: names of headers do not know case, so one value overwrites the other.
    Cannot tell: a name that is no token is tools/x-mcp-header-name.
    """
    for path, tool, note, _ in _annotated(answer):
        ctx.tested()
        if "unique" in note.faults:
            yield ctx.finding(answer, saw=note.value, path=path,
                              text=f"the tool {tool[:80]!r} has the x-mcp-header {note.value!r:.60} twice")  # fmt: skip


@rule(
    "tools/x-mcp-header-primitive",
    level=MUST,
    fault=SERVER,
    on=RESULT,
    methods=LIST,
    dirs=("s2c",),
    source=PAGE,
)
def header_for_no_primitive(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An x-mcp-header stands beside another type than string, integer and boolean.

    Why it matters: no header value is defined for it; clients have to leave the whole tool out.
    Cannot tell: a union with null is not mentioned, though null is foreseen for values; it is noted.
    """
    for path, tool, note, node in _annotated(answer):
        ctx.tested()
        kind = node.get("type", "absent")
        if "primitive" in note.faults or len(note.types) == 2:
            yield ctx.finding(answer, saw=kind, expected="string, integer or boolean", path=path,
                              level=None if "primitive" in note.faults else "info",
                              text=f"the tool {tool[:80]!r} has an x-mcp-header on the type {kind!r:.60}")  # fmt: skip


@rule("tools/x-mcp-header-reachable", level=MUST, fault=SERVER, on=RESULT, methods=LIST, dirs=("s2c",),
      source=EXTENSION)  # fmt: skip
def header_out_of_reach(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An x-mcp-header stands where properties alone do not lead.

    Why it matters: which value is meant depends on the arguments, or there are several; clients leave the tool out.
    Cannot tell: properties within properties are fine, and a property may be named items.
    """
    for path, tool, note, _ in _annotated(answer):
        ctx.tested()
        if "reachable" in note.faults:
            yield ctx.finding(answer, saw=pointer(*note.path), expected="/properties/…", path=path,
                              text=f"the tool {tool[:80]!r} has an x-mcp-header at {pointer(*note.path)[:120] or '/'}, "
                              "which properties alone do not lead to")  # fmt: skip


@rule("tools/x-mcp-header-sensitive", level=SHOULD_NOT, fault=SERVER, on=(SHAPE, REMARKED), methods=LIST + CALL,
      source=PAGE)  # fmt: skip
def header_for_a_secret(message: Message, ctx: Context) -> Iterator[Finding]:
    """An argument that holds a secret or personal data is wanted in a header.

    Why it matters: headers are logged by every proxy and server on the way.
    Cannot tell: what an argument holds but by its name and title; a value that looks like a secret is noted.
    """
    if message.kind == "request":
        yield from _mirrored_secrets(message, ctx)
        return
    for path, tool, note, node in _annotated(message):
        ctx.tested()
        name, title = str(note.path[-1]) if note.path else "", node.get("title")
        phrase = asks_for_private_data(name) or asks_for_private_data(title if type(title) is str else "")
        if phrase:
            yield ctx.finding(message, saw=name, path=path,
                              text=f"the tool {tool[:80]!r} wants {name!r:.60} in a header: {phrase}")  # fmt: skip


def _mirrored_secrets(request: Message, ctx: Context) -> Iterator[Finding]:
    tool = ctx.exchange.tool if ctx.exchange is not None else None
    if tool is None or not tool.definition.annotations or request.http is None:
        return
    for name, value in request.http.request_headers:
        if name.lower().startswith(_PARAM):
            ctx.tested()
            kind = secret_kind(value) or ("an e-mail address" if _EMAIL.fullmatch(value) else "")
            if kind:
                yield ctx.finding(request, saw=f"{kind} (not shown)", path=name, level="info", also=[tool.key],
                                  text=f"the header {name[:80]} carries {kind}")  # fmt: skip


@rule("tools/invalid-annotation-tool-excluded", level=MUST, fault=CLIENT, on=REMARKED, methods=CALL, dirs=("c2s",),
      source=EXTENSION)  # fmt: skip
def calls_a_tool_it_should_leave_out(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client calls a tool over HTTP whose x-mcp-header is invalid.

    Why it matters: no header can be right for it; such a tool must not be in the client's list.
    Cannot tell: unless this very client got the definition, and it is still the newest.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.tool is None or request is not exchange.request:
        return
    if not exchange.tool.client.surely_same(exchange.client):
        return
    ctx.tested()
    faults = [(n.value, n.faults) for n in exchange.tool.definition.annotations if n.faults]
    if faults:
        yield ctx.finding(request, saw=faults[0][0], expected="no call", also=[exchange.tool.key],
                          text=f"the tool {exchange.target[:80]!r} is called, though its x-mcp-header "
                          f"{faults[0][0]!r:.60} is invalid ({', '.join(faults[0][1])})")  # fmt: skip

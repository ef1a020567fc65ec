"""basic/index#json-schema-usage: the schemas that tools come with, and references in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.addresses import was_fetched
from mrtrscope.link.tools import network_refs
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.json_schema import DEFAULT_DIALECT, dialect, dialect_known, schema_faults
from mrtrscope.rules.questions import SAMPLING, pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    ASKED,
    BOTH,
    CLIENT,
    EITHER,
    MUST,
    MUST_NOT,
    REMARKED,
    SERVER,
    SHAPE,
    SHOULD,
    SIGNAL,
    rule,
)
from mrtrscope.rules.tool_lists import offered_tools, tool_name
from mrtrscope.wire.events import HTTP_REQUEST, Message, Signal

PAGE = "2026-07-28/basic/index"
REFS = PAGE + "#ref-resolution"
FROM_SERVER = ("s2c",)
WITH_TOOLS = ("tools/list", "tools/call", "prompts/get", "resources/read", SAMPLING)
USUAL = (DEFAULT_DIALECT, "http://json-schema.org/draft-07/schema")


def _schemas(message: Message, ctx: Context) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(path, tool, schema) of every schema object that a tool of the message has."""
    for path, tool in offered_tools(message, ctx):
        for member in ("inputSchema", "outputSchema"):
            schema = tool.get(member)
            if type(schema) is dict:
                yield f"{path}/{member}", tool_name(tool), schema


@rule("schema/json-schema-valid", level=MUST, fault=SERVER, on=(SHAPE, ASKED), methods=WITH_TOOLS, dirs=FROM_SERVER,
      eras=BOTH, facet="toolless", source=PAGE + "#schema-validation")  # fmt: skip
def schema_is_invalid(message: Message, ctx: Context) -> Iterator[Finding]:
    """A schema of a tool is no valid JSON Schema of its dialect.

    Why it matters: a client that compiles it fails for the whole list, or leaves the tool out.
    Cannot tell: dialects that are not known here. Keywords of one's own are allowed.
    """
    for path, tool, schema in _schemas(message, ctx):
        faults = schema_faults(schema, lambda schema=schema: json.dumps(schema))  # type: ignore[misc]
        if faults is None:
            continue
        ctx.tested()
        for fault in faults:
            where = pointer(*fault.path)
            if where == "/type" and path.endswith("inputSchema"):
                continue  # tools/input-schema-object
            yield ctx.finding(message, saw=fault.saw, expected={fault.keyword: fault.expected}, path=path + where,
                              text=f"the schema of {tool[:80]!r} is invalid at {where or 'its root'}: "
                              f"{json.dumps(fault.saw, default=str)[:80]} {fault.words()}")  # fmt: skip


@rule("schema/unknown-dialect", level=ADVISORY, fault=SERVER, on=(SHAPE, ASKED), methods=WITH_TOOLS, dirs=FROM_SERVER,
      eras=BOTH, facet="toolless", source=PAGE + "#schema-dialect")  # fmt: skip
def schema_of_another_dialect(message: Message, ctx: Context) -> Iterator[Finding]:
    """A schema names another dialect than 2020-12 and draft-07.

    Why it matters: only 2020-12 has to be supported; clients may refuse the tool.
    Cannot tell: a schema that names no dialect is of 2020-12.
    """
    for path, tool, schema in _schemas(message, ctx):
        if "$schema" not in schema:
            continue
        ctx.tested()
        named = dialect(schema)
        if named not in USUAL:
            known = "" if dialect_known(named) else ", which is not known here"
            yield ctx.finding(message, saw=schema["$schema"], expected=DEFAULT_DIALECT, path=path + "/$schema",
                              text=f"the schema of {tool[:80]!r} is of the dialect {schema['$schema']!r:.120}{known}",
                              )  # fmt: skip


@rule("schema/external-ref", level=ADVISORY, fault=SERVER, on=(SHAPE, ASKED), methods=WITH_TOOLS, dirs=FROM_SERVER,
      facet="toolless", source=REFS)  # fmt: skip
def schema_refers_to_the_network(message: Message, ctx: Context) -> Iterator[Finding]:
    """A schema refers to another document on the network.

    Why it matters: nobody may fetch it, so that a client can only reject the schema.
    Cannot tell: it is legal JSON Schema, so it is noted. What the document defines itself under that address is fine.
    """
    if b"http" not in message.raw:
        return
    for path, tool, schema in _schemas(message, ctx):
        ctx.tested()
        for ref in network_refs(schema)[:8]:
            yield ctx.finding(message, saw=ref, path=f"{path} {ref[:200]}",
                              text=f"the schema of {tool[:80]!r} refers to {ref[:120]}")  # fmt: skip


@rule("schema/network-ref-not-fetched", level=MUST_NOT, fault=EITHER, on=SIGNAL, signals=(HTTP_REQUEST,), eras=ANY_ERA,
      source=REFS)  # fmt: skip
def reference_was_fetched(request: Signal, ctx: Context) -> Iterator[Finding]:
    """The client's machine fetches a document that a schema refers to.

    Why it matters: whoever publishes a schema makes its readers send requests to wherever it likes.
    Cannot tell: only where that traffic passes the same recorder; and a user may have allowed it.
    """
    reference = request.http.facts.get("reference") if request.http is not None else None
    if reference is None or request.http is None or not reference["host"]:
        return
    ctx.tested()
    yield ctx.finding(request, saw=request.http.url[:500], also=[reference["key"]], fault=CLIENT,
                      text="a document that a tool's schema refers to was fetched; perhaps that was allowed",
                      )  # fmt: skip


@rule("schema/unresolved-ref-tool-not-used", level=SHOULD, fault=CLIENT, on=REMARKED, methods=("tools/call",),
      dirs=("c2s",), source=REFS)  # fmt: skip
def calls_a_tool_with_an_open_reference(request: Message, ctx: Context) -> Iterator[Finding]:
    """A client calls a tool whose schema needs a document from the network.

    Why it matters: its arguments cannot be checked; such a schema is to be rejected, not taken for one that allows all.
    Cannot tell: whether the client has the document otherwise, so it is noted; silent when it was fetched here.
    """
    tool = ctx.exchange.tool if ctx.exchange is not None and request is ctx.exchange.request else None
    if tool is None or not tool.definition.refs:
        return
    ctx.tested()
    still = [ref for ref in network_refs(tool.definition.input) if not was_fetched(ctx.memory, ref)]
    if still:
        yield ctx.finding(request, saw=still[0], also=[tool.key], level="info",
                          text=f"the tool {tool.name[:80]!r} is called, and its schema refers to {still[0][:120]}",
                          )  # fmt: skip

"""server/tools#listing-tools, #tool, #tool-names: what a list of tools looks like, and whether it stays the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LEGACY, Operation
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.listings import unanswered, undeclared
from mrtrscope.rules.questions import SAMPLING, asked, pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    ASKED,
    BOTH,
    FAULT,
    MUST,
    MUST_NOT,
    REMARKED,
    RESULT,
    SERVER,
    SETTLED,
    SHAPE,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/tools"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_SERVER = ("s2c",)
LIST, CALL = ("tools/list",), ("tools/call",)
SHOWN = 2000
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def listed(answer: Message) -> Iterator[tuple[str, dict[str, Any]]]:
    """(path, definition) of the tools in a list, those that are objects."""
    tools = answer.result.get("tools")
    for n, tool in enumerate(tools[:SHOWN] if type(tools) is list else ()):
        if type(tool) is dict:
            yield f"/result/tools/{n}", tool


def offered_tools(message: Message, ctx: Context) -> Iterator[tuple[str, dict[str, Any]]]:
    """The same, and the tools that sampling requests offer."""
    if b'"tools"' not in message.raw:
        return
    if message.kind == "response":
        yield from listed(message)
    for question in asked(message, ctx, SAMPLING):
        tools = question.params.get("tools")
        for n, tool in enumerate(tools[:SHOWN] if type(tools) is list else ()):
            if type(tool) is dict:
                yield f"{question.path}/params/tools/{n}", tool


def tool_name(tool: dict[str, Any]) -> str:
    name = tool.get("name")
    return name if type(name) is str else "?"


@rule("tools/capability-declared", level=MUST, fault=SERVER, on=RESULT, methods=LIST + CALL, dirs=FROM_SERVER,
      eras=BOTH, source=PAGE + "#capabilities")  # fmt: skip
def tools_undeclared(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server has tools and did not declare the capability.

    Why it matters: clients that read the capabilities never ask for them.
    Cannot tell: when no answer with capabilities was seen for this credential.
    """
    return undeclared(answer, ctx, "tools")


@rule("tools/list-answered", level=MUST, fault=SERVER, on=(FAULT, SETTLED), methods=LIST, eras=BOTH,
      source=PAGE + "#capabilities")  # fmt: skip
def tools_do_not_exist(event: Message | Operation, ctx: Context) -> Iterator[Finding]:
    """A server declares tools and does not know tools/list.

    Why it matters: the client shows an error for what it was told to ask for; an empty list would do.
    Cannot tell: refusals for access, version, headers or a cursor have their reasons; no answer may be a lost one.
    """
    yield from unanswered(event, ctx, "tools")


@rule("tools/list-not-per-connection", level=MUST_NOT, fault=SERVER, on=REMARKED, exercised=RESULT, methods=LIST,
      dirs=FROM_SERVER, source=PAGE + "#capabilities")  # fmt: skip
def list_depends_on_the_connection(answer: Message, ctx: Context) -> Iterator[Finding]:
    """Two connections with the same credential get other sets of tools, turn and turn about.

    Why it matters: there are no sessions; a client that opens a second connection sees tools come and go.
    Cannot tell: one change is a change of the list. It takes a set that comes back on the connection that had it, while
    the time to live of the first list says that it still holds; it is probable at most.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    found = remarks.get("varies") if remarks is not None and answer.kind == "response" else None
    if found:
        names = [tool_name(tool) for _, tool in listed(answer)]
        yield ctx.finding(answer, saw=sorted(names)[:50], also=found,
                          text="probably the set of tools depends on the connection: another one got another set "
                          "in between")  # fmt: skip


@rule("tools/order-deterministic", level=SHOULD, fault=SERVER, on=REMARKED, exercised=RESULT, methods=LIST,
      dirs=FROM_SERVER, source=PAGE + "#capabilities")  # fmt: skip
def tools_in_another_order(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The same tools come in another order than before.

    Why it matters: the list stands at the head of a model's prompt; another order makes its cache useless.
    Cannot tell: lists that are not whole, or not for the same credential.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    before = remarks.get("reordered") if remarks is not None and answer.kind == "response" else None
    if before is not None:
        names = [tool_name(tool) for _, tool in listed(answer)]
        yield ctx.finding(answer, saw=names[:50], also=[before], path="/result/tools")


@rule("tools/name-format", level=SHOULD, fault=SERVER, on=RESULT, methods=LIST, dirs=FROM_SERVER, eras=BOTH,
      source=PAGE + "#tool-names")  # fmt: skip
def name_with_other_characters(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The name of a tool is not 1 to 128 characters out of letters, digits, "_", "-" and ".".

    Why it matters: models and providers take no others; hosts rename the tool, each in its own way.
    Cannot tell: beyond the first 2,000 tools of a list; a name that is no string is passed over.
    """
    for path, tool in listed(answer):
        name = tool.get("name")
        if type(name) is not str:
            continue
        ctx.tested()
        if not _NAME.fullmatch(name):
            yield ctx.finding(
                answer, saw=name, path=path + "/name", text=f"a tool has the name {name[:80]!r}"
            )


@rule("tools/name-unique", level=SHOULD, fault=SERVER, on=REMARKED, exercised=RESULT, methods=LIST, dirs=FROM_SERVER,
      eras=BOTH, source=PAGE + "#tool-names")  # fmt: skip
def name_given_twice(answer: Message, ctx: Context) -> Iterator[Finding]:
    """Two tools of a list have the same name.

    Why it matters: a call names its tool; one of the two can never be called.
    Cannot tell: a list that changed while it was read shows a tool twice; noted.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    for name, where in remarks.get("again", ()) if remarks is not None and answer.kind == "response" else ():
        on = "on one page" if where == "page" else "on two pages"
        yield ctx.finding(answer, saw=name, path=f"/result/tools {name}", level="info" if where == "changed" else None,
                          text=f"the tool {name[:80]!r} is listed twice, {on}")  # fmt: skip


@rule("tools/input-schema-object", level=MUST, fault=SERVER, on=(SHAPE, ASKED),
      methods=(*LIST, *CALL, "prompts/get", "resources/read", SAMPLING), dirs=FROM_SERVER, eras=BOTH,
      facet="toolless", source=PAGE + "#tool")  # fmt: skip
def input_schema_is_none(message: Message, ctx: Context) -> Iterator[Finding]:
    """The inputSchema of a tool is no JSON Schema of the type object.

    Why it matters: arguments are an object; without a schema for it neither model nor client knows what to send.
    Cannot tell: whatever stands beside the type is free in 2026-07-28.
    """
    for path, tool in offered_tools(message, ctx):
        ctx.tested()
        schema = tool.get("inputSchema", ABSENT)
        if type(schema) is dict and schema.get("type") == "object":
            continue
        name, absent = tool_name(tool), schema is ABSENT
        where = path + ("/inputSchema/type" if type(schema) is dict else "/inputSchema")
        saw = "absent" if absent else schema.get("type", "no type") if type(schema) is dict else schema
        yield ctx.finding(message, saw=saw, expected="a schema of the type object", path=where,
                          text=f"the tool {name[:80]!r} has " + ("no inputSchema" if absent else
                          f"an inputSchema of the type {saw!r:.40}" if type(schema) is dict
                          else "an inputSchema that is no schema object"))  # fmt: skip


@rule("tools/output-schema-object", level=MUST, fault=SERVER, on=RESULT, methods=LIST, dirs=FROM_SERVER, eras=BOTH,
      source=SCHEMA + "Tool")  # fmt: skip
def output_schema_is_none(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The outputSchema of a tool is no schema object.

    Why it matters: clients check results by it.
    Cannot tell: any type is allowed in 2026-07-28; in 2025-11-25 it had to be object.
    """
    for path, tool in listed(answer):
        if "outputSchema" not in tool:
            continue
        ctx.tested()
        schema, name = tool["outputSchema"], tool_name(tool)
        if type(schema) is not dict:
            yield ctx.finding(answer, saw=schema, expected="a schema object", path=path + "/outputSchema",
                              text=f"the tool {name[:80]!r} has an outputSchema that is no schema object")  # fmt: skip
        elif ctx.era == LEGACY and schema.get("type") != "object":
            yield ctx.finding(answer, saw=schema.get("type", "no type"), expected="object",
                              path=path + "/outputSchema/type",
                              text=f"the tool {name[:80]!r} has an outputSchema whose type is not object")  # fmt: skip


@rule("tools/legacy-execution-field", level=ADVISORY, fault=SERVER, on=RESULT, methods=LIST, dirs=FROM_SERVER,
      source="2026-07-28/changelog#major-changes item 6")  # fmt: skip
def task_support_of_2025(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A tool says execution.taskSupport, which means nothing since 2026-07-28.

    Why it matters: who relies on it gets no task: the server decides call by call.
    Cannot tell: beyond the first 2,000 tools of a list.
    """
    for path, tool in listed(answer):
        execution = tool.get("execution")
        if type(execution) is dict and "taskSupport" in execution:
            ctx.tested()
            yield ctx.finding(answer, saw=execution["taskSupport"], path=path + pointer("execution", "taskSupport"),
                              text=f"the tool {tool_name(tool)[:80]!r} says execution.taskSupport")  # fmt: skip

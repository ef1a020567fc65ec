"""basic/index#schema: every message fits the TypeScript schema of its revision."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import LEGACY
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.ordinary_offers import introduced, offered
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    BOTH,
    CLIENT,
    EITHER,
    MUST,
    NOTIFICATION,
    REQUEST,
    RESULT,
    SERVER,
    SHAPE,
    rule,
)
from mrtrscope.rules.wire_shapes import notification_faults, request_faults, result_faults, schema_version
from mrtrscope.wire.events import Message


@rule("schema/wire-valid", level=MUST, fault=EITHER, on=SHAPE, exercised=(REQUEST, NOTIFICATION, RESULT), eras=BOTH,
      last=True, source="schema/2026-07-28/schema.ts")  # fmt: skip
def does_not_fit_the_schema(message: Message, ctx: Context) -> Iterator[Finding]:
    """A message does not fit the schema of its revision.

    Why it matters: the schema is the source of truth; a peer that checks what it reads refuses the message, and one
    that does not breaks where it uses the member.
    Cannot tell: methods and members that the revision does not know are nobody's fault, since shapes are open. Where a
    rule of its own speaks about the place, this one is silent; so it is about errors, `_meta` and what rounds carry.
    """
    exchange = ctx.exchange
    if exchange is not None and exchange.dir == "c2s":
        if message is exchange.request and message.method == "initialize" and introduced(message.params):
            return
        if message is exchange.answer and offered(exchange.method, message.result):
            return
    version = schema_version(ctx.era, ctx.version)
    if version is None:
        return
    if message.kind == "request":
        faults = request_faults(message.body, message.dir, message.method or "", version, message.raw)
    elif message.kind == "notification":
        faults = notification_faults(message.body, message.dir, message.method or "", version, message.raw)
    elif message.kind == "response" and exchange is not None and message is exchange.answer:
        result = message.result
        if result.get("resultType", "complete") != "complete" or (ctx.era == LEGACY and "task" in result):
            return
        faults = result_faults(message.body, message.dir, exchange.method, version, message.raw)
    else:
        return
    said = [finding.path for finding in ctx.raised if finding.path]
    for fault in faults or ():
        path = pointer(*fault.path)
        if any(_same_place(path, other) for other in said):
            continue
        yield ctx.finding(
            message,
            saw="absent" if fault.missing else fault.saw,
            expected=None if fault.missing else fault.expected,
            path=path,
            text=f"{_what(message, exchange.method if exchange is not None else '')} does not fit the schema of "
            f"{version}: {fault.words()}",
            fault=CLIENT if message.dir == "c2s" else SERVER,
        )


def _same_place(path: str, other: str) -> bool:
    return path == other or path.startswith(other + "/") or other.startswith(path + "/")


def _what(message: Message, method: str) -> str:
    return f"the result of {method}" if message.kind == "response" else message.method or "a message"

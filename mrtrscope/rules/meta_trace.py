"""basic/index#meta (OpenTelemetry trace context): traceparent, tracestate, baggage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import sender
from mrtrscope.rules.registry import EITHER, MUST, TRACE, rule
from mrtrscope.wire.events import Message

SOURCE = "2026-07-28/basic/index#meta (OpenTelemetry trace context)"
STATES, MEMBERS, BYTES = 32, 64, 8192  # limits of the two W3C recommendations
LIMIT = 1 << 16  # longer values are not read

_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.S)
_STATE_KEY = re.compile(r"[a-z0-9][a-z0-9_*/-]{0,240}(?:@[a-z][a-z0-9_*/-]{0,13})?|[a-z][a-z0-9_*/-]{0,255}")
_STATE_VALUE = re.compile(r"[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OCTETS = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
_SPACE = " \t"


@rule("meta/trace-context-format", level=MUST, fault=EITHER, on=TRACE, source=SOURCE)
def broken_trace_context(message: Message, ctx: Context) -> Iterator[Finding]:
    """traceparent or tracestate does not follow W3C Trace Context.

    Why it matters: the trace breaks off here, in every system that reads it.
    Cannot tell: a later version may have more fields behind the fourth; only version 00 has exactly four.
    """
    path, meta = _meta(message)
    fault = sender(message)
    if "traceparent" in meta:
        ctx.tested()
        wrong = parent_fault(meta["traceparent"])
        if wrong:
            yield ctx.finding(message, saw=meta["traceparent"], expected="00-<32 hex>-<16 hex>-<2 hex>", fault=fault,
                              path=f"{path}/traceparent", text=f"traceparent {wrong}")  # fmt: skip
    if "tracestate" in meta:
        ctx.tested()
        wrong = state_fault(meta["tracestate"])
        if wrong:
            yield ctx.finding(message, saw=meta["tracestate"], expected="key=value, separated by commas", fault=fault,
                              path=f"{path}/tracestate", text=f"tracestate {wrong}")  # fmt: skip
        elif "traceparent" not in meta:
            yield ctx.finding(message, expected="traceparent beside it", path=f"{path}/tracestate", level="info",
                              fault=fault, text="tracestate comes without traceparent")  # fmt: skip


@rule("meta/baggage-format", level=MUST, fault=EITHER, on=TRACE, source=SOURCE)
def broken_baggage(message: Message, ctx: Context) -> Iterator[Finding]:
    """baggage does not follow W3C Baggage.

    Why it matters: readers drop all of it, or read values that nobody wrote.
    Cannot tell: more than 64 members or 8192 bytes need not be passed on, but may be sent; that is only noted.
    """
    path, meta = _meta(message)
    if "baggage" not in meta:
        return
    ctx.tested()
    value, fault = meta["baggage"], sender(message)
    wrong = baggage_fault(value)
    if wrong:
        yield ctx.finding(message, saw=value, expected="key=value, separated by commas", fault=fault,
                          path=f"{path}/baggage", text=f"baggage {wrong}")  # fmt: skip
    elif len(value) > BYTES or value.count(",") >= MEMBERS:
        yield ctx.finding(message, saw=f"{len(value)} bytes", expected=f"{MEMBERS} members, {BYTES} bytes",
                          path=f"{path}/baggage", level="info", fault=fault,
                          text="baggage is larger than must be passed on")  # fmt: skip


def parent_fault(value: Any) -> str:
    """What is wrong with a traceparent, "" when nothing is."""
    if type(value) is not str:
        return "is no string"
    match = _PARENT.fullmatch(value[:LIMIT])
    if match is None:
        return "is no version-traceid-parentid-flags in lower-case hex"
    version, trace, parent, _, more = match.groups()
    if version == "ff":
        return "has the version ff, which is forbidden"
    if not trace.strip("0") or not parent.strip("0"):
        return "has an id of zeros only"
    return "has more than four fields" if more and version == "00" else ""


def state_fault(value: Any) -> str:
    """What is wrong with a tracestate, "" when nothing is."""
    if type(value) is not str:
        return "is no string"
    members = [m for part in value[:LIMIT].split(",") if (m := part.strip(_SPACE))]
    if len(members) > STATES:
        return f"has more than {STATES} members"
    seen = set()
    for member in members:
        key, equals, text = member.partition("=")
        if not equals or not _STATE_KEY.fullmatch(key) or not _STATE_VALUE.fullmatch(text):
            return "has a member that is no key=value"
        if key in seen:
            return "has the same key twice"
        seen.add(key)
    return ""


def baggage_fault(value: Any) -> str:
    """What is wrong with a baggage, "" when nothing is."""
    if type(value) is not str:
        return "is no string"
    for member in value[:LIMIT].split(","):
        first, *properties = member.split(";")
        key, equals, text = first.partition("=")
        if not equals:
            return "has a member without ="
        if not _TOKEN.fullmatch(key.strip(_SPACE)):
            return "has a key with characters that no token has"
        if not _OCTETS.fullmatch(text.strip(_SPACE)):
            return "has a value with characters that must be encoded"
        for one in properties:
            name, _, text = one.partition("=")
            if not _TOKEN.fullmatch(name.strip(_SPACE)) or not _OCTETS.fullmatch(text.strip(_SPACE)):
                return "has a property that cannot be read"
    return ""


def _meta(message: Message) -> tuple[str, dict[str, Any]]:
    """Where the `_meta` of a message is, and what it holds; a result has one too."""
    if message.kind == "response":
        meta = message.result.get("_meta")
        return "/result/_meta", meta if type(meta) is dict else {}
    return "/params/_meta", message.meta

"""server/tools#calling-tools, #error-handling: arguments against inputSchema, and how a call is refused."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.listings import newest
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding, finding_id
from mrtrscope.rules.json_schema import Fault, ready
from mrtrscope.rules.listings import EXPLAINED, NOT_FOUND
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    BOTH,
    CLIENT,
    FAULT,
    MUST,
    REQUEST,
    RESULT,
    SERVER,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/server/tools"
ERRORS = PAGE + "#error-handling"
CALL = ("tools/call",)
FROM_SERVER, FROM_CLIENT = ("s2c",), ("c2s",)
FITS = "tools/arguments-fit-schema"
_TOOL = re.compile(r"\btool\b", re.I)
_UPSTREAM = re.compile(
    r"\bapi\b|upstream|backend|\bhttp\s*(?:error|status)?\s*[45]\d\d|returned [45]\d\d|status(?: code)? [45]\d\d|"
    r"database|rate.?limit|timed? ?out|econn\w+|enotfound|connection (?:refused|reset)|traceback|exception",
    re.I,
)


_OTHER_THINGS = re.compile(
    r"requestState|inputResponses|_meta|capabilit|header|session|authoriz|elicit|sampling", re.I
)
_ARGUMENTS = re.compile(
    r"invalid|must be|expected|required|missing|argument|parameter|\bparams?\b|valid", re.I
)


# What is known of the latest calls, since the same is asked of a call and of its answer; by the id of the request,
# which is held here so that no other can get it.
KNOWN, SMALL = 64, 1 << 16
_known: OrderedDict[int, tuple[Message, list[Fault] | None]] = OrderedDict()


def misfits(exchange: Exchange) -> list[Fault] | None:
    """What in the arguments of a call does not fit the newest inputSchema; None when that cannot be told."""
    request = exchange.request
    known = _known.get(id(request))
    if known is not None:
        return known[1]
    found = _misfits(exchange)
    if len(request.raw) <= SMALL:
        _known[id(request)] = (request, found)
        if len(_known) > KNOWN:
            _known.popitem(last=False)
    return found


def _misfits(exchange: Exchange) -> list[Fault] | None:
    tool = exchange.tool
    if tool is None or tool.definition.input is ABSENT:
        return None
    arguments = exchange.arguments
    if type(arguments) is not dict:
        return None
    schema = ready(tool.definition.input, tool.definition.digest, "in")
    return schema.faults(arguments, len(exchange.request.raw))


@rule(FITS, level=ADVISORY, fault=CLIENT, on=REQUEST, methods=CALL, dirs=FROM_CLIENT, eras=BOTH,
      facet="call", source=PAGE + "#tool")  # fmt: skip
def arguments_do_not_fit(request: Message, ctx: Context) -> Iterator[Finding]:
    """The arguments of a call do not fit the tool's inputSchema.

    Why it matters: the definition is stale, or the model made something up; the server has to refuse.
    Cannot tell: nothing binds clients to the schema, so it is noted. Silent without a definition for this credential,
    and where the schema is too large or needs something from the network.
    """
    exchange = ctx.exchange
    faults = misfits(exchange) if exchange is not None and exchange.tool is not None else None
    if faults is None or exchange is None or exchange.tool is None:
        return
    ctx.tested()
    for fault in faults:
        yield ctx.finding(request, saw=fault.saw, expected={fault.keyword: fault.expected}, also=[exchange.tool.key],
                          path=pointer("params", "arguments", *fault.path) + _missing(fault),
                          text=f"{_where(fault)} {fault.words()}")  # fmt: skip


def _where(fault: Fault) -> str:
    return f"the argument {'/'.join(map(str, fault.path))[:80]!r}" if fault.path else "the arguments object"


def _missing(fault: Fault) -> str:
    """Several missing members are several faults at one place."""
    return f" {fault.words()}" if fault.keyword == "required" else ""


@rule("tools/inputs-validated", level=MUST, fault=SERVER, on=RESULT, methods=CALL, dirs=FROM_SERVER, eras=BOTH,
      facet="call", source=PAGE + "#security-considerations item 1")  # fmt: skip
def takes_what_does_not_fit(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A call whose arguments break the tool's inputSchema is carried out.

    Why it matters: the schema is the server's own word; whatever a model makes up gets into the tool.
    Cannot tell: a string that spells the wanted number is often converted; noted. A definition that changed since may
    have allowed it.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.tool is None or not said.complete(answer):
        return
    faults = misfits(exchange)
    if faults is None:
        return
    ctx.tested()
    if not faults:
        return
    first = next((fault for fault in faults if not fault.coercible), faults[0])
    yield ctx.finding(
        answer,
        saw="a result",
        expected="isError or -32602",
        also=[exchange.request, exchange.tool.key],
        path=pointer("params", "arguments", *first.path),
        text=f"the call was carried out, though {_where(first)} {first.words()}",
        level="info" if first.coercible else None,
        because=finding_id(FITS, exchange.request.key,
                           pointer("params", "arguments", *first.path) + _missing(first)),
    )  # fmt: skip


@rule("tools/unknown-tool-protocol-error", level=SHOULD, fault=SERVER, on=(FAULT, RESULT), methods=CALL,
      dirs=FROM_SERVER, eras=BOTH, facet="result", source=ERRORS)  # fmt: skip
def unknown_tool_refused_oddly(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A call to a tool that does not exist is answered with something else than the error -32602.

    Why it matters: a tool result goes to the model, which tries the wrong name again; an error reaches the host.
    Cannot tell: whether the tool exists, but by a whole list that this credential got and that lacks it.
    """
    exchange = ctx.exchange
    if exchange is None or (answer.kind == "response" and answer.result.get("isError") is not True):
        return
    code = said.code(answer)
    if not exchange.target or exchange.tool is not None or code in EXPLAINED:
        return
    listed = newest(ctx.memory, exchange, "tools/list", ctx.channel)
    if listed is None or exchange.target in listed["names"]:
        return
    ctx.tested()
    also = [exchange.request, listed["key"]]
    if answer.kind == "error":
        if code != -32602:
            yield ctx.finding(answer, saw=code, expected=-32602, also=also, path="/error/code",
                              text=f"the unknown tool {exchange.target[:80]!r} is refused with {code}")  # fmt: skip
    elif NOT_FOUND.search(said.words(answer)):
        yield ctx.finding(answer, saw=said.words(answer)[:200], expected=-32602, also=also, path="/result/isError",
                          text=f"the unknown tool {exchange.target[:80]!r} is answered with a tool result")  # fmt: skip


@rule("tools/execution-error-in-result", level=SHOULD, fault=SERVER, on=FAULT, methods=CALL, dirs=FROM_SERVER,
      eras=BOTH, source=ERRORS)  # fmt: skip
def failure_of_a_tool_as_an_error(answer: Message, ctx: Context) -> Iterator[Finding]:
    """What went wrong in a tool is told as a JSON-RPC error.

    Why it matters: models see tool results, and can correct themselves; errors stay with the host.
    Cannot tell: where an error comes from but by its code and words. Silent about a call that is malformed, whose tool
    is unknown, or whose retry was refused. Wrong arguments may be answered either way, and -32603 without a word about
    what failed may be the server's own failure; both are noted.
    """
    exchange, code = ctx.exchange, said.code(answer)
    if exchange is None or code is None or code in EXPLAINED or not exchange.target:
        return
    params = exchange.request.params
    words = said.words(answer)
    if type(params.get("arguments", {})) is not dict or _about_something_else(words, params):
        return
    upstream = _UPSTREAM.search(words) is not None and code != -32602
    known = exchange.tool is not None and exchange.tool.definition.input is not ABSENT
    if not known and not upstream:
        return
    faults = misfits(exchange) if known else None
    if not upstream and (faults is None or code not in (-32602, -32603)):
        return
    ctx.tested()
    unclear = not upstream and (bool(faults) or code == -32603 or _ARGUMENTS.search(words) is not None)
    yield ctx.finding(
        answer,
        saw=answer.error,
        expected="a result with isError: true",
        also=[exchange.request, exchange.tool.key if exchange.tool is not None else None],
        path="/error/code",
        text=f"perhaps a failure of the tool, told as the error {code}" if unclear
        else f"probably a failure of the tool, told as the error {code}",
        level="info" if unclear else None,
    )  # fmt: skip


def _about_something_else(words: str, params: dict[str, Any]) -> bool:
    """The error speaks of the tool's name, of what belongs to rounds, or of how the request came."""
    if NOT_FOUND.search(words) and _TOOL.search(words):
        return True
    if "requestState" in params or "inputResponses" in params:
        return True
    return _OTHER_THINGS.search(words) is not None

"""basic/index#error-codes: whether an error means what its code says, and whether the right one was chosen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import META_VERSION
from mrtrscope.link.servers import advertised, discovered
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.errors import (
    CODES,
    DEFINED,
    FROM_SERVER,
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    REQUEST_FIELDS,
    UNSUPPORTED_VERSION,
)
from mrtrscope.rules.jsonrpc_ids import BODY_UNREAD
from mrtrscope.rules.registry import FAULT, MUST, RESULT, SERVER, SHOULD, rule
from mrtrscope.wire.events import HttpExchange, Message

GATED = {
    "tools/list": "tools",
    "tools/call": "tools",
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "resources/read": "resources",
    "completion/complete": "completions",
}
# Methods whose headers are known to the last one, tools/call aside: a tool may ask for headers of its own.
NAME_HEADER = {"prompts/get": "name", "resources/read": "uri"}
PLAIN = frozenset({
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list",
    "completion/complete",
})  # fmt: skip

# Somebody says that the client does not do something.
_CLIENT = r"(?:client|host|peer)"
_LACKS = (
    r"(?:(?:does|did|do)(?:\s+not|n[\'’]t)\s+(?:\w+\s+){0,2}?(?:support|declare|advertise|offer|provide)|"
    r"(?:has|have)(?:\s+not|n[\'’]t)\s+(?:declared|advertised)|lacks?|without|(?:not|un)\s*supported)"
)
_NEEDS = (
    re.compile(
        rf"\b{_CLIENT}\b.{{0,40}}?\b{_LACKS}\b.{{0,60}}?\b(elicitation|sampling|roots)\b", re.I | re.S
    ),
    re.compile(
        rf"\b(elicitation|sampling|roots)\b.{{0,60}}?\b{_LACKS}\b.{{0,40}}?\b{_CLIENT}\b", re.I | re.S
    ),
)


@rule("error/defined-code-meaning", level=MUST, fault=SERVER, on=FAULT, dirs=FROM_SERVER, source=CODES)
def code_with_another_meaning(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error has one of the three defined codes, although what the code says is not so.

    Why it matters: the client repairs what was right and tries again, without end.
    Cannot tell: a header that a tool asks for needs the tool's schema, so -32020 to tools/call is not judged; an error
    whose cause is hidden passes.
    """
    exchange, code = ctx.exchange, said.code(answer)
    if exchange is None or code not in DEFINED:
        return
    request, data = exchange.request, answer.error.get("data")
    data = data if type(data) is dict else {}
    text = ""
    if code == HEADER_MISMATCH:
        if answer.http is None:
            text = "a header mismatch (-32020) without HTTP, where there are no headers"
        elif _headers_sound(request):
            text = "a header mismatch (-32020), although all headers are there and equal to the body"
    elif code == MISSING_CAPABILITY:
        needed = data.get("requiredCapabilities")
        if (
            exchange.capabilities is not None
            and type(needed) is dict
            and needed
            and _has(exchange.capabilities, needed)
        ):
            text = "missing capabilities (-32021), although the request declares all that are named"
    elif code == UNSUPPORTED_VERSION:
        listed = data.get("supported")
        if type(listed) is list and exchange.version and exchange.version in listed:
            text = "an unsupported version (-32022), although the error lists it as supported"
    ctx.tested()
    if text:
        yield ctx.finding(answer, saw=answer.error, also=[request], path="/error/code", text=text)


@rule("error/ungated-method-code", level=SHOULD, fault=SERVER, on=FAULT, dirs=FROM_SERVER, methods=GATED,
      source="schema/2026-07-28/schema.ts MethodNotFoundError")  # fmt: skip
def other_code_for_an_absent_feature(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A method whose capability the server does not advertise is refused with another code than -32601.

    Why it matters: the client takes its own request for wrong and tries again.
    Cannot tell: without a discover result for the same credential. Refusals for other reasons come first: a header, a
    version, a missing capability, an authorization.
    """
    exchange, http = ctx.exchange, answer.http
    code = said.code(answer)
    if exchange is None or code is None or code in DEFINED or code in (-32700, -32600):
        return
    if http is not None and http.status is not None and (http.status in BODY_UNREAD or http.status >= 500):
        return
    capabilities = advertised(ctx.channel, exchange)
    needed = GATED[exchange.method]
    if capabilities is None or needed in capabilities:
        return
    ctx.tested()
    if code != -32601:
        found = discovered(ctx.channel, exchange)
        seen = found["key"] if found is not None else None
        yield ctx.finding(answer, saw=code, expected=-32601, path="/error/code", also=[seen],
                          text=f"{exchange.method} is refused with another code than -32601, though the server does "
                               f"not advertise {needed}")  # fmt: skip


@rule("error/missing-capability-code", level=MUST, fault=SERVER, on=(FAULT, RESULT), dirs=FROM_SERVER,
      methods=("tools/call", "prompts/get", "resources/read"), facet="result", source=REQUEST_FIELDS)  # fmt: skip
def capability_missing_told_in_words(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request that needs a capability the client did not declare is refused in words, not with -32021.

    Why it matters: the client cannot see what it would have to declare; a model reads the words and tries again.
    Cannot tell: the need is read out of the text, so it is called probable. A server that does without is right.
    """
    if answer.kind == "response" and answer.result.get("isError") is not True:
        return
    exchange = ctx.exchange
    if exchange is None or exchange.capabilities is None or said.code(answer) == MISSING_CAPABILITY:
        return
    ctx.tested()
    words = said.words(answer)
    for pattern in _NEEDS:
        match = pattern.search(words)
        if match is not None and match[1].lower() not in exchange.capabilities:
            name = match[1].lower()
            yield ctx.finding(
                answer, saw=words, expected={"code": MISSING_CAPABILITY, "data": {"requiredCapabilities": {name: {}}}},
                also=[exchange.request],
                text=f"probably the request fails because the client did not declare {name}; that is error -32021",
            )  # fmt: skip
            return


def _headers_sound(request: Message) -> bool:
    """Every header that the request must have is there once and equal to its body; False when not sure."""
    http, method = request.http, request.method
    if http is None or method is None or (method not in PLAIN and method not in NAME_HEADER):
        return False
    if not _once(http, "mcp-protocol-version", request.meta.get(META_VERSION)) or not _once(
        http, "mcp-method", method
    ):
        return False
    if method in PLAIN:
        return not http.request_header_all("mcp-name")
    return _once(http, "mcp-name", request.params.get(NAME_HEADER[method]))


def _once(http: HttpExchange, name: str, value: Any) -> bool:
    return type(value) is str and value.isascii() and http.request_header_all(name) == [value]


def _has(declared: Any, needed: Any) -> bool:
    """Whether all that is needed was declared; elicitation without a mode means forms."""
    if type(declared) is not dict or type(needed) is not dict:
        return False
    for name, inner in needed.items():
        if name == "form" and "form" not in declared and "url" not in declared:
            continue
        if name not in declared or not _has(declared[name], inner):
            return False
    return True

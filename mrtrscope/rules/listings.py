"""What the rules of tools, prompts, resources and completion share: what is advertised, what errors say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mrtrscope.link.facts import Operation
from mrtrscope.link.offers import offered
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.wire.events import Message

NOT_FOUND = re.compile(
    r"not found|no such|unknown|does ?n.t exist|not exist|nonexistent|undefined|unrecogni[sz]ed",
    re.I,
)
# Codes that a header, a version, a capability or a broken message explains, whatever was asked for.
EXPLAINED = said.EXPLAINED_CODES | {-32700, -32600, -32000, -32001, -32042}


_LISTED = ("tools", "prompts", "resources", "resourceTemplates", "nextCursor")


def undeclared(answer: Message, ctx: Context, capability: str) -> Iterator[Finding]:
    """A result, though the server's newest capabilities lack the one that its method belongs to.

    A list of nothing supports nothing: it is only noted.
    """
    exchange = ctx.exchange
    if exchange is None or answer.result.get("resultType") == "input_required":
        return
    capabilities = offered(ctx.channel, exchange)
    if capabilities is None:
        return
    ctx.tested()
    if capability not in capabilities:
        nothing = exchange.method.endswith("/list") and not any(answer.result.get(name) for name in _LISTED)
        yield ctx.finding(
            answer,
            level="info" if nothing else None,
            saw=sorted(capabilities),
            expected=capability,
            also=[exchange.request],
            text=f"{exchange.method} is answered, and the server did not declare {capability}",
        )


def unanswered(event: Message | Operation, ctx: Context, capability: str) -> Iterator[Finding]:
    """A list that a declared capability promises is answered with -32601, or by HTTP with 404.

    Whatever else was refused, for access, version, a header or a cursor, has its reasons.
    """
    exchange = ctx.exchange
    if exchange is None:
        return
    capabilities = offered(ctx.channel, exchange)
    if capabilities is None or capability not in capabilities:
        return
    ctx.tested()
    if isinstance(event, Message):
        if event.kind != "error" or said.code(event) != -32601:
            return
        saw: object = event.error
    else:
        http = exchange.http
        if exchange.answer is not None or http is None or http.status != 404 or http.ours:
            return
        if http.request_header("mcp-session-id") is not None or "pair" in http.facts:
            return  # the session is gone
        saw = "HTTP 404"
    yield ctx.finding(
        event if isinstance(event, Message) else exchange.request,
        saw=saw,
        expected="a list, which may be empty",
        also=[exchange.request],
        text=f"{capability} is declared, and {exchange.method} does not exist",
    )

"""basic/patterns: who may send what: no requests of a server, no responses of a client, nothing after the question."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import LEGACY, MODERN
from mrtrscope.link.servers import served
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ANY_MESSAGE,
    BOTH,
    CLIENT,
    EXTRA,
    FAULT,
    MUST_NOT,
    NOTIFICATION,
    REQUEST,
    RESULT,
    SERVER,
    SIGNAL,
    STRAY,
    rule,
)
from mrtrscope.wire.events import HTTP_END, Message, Signal

FROM_CLIENT, FROM_SERVER = ("c2s",), ("s2c",)


@rule("mrtr/no-server-initiated-request", level=MUST_NOT, fault=SERVER, on=(REQUEST, RESULT), dirs=FROM_SERVER,
      eras=BOTH, facet="result", source="2026-07-28/basic/patterns/index (introduction)")  # fmt: skip
def server_sends_a_request(message: Message, ctx: Context) -> Iterator[Finding]:
    """The server sends a request of its own.

    Why it matters: since 2026-07-28 every question travels in an input_required result; a client of this revision has
    nobody who would answer a request.
    Cannot tell: on a process that also speaks an older revision the request may be for that side, so it is only
    noted. After a handshake, and on a stream that a legacy client opened, it is legal.
    """
    if ctx.era == MODERN:
        ctx.tested()
        if message.kind == "request":
            yield ctx.finding(
                message,
                saw=message.method,
                expected="a question inside an input_required result",
                path="/method",
            )
    elif ctx.era == LEGACY and message.kind == "request" and ctx.transport == "stdio" and _served(ctx):
        yield ctx.finding(
            message,
            saw=message.method,
            path="/method",
            text="the server sends a request on a process that speaks both eras; fine if it is for the older one",
            level="info",
        )


def _served(ctx: Context) -> bool:
    """Whether the server did something in the newer revision; refusing a probe is nothing of the kind."""
    return ctx.subject is not None and served(ctx.channel, ctx.subject)


@rule("mrtr/no-client-response", level=MUST_NOT, fault=CLIENT, on=(RESULT, FAULT, EXTRA, STRAY), dirs=FROM_CLIENT,
      exercised=ANY_MESSAGE, source="2026-07-28/basic/transports/stdio#sending-messages")  # fmt: skip
def client_sends_a_response(message: Message, ctx: Context) -> Iterator[Finding]:
    """The client sends a response.

    Why it matters: since 2026-07-28 answers travel in the inputResponses of a retry; nobody reads a response.
    Cannot tell: which era a response has that comes without a version header, or on a process that had a handshake.
    """
    yield ctx.finding(message, saw=message.kind, expected="a retry with inputResponses")


@rule("mrtr/no-message-after-input-required", level=MUST_NOT, fault=SERVER, on=(NOTIFICATION, EXTRA, SIGNAL),
      signals=(HTTP_END,), source="2026-07-28/basic/transports/streamable-http#receiving-messages")  # fmt: skip
def something_after_the_question(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """Another message follows the input_required result on its stream.

    Why it matters: the result ends the exchange; clients close the stream there and miss what follows.
    Cannot tell: comments and empty events are no messages. Progress and log lines before the result are fine.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.ask is None or exchange.answer is None or event.http is not exchange.http:
        return
    if isinstance(event, Signal):
        if exchange.answer.sse is not None:
            ctx.tested()
        return
    if event.dir == "s2c":
        yield ctx.finding(event, saw=event.method or event.kind, also=[exchange.answer])

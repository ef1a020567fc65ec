"""basic/index: ids in use, and which response belongs to which request."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import LEGACY, MODERN, UNKNOWN, Exchange, Operation
from mrtrscope.link.legacy import all_known
from mrtrscope.link.processes import LISTEN
from mrtrscope.link.servers import served
from mrtrscope.link.session import known_session
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import sender
from mrtrscope.rules.methods import LEGACY_CLIENT_NOTIFICATIONS, LEGACY_REQUESTS, MODERN_REQUESTS
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    BOTH,
    CLIENT,
    EITHER,
    EXTRA,
    FAULT,
    INVALID,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    PRESENT,
    REMARKED,
    REQUEST,
    RESULT,
    SETTLED,
    STRAY,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/basic/index"

# Refusals that say nothing about the body, since it was not read.
BODY_UNREAD = frozenset({401, 403, 405, 406, 413, 415, 429})
PATIENCE = 120_000_000  # microseconds until a request counts as unanswered; ours


@rule("jsonrpc/id-unique-in-flight", level=MUST_NOT, fault=CLIENT, on=REMARKED, exercised=REQUEST, dirs=("c2s",),
      source=PAGE + "#requests")  # fmt: skip
def id_in_use(request: Message, ctx: Context) -> Iterator[Finding]:
    """The id belongs to a request of the same client that still waits for its answer.

    Why it matters: the two answers cannot be told apart, and one call gets the other's result.
    Cannot tell: over HTTP, whether two requests come from one client, unless they share a connection, or credential,
    clientInfo and address. Using an id again after its answer is fine.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    if remarks is not None and "clash" in remarks and request.kind == "request":
        yield ctx.finding(
            request, saw=request.id, expected="an id that is free", also=[remarks["clash"]], path="/id"
        )


@rule("jsonrpc/response-id-matches", level=MUST, fault=EITHER, on=(STRAY, FAULT), exercised=(RESULT, FAULT),
      eras=ANY_ERA, source=PAGE + "#result-responses")  # fmt: skip
def answers_no_request(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A response carries an id that no request has.

    Why it matters: the request it was meant for waits for ever; a client that checks drops the response.
    Cannot tell: what was asked before the recording, or in a gap of it. An error may leave out an id that could not
    be read, also when HTTP refused the request before its body was read.
    """
    nameless = answer.id is ABSENT or answer.id is None
    if any(kind == "invalid-utf8" for kind, _ in answer.oddities):
        return  # it may be the id that cannot be read
    if ctx.exchange is not None:
        # It stands in the answer to this request, and names none.
        if nameless and not _unread(answer) and not _legacy_refusal(answer, ctx):
            yield _mismatch(answer, ctx, ctx.exchange.request.id)
    elif answer.dir == "c2s":
        if ctx.era == LEGACY and (answer.http is None or known_session(ctx.memory, answer)):
            yield ctx.finding(
                answer,
                saw=_id(answer),
                expected="the id of a request of the server",
                path="/id",
                fault="client",
            )
    elif answer.http is not None and "pair" not in answer.http.facts:
        asked = answer.http.facts.get("ids") or []
        excused = answer.kind == "error" and (_unread(answer) or _legacy_refusal(answer, ctx))
        if asked and not (nameless and excused):
            # A word in the place of an id that need not be there misleads nobody further.
            yield _mismatch(answer, ctx, asked[0], level="info" if excused else None)
        elif not asked and not nameless and answer.http.facts.get("posted") in ("notification", "unreadable"):
            yield ctx.finding(answer, saw=_id(answer), expected="no id", path="/id", fault="server")
    elif nameless:
        process = ctx.channel.processes.get(answer.peer.id)
        if process is not None and not process.excused and process.said == "request":
            yield ctx.finding(
                answer, saw=_id(answer), expected="the id of a request", path="/id", fault="server",
                text="a response names no request, although every request could be read",
            )  # fmt: skip
    elif answer.http is None or all_known(ctx.channel, answer):
        yield ctx.finding(
            answer, saw=answer.id_text, expected="the id of a request", path="/id", fault="server"
        )


@rule("jsonrpc/single-response", level=MUST, fault=EITHER, on=EXTRA, exercised=(RESULT, FAULT, EXTRA), eras=ANY_ERA,
      source=PAGE + "#messages")  # fmt: skip
def answered_twice(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request is answered a second time.

    Why it matters: the client has acted on the first answer; which of the two is true nobody can say.
    Cannot tell: an id that was sent twice may be answered twice; a 2025-11-25 stream that is resumed tells its events
    again. Other protocols on JSON-RPC, such as A2A, stream several results.
    """
    first = ctx.exchange.answer if ctx.exchange is not None else None
    if ctx.era == UNKNOWN and answer.sse is not None and not _of_mcp(ctx):
        return
    if ctx.era != MODERN and _told_again(answer, first):
        return
    yield ctx.finding(
        answer, saw=answer.kind, expected="one response", also=[first], path="/id", fault=sender(answer)
    )


@rule("jsonrpc/no-reply-to-notification", level=MUST_NOT, fault=EITHER, on=(STRAY, INVALID), exercised=NOTIFICATION,
      eras=ANY_ERA, source=PAGE + "#notifications")  # fmt: skip
def notification_answered(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A notification was answered.

    Why it matters: its sender waits for nothing; the answer is taken for that of another request, or for noise.
    Cannot tell: over HTTP an error without an id is the allowed way to refuse a notification, with an error status.
    """
    if answer.dir != "s2c" or (answer.id is not None and answer.id is not ABSENT and answer.http is None):
        return
    if answer.http is not None:
        http = answer.http
        if http.facts.get("posted") != "notification" or (
            answer.kind == "invalid" and "id" not in answer.body
        ):
            return
        refused = (http.status or 0) >= 400 and answer.kind == "error" and answer.id in (None, ABSENT)
        if not refused:
            yield ctx.finding(answer, saw=answer.kind, expected="202 and no body", fault="server")
        return
    process = ctx.channel.processes.get(answer.peer.id)
    if process is not None and process.known and process.said == "notification" and not process.excused:
        yield ctx.finding(
            answer, saw=answer.kind, expected="silence", also=[process.said_key], path="/id", fault="server"
        )


@rule("jsonrpc/client-notification-known", level=ADVISORY, fault=CLIENT, on=NOTIFICATION, dirs=("c2s",), eras=BOTH,
      source="schema/2026-07-28/schema.ts ClientNotification")  # fmt: skip
def unknown_notification(message: Message, ctx: Context) -> Iterator[Finding]:
    """The client sends a notification that its revision does not define.

    Why it matters: servers pass over what they do not know, so what was meant is lost without a word.
    Cannot tell: extensions and vendors have notifications of their own.
    """
    ctx.tested()
    method = message.method or ""
    if method == "notifications/cancelled" or (ctx.era == LEGACY and method in LEGACY_CLIENT_NOTIFICATIONS):
        return
    asked = ctx.exchange.request if ctx.exchange is not None and ctx.exchange.dir == "s2c" else None
    text = None
    if asked is not None:
        text = "the client sends a made-up notification that repeats an open question: it looks like a misshapen answer"
    elif ctx.era == MODERN and method in LEGACY_CLIENT_NOTIFICATIONS:
        text = "the client sends a notification of an earlier revision"
    yield ctx.finding(message, saw=method, also=[asked], path="/method", text=text)


@rule("jsonrpc/unanswered-request", level=ADVISORY, fault=EITHER, on=(SETTLED, PRESENT), eras=ANY_ERA, facet="ended",
      source="2026-07-28/basic/patterns/index#request-and-response")  # fmt: skip
def never_answered(operation: Operation, ctx: Context) -> Iterator[Finding]:
    """A request never got a response.

    Why it matters: it is what a hung call looks like from outside.
    Cannot tell: streams that the client closed or cancelled are its own wish, a subscription stays open by design; the
    answer may be in what the recording lacks; what is younger than two minutes at the end of the recording may still be
    answered, and a stream of an earlier revision that gave an event id may be taken up again.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.answer is not None or exchange.method == LISTEN:
        return
    if exchange.state == "waiting":
        if ctx.channel.last - exchange.t < PATIENCE:
            return
    elif exchange.state != "lost" or (
        exchange.http is not None and (exchange.http.cut or _goes_on(exchange))
    ):
        return
    request = exchange.request
    yield ctx.finding(
        request,
        saw=exchange.state,
        expected="a response",
        fault="server" if request.dir == "c2s" else "client",
    )


def _goes_on(exchange: Exchange) -> bool:
    """The stream ended and may be resumed with GET and Last-Event-ID, as servers that are polled mean it to be."""
    stream = exchange.http.facts.get("stream") if exchange.http is not None else None
    return exchange.era == LEGACY and stream is not None and bool(stream.primed)


def _mismatch(answer: Message, ctx: Context, asked: object, level: str | None = None) -> Finding:
    return ctx.finding(
        answer, saw=_id(answer), expected=asked, path="/id", fault=sender(answer), level=level,
        text=f"the response has the id {_id(answer)!r}, its request {asked!r}"[:300],
    )  # fmt: skip


def _of_mcp(ctx: Context) -> bool:
    """The request has a method of MCP; other protocols on JSON-RPC answer one request with many messages."""
    method = ctx.exchange.method if ctx.exchange is not None else ""
    return method in MODERN_REQUESTS or method in LEGACY_REQUESTS


def _told_again(answer: Message, first: Message | None) -> bool:
    """A resumed stream tells an event again that it told before."""
    if answer.sse is None or answer.sse.id is None:
        return False
    return first is None or (first.sse is not None and first.sse.id == answer.sse.id)


def _id(answer: Message) -> object:
    return "absent" if answer.id is ABSENT else answer.id


def _unread(answer: Message) -> bool:
    """The refusal was evidently made before the body was read, or by somebody who could not read it."""
    http = answer.http
    if answer.kind != "error" or http is None or http.status is None:
        return False
    gone = http.status == 404 and http.request_header("mcp-session-id") is not None
    return gone or http.status in BODY_UNREAD or http.status >= 500


def _legacy_refusal(answer: Message, ctx: Context) -> bool:
    """A server of an older revision that refuses a modern probe."""
    return ctx.era == MODERN and not served(ctx.channel, answer)

"""basic/patterns/progress: tokens, values and the end of progress notifications."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import LEGACY, Exchange
from mrtrscope.link.legacy import all_known
from mrtrscope.link.memory import digest
from mrtrscope.link.session import scope_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ANY_ERA,
    CLIENT,
    EITHER,
    META,
    MUST,
    NOTIFICATION,
    REMARKED,
    REQUEST,
    SERVER,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/basic/patterns/progress"
FLOW = PAGE + "#progress-flow"
NOTES = PAGE + "#implementation-notes"
PROGRESS = ("notifications/progress",)
FLOOD = 3  # seconds in a row with more than 50 notifications; ours


@rule("progress/token-type", level=MUST, fault=CLIENT, on=(META, NOTIFICATION), exercised=(REQUEST, NOTIFICATION),
      eras=ANY_ERA, source=FLOW)  # fmt: skip
def token_of_another_type(message: Message, ctx: Context) -> Iterator[Finding]:
    """A progress token is neither a string nor an integer.

    Why it matters: the other side cannot match notifications with requests by it.
    Cannot tell: 1.0 is an integer in JSON.
    """
    if message.kind == "request":
        token, path = message.meta.get("progressToken", ABSENT), "/params/_meta/progressToken"
        fault = "client" if message.dir == "c2s" else "server"
    elif message.method == "notifications/progress":
        token, path = message.params.get("progressToken", ABSENT), "/params/progressToken"
        fault = "server" if message.dir == "s2c" else "client"
    else:
        return
    if token is not ABSENT and not _sound(token):
        shown = "null" if token is None else token
        yield ctx.finding(message, saw=shown, expected="a string or an integer", path=path, fault=fault)
    elif message.kind == "notification" and ctx.exchange is not None:
        given = ctx.exchange.request.meta.get("progressToken", ABSENT)
        if _sound(given) and type(given) is not type(token) and str(given) == str(token):
            yield ctx.finding(message, saw=token, expected=given, path=path, fault=fault, also=[ctx.exchange.request],
                              text="the progress token has another JSON type than the request gave it")  # fmt: skip


@rule("progress/token-unique-active", level=MUST, fault=CLIENT, on=REMARKED, exercised=REQUEST, dirs=("c2s",),
      eras=ANY_ERA, source=FLOW)  # fmt: skip
def token_in_use(request: Message, ctx: Context) -> Iterator[Finding]:
    """The progress token belongs to another request of the same client that is still active.

    Why it matters: the progress of two calls runs into one bar.
    Cannot tell: over HTTP, whether two requests come from one client, unless connection or credential show it. A retry
    may use the token of the finished original again.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    if remarks is not None and "token" in remarks and request.kind == "request":
        yield ctx.finding(
            request, saw=request.meta.get("progressToken"), expected="a token that is free", also=[remarks["token"]],
            path="/params/_meta/progressToken",
        )  # fmt: skip


@rule("progress/known-token", level=MUST, fault=SERVER, on=NOTIFICATION, methods=PROGRESS, dirs=("s2c",), eras=ANY_ERA,
      source=PAGE + "#behavior-requirements item 1")  # fmt: skip
def unknown_token(message: Message, ctx: Context) -> Iterator[Finding]:
    """A progress notification has a token that no request gave.

    Why it matters: the client passes it over, and the call it was meant for seems to stand still.
    Cannot tell: tokens given before the recording, or on a stream that was resumed. A task keeps its token.
    """
    token = message.params.get("progressToken", ABSENT)
    if not _sound(token):
        return
    exchange = ctx.exchange
    if message.http is not None and "pair" not in message.http.facts:
        if exchange is None or exchange.dir != "c2s" or message.http.method != "POST":
            return
        ctx.tested()
        given = exchange.request.meta.get("progressToken", ABSENT)
        if canonical(given if given is not ABSENT else None) != canonical(token) and not _elsewhere(
            message, ctx, token
        ):
            yield _unknown(message, ctx, token, given, exchange)
        return
    if not all_known(ctx.channel, message):
        return
    ctx.tested()
    if exchange is None and not _elsewhere(message, ctx, token):
        yield _unknown(message, ctx, token, ABSENT, None)


@rule("progress/increasing", level=MUST, fault=SERVER, on=NOTIFICATION, methods=PROGRESS, dirs=("s2c",), eras=ANY_ERA,
      source=FLOW)  # fmt: skip
def progress_stands_still(message: Message, ctx: Context) -> Iterator[Finding]:
    """Progress does not rise from one notification to the next.

    Why it matters: bars jump back, and clients that wait for progress give up.
    Cannot tell: events that a resumed stream tells again.
    """
    exchange = ctx.exchange
    progress = exchange.progress if exchange is not None and exchange.dir == "c2s" else None
    if progress is None or progress.again or type(message.params.get("progress")) not in (int, float):
        return
    if progress.previous is None or progress.last is None:
        return
    ctx.tested()
    if progress.last <= progress.previous:
        yield ctx.finding(
            message, saw=progress.last, expected=f"more than {progress.previous}", path="/params/progress"
        )


@rule("progress/stops-after-completion", level=MUST, fault=SERVER, on=NOTIFICATION, methods=PROGRESS, dirs=("s2c",),
      eras=ANY_ERA, source=NOTES)  # fmt: skip
def progress_of_the_past(message: Message, ctx: Context) -> Iterator[Finding]:
    """Progress is reported for a request that was answered before.

    Why it matters: the client has forgotten the token; what comes looks like progress of nothing.
    Cannot tell: a task lives on after its request was answered. An input_required result ends the request as well.
    """
    exchange = ctx.exchange
    if exchange is not None and exchange.dir == "c2s":
        if exchange.answer is None:
            ctx.tested()
        elif not _task(exchange):
            yield ctx.finding(
                message, saw=message.params.get("progressToken"), expected="silence", also=[exchange.answer]
            )
    elif exchange is None and message.http is None:
        token = message.params.get("progressToken", ABSENT)
        if _sound(token) and _elsewhere(message, ctx, token):
            yield ctx.finding(message, saw=token, expected="silence")


@rule("progress/value-types", level=MUST, fault=SERVER, on=NOTIFICATION, methods=PROGRESS, dirs=("s2c",), eras=ANY_ERA,
      source="schema/2026-07-28/schema.ts ProgressNotificationParams")  # fmt: skip
def progress_is_no_number(message: Message, ctx: Context) -> Iterator[Finding]:
    """A progress notification lacks a number for its progress, or its total or message is of another type.

    Why it matters: there is nothing to show.
    Cannot tell: a total smaller than the progress may be an estimate and is only noted.
    """
    ctx.tested()
    params = message.params
    value, total = params.get("progress", ABSENT), params.get("total", ABSENT)
    if not _number(value):
        yield ctx.finding(message, saw="absent" if value is ABSENT else value, expected="a number",
                          path="/params/progress", text="progress is no number")  # fmt: skip
    if total is not ABSENT and not _number(total):
        yield ctx.finding(
            message, saw=total, expected="a number", path="/params/total", text="total is no number"
        )
    elif total is not ABSENT and _number(value) and total < value:
        yield ctx.finding(message, saw=total, expected=f"at least {value}", path="/params/total", level="info",
                          text="total is smaller than progress")  # fmt: skip
    if type(params.get("message", "")) is not str:
        yield ctx.finding(message, saw=params["message"], expected="a string", path="/params/message",
                          text="the message of a progress notification is no string")  # fmt: skip


@rule(
    "progress/rate", level=SHOULD, fault=EITHER, on=NOTIFICATION, methods=PROGRESS, eras=ANY_ERA, source=NOTES
)
def flood_of_progress(message: Message, ctx: Context) -> Iterator[Finding]:
    """Progress is reported more often than anybody can see.

    Why it matters: each notification costs both sides; what matters drowns in them.
    Cannot tell: how often is too often is not said. More than 50 a second for three seconds is ours; noted once a
    request.
    """
    progress = ctx.exchange.progress if ctx.exchange is not None else None
    if progress is None or ctx.exchange is None:
        return
    ctx.tested()
    if progress.fast == FLOOD and ctx.first(ctx.exchange.key):
        yield ctx.finding(message, saw=f"more than 50 a second for {FLOOD} s", expected="a few a second", level="info",
                          fault="server" if message.dir == "s2c" else "client")  # fmt: skip


def _sound(token: Any) -> bool:
    return type(token) in (int, str) or (isinstance(token, float) and token.is_integer())


def _number(value: Any) -> bool:
    return type(value) in (int, float)


def _elsewhere(message: Message, ctx: Context, token: Any) -> bool:
    """Some request gave this token, if not the one whose stream it is on."""
    scope = scope_of(message.peer, message.channel, message.http)
    return ctx.memory.get("token", digest(scope + "c2s", canonical(token))) is not None


def _unknown(message: Message, ctx: Context, token: Any, given: Any, exchange: Exchange | None) -> Finding:
    expected = (
        given
        if given is not ABSENT
        else "no progress: the request gave no token"
        if exchange
        else "a token given"
    )
    return ctx.finding(
        message, saw=token, expected=expected, path="/params/progressToken",
        also=[exchange.request if exchange is not None else None],
    )  # fmt: skip


def _task(exchange: Exchange) -> bool:
    result = exchange.answer.result if exchange.answer is not None else {}
    return result.get("resultType") == "task" or (exchange.era == LEGACY and "task" in result)

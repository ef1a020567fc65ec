"""basic/versioning, changelog: what belongs to an earlier revision and comes with a modern request."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.runs import run_of
from mrtrscope.link.session import is_modern
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import sender
from mrtrscope.rules.methods import REMOVED_REQUESTS
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    CLIENT,
    EITHER,
    NOTIFICATION,
    REMARKED,
    REQUEST,
    RESULT,
    SERVER,
    SHOULD_NOT,
    SIGNAL,
    rule,
)
from mrtrscope.wire.events import SSE_EVENT, Message, Signal

CHANGELOG = "2026-07-28/changelog#major-changes items "


@rule("era/removed-method", level=ADVISORY, fault=CLIENT, on=REQUEST, dirs=("c2s",), methods=REMOVED_REQUESTS,
      source=CHANGELOG + "2, 4, 5, 6")  # fmt: skip
def method_of_an_earlier_revision(request: Message, ctx: Context) -> Iterator[Finding]:
    """A modern request calls a method that only earlier revisions have.

    Why it matters: the server must answer that there is no such method; the client mixes two eras.
    Cannot tell: without a sign of this revision on the request it is one of an earlier revision, and legal.
    """
    ctx.tested()
    yield ctx.finding(request, saw=request.method, path="/method")


@rule("era/removed-notification", level=ADVISORY, fault=EITHER, on=NOTIFICATION, source=CHANGELOG + "2, 5",
      methods=("notifications/initialized", "notifications/roots/list_changed", "notifications/tasks/status",
               "notifications/progress"))  # fmt: skip
def notification_of_an_earlier_revision(message: Message, ctx: Context) -> Iterator[Finding]:
    """A notification is sent that only earlier revisions have.

    Why it matters: its receiver does not know it and passes it over.
    Cannot tell: without a modern stream, or a process that never had a handshake. Noted once a method and side.
    """
    if message.method == "notifications/progress" and message.dir == "s2c":
        return
    ctx.tested()
    if ctx.first(message.method or "", message.dir):
        yield ctx.finding(message, saw=message.method, path="/method", fault=sender(message))


@rule("era/initialize-names-modern-version", level=ADVISORY, fault=CLIENT, on=(REQUEST, RESULT), eras=ANY_ERA,
      methods=("initialize",), source="2026-07-28/basic/versioning#terminology")  # fmt: skip
def handshake_for_a_modern_version(message: Message, ctx: Context) -> Iterator[Finding]:
    """A handshake names a version that has none.

    Why it matters: since 2026-07-28 there are no sessions to set up; both sides go on as if there were one.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    ctx.tested()
    holder, path = (message.params, "/params") if message.kind == "request" else (message.result, "/result")
    version = holder.get("protocolVersion")
    if is_modern(version):
        text = "initialize asks for a version that has no handshake"
        if message.kind != "request":
            text = "the server agrees in a handshake to a version that has none"
        yield ctx.finding(
            message, saw=version, expected="2025-11-25 or earlier", path=f"{path}/protocolVersion", text=text,
            fault=sender(message),
        )  # fmt: skip


@rule("era/mixed-shape-response", level=ADVISORY, fault=SERVER, on=REMARKED, dirs=("s2c",),
      source="2026-07-28/basic/versioning#compatibility-matrix")  # fmt: skip
def serves_modern_requests_the_old_way(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The server answers modern requests in the shape of an earlier revision.

    Why it matters: it sums up the single findings: the server does not look at the version a request declares.
    Cannot tell: a server of an earlier revision may pass over a _meta that it does not know; it keeps its own revision.
    """
    exchange = ctx.exchange
    traits = exchange.remarks.get("mixed") if exchange is not None and exchange.remarks is not None else None
    if traits is None or exchange is None or answer is not exchange.answer:
        return
    ctx.tested()
    yield ctx.finding(
        answer, saw=traits, also=sorted(set(run_of(ctx.channel, answer).facts["traits"].values()))[:8]
    )


@rule("era/http-sse-transport", level=SHOULD_NOT, fault=EITHER, on=SIGNAL, signals=(SSE_EVENT,), eras=ANY_ERA,
      source="2026-07-28/basic/transports/streamable-http#httpsse-transport-2024-11-05")  # fmt: skip
def old_transport(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The HTTP+SSE transport of 2024-11-05 is in use.

    Why it matters: it is deprecated; clients that only know the newer transport cannot connect.
    Cannot tell: whether the implementation is a new one; noted once a server.
    """
    http = event.http
    if http is not None and http.method == "GET" and event.detail.get("event") == "endpoint" and ctx.first():
        ctx.tested()
        yield ctx.finding(
            event, saw="event: endpoint", expected="Streamable HTTP", level="info", fault="server"
        )

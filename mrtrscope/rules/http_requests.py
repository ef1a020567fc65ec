"""basic/transports/streamable-http: how messages are posted."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import MODERN
from mrtrscope.link.heads import head_of
from mrtrscope.link.session import is_modern
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    BOTH,
    CLIENT,
    EITHER,
    MUST,
    NOTIFICATION,
    ODD_HEAD,
    ODD_REPLY,
    REMARKED,
    REQUEST,
    SHOULD_NOT,
    rule,
)
from mrtrscope.wire.events import HTTP_RESPONSE, Message, Signal

PAGE = "2026-07-28/basic/transports/streamable-http"
SENDING = PAGE + "#sending-messages"
CHANGES = "2026-07-28/changelog#major-changes item 1"
BROWSER = "text/html"
OLDEST = "2024-11-05"  # had another transport


@rule("http/post-only", level=MUST, fault=CLIENT, on=(ODD_HEAD, ODD_REPLY), signals=(HTTP_RESPONSE,), exercised=REQUEST,
      source=SENDING + " items 1 and 2")  # fmt: skip
def message_without_post(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """A JSON-RPC message travels in another HTTP method than POST.

    Why it matters: caches and gateways treat other methods differently, and servers have no route for them.
    Cannot tell: a GET or DELETE without a message is none, from a client of this revision alone it is only noted. A
    browser that looks at the address, or a health check, is no client.
    """
    if isinstance(event, Message):
        if event.dir != "c2s":
            return
        ctx.tested()
        for _, saw, expected, _ in head_of(event).get("verb", ()):
            yield ctx.finding(event, saw=saw, expected=expected)
        return
    http = event.http
    if http is None or http.method not in ("GET", "DELETE") or "posted" in http.facts or ctx.channel.legacy:
        return
    accept = (http.request_header("accept") or "").lower()
    declared = http.request_header("mcp-protocol-version")
    if BROWSER in accept or not (is_modern(declared) or (declared is None and "event-stream" in accept)):
        return
    yield ctx.finding(event, saw=http.method, expected="POST", level="info",
                      text=f"a {http.method} on the MCP endpoint has no meaning in this revision")  # fmt: skip


@rule("http/accept-both", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), eras=BOTH,
      exercised=(REQUEST, NOTIFICATION), source=SENDING + " item 2")  # fmt: skip
def accepts_too_little(message: Message, ctx: Context) -> Iterator[Finding]:
    """The Accept header of a POST does not list both application/json and text/event-stream.

    Why it matters: the server chooses between the two, and may refuse the request with 406.
    Cannot tell: whether the client would read the other form all the same.
    """
    if ctx.version == OLDEST:
        return
    for header, saw, missing, _ in head_of(message).get("accept", ()):
        covered = saw is not None and (
            "*/*" in saw or all(f"{m.partition('/')[0]}/*" in saw for m in missing)
        )
        hint = "; a wildcard covers it, and many servers take that" if covered else ""
        text = f"Accept does not list {' and '.join(missing)}{hint}"
        yield ctx.finding(
            message, saw=saw if saw is not None else "no header", expected=missing, path=header, text=text
        )


@rule("http/content-type-json", level=ADVISORY, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), eras=BOTH,
      exercised=(REQUEST, NOTIFICATION), source=PAGE + "#standard-request-headers")  # fmt: skip
def body_in_other_clothes(message: Message, ctx: Context) -> Iterator[Finding]:
    """The body of a POST is not declared as application/json.

    Why it matters: no sentence demands it, but frameworks parse by it, and some refuse everything else.
    Cannot tell: nothing; it speaks whenever such a message is seen. Parameters behind the type do no harm.
    """
    for header, saw, expected, _ in head_of(message).get("type", ()):
        yield ctx.finding(
            message, saw=saw if saw is not None else "no header", expected=expected, path=header
        )


@rule("http/cancelled-notification-posted", level=SHOULD_NOT, fault=CLIENT, on=NOTIFICATION, dirs=("c2s",),
      eras=ANY_ERA, methods=("notifications/cancelled",), source=SENDING)  # fmt: skip
def cancels_by_post(message: Message, ctx: Context) -> Iterator[Finding]:
    """The client posts notifications/cancelled, where closing the response stream is the cancellation.

    Why it matters: the server of this revision acts on the closed stream, and need not know which request is meant.
    Cannot tell: whether a request of the older era is meant, unless the version header or the named request shows it.
    """
    declared = message.http.request_header("mcp-protocol-version") if message.http is not None else None
    exchange = ctx.exchange
    named = exchange is not None and exchange.dir == "c2s" and exchange.era == MODERN
    if declared is not None and not is_modern(declared):
        return
    ctx.tested()
    if is_modern(declared) or (named and exchange is not None and exchange.peer is message.peer):
        also = [exchange.request] if exchange is not None and named else []
        yield ctx.finding(message, saw=message.method, expected="the stream is closed", also=also)


@rule("http/session-id-not-sent", level=SHOULD_NOT, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      source=CHANGES)  # fmt: skip
def session_named(request: Message, ctx: Context) -> Iterator[Finding]:
    """A modern request carries Mcp-Session-Id.

    Why it matters: sessions are gone; whoever relies on one breaks when another instance answers.
    Cannot tell: notifications, and elements of a batch, which share one head.
    """
    for header, _, _, _ in head_of(request).get("session", ()):
        minted = (
            "the server had handed one out"
            if "minted" in ctx.channel.facts
            else "no server handed it out here"
        )
        yield ctx.finding(request, saw=f"present; {minted}", expected="no such header", path=header)


@rule("http/no-stream-resumption", level=SHOULD_NOT, fault=EITHER, on=ODD_HEAD, exercised=REQUEST,
      source=PAGE + "#receiving-messages")  # fmt: skip
def resumes_a_stream(message: Message, ctx: Context) -> Iterator[Finding]:
    """A stream is to be resumed, or is given ids as if it could be.

    Why it matters: streams of this revision cannot be resumed; what was lost has to be asked again.
    Cannot tell: ids of events do no harm, so they are only noted, once for a server.
    """
    if message.dir == "c2s":
        for header, saw, _, _ in head_of(message).get("resume", ()):
            yield ctx.finding(message, saw=saw, expected="no such header", path=header, fault="client",
                              text="a modern request carries Last-Event-ID")  # fmt: skip
    elif "event-id" in head_of(message) and message.sse is not None and ctx.first("id"):
        yield ctx.finding(message, saw=message.sse.id, expected="no id", path="id", fault="server", level="info",
                          text="events of a response stream have ids")  # fmt: skip


@rule("http/reissue-uses-new-id", level=MUST, fault=CLIENT, on=REMARKED, dirs=("c2s",),
      source="2026-07-28/changelog#major-changes item 9")  # fmt: skip
def same_id_after_a_loss(request: Message, ctx: Context) -> Iterator[Finding]:
    """A request whose answer was lost with its stream is sent again under the same id.

    Why it matters: the first one may still be at work; with one id for two nobody can tell their traces apart.
    Cannot tell: whether both come from one client, unless connection or credential show it; else, and after 502 and 504
    of a gateway, it is only noted.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    before = remarks.get("again") if remarks is not None else None
    if before is None or request.kind != "request":
        return
    ctx.tested()
    sure = before["sure"] and before["why"] == "the stream broke"
    yield ctx.finding(request, saw=f"id {request.id_text} again; {before['why']}", expected="a new id", path="/id",
                      also=[before["key"]], level=None if sure else "info")  # fmt: skip

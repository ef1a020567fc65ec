"""basic/transports/streamable-http: sessions, other methods, origins, what servers should and should not send."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mrtrscope.link.facts import META_CAPABILITIES, META_VERSION, MRTR_METHODS
from mrtrscope.link.heads import STANDARD, head_of
from mrtrscope.link.servers import served, supported
from mrtrscope.link.session import is_modern
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.http_refusals import proxied
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    BOTH,
    FAULT,
    MUST,
    MUST_NOT,
    ODD_HEAD,
    ODD_REPLY,
    REMARKED,
    RESULT,
    SERVER,
    SHOULD,
    SHOULD_NOT,
    rule,
)
from mrtrscope.wire.events import HTTP_END, HTTP_RESPONSE, Message, Signal

PAGE = "2026-07-28/basic/transports/streamable-http"
SECURITY = PAGE + "#security-endpoint item "
EARLIER = PAGE + "#earlier-streamable-http-revisions"
BROWSER = "text/html"
BEFORE_ROUTING = frozenset({401, 403, 407, 429, 502, 503, 504})

_SESSION = re.compile(r"session|initiali[sz]|not connected", re.I)


@rule("http/x-accel-buffering", level=SHOULD, fault=SERVER, on=ODD_REPLY, signals=(HTTP_RESPONSE,),
      source=PAGE + "#receiving-messages")  # fmt: skip
def stream_may_be_buffered(event: Signal, ctx: Context) -> Iterator[Finding]:
    """An event stream begins without X-Accel-Buffering: no.

    Why it matters: a proxy in front may hold back events until the stream ends.
    Cannot tell: a proxy may have taken the header out; where one shows itself, it is only noted. Said once.
    """
    http = event.http
    if http is None:
        return
    reply = http.facts["reply"]
    if "stream" in reply or "buffering" in reply:
        ctx.tested()
    if "buffering" in reply and ctx.first():
        yield ctx.finding(event, saw=reply["buffering"] or "no header", expected="no", path="x-accel-buffering",
                          level="info" if proxied(http) else None)  # fmt: skip


@rule("http/session-id-not-minted", level=SHOULD_NOT, fault=SERVER, on=ODD_REPLY, signals=(HTTP_END,),
      exercised=(RESULT, FAULT), source=EARLIER)  # fmt: skip
def session_minted(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The answer to a modern request has an Mcp-Session-Id.

    Why it matters: there are no sessions in this revision; a client that repeats the id ties itself to one instance.
    Cannot tell: a server that was never seen to serve a modern request may know the older era only. A server of both
    eras may send the header with the answer to initialize.
    """
    exchange = ctx.exchange
    if event.http is None or "session" not in event.http.facts["reply"] or exchange is None:
        return
    if META_VERSION in exchange.request.meta and served(ctx.channel, exchange):
        yield ctx.finding(event, saw="present", expected="no such header", path="mcp-session-id")


@rule("http/session-id-not-required", level=MUST_NOT, fault=SERVER, on=FAULT, dirs=("s2c",),
      source="2026-07-28/basic/index#statelessness")  # fmt: skip
def session_demanded(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A complete modern request is refused for want of a session or a handshake.

    Why it matters: no request may rest on earlier ones; the client has nothing that it could send instead.
    Cannot tell: a server that was never seen to serve a modern request may know the older era only.
    """
    exchange, http = ctx.exchange, answer.http
    if exchange is None or http is None or exchange.request.edited or not served(ctx.channel, answer):
        return
    meta = exchange.request.meta
    if (
        META_VERSION not in meta
        or META_CAPABILITIES not in meta
        or any(k in head_of(answer) for k in STANDARD)
    ):
        return
    if http.request_header("mcp-session-id") is not None:
        return
    ctx.tested()
    message = answer.error.get("message")
    if type(message) is not str or not _SESSION.search(message[:4096]):
        return
    if http.status in (400, 404) or exchange.method not in MRTR_METHODS:
        yield ctx.finding(
            answer, saw=message[:300], expected="a result", also=[exchange.request], path="/error/message"
        )


@rule("http/get-delete-405", level=SHOULD, fault=SERVER, on=ODD_REPLY, signals=(HTTP_RESPONSE,), eras=ANY_ERA,
      source=EARLIER)  # fmt: skip
def other_method_served(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A server that speaks no older revision answers GET or DELETE on its endpoint with something else than 405.

    Why it matters: clients of the older era see by 405 that there is no stream to open and no session to end.
    Cannot tell: which revisions a server knows, unless it said so; what a gateway or the authorization answers before.
    """
    http, known = event.http, supported(ctx.channel, event)
    if http is None or http.method not in ("GET", "DELETE") or "verb" not in http.facts["reply"]:
        return
    if known is None or not all(is_modern(v) for v in known["list"]) or ctx.channel.initialized:
        return
    status = http.status or 0
    if (
        status in BEFORE_ROUTING
        or 300 <= status < 400
        or BROWSER in (http.request_header("accept") or "").lower()
    ):
        return
    ctx.tested()
    if status != 405:
        yield ctx.finding(
            event, saw=f"{http.method}: HTTP {status}", expected=405, also=[known["key"]], path="status"
        )


@rule("http/origin-rejected-403", level=MUST, fault=SERVER, on=ODD_HEAD, dirs=("s2c",), eras=BOTH,
      source=SECURITY + "1")  # fmt: skip
def foreign_page_served(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server on this machine serves a web page of another site.

    Why it matters: any page that the user visits can use the server (DNS rebinding).
    Cannot tell: which origins its operator allows.
    """
    http, exchange = answer.http, ctx.exchange
    if http is None or exchange is None or exchange.answer is not answer:
        return
    for header, saw, host, _ in head_of(answer).get("origin", ()):
        ctx.tested()
        if 200 <= (http.status or 0) < 300 and answer.kind == "response" and ctx.first(str(saw)):
            yield ctx.finding(answer, saw=f"Origin: {saw}, Host: {host}"[:300], expected="HTTP 403", path=header,
                              text="probably: a server on this machine serves a web page of another site")  # fmt: skip


@rule("http/unauthenticated-remote", level=SHOULD, fault=SERVER, on=ODD_HEAD, dirs=("s2c",), eras=BOTH,
      source=SECURITY + "3")  # fmt: skip
def served_without_credentials(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server on another machine serves requests that carry no credential.

    Why it matters: whoever reaches it can use it.
    Cannot tell: what the network or a client certificate protects; so it is only noted, once for a server.
    """
    if "open" in head_of(answer) and answer.kind == "response":
        ctx.tested()
        if ctx.first():
            yield ctx.finding(
                answer, saw="no Authorization, cookie or key", expected="a credential", level="info"
            )


@rule("http/endpoint-single", level=ADVISORY, fault=SERVER, on=REMARKED, dirs=("s2c",), exercised=RESULT,
      source=PAGE + " (introduction)")  # fmt: skip
def two_endpoints(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The same server answers on two paths of one origin.

    Why it matters: a server has one endpoint; clients and caches take two for two servers.
    Cannot tell: two servers may share a name and a version.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    other = remarks.get("elsewhere") if remarks is not None else None
    if other is not None and answer.kind == "response":
        yield ctx.finding(answer, saw=[answer.channel, other[0]], expected="one path", also=[other[1]])

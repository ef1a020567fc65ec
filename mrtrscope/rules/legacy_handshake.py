"""2025-11-25, basic/lifecycle: the handshake, what may come around it, and the version agreed on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LEGACY, UNKNOWN
from mrtrscope.link.legacy import INITIALIZE, PING, session_of
from mrtrscope.link.marks import Mark
from mrtrscope.link.session import is_modern
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    CLIENT,
    EITHER,
    FAULT,
    LEGACY_ONLY,
    MUST,
    NOTIFICATION,
    REMARKED,
    REQUEST,
    RESULT,
    SERVER,
    SHOULD,
    SHOULD_NOT,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2025-11-25/basic/lifecycle"
START = PAGE + "#initialization"
NEGOTIATION = PAGE + "#version-negotiation"
FROM_SERVER, FROM_CLIENT = ("s2c",), ("c2s",)
BEFORE = frozenset({LEGACY, UNKNOWN})  # before its handshake a session has no era
KNOWN = ("2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
EARLY = frozenset({PING, "notifications/message", "notifications/cancelled"})


@rule("legacy/initialize-first", level=MUST, fault=CLIENT, on=REMARKED, methods=(INITIALIZE,), eras=LEGACY_ONLY,
      exercised=RESULT, source=START)  # fmt: skip
def something_before_the_handshake(message: Message, ctx: Context) -> Iterator[Finding]:
    """A session does not begin with initialize, or is begun a second time.

    Why it matters: nothing is agreed on yet; a server may refuse what comes, or lose what it had set up.
    Cannot tell: what a client of both eras tries before it falls back; on HTTP, who does not reuse its connection. A
    server without sessions may well serve a request before any handshake: noted.
    """
    exchange = ctx.exchange
    remarks = exchange.remarks if exchange is not None else None
    if exchange is None or remarks is None:
        return
    if message is exchange.request and "second" in remarks:
        yield ctx.finding(message, saw="a second initialize", expected="one in each session", also=[remarks["second"]],
                          text="the session is begun a second time")  # fmt: skip
        return
    premature = remarks.get("premature")
    asked = message is exchange.request and message.http is None
    if type(premature) is Mark and (asked or (message.http is not None and message is exchange.answer)):
        yield ctx.finding(premature, saw="a request before initialize", expected=INITIALIZE, also=[exchange.request],
                          text="the session does not begin with initialize")  # fmt: skip


@rule("legacy/initialize-shape", level=MUST, fault=EITHER, on=(REQUEST, RESULT), methods=(INITIALIZE,),
      eras=LEGACY_ONLY, source=START)  # fmt: skip
def incomplete_handshake(message: Message, ctx: Context) -> Iterator[Finding]:
    """A handshake lacks the version, the capabilities or the name of who speaks.

    Why it matters: the other side cannot decide what it may use.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    ctx.tested()
    asks = message.kind == "request"
    body, at = (message.params, "/params") if asks else (message.result, "/result")
    info = "clientInfo" if asks else "serverInfo"
    for name, kind, said in (
        ("protocolVersion", str, "a string"), ("capabilities", dict, "an object"), (info, dict, "an object"),
    ):  # fmt: skip
        if type(body.get(name)) is not kind:
            yield _lacks(ctx, message, body, at, name, said)
    named = body.get(info)
    if type(named) is dict:
        for name in ("name", "version"):
            if type(named.get(name)) is not str:
                yield _lacks(ctx, message, named, f"{at}/{info}", name, "a string")


def _lacks(
    ctx: Context, message: Message, body: dict[str, Any], at: str, name: str, expected: str
) -> Finding:
    saw = body.get(name, ABSENT)
    text = f"initialize has no {name}" if saw is ABSENT else f"{name} of initialize is not {expected}"
    fault = "client" if message.dir == "c2s" else "server"
    saw = "absent" if saw is ABSENT else saw
    return ctx.finding(message, saw=saw, expected=expected, path=f"{at}/{name}", text=text, fault=fault)


@rule("legacy/initialized-sent", level=MUST, fault=CLIENT, on=(RESULT, FAULT), dirs=FROM_SERVER, eras=LEGACY_ONLY,
      source=START)  # fmt: skip
def goes_on_without_initialized(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The client goes on after the handshake without notifications/initialized.

    Why it matters: until then a server may hold back its own requests and notifications, for ever.
    Cannot tell: what crosses the notification on another connection; so it is looked at again when the request is
    answered. On HTTP only where sessions have ids. Once a session.
    """
    exchange, session = ctx.exchange, session_of(ctx.channel, answer)
    if exchange is None or session is None or session.begun is None or exchange.method in (INITIALIZE, PING):
        return
    if not _recorded(answer, ctx) or session.end:
        return
    ctx.tested()
    if not session.initialized and exchange.t >= session.begun.t and ctx.first(session.begun.key):
        yield ctx.finding(exchange.request, saw=exchange.method, expected="notifications/initialized before it",
                          also=[session.begun])  # fmt: skip


def _recorded(message: Message, ctx: Context) -> bool:
    """Nothing of a stdio process is missing."""
    process = ctx.channel.processes.get(message.peer.id)
    return message.http is not None or process is None or not process.gapped


@rule("legacy/no-requests-before-initialized", level=SHOULD_NOT, fault=EITHER, on=(REMARKED, REQUEST, NOTIFICATION),
      eras=BEFORE, source=START)  # fmt: skip
def too_early(message: Message, ctx: Context) -> Iterator[Finding]:
    """A request is sent before initialize was answered, or a server speaks up before the client is ready.

    Why it matters: nothing is agreed on yet; the other side may refuse it or drop it.
    Cannot tell: pings and log messages are allowed. A client that never says it is ready has legacy/initialized-sent.
    """
    if message.dir == "c2s":
        remarks = ctx.exchange.remarks if ctx.exchange is not None else None
        if remarks is None or "hasty" not in remarks or message.kind != "request":
            return
        ctx.tested()
        yield ctx.finding(message, saw=message.method, expected="after the answer to initialize", fault="client",
                          also=[remarks["hasty"]], text="a request is sent before initialize was answered")  # fmt: skip
        return
    session = session_of(ctx.channel, message)
    if session is None or message.method in EARLY or message.kind not in ("request", "notification"):
        return
    if session.begun is None and not session.asking:
        return
    ctx.tested()
    if session.initialized or session.skipped or not _recorded(message, ctx):
        return
    if message.method == "notifications/progress" or (
        message.http is not None and message.http.method == "POST"
    ):
        return
    if ctx.first(session.begun.key if session.begun is not None else session.asking, message.method or ""):
        yield ctx.finding(message, saw=message.method, expected="after notifications/initialized", fault="server",
                          also=[session.begun], text="the server does not wait until the client is ready")  # fmt: skip


@rule("legacy/version-answer", level=MUST, fault=SERVER, on=RESULT, methods=(INITIALIZE,), dirs=FROM_SERVER,
      eras=LEGACY_ONLY, source=NEGOTIATION)  # fmt: skip
def other_version_than_asked(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A handshake is answered with another version than the server could agree on, or with one that is none.

    Why it matters: both sides end up in an older revision than they need, or the client disconnects.
    Cannot tell: which versions a server knows, unless another handshake shows it in which it had the same name and
    version. That on another connection or in another process may be one that was replaced since: noted. A version that
    is newer than these handshakes is era/initialize-names-modern-version.
    """
    exchange, agreed = ctx.exchange, answer.result.get("protocolVersion")
    if exchange is None or type(agreed) is not str or is_modern(agreed):
        return
    ctx.tested()
    wanted = exchange.request.params.get("protocolVersion")
    accepted = ctx.channel.facts.get("accepted", {})
    if agreed not in KNOWN and not agreed.startswith("DRAFT"):
        yield ctx.finding(answer, saw=agreed, expected=list(KNOWN), path="/result/protocolVersion",
                          text="the server names a version that is none")  # fmt: skip
    elif type(wanted) is str and wanted != agreed and wanted in accepted:
        key, peer, _ = accepted[wanted]
        sure = peer == answer.peer.id
        yield ctx.finding(
            answer, saw=agreed, expected=wanted, path="/result/protocolVersion", also=[exchange.request, key],
            text="the server agreed to this version before, and now answers with another one"
            if sure
            else "a server of this name and version agreed to this version before, perhaps another run of it",
            level=None if sure else "info",
        )  # fmt: skip


@rule("legacy/disconnect-on-unsupported-version", level=SHOULD, fault=CLIENT, on=REQUEST, dirs=FROM_CLIENT,
      eras=LEGACY_ONLY, source=NEGOTIATION)  # fmt: skip
def goes_on_with_its_own_version(request: Message, ctx: Context) -> Iterator[Finding]:
    """The client goes on in a version that the server did not agree to.

    Why it matters: each side reads the other's messages by another revision.
    Cannot tell: what a client supports; only the version in its headers shows it. Once a session.
    """
    session = session_of(ctx.channel, request)
    if request.http is None or session is None or session.begun is None or session.wanted == session.version:
        return
    header = request.http.request_header("mcp-protocol-version")
    if header is None:
        return
    ctx.tested()
    if header != session.version and header == session.wanted and ctx.first(session.begun.key):
        yield ctx.finding(request, saw=header, expected=session.version, also=[session.begun],
                          path="MCP-Protocol-Version")  # fmt: skip


@rule("legacy/no-input-required-result", level=MUST, fault=SERVER, on="asked", dirs=FROM_SERVER, eras=BEFORE,
      source=PAGE + "#operation")  # fmt: skip
def asks_the_new_way(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A session of an earlier revision gets an input_required result.

    Why it matters: its client takes it for a final result, without content; the question is never asked.
    Cannot tell: where the era of the request is unknown it is only noted.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.dir != "c2s":
        return
    ctx.tested()
    yield ctx.finding(answer, saw="input_required", expected="a request of the server's own", also=[exchange.request],
                      level=None if ctx.era == LEGACY else "info")  # fmt: skip

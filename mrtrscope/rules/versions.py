"""basic/versioning: which version is asked for, refused, and tried next."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from mrtrscope.link.facts import META_CAPABILITIES, META_VERSION, MODERN
from mrtrscope.link.processes import DISCOVER
from mrtrscope.link.servers import UNSUPPORTED_VERSION, supported
from mrtrscope.link.session import is_legacy, is_modern
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_ids import BODY_UNREAD
from mrtrscope.rules.registry import (
    ANY_ERA,
    CLIENT,
    FAULT,
    MUST,
    MUST_NOT,
    REMARKED,
    RESULT,
    SERVER,
    SHOULD,
    SIGNAL,
    rule,
)
from mrtrscope.wire.events import LANE_END, Message, Signal

PAGE = "2026-07-28/basic/versioning"
NEGOTIATION = PAGE + "#protocol-version-negotiation"
COMPATIBILITY = PAGE + "#backward-compatibility-with-initialization-based-versions"
STDIO = "2026-07-28/basic/transports/stdio#backward-compatibility"
FRESH = 600_000_000  # microseconds for which a list of versions counts: instances differ during a rollout
SILENCE = 30_000_000  # microseconds after which a probe counts as unanswered
FALLS = 3  # fallbacks in a row that are more than caching would need

_DATE = re.compile(r"\b20\d\d-\d\d-\d\d\b")


@rule("version/unsupported-version-refused", level=MUST, fault=SERVER, on=(RESULT, FAULT), dirs=("s2c",),
      source=NEGOTIATION)  # fmt: skip
def unsupported_version_served(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request names a version that the server does not list, and is not refused with -32022.

    Why it matters: what was done under an unknown version may mean something else to the client.
    Cannot tell: a list older than ten minutes, since instances differ during a rollout. Refusals for other reasons may
    come first. server/discover is served under any version by some.
    """
    known = supported(ctx.channel, answer)
    exchange = ctx.exchange
    if known is None or exchange is None or answer.t - known["t"] > FRESH or known["key"] == answer.key:
        return
    ctx.tested()
    version = exchange.version
    if version in known["list"] or exchange.method == DISCOVER or not version:
        return
    code = said.code(answer)
    if answer.kind == "error" and (
        code == UNSUPPORTED_VERSION or _refused_otherwise(answer, exchange.request, code)
    ):
        return
    yield ctx.finding(
        answer, saw=version, expected=known["list"], also=[known["key"], exchange.request], path="/error/code",
        text=f"version {version[:40]} is not in the server's own list, and the request is not refused with -32022",
    )  # fmt: skip


@rule(
    "version/client-picks-supported",
    level=SHOULD,
    fault=CLIENT,
    on=REMARKED,
    dirs=("c2s",),
    source=NEGOTIATION,
)
def unlisted_version_again(request: Message, ctx: Context) -> Iterator[Finding]:
    """After an unsupported-version error the client asks with a version that the error does not list.

    Why it matters: it will be refused again; the list says what would work.
    Cannot tell: over HTTP, whether two requests come from one client, unless connection or credential show it.
    """
    exchange = ctx.exchange
    refused = (
        exchange.remarks.get("refused") if exchange is not None and exchange.remarks is not None else None
    )
    if exchange is None or refused is None or request.kind != "request" or request.method == "initialize":
        return
    listed = refused["supported"]
    if refused["code"] != UNSUPPORTED_VERSION or not listed:
        return
    ctx.tested()
    if exchange.version not in listed:
        yield ctx.finding(request, saw=exchange.version, expected=listed, also=[refused["key"]])


@rule("version/no-legacy-fallback-after-modern-error", level=SHOULD, fault=CLIENT, on=REMARKED, dirs=("c2s",),
      methods=("initialize",), eras=ANY_ERA,
      source="2026-07-28/basic/transports/streamable-http#backward-compatibility")  # fmt: skip
def handshake_after_a_modern_error(request: Message, ctx: Context) -> Iterator[Finding]:
    """The client falls back to initialize after an error that only a modern server sends.

    Why it matters: the server has no handshake; what would have worked is to correct the request.
    Cannot tell: where the error lists older versions, initialize is the way. HTTP 404 with -32601 marks a modern server
    less surely and is only noted.
    """
    exchange = ctx.exchange
    refused = (
        exchange.remarks.get("refused") if exchange is not None and exchange.remarks is not None else None
    )
    if refused is None or request.kind != "request" or ctx.era == MODERN:
        return  # with the marks of a modern request it is no handshake
    if any(is_legacy(version) for version in refused["supported"]):
        return
    ctx.tested()
    yield ctx.finding(
        request, saw="initialize", expected="the request again, corrected", also=[refused["key"]],
        level="info" if refused["code"] == -32601 else None,
    )  # fmt: skip


@rule("version/stdio-probe-first", level=SHOULD, fault=CLIENT, on=REMARKED, dirs=("c2s",), source=STDIO)
def no_probe(request: Message, ctx: Context) -> Iterator[Finding]:
    """The first request to a process is not server/discover.

    Why it matters: a server of an older revision may ignore it, or end.
    Cannot tell: a client may know the era from an earlier run, or speak only this revision; then it is only noted. It
    is a breach where the same client was seen to do a handshake on this channel and never to probe. One that was
    seen to probe in a process of its own knows.
    """
    exchange = ctx.exchange
    if (
        exchange is None
        or exchange.remarks is None
        or "first" not in exchange.remarks
        or request.kind != "request"
    ):
        return
    ctx.tested()
    if request.method == DISCOVER:
        return
    others = ctx.channel.processes.values()
    same = [p for p in others if p.info and p.info == exchange.client.info]
    if any(p.first == DISCOVER for p in same):
        return
    both = any(p.handshake for p in same) and not any(p.first == DISCOVER for p in others)
    yield ctx.finding(request, saw=request.method, expected=DISCOVER, level=None if both else "info")


@rule("version/fallback-not-code-keyed", level=MUST_NOT, fault=CLIENT, on=SIGNAL, signals=(LANE_END,), dirs=("c2s",),
      eras=ANY_ERA, source=STDIO)  # fmt: skip
def gives_up_after_a_probe(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client of both eras gives up after its probe failed, and does not try initialize.

    Why it matters: older servers refuse a probe with any error, or not at all; each of them means the same.
    Cannot tell: why the client ended, so it is only noted. That it speaks both eras must have been seen here before.
    """
    process = ctx.channel.processes.get(event.peer.id)
    if (
        process is None
        or not process.known
        or process.eof is None
        or process.handshake
        or not ctx.channel.initialized
    ):
        return
    silent = process.probe == "open" and process.eof - process.said_t >= SILENCE
    if process.probe == "refused" or silent:
        ctx.tested()
        saw = "no answer to the probe" if silent else "an error that is no sign of a modern server"
        yield ctx.finding(event, saw=saw, expected="initialize", level="info", also=[process.said_key])


@rule("version/era-decision-cached", level=SHOULD, fault=CLIENT, on=REMARKED, dirs=("c2s",), methods=("initialize",),
      eras=ANY_ERA, source=COMPATIBILITY)  # fmt: skip
def probes_again_and_again(request: Message, ctx: Context) -> Iterator[Finding]:
    """The client probes the same server for the third time, and falls back to initialize each time.

    Why it matters: each probe costs a round trip, and an error in the server's log.
    Cannot tell: over HTTP, whether it is one client, unless connection or credential show it.
    """
    exchange = ctx.exchange
    falls = (
        exchange.remarks.get("fallbacks") if exchange is not None and exchange.remarks is not None else None
    )
    if falls is None or request.kind != "request" or ctx.era == MODERN:
        return
    ctx.tested()
    if falls >= FALLS:
        yield ctx.finding(request, saw=f"{falls} fallbacks in a row", expected="the era is remembered")


@rule("version/initialize-error-names-versions", level=SHOULD, fault=SERVER, on=FAULT, dirs=("s2c",),
      methods=("initialize",), eras=ANY_ERA, source=COMPATIBILITY)  # fmt: skip
def handshake_refused_without_versions(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A server without handshakes refuses initialize and does not say which versions it supports.

    Why it matters: it is all that an older client can show its user.
    Cannot tell: whether the server has handshakes, unless it has listed its versions. A handshake that bears the marks
    of a modern request is refused as one.
    """
    known = supported(ctx.channel, answer)
    if (
        known is None
        or ctx.era == MODERN
        or not all(is_modern(v) for v in known["list"])
        or ctx.channel.initialized
    ):
        return
    if answer.http is not None and (answer.http.status in BODY_UNREAD or (answer.http.status or 0) >= 500):
        return
    ctx.tested()
    text = f"{answer.error.get('message')} {json.dumps(answer.error.get('data'), default=str)[:4096]}"
    if not _DATE.search(text):
        yield ctx.finding(
            answer, saw=answer.error, expected=known["list"], also=[known["key"]], path="/error"
        )


def _refused_otherwise(answer: Message, request: Message, code: int | None) -> bool:
    """Another reason to refuse the request may have come first."""
    http = answer.http
    if http is not None and http.status is not None and (http.status in BODY_UNREAD or http.status >= 500):
        return True
    if code == -32020:
        header = http.request_header("mcp-protocol-version") if http is not None else None
        return header != request.meta.get(META_VERSION)
    return code == -32602 and (META_VERSION not in request.meta or META_CAPABILITIES not in request.meta)

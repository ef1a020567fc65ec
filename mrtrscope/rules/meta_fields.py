"""basic/index#meta: what every request and every result says of itself in `_meta`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import (
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_SERVER_INFO,
    META_VERSION,
    MODERN,
    MODERN_SINCE,
    UNKNOWN,
)
from mrtrscope.link.processes import DISCOVER, LISTEN, RECOGNISED
from mrtrscope.link.runs import run_of
from mrtrscope.link.servers import served
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_ids import BODY_UNREAD
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    CLIENT,
    DECLARATION,
    MUST,
    REMARKED,
    REQUEST,
    RESULT,
    RESULT_FORM,
    SERVER,
    SHOULD_NOT,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/basic/index"
REQUEST_FIELDS = PAGE + "#meta (per-request protocol fields)"
RESPONSE_FIELDS = PAGE + "#meta (per-response protocol fields)"
SCHEMA = "schema/2026-07-28/schema.ts"

PERHAPS_MODERN = frozenset({MODERN, UNKNOWN})
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s]+")


@rule("meta/protocol-version-present", level=MUST, fault=CLIENT, on=DECLARATION, exercised=REQUEST, dirs=("c2s",),
      eras=PERHAPS_MODERN, facet="declared", source=REQUEST_FIELDS)  # fmt: skip
def version_missing(request: Message, ctx: Context) -> Iterator[Finding]:
    """A request of a modern client names no protocol version in its _meta.

    Why it matters: there is no session that could remember it; the server must refuse the request, or takes it for one
    of an older revision.
    Cannot tell: without any sign that the request is modern its absence is what an older revision looks like. Signs are
    the version header, another per-request field, a method of this revision, a process that never had a handshake.
    """
    version = request.meta.get(META_VERSION, ABSENT)
    if type(version) is str or request.method == "initialize" or not _modern(request, ctx):
        return
    yield ctx.finding(
        request,
        saw=_shown(version),
        expected="a string such as 2026-07-28",
        path=pointer("params", "_meta", META_VERSION),
        text="_meta has no protocolVersion" if version is ABSENT else "protocolVersion in _meta is no string",
    )


@rule("meta/client-capabilities-present", level=MUST, fault=CLIENT, on=DECLARATION, exercised=REQUEST, dirs=("c2s",),
      eras=PERHAPS_MODERN, facet="declared", source=REQUEST_FIELDS)  # fmt: skip
def capabilities_missing(request: Message, ctx: Context) -> Iterator[Finding]:
    """A request of a modern client declares no capabilities in its _meta.

    Why it matters: the server cannot know what it may ask, and must refuse the request; {} is how to declare nothing.
    Cannot tell: without any sign that the request is modern.
    """
    capabilities = request.meta.get(META_CAPABILITIES, ABSENT)
    if type(capabilities) is dict or request.method == "initialize" or not _modern(request, ctx):
        return
    yield ctx.finding(
        request,
        saw=_shown(capabilities),
        expected="an object, {} for nothing optional",
        path=pointer("params", "_meta", META_CAPABILITIES),
        text="_meta has no clientCapabilities"
        if capabilities is ABSENT
        else "clientCapabilities in _meta is no object",
    )


@rule("meta/client-info-present", level=ADVISORY, fault=CLIENT, on=DECLARATION, exercised=REQUEST, dirs=("c2s",),
      facet="declared", source=REQUEST_FIELDS)  # fmt: skip
def nameless_client(request: Message, ctx: Context) -> Iterator[Finding]:
    """The client does not name itself in _meta.

    Why it matters: people who read logs of the server cannot tell clients apart.
    Cannot tell: leaving it out may be meant so; it is noted once a client.
    """
    if META_CLIENT_INFO not in request.meta and ctx.first(
        request.peer.address.rpartition(":")[0] or request.peer.id
    ):
        yield ctx.finding(request, saw="absent", path=pointer("params", "_meta", META_CLIENT_INFO))


@rule("meta/client-info-shape", level=MUST, fault=CLIENT, on=DECLARATION, exercised=REQUEST, dirs=("c2s",),
      facet="declaration", source=SCHEMA + " RequestMetaObject, Implementation")  # fmt: skip
def client_info_of_another_shape(request: Message, ctx: Context) -> Iterator[Finding]:
    """clientInfo is no object with a name and a version.

    Why it matters: servers that read it as the schema says refuse the whole request.
    Cannot tell: a request without clientInfo is meta/client-info-present.
    """
    if META_CLIENT_INFO in request.meta:
        yield from _info(
            request, ctx, request.meta[META_CLIENT_INFO], pointer("params", "_meta", META_CLIENT_INFO)
        )


@rule("meta/server-info-shape", level=MUST, fault=SERVER, on=RESULT_FORM, exercised=RESULT, dirs=("s2c",),
      source=SCHEMA + " ResultMetaObject, Implementation")  # fmt: skip
def server_info_of_another_shape(answer: Message, ctx: Context) -> Iterator[Finding]:
    """serverInfo in a result's _meta is no object with a name and a version.

    Why it matters: clients that read it as the schema says refuse the whole result.
    Cannot tell: a result without serverInfo is meta/server-info-present.
    """
    meta = answer.result.get("_meta")
    if type(meta) is dict and META_SERVER_INFO in meta:
        yield from _info(answer, ctx, meta[META_SERVER_INFO], pointer("result", "_meta", META_SERVER_INFO))


@rule("meta/server-info-present", level=ADVISORY, fault=SERVER, on=RESULT_FORM, exercised=RESULT, dirs=("s2c",),
      source=RESPONSE_FIELDS)  # fmt: skip
def nameless_server(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result does not name the server in its _meta.

    Why it matters: behind a gateway nobody can tell who answered.
    Cannot tell: leaving it out may be meant so. It is noted once a server, and once a method where others have it.
    """
    exchange = ctx.exchange
    meta = answer.result.get("_meta")
    if exchange is None or (type(meta) is dict and META_SERVER_INFO in meta):
        return
    named = "named" in run_of(ctx.channel, answer).facts
    if not ctx.first(exchange.method if named else ""):
        return
    hint = ""
    if exchange.method == DISCOVER and "serverInfo" in answer.result:
        hint = "; it stands at the top of the result instead, where drafts of the revision had it"
    elif named:
        hint = f", other results do; method {exchange.method}"
    yield ctx.finding(
        answer, saw="absent", path=pointer("result", "_meta", META_SERVER_INFO),
        text="a result does not name the server in its _meta" + hint,
    )  # fmt: skip


@rule("meta/missing-field-rejected", level=MUST, fault=SERVER, on=REMARKED, dirs=("s2c",), eras=PERHAPS_MODERN,
      source=REQUEST_FIELDS)  # fmt: skip
def incomplete_request_accepted(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request without version or capabilities is not refused as the revision says.

    Why it matters: a server that guesses what the client can do asks questions that nobody can answer.
    Cannot tell: a request without any sign of being modern may be served under an older revision, and a server that
    never showed this one may know nothing of it. Which check comes
    first is not said, so the error for a header or a version that is wrong too, or for an unknown method, is accepted.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or "undeclared" not in exchange.remarks:
        return
    request = exchange.request
    missing = _missing(request)
    if not missing or request.method == "initialize" or not _marked(request) or answer is not exchange.answer:
        return
    http = answer.http
    if answer.kind == "error" and http is not None and _before_reading(http.status or 0):
        return
    if not served(ctx.channel, answer) and said.code(answer) not in RECOGNISED:
        return  # perhaps a server of an older revision, which does not look at _meta
    ctx.tested()
    also = [request]
    if answer.kind == "response":
        yield ctx.finding(
            answer, saw="a result", expected=-32602, also=also, path="/error/code",
            text=f"a request without {' and '.join(missing)} in its _meta is served",
        )  # fmt: skip
        return
    code = said.code(answer)
    if code not in _fitting(exchange.request, exchange.version, missing):
        yield ctx.finding(
            answer, saw=code, expected=-32602, also=also, path="/error/code",
            text=f"a request without {' and '.join(missing)} is refused with another code",
        )  # fmt: skip
    elif code == -32602 and http is not None and http.status != 400:
        yield ctx.finding(
            answer, saw=http.status, expected=400, also=also, path="status",
            level="info" if answer.sse is not None else None,
            text=f"a request without {' and '.join(missing)} is refused with another HTTP status",
        )  # fmt: skip


@rule("meta/client-info-optional", level=MUST, fault=SERVER, on=REMARKED, dirs=("s2c",),
      source=REQUEST_FIELDS)  # fmt: skip
def nameless_client_refused(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request is refused because it does not name the client.

    Why it matters: clientInfo is optional; clients that keep it to themselves are locked out.
    Cannot tell: why a request is refused, but by the words of an error -32602 or under HTTP 400. One that lacks more
    than the name is meta/missing-field-rejected.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or "undeclared" not in exchange.remarks:
        return
    request = exchange.request
    if META_CLIENT_INFO in request.meta or _missing(request) or answer is not exchange.answer:
        return
    ctx.tested()
    if answer.kind != "error":
        return
    invalid = said.code(answer) == -32602 or (answer.http is not None and answer.http.status == 400)
    if invalid and re.search(r"client_?info", said.words(answer), re.I):
        yield ctx.finding(answer, saw=said.words(answer), expected="the request is served", also=[request])


@rule("meta/client-info-not-behavioural", level=SHOULD_NOT, fault=SERVER, on=REMARKED, dirs=("s2c",),
      source=PAGE + "#meta (per-response protocol fields, note)")  # fmt: skip
def answers_by_name(answer: Message, ctx: Context) -> Iterator[Finding]:
    """Clients that differ in nothing but their name see different lists.

    Why it matters: anybody can take any name; a client is no better for the one it gives itself.
    Cannot tell: the two may differ in something that the recording does not show. It takes two clients by turns, each
    twice, with equal requests and credentials; and it is only noted.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or "by name" not in exchange.remarks:
        return
    ctx.tested()
    if answer is exchange.answer and ctx.first(exchange.method):
        yield ctx.finding(answer, saw=exchange.method, expected="the same list for both", level="info")


def _modern(request: Message, ctx: Context) -> bool:
    """The request is certainly one of 2026-07-28 or later."""
    if ctx.era == MODERN or _marked(request):
        return True
    run = run_of(ctx.channel, request)
    return ctx.transport == "stdio" and run.modern > 0 and not run.initialized


def _marked(request: Message) -> bool:
    """It carries a sign of the revision itself, that a server sees as well."""
    from mrtrscope.link.session import is_modern

    http = request.http
    return (
        is_modern(http.request_header("mcp-protocol-version") if http is not None else None)
        or any(name in request.meta for name in (META_VERSION, META_CAPABILITIES, META_CLIENT_INFO))
        or request.method in (DISCOVER, LISTEN)
    )


def _missing(request: Message) -> list[str]:
    meta, found = request.meta, []
    if META_VERSION not in meta:
        found.append("protocolVersion")
    if META_CAPABILITIES not in meta:
        found.append("clientCapabilities")
    return found


def _fitting(request: Message, version: str, missing: list[str]) -> set[int]:
    """Codes that a server may answer with."""
    http, codes = request.http, {-32602, -32601}
    header = http.request_header("mcp-protocol-version") if http is not None else None
    if "protocolVersion" in missing or (http is not None and header != request.meta[META_VERSION]):
        codes.add(-32020)
    return codes if version == MODERN_SINCE else codes | {-32022}


def _before_reading(status: int) -> bool:
    return status in BODY_UNREAD or status >= 500


def _info(message: Message, ctx: Context, info: Any, path: str) -> Iterator[Finding]:
    if type(info) is not dict:
        yield ctx.finding(message, saw=info, expected={"name": "…", "version": "…"}, path=path)
        return
    for name in ("name", "version"):
        value = info.get(name, ABSENT)
        if type(value) is not str:
            yield ctx.finding(message, saw=_shown(value), expected="a string", path=f"{path}/{name}",
                              text=f"{path.rpartition('~1')[2]} has no {name} that is a string")  # fmt: skip
    url = info.get("websiteUrl", ABSENT)
    if url is not ABSENT and not (type(url) is str and _URI.fullmatch(url)):
        yield ctx.finding(
            message, saw=url, expected="a URI", path=f"{path}/websiteUrl", text="websiteUrl is no URI"
        )


def _shown(value: Any) -> Any:
    return "absent" if value is ABSENT else value

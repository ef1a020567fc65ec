"""basic/transports/streamable-http: how servers check the headers that repeat what the body says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mrtrscope.link.facts import META_CAPABILITIES, META_CLIENT_INFO, META_VERSION, Exchange
from mrtrscope.link.heads import PARAMS, STANDARD, argument, decoded, head_of
from mrtrscope.link.servers import UNSUPPORTED_VERSION, supported
from mrtrscope.link.tools import CALL
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding, finding_id
from mrtrscope.rules.jsonrpc_ids import BODY_UNREAD
from mrtrscope.rules.registry import EITHER, FAULT, MUST, MUST_NOT, ODD_HEAD, ODD_REPLY, SERVER, rule
from mrtrscope.wire.events import HTTP_END, HttpExchange, Message, Signal

PAGE = "2026-07-28/basic/transports/streamable-http"
VALIDATION = PAGE + "#server-validation"
SERVERS = PAGE + "#server-behavior-for-custom-headers"
ENCODING = PAGE + "#value-encoding"
CASE = PAGE + "#case-sensitivity"

MISMATCH = -32020
MISSING_CAPABILITY, METHOD_NOT_FOUND, INVALID_PARAMS = -32021, -32601, -32602

# Kind of oddity -> the rule that names the client's breach, so that the server's is known to follow from it.
CAUSES = {
    "version-absent": "http/protocol-version-header-present",
    "version-many": "http/protocol-version-header-present",
    "version-differs": "http/protocol-version-header-matches",
    "method-absent": "http/mcp-method-header-present",
    "method-differs": "http/mcp-method-header-matches",
    "name-absent": "http/mcp-name-header-present",
    "name-differs": "http/mcp-name-header-matches",
    "name-form": "http/sentinel-form",
    "bytes": "http/mcp-name-encoding",
    "param-absent": "http/param-header-present",
    "param-differs": "http/param-header-matches",
    "param-form": "http/sentinel-form",
    "param-plain": "http/param-header-encoding",
}

_PROXY = re.compile(
    r"nginx|cloudflare|envoy|varnish|haproxy|traefik|caddy|akamai|squid|apache|iis|gateway|proxy", re.I
)
_MISSING = re.compile(r"missing|required|absent|not (?:found|present|set|provided)|without|no ", re.I)


@rule("http/standard-mismatch-rejected", level=MUST, fault=SERVER, on=ODD_HEAD, dirs=("s2c",),
      source=VALIDATION)  # fmt: skip
def mismatch_served(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request whose standard headers are missing or differ from the body gets a result.

    Why it matters: a gateway in front decided by the headers; what it let through is not what was done.
    Cannot tell: header names in other case and white space around values are fine, and not counted.
    """
    broken = _broken(answer, ctx, STANDARD)
    if broken is None:
        return
    ctx.tested()
    if answer.kind == "response":
        kind, header = broken
        yield _finding(answer, ctx, kind, header, f"a result, though {_words(kind, header)}")


@rule("http/param-mismatch-rejected", level=MUST, fault=SERVER, on=ODD_HEAD, dirs=("s2c",), methods=(CALL,),
      source=SERVERS)  # fmt: skip
def param_mismatch_served(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A tools/call whose Mcp-Param headers are wrong or missing gets a result.

    Why it matters: a gateway in front decided by the headers; what it let through is not what was done.
    Cannot tell: without the definition of the tool, or when an annotation of it is faulty.
    """
    exchange = ctx.exchange
    broken = _broken(answer, ctx, PARAMS)
    if broken is None or exchange is None or exchange.tool is None or not exchange.tool.definition.headers:
        return
    ctx.tested()
    if answer.kind == "response":
        kind, header = broken
        yield _finding(answer, ctx, kind, header, f"a result, though {_words(kind, header)}")


@rule("http/header-rejection-form", level=MUST, fault=SERVER, on=(FAULT, ODD_REPLY), dirs=("s2c",), signals=(HTTP_END,),
      source=VALIDATION)  # fmt: skip
def mismatch_refused_otherwise(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """A refusal over headers is not HTTP 400 with error -32020.

    Why it matters: by this pair the client knows that its headers are at fault, and what to do about it.
    Cannot tell: where another reason to refuse may have come first. A bare 400 of an intermediary is only noted.
    """
    http = event.http
    if http is None or ctx.exchange is None or ctx.exchange.request.edited:
        return
    if isinstance(event, Signal):
        if (
            "bare" in http.facts["reply"]
            and http.status not in BODY_UNREAD
            and _broken(event, ctx, STANDARD + PARAMS)
        ):
            ctx.tested()
            by_proxy = proxied(http)
            yield ctx.finding(
                event, saw=f"HTTP {http.status} without a JSON-RPC error", expected="HTTP 400 with error -32020",
                level="info" if by_proxy else None,
            )  # fmt: skip
        return
    code = said.code(event)
    if code == MISMATCH:
        ctx.tested()
        if http.status != 400:
            yield ctx.finding(event, saw=f"HTTP {http.status}", expected="HTTP 400", path="status",
                              text="error -32020 comes with another HTTP status than 400")  # fmt: skip
        return
    if (
        not 400 <= (http.status or 0) < 500
        or http.status in BODY_UNREAD
        or _broken(event, ctx, STANDARD + PARAMS) is None
    ):
        return
    if _another_reason(event, ctx.exchange, code, ctx):
        return
    ctx.tested()
    yield ctx.finding(event, saw=f"HTTP {http.status}, error {code}", expected="HTTP 400, error -32020",
                      path="/error/code", also=[ctx.exchange.request])  # fmt: skip


@rule("http/param-null-not-expected", level=MUST_NOT, fault=SERVER, on=FAULT, dirs=("s2c",), methods=(CALL,),
      source=SERVERS)  # fmt: skip
def header_for_null_demanded(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A call is refused for want of a Mcp-Param header whose argument is null or absent.

    Why it matters: the client has to leave that header out, so the tool cannot be called.
    Cannot tell: when the definition of the tool was not seen, or something else is wrong with the head. Which header is
    meant is read out of the words of the error.
    """
    exchange = ctx.exchange
    tool = exchange.tool if exchange is not None else None
    if exchange is None or tool is None or said.code(answer) != MISMATCH or exchange.request.edited:
        return
    text = _text(answer)
    head = head_of(answer)
    if any(kind in head for kind in (*STANDARD, *PARAMS, "param-extra")):
        return
    for name, path, _ in tool.definition.headers:
        if argument(exchange.arguments, path) is None:
            ctx.tested()
            if f"mcp-param-{name.lower()}" in text:
                yield ctx.finding(answer, saw=answer.error.get("message"), expected="a result", path=name,
                                  also=[exchange.request, tool.key])  # fmt: skip


@rule("http/encoded-value-decoded", level=MUST, fault=SERVER, on=FAULT, dirs=("s2c",), source=ENCODING)
def encoded_value_refused(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request with a well encoded header is refused over its headers.

    Why it matters: names that are no plain ASCII cannot be used.
    Cannot tell: without the tool's definition, whether another header was wrong. Integers that are equal but spelled
    otherwise should be accepted.
    """
    exchange, http = ctx.exchange, answer.http
    if exchange is None or http is None or said.code(answer) != MISMATCH or exchange.request.edited:
        return
    head = head_of(answer)
    if any(kind in head for kind in (*STANDARD, *PARAMS, "param-extra", "name-plain")):
        return
    if exchange.method == CALL and exchange.tool is None and _sent_params(http):
        return
    encoded = [name for name, value in _mirrored(http) if decoded(value.strip(" \t"))[1] == "encoded"]
    if encoded:
        ctx.tested()
        yield ctx.finding(answer, saw=answer.error.get("message"), expected="a result", path=encoded[0],
                          also=[exchange.request])  # fmt: skip
    elif exchange.tool is not None:
        for name, path, _ in exchange.tool.definition.headers:
            value, sent = argument(exchange.arguments, path), http.request_header(f"mcp-param-{name.lower()}")
            if sent is not None and type(value) in (int, float) and sent.strip(" \t") != str(value):
                ctx.tested()
                yield ctx.finding(answer, saw=[sent, value], expected="integers compared as numbers", path=name,
                                  also=[exchange.request], level="should")  # fmt: skip


@rule("http/header-name-case", level=MUST, fault=EITHER, on=FAULT, dirs=("s2c",), source=CASE)
def header_in_other_case_missed(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A header is called missing that is there in other case.

    Why it matters: HTTP/2 has lower case only, and proxies change case as they like.
    Cannot tell: which header is called missing is read out of the words of an error -32020; only the three that each
    request has are looked for.
    """
    http = answer.http
    if (
        http is None
        or said.code(answer) != MISMATCH
        or (ctx.exchange is not None and ctx.exchange.request.edited)
    ):
        return
    text = _text(answer)
    for canonical in ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"):
        spelled = next((k for k, v in http.request_headers if k.lower() == canonical.lower() and v), None)
        if spelled is None or spelled == canonical:
            continue
        ctx.tested()
        if canonical.lower() in text and _MISSING.search(text):
            yield ctx.finding(
                answer, saw=spelled, expected=f"{canonical} in any case", path=canonical, fault="server"
            )


def _broken(event: Message | Signal, ctx: Context, kinds: tuple[str, ...]) -> tuple[str, str] | None:
    """(kind, header) of the first such breach of the request; None when there is none, or a person edited it."""
    http, exchange = event.http, ctx.exchange
    if http is None or exchange is None or exchange.request.edited or exchange.request.cut:
        return None
    if isinstance(event, Message) and event is not exchange.answer:
        return None
    head = http.facts.get("head", {})
    return next(((kind, head[kind][0][0]) for kind in kinds if head.get(kind)), None)


def _finding(answer: Message, ctx: Context, kind: str, header: str, text: str) -> Finding:
    assert ctx.exchange is not None
    request = ctx.exchange.request
    cause = finding_id(CAUSES[kind], request.key, header)
    return ctx.finding(answer, saw=answer.result.get("resultType", "a result"), expected="HTTP 400 with error -32020",
                       path=header, also=[request], because=cause, text=text)  # fmt: skip


def _words(kind: str, header: str) -> str:
    how = kind.partition("-")[2]
    if how in ("absent", ""):
        return f"{header} is missing" if how else f"{header} has characters that no header may have"
    return f"{header} " + {
        "many": "comes twice and differs",
        "plain": "is not encoded",
        "form": "is badly encoded",
    }.get(how, "differs from the body")


def _another_reason(answer: Message, exchange: Exchange, code: int | None, ctx: Context) -> bool:
    """The order of checks is open: what may be at fault besides the headers excuses the code that goes with it."""
    meta = exchange.request.meta
    if code == INVALID_PARAMS:
        return not {META_VERSION, META_CAPABILITIES, META_CLIENT_INFO} <= meta.keys()
    if code == UNSUPPORTED_VERSION:
        known = supported(ctx.channel, answer)
        http = answer.http
        named = {
            meta.get(META_VERSION),
            http.request_header("mcp-protocol-version") if http is not None else None,
        }
        return (
            known is None or known["key"] == answer.key or not {v for v in named if v} <= set(known["list"])
        )
    return code in (MISSING_CAPABILITY, METHOD_NOT_FOUND)


def _text(answer: Message) -> str:
    return str(answer.error.get("message"))[:4096].lower()


def _mirrored(http: HttpExchange) -> list[tuple[str, str]]:
    return [
        (k, v)
        for k, v in http.request_headers
        if k.lower() == "mcp-name" or k.lower().startswith("mcp-param-")
    ]


def _sent_params(http: HttpExchange) -> bool:
    return any(k.lower().startswith("mcp-param-") for k, _ in http.request_headers)


def proxied(http: HttpExchange) -> bool:
    """Whether something in front of the server shows itself in the answer."""
    return http.response_header("via") is not None or bool(
        _PROXY.search(http.response_header("server") or "")
    )

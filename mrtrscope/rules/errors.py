"""basic/index#error-codes: which codes may be used, and what an error with one of them must carry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import META_VERSION, MRTR_METHODS, Exchange
from mrtrscope.link.listings import newest
from mrtrscope.link.processes import DISCOVER
from mrtrscope.link.servers import advertised, served
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import sender
from mrtrscope.rules.registry import (
    ADVISORY,
    EITHER,
    FAULT,
    MUST,
    MUST_NOT,
    RESULT,
    RESULT_FORM,
    SERVER,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/basic/index"
CODES = PAGE + "#error-codes"
REQUEST_FIELDS = PAGE + "#meta (per-request protocol fields)"
VERSION_HEADER = "2026-07-28/basic/transports/streamable-http#protocol-version-header"
FROM_SERVER = ("s2c",)
LAST_KNOWN = "2026-07-28"  # later revisions may define more codes

HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32020, -32021, -32022
DEFINED = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
JSON_RPC = (-32700, -32600, -32601, -32602, -32603)
NO_SUCH_RESOURCE, URL_ELICITATION = -32002, -32042


@rule("error/reserved-range-undefined", level=MUST_NOT, fault=EITHER, on=(FAULT, RESULT_FORM), source=CODES)
def undefined_code(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error has a code that the specification keeps for itself and does not define.

    Why it matters: a later revision may give it a meaning, and clients will act on that.
    Cannot tell: codes of later revisions; -32042 has a rule of its own.
    """
    code, path = said.code(answer), "/error/code"
    if answer.kind == "response":  # of tasks/get: the error that ended the task
        error = answer.result.get("error")
        code, path = error.get("code") if type(error) is dict else None, "/result/error/code"
    if type(code) is not int:
        return
    ctx.tested()
    if _undefined(code) and ctx.version <= LAST_KNOWN:
        yield ctx.finding(
            answer, saw=code, expected="a code outside -32768..-32000", path=path, fault=sender(answer)
        )


@rule("error/no-legacy-codes", level=MUST_NOT, fault=SERVER, on=FAULT, dirs=FROM_SERVER, source=CODES)
def code_of_an_earlier_revision(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error has a code that was taken out of the protocol.

    Why it matters: clients of this revision do not know what to do with it.
    Cannot tell: the same server may use both codes rightly towards clients of an older revision.
    """
    code = said.code(answer)
    ctx.tested()
    if code == NO_SUCH_RESOURCE:
        yield ctx.finding(
            answer,
            saw=code,
            expected=-32602,
            path="/error/code",
            text="code -32002: a resource not found is -32602 now",
        )
    elif code == URL_ELICITATION:
        yield ctx.finding(
            answer, saw=code, expected="an input_required result", path="/error/code",
            text="code -32042: an input_required result with an elicitation in URL mode takes its place",
        )  # fmt: skip


@rule("error/legacy-range-avoided", level=ADVISORY, fault=EITHER, on=FAULT, source=CODES)
def code_without_agreed_meaning(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error has a code from -32000 to -32019, where codes have no agreed meaning.

    Why it matters: every implementation means something else by it.
    Cannot tell: only new implementations should avoid them, and whether one is new cannot be seen; noted once.
    """
    code = said.code(answer)
    ctx.tested()
    if code is not None and -32019 <= code <= -32000 and code != NO_SUCH_RESOURCE and ctx.first(str(code)):
        yield ctx.finding(
            answer, saw=code, expected="a code of the specification, or outside -32768..-32000", path="/error/code",
            fault=sender(answer),
        )  # fmt: skip


@rule("error/custom-code-outside-reserved", level=SHOULD, fault=EITHER, on=FAULT, source=CODES)
def code_of_json_rpc(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error has a code of its own in the range that JSON-RPC keeps for itself.

    Why it matters: libraries and later versions may use it for something else.
    Cannot tell: codes from -32099 to -32000, which others look at; a code that is no integer.
    """
    code = said.code(answer)
    ctx.tested()
    if code is not None and -32768 <= code <= -32100 and code not in JSON_RPC:
        yield ctx.finding(
            answer,
            saw=code,
            expected="a code outside -32768..-32000",
            path="/error/code",
            fault=sender(answer),
        )


@rule(
    "error/missing-capability-data",
    level=MUST,
    fault=SERVER,
    on=FAULT,
    dirs=FROM_SERVER,
    source=REQUEST_FIELDS,
)
def capability_not_named(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error -32021 does not say which capabilities are missing.

    Why it matters: the client cannot declare them and try again, nor tell its user what is needed.
    Cannot tell: nothing; it speaks whenever such a message is seen. Whether they were missing is
    error/defined-code-meaning.
    """
    if said.code(answer) != MISSING_CAPABILITY:
        return
    ctx.tested()
    needed = _data(answer).get("requiredCapabilities", ABSENT)
    path = "/error/data/requiredCapabilities"
    if type(needed) is not dict:
        yield ctx.finding(
            answer, saw=_shown(needed), expected="an object keyed by capability", path=path,
            text="requiredCapabilities is " + ("not there" if needed is ABSENT else "no object"),
        )  # fmt: skip
    elif not needed:
        yield ctx.finding(
            answer, saw={}, expected="what is missing", path=path, text="requiredCapabilities is empty"
        )
    else:
        for name, value in needed.items():
            if type(value) is not dict:
                yield ctx.finding(answer, saw=value, expected="an object", path=f"{path}/{name}",
                                  text=f"requiredCapabilities.{name} is no object")  # fmt: skip


@rule(
    "error/missing-capability-http-400",
    level=MUST,
    fault=SERVER,
    on=FAULT,
    dirs=FROM_SERVER,
    source=REQUEST_FIELDS,
)
def capability_with_another_status(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error -32021 comes with another HTTP status than 400.

    Why it matters: gateways and clients that look at the status alone take the request for served.
    Cannot tell: in an event stream the status was sent before; that is only noted.
    """
    if said.code(answer) == MISSING_CAPABILITY:
        yield from _status(answer, ctx, 400, "info" if answer.sse is not None else None)


@rule("error/unsupported-version-data", level=MUST, fault=SERVER, on=FAULT, dirs=FROM_SERVER,
      source="2026-07-28/basic/versioning#protocol-version-negotiation")  # fmt: skip
def versions_not_named(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error -32022 does not say which versions are supported and which was asked for.

    Why it matters: the client cannot choose a version and try again.
    Cannot tell: nothing; it speaks whenever such a message is seen. The version may have been asked for in the body or
    in the head.
    """
    if said.code(answer) != UNSUPPORTED_VERSION or ctx.exchange is None:
        return
    ctx.tested()
    data = _data(answer)
    listed, asked = data.get("supported", ABSENT), data.get("requested", ABSENT)
    if type(listed) is not list or not listed or not all(type(v) is str for v in listed):
        yield ctx.finding(answer, saw=_shown(listed), expected="the versions, as strings", path="/error/data/supported",
                          text="an error -32022 does not list the supported versions")  # fmt: skip
    named = _named(ctx.exchange.request)
    if type(asked) is not str:
        yield ctx.finding(answer, saw=_shown(asked), expected=named, path="/error/data/requested",
                          text="an error -32022 does not repeat the version that was asked for")  # fmt: skip
    elif named and asked not in named:
        yield ctx.finding(answer, saw=asked, expected=named, path="/error/data/requested",
                          text="an error -32022 repeats another version than was asked for")  # fmt: skip


@rule(
    "error/unsupported-version-http-400",
    level=MUST,
    fault=SERVER,
    on=FAULT,
    dirs=FROM_SERVER,
    source=VERSION_HEADER,
)
def version_with_another_status(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error -32022 comes with another HTTP status than 400.

    Why it matters: a client that probes tells by the status whether the server is of another era.
    Cannot tell: where there is no HTTP, or its status was not recorded.
    """
    if said.code(answer) == UNSUPPORTED_VERSION:
        yield from _status(answer, ctx, 400, None)


@rule(
    "error/method-not-found-http-404",
    level=MUST,
    fault=SERVER,
    on=FAULT,
    dirs=FROM_SERVER,
    source=VERSION_HEADER,
)
def method_with_another_status(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An error -32601 comes with another HTTP status than 404.

    Why it matters: a client that probes tells by the status what the endpoint is.
    Cannot tell: a 404 without a JSON-RPC body means there is no endpoint at this URL. A 404 with another code is only
    noted. A server that refuses server/discover and served nothing yet is probably of an older revision. Where the
    server has the method, as it said, the tool, prompt or resource is meant: its code is wrong, which other rules say.
    """
    code, exchange = said.code(answer), ctx.exchange
    if exchange is not None and exchange.method == DISCOVER and not served(ctx.channel, answer):
        return
    if code == -32601:
        if exchange is not None and _has_method(exchange, ctx):
            return
        yield from _status(answer, ctx, 404, None)
    elif answer.http is not None and answer.http.status == 404 and code is not None:
        yield ctx.finding(
            answer, saw=code, expected=-32601, path="/error/code", level="info",
            text="HTTP 404, which means that the method is not known, with another code than -32601",
        )  # fmt: skip


@rule("error/result-with-error-status", level=ADVISORY, fault=SERVER, on=RESULT_FORM, exercised=RESULT,
      dirs=FROM_SERVER, source="2026-07-28/basic/transports/streamable-http#sending-messages item 6")  # fmt: skip
def result_under_an_error_status(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A result comes with an HTTP status that says error.

    Why it matters: clients and gateways that look at the status first throw the result away.
    Cannot tell: where there is no HTTP, or its status was not recorded.
    """
    http = answer.http
    if answer.kind == "response" and http is not None and http.status is not None and http.status >= 400:
        yield ctx.finding(answer, saw=http.status, expected=200, path="status")


def _has_method(exchange: Exchange, ctx: Context) -> bool:
    """Whether the server said that it has the method of a request that names a tool, prompt or resource."""
    if exchange.method not in MRTR_METHODS or not exchange.target:
        return False
    area = exchange.method.partition("/")[0]
    capabilities = advertised(ctx.channel, exchange)
    if capabilities is not None:
        return area in capabilities
    return newest(ctx.memory, exchange, area + "/list", ctx.channel) is not None


def _undefined(code: int) -> bool:
    return -32099 <= code <= -32020 and code not in DEFINED and code != URL_ELICITATION


def _status(answer: Message, ctx: Context, wanted: int, level: str | None) -> Iterator[Finding]:
    http = answer.http
    if http is None or http.status is None:
        return
    ctx.tested()
    if http.status != wanted:
        yield ctx.finding(answer, saw=http.status, expected=wanted, path="status", level=level)


def _data(answer: Message) -> dict[str, Any]:
    data = answer.error.get("data")
    return data if type(data) is dict else {}


def _named(request: Message) -> list[str]:
    """The versions that a request names, in its body and its header."""
    header = request.http.request_header("mcp-protocol-version") if request.http is not None else None
    return [v for v in (request.meta.get(META_VERSION), header) if type(v) is str]


def _shown(value: Any) -> Any:
    return "absent" if value is ABSENT else value

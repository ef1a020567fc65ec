"""basic/transports/streamable-http: Mcp-Param-* headers, against the definition of the tool that is called."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.heads import head_of
from mrtrscope.link.tools import CALL, Tool
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ADVISORY, CLIENT, MUST, ODD_HEAD, REMARKED, SHOULD, rule
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/basic/transports/streamable-http"
CUSTOM = PAGE + "#custom-headers-from-tool-parameters"
ENCODING = PAGE + "#value-encoding"
SCHEMA = PAGE + "#schema-extension"
CLIENTS = PAGE + "#client-behavior"
SERVERS = PAGE + "#server-behavior-for-custom-headers"


@rule("http/param-header-present", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), methods=(CALL,),
      source=CUSTOM)  # fmt: skip
def argument_not_mirrored(request: Message, ctx: Context) -> Iterator[Finding]:
    """An argument that the tool wants in a header is only in the body.

    Why it matters: gateways route by it, and the server has to refuse the call.
    Cannot tell: unless this client certainly was given the definition, it is only noted. Tools with a faulty annotation
    are not looked at.
    """
    tool = _tool(request, ctx)
    if tool is None or ctx.exchange is None:
        return
    knows = tool.client.surely_same(ctx.exchange.client)
    for header, _, expected, path in head_of(request).get("param-absent", ()):
        yield ctx.finding(request, saw="no header", expected=expected, path=header, also=[tool.key],
                          level=None if knows else "info", text=f"{header} is missing for {path}")  # fmt: skip


@rule("http/param-header-omitted", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), methods=(CALL,),
      source=SERVERS)  # fmt: skip
def header_for_no_argument(request: Message, ctx: Context) -> Iterator[Finding]:
    """A Mcp-Param header stands for an argument that is null or absent.

    Why it matters: header and body then say different things.
    Cannot tell: when the definition of the tool was not seen, or the headers that it asks for are unsound.
    """
    tool = _tool(request, ctx)
    for header, saw, expected, path in head_of(request).get("param-extra", ()):
        yield ctx.finding(request, saw=saw, expected=expected, path=header, also=[tool.key] if tool else [],
                          text=f"{header} is sent, and {path} is null or absent")  # fmt: skip


@rule("http/param-header-matches", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), methods=(CALL,),
      source=ENCODING)  # fmt: skip
def header_differs_from_argument(request: Message, ctx: Context) -> Iterator[Finding]:
    """A Mcp-Param header, decoded, is not its argument.

    Why it matters: a gateway routes by one value, the server acts on the other.
    Cannot tell: numbers are compared as numbers; one written with an exponent is only noted.
    """
    head, tool = head_of(request), _tool(request, ctx)
    also = [tool.key] if tool else []
    for header, saw, expected, path in head.get("param-differs", ()):
        yield ctx.finding(request, saw=saw, expected=expected, path=header, also=also,
                          text=f"{header} differs from {path}")  # fmt: skip
    for header, saw, expected, _ in head.get("param-exponent", ()):
        yield ctx.finding(request, saw=saw, expected=expected, path=header, also=also, level="info",
                          text=f"{header} is no plain decimal number")  # fmt: skip


@rule("http/param-header-encoding", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), source=ENCODING)
def argument_raw_in_header(request: Message, ctx: Context) -> Iterator[Finding]:
    """An argument that is not safe in a header stands in it as it is.

    Why it matters: HTTP may change or refuse such bytes on the way.
    Cannot tell: without the tool's definition only bytes that no header may have.
    """
    for header, saw, _, _ in head_of(request).get("param-plain", ()):
        yield ctx.finding(request, saw=saw, expected="=?base64?…?=", path=header)


@rule("http/param-header-unknown", level=ADVISORY, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), methods=(CALL,),
      source=CLIENTS)  # fmt: skip
def header_without_annotation(request: Message, ctx: Context) -> Iterator[Finding]:
    """A Mcp-Param header for which the tool did not ask.

    Why it matters: it shows an argument to every intermediary, and nobody checks it.
    Cannot tell: the client may have a newer definition.
    """
    tool = _tool(request, ctx)
    for header, _, _, _ in head_of(request).get("param-unknown", ()):
        yield ctx.finding(
            request, saw=header, expected="no such header", path=header, also=[tool.key] if tool else []
        )


@rule("http/param-integer-safe-range", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), methods=(CALL,),
      source=SCHEMA)  # fmt: skip
def mirrored_integer_too_large(request: Message, ctx: Context) -> Iterator[Finding]:
    """An integer that is mirrored into a header lies beyond 2^53-1.

    Why it matters: a reader that knows only doubles compares another number.
    Cannot tell: when the definition of the tool was not seen, or the headers that it asks for are unsound.
    """
    tool = _tool(request, ctx)
    for header, saw, expected, path in head_of(request).get("param-range", ()):
        yield ctx.finding(request, saw=saw, expected=expected, path=path, also=[tool.key] if tool else [],
                          text=f"{path}, mirrored as {header}, is beyond the safe range")  # fmt: skip


@rule("http/refetch-tools-after-mismatch", level=SHOULD, fault=CLIENT, on=REMARKED, dirs=("c2s",), methods=(CALL,),
      source=CLIENTS)  # fmt: skip
def refused_call_unchanged(request: Message, ctx: Context) -> Iterator[Finding]:
    """A call that was refused over its Mcp-Param headers comes again and again as it was.

    Why it matters: it will be refused again; a new tools/list would say which headers are wanted.
    Cannot tell: over connections, whether it is one client, unless its credential shows it.
    """
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    key = remarks.get("unchanged") if remarks is not None else None
    if key is None or request.kind != "request":
        return
    ctx.tested()
    yield ctx.finding(request, saw="the same headers for the third time", expected="tools/list", also=[key])


def _tool(request: Message, ctx: Context) -> Tool | None:
    """The definition that the headers were held to; the running rule is exercised when it asks for headers."""
    if "params" in head_of(request):
        ctx.tested()
    return ctx.exchange.tool if ctx.exchange is not None else None

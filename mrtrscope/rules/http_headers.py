"""basic/transports/streamable-http: headers that repeat what the body says."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.heads import NAMED, head_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ADVISORY, CLIENT, MUST, ODD_HEAD, REQUEST, rule
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/basic/transports/streamable-http"
VERSION = PAGE + "#protocol-version-header"
STANDARD = PAGE + "#standard-request-headers"
VALIDATION = PAGE + "#server-validation"
ENCODING = PAGE + "#value-encoding"


@rule("http/protocol-version-header-present", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      source=VERSION)  # fmt: skip
def no_version_header(request: Message, ctx: Context) -> Iterator[Finding]:
    """A modern request POST has no MCP-Protocol-Version header, or several that differ.

    Why it matters: servers and gateways choose by it how to read the body, before they read it.
    Cannot tell: a request whose body names no version; notifications, and elements of a batch, which share one head.
    """
    head = head_of(request)
    for header, saw, expected, _ in head.get("version-absent", ()):
        yield ctx.finding(request, saw="empty" if saw == "" else "no header", expected=expected, path=header,
                          text="a modern request POST has no MCP-Protocol-Version header")  # fmt: skip
    for header, saw, expected, _ in head.get("version-many", ()):
        yield ctx.finding(request, saw=saw, expected=expected, path=header,
                          text="a modern request POST has several MCP-Protocol-Version headers")  # fmt: skip


@rule("http/protocol-version-header-matches", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      source=VERSION)  # fmt: skip
def version_header_differs(request: Message, ctx: Context) -> Iterator[Finding]:
    """MCP-Protocol-Version and the version in `_meta` differ.

    Why it matters: the two may be read by different programs, which then disagree on what the request means.
    Cannot tell: whether an intermediary changed one of them on the way.
    """
    for header, saw, expected, _ in head_of(request).get("version-differs", ()):
        yield ctx.finding(
            request, saw=saw, expected=expected, path=header,
            text="MCP-Protocol-Version and the version in _meta differ; the client, or an intermediary, set one wrong",
        )  # fmt: skip


@rule("http/mcp-method-header-present", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      source=STANDARD)  # fmt: skip
def no_method_header(request: Message, ctx: Context) -> Iterator[Finding]:
    """A modern request POST has no Mcp-Method header.

    Why it matters: gateways route and limit by it without reading bodies.
    Cannot tell: notifications, and elements of a batch, which share one head.
    """
    for header, _, expected, _ in head_of(request).get("method-absent", ()):
        yield ctx.finding(request, saw="no header", expected=expected, path=header)


@rule("http/mcp-method-header-matches", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      source=VALIDATION)  # fmt: skip
def method_header_differs(request: Message, ctx: Context) -> Iterator[Finding]:
    """Mcp-Method is not the method of the body.

    Why it matters: a gateway lets through what it takes for another method.
    Cannot tell: notifications, and elements of a batch, which share one head. Space around the value is no difference.
    """
    for header, saw, expected, _ in head_of(request).get("method-differs", ()):
        yield ctx.finding(request, saw=saw, expected=expected, path=header)


@rule("http/mcp-name-header-present", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      methods=NAMED, source=STANDARD)  # fmt: skip
def no_name_header(request: Message, ctx: Context) -> Iterator[Finding]:
    """A tools/call, prompts/get or resources/read has no Mcp-Name header.

    Why it matters: gateways route and limit single tools by it.
    Cannot tell: a request whose name or uri is no string; elements of a batch, which share one head.
    """
    for header, _, expected, _ in head_of(request).get("name-absent", ()):
        yield ctx.finding(request, saw="no header", expected=expected, path=header)


@rule("http/mcp-name-header-matches", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      methods=NAMED, source=VALIDATION)  # fmt: skip
def name_header_differs(request: Message, ctx: Context) -> Iterator[Finding]:
    """Mcp-Name, decoded, is not the name or uri of the body.

    Why it matters: a gateway lets through what it takes for another tool.
    Cannot tell: a request whose name or uri is no string; elements of a batch, which share one head.
    """
    for header, saw, expected, path in head_of(request).get("name-differs", ()):
        yield ctx.finding(
            request, saw=saw, expected=expected, path=header, text=f"Mcp-Name differs from {path}"
        )


@rule("http/mcp-name-encoding", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      methods=NAMED, source=ENCODING)  # fmt: skip
def name_header_raw(request: Message, ctx: Context) -> Iterator[Finding]:
    """A name or uri that is not safe in a header stands in Mcp-Name as it is.

    Why it matters: HTTP may change or refuse such bytes on the way.
    Cannot tell: of a tab inside, which the text both allows and calls unsafe: either form is accepted.
    """
    for header, saw, _, _ in head_of(request).get("name-plain", ()):
        yield ctx.finding(request, saw=saw, expected="=?base64?…?=", path=header)


@rule("http/sentinel-form", level=MUST, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      source=ENCODING)  # fmt: skip
def sentinel_misshapen(request: Message, ctx: Context) -> Iterator[Finding]:
    """An encoded header value has other markers than =?base64? and ?=, or no sound Base64 of UTF-8 between them.

    Why it matters: the server takes it literally, or cannot decode it, and refuses the request.
    Cannot tell: a value in other case may be meant literally; it counts where decoding it gives what the body says.
    """
    head = head_of(request)
    for header, saw, _, _ in (*head.get("name-form", ()), *head.get("param-form", ())):
        yield ctx.finding(
            request, saw=saw, expected="=?base64?, padded Base64 of the UTF-8 text, ?=", path=header
        )


@rule("http/mcp-name-on-other-method", level=ADVISORY, fault=CLIENT, on=ODD_HEAD, dirs=("c2s",), exercised=REQUEST,
      source=STANDARD)  # fmt: skip
def name_header_elsewhere(request: Message, ctx: Context) -> Iterator[Finding]:
    """Mcp-Name on a method for which it has no meaning.

    Why it matters: a gateway may act on a name that no server checks.
    Cannot tell: methods about tasks, where their extension uses it; elements of a batch, which share one head.
    """
    for header, saw, _, _ in head_of(request).get("name-elsewhere", ()):
        named = any(value == saw for value in request.params.values() if type(value) is str)
        text = f"Mcp-Name has no meaning on {request.method}" + (
            "" if named else ", and no member of params is equal"
        )
        yield ctx.finding(request, saw=saw, expected="no such header", path=header, text=text[:300])

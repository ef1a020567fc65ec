"""basic/index#messages, basic/transports: the text of messages before anybody reads what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mrtrscope.link.facts import MODERN
from mrtrscope.link.session import session_version
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import sender
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    ANY_MESSAGE,
    BATCH,
    EITHER,
    FORM,
    MUST,
    NON_MESSAGE,
    SIGNAL,
    rule,
)
from mrtrscope.wire.events import HTTP_REQUEST, HTTP_RESPONSE, HttpExchange, Message, NonMessage, Signal

PAGE = "2026-07-28/basic/index"
HTTP_PAGE = "2026-07-28/basic/transports/streamable-http#sending-messages item "
BATCHES_ALLOWED = "2025-03-26"

# Oddities of text that a lenient reader takes for a message and that is no JSON all the same.
_NOT_JSON = {
    "nan": "a number that JSON does not have: {}",
    "trailing-data": "text stands before it or behind it in the place of one message",
}
_OTHER_ENCODINGS = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"{\x00\x00\x00", "utf-32-le"),
    (b"\x00\x00\x00{", "utf-32-be"),
    (b"{\x00", "utf-16-le"),
    (b"\x00{", "utf-16-be"),
)
_TELLING = ("method", "name", "uri", "id", "requestState")


@rule("jsonrpc/valid-json", level=MUST, fault=EITHER, on=(FORM, NON_MESSAGE), exercised=ANY_MESSAGE, eras=ANY_ERA,
      source=PAGE + "#messages")  # fmt: skip
def no_json(event: Message | NonMessage, ctx: Context) -> Iterator[Finding]:
    """What stands in the place of a message is no JSON.

    Why it matters: strict readers lose the message, lenient ones read something else than was meant.
    Cannot tell: error pages of gateways are no messages; whose fault it is when a body breaks off, unless the server
    closed the connection. Lines of stdio that nobody takes for a message have rules of their own, and so have events of
    a stream and several texts in one body.
    """
    if isinstance(event, Message):
        several = event.http is not None and event.dir == "s2c" and event.sse is None
        for kind, detail in event.oddities:
            if kind in _NOT_JSON and not (kind == "trailing-data" and several):
                yield ctx.finding(
                    event, saw=_start(event.raw), expected="one JSON text", path=kind, fault=sender(event),
                    text="the message is no valid JSON: " + _NOT_JSON[kind].format(detail),
                )  # fmt: skip
        return
    http = event.http
    if http is None or event.why != "not-json" or not event.counts or event.sse is not None:
        return
    if encoded_otherwise(event.raw):
        return
    if event.dir == "s2c" and (http.method != "POST" or _page_of_a_gateway(event, http)):
        return
    broken = _breaks_off(event.raw) if event.size == len(event.raw) else False
    if broken and (event.dir == "c2s" or http.closed_by != "server") and not _as_long_as_said(event, http):
        return
    yield ctx.finding(
        event,
        saw=_start(event.raw),
        expected="one JSON text",
        fault=sender(event),
        text="the body breaks off in the middle of its JSON" if broken else "the body is no JSON",
    )


@rule("jsonrpc/utf8", level=MUST, fault=EITHER, on=(FORM, NON_MESSAGE, SIGNAL), exercised=ANY_MESSAGE, eras=ANY_ERA,
      signals=(HTTP_REQUEST, HTTP_RESPONSE), source="2026-07-28/basic/transports/index#messages")  # fmt: skip
def other_encoding(event: Message | NonMessage | Signal, ctx: Context) -> Iterator[Finding]:
    """A message is not encoded as UTF-8.

    Why it matters: its reader sees other characters than were written, or refuses the message.
    Cannot tell: an escaped half of a surrogate pair is ASCII on the wire and is only noted. A byte order mark may stand
    at the beginning of an event stream, but not before a message: JSON forbids to add one.
    """
    if isinstance(event, Signal):
        yield from _charset(event, ctx)
        return
    fault = sender(event)
    if isinstance(event, NonMessage):
        encoding = encoded_otherwise(event.raw)
        if encoding and event.counts:
            yield ctx.finding(event, saw=encoding, expected="UTF-8", path="text", fault=fault)
        return
    for kind, detail in event.oddities:
        if kind == "invalid-utf8":
            yield ctx.finding(
                event, saw=f"{detail} is not part of a character", expected="UTF-8", path="text", fault=fault
            )
        elif kind == "bom":
            yield ctx.finding(
                event, saw="EF BB BF", expected="no byte order mark", path="bom", level="should", fault=fault,
                text="a message begins with a byte order mark; strict readers lose it",
            )  # fmt: skip
        elif kind == "lone-surrogate":
            yield ctx.finding(
                event, path="surrogate", level="info", fault=fault,
                text="a string holds half of a surrogate pair: legal JSON, but no text",
            )  # fmt: skip


@rule("jsonrpc/duplicate-member", level=ADVISORY, fault=EITHER, on=FORM, exercised=ANY_MESSAGE, eras=ANY_ERA,
      source=PAGE + "#messages")  # fmt: skip
def member_given_twice(message: Message, ctx: Context) -> Iterator[Finding]:
    """An object has the same member twice.

    Why it matters: some readers take the first, some the last: a proxy and a server can see two different calls.
    Cannot tell: whether it was meant so. Keys of inputRequests have a rule of their own.
    """
    for kind, detail in message.oddities:
        if kind != "duplicate-key" or _input_request(detail):
            continue
        name = detail.rpartition("/")[2]
        grave = name in _TELLING or "/_meta/" in detail
        yield ctx.finding(
            message, saw=detail, expected="each member once", path=detail, fault=sender(message),
            text=f"an object has the member {name!r} twice" + (", which decides what the message is" if grave else ""),
        )  # fmt: skip


@rule("jsonrpc/no-batch", level=MUST, fault=EITHER, on=(BATCH, NON_MESSAGE), exercised=ANY_MESSAGE, eras=ANY_ERA,
      source=HTTP_PAGE + "4")  # fmt: skip
def several_in_one(event: Message | NonMessage, ctx: Context) -> Iterator[Finding]:
    """Messages are sent as a JSON array.

    Why it matters: only 2025-03-26 had batches; a server of another revision refuses the whole, or reads nothing.
    Cannot tell: which revision a session has whose handshake was not seen.
    """
    if isinstance(event, NonMessage):
        if event.why == "empty-batch" and event.http is not None and event.counts and _forbidden(event, ctx):
            yield ctx.finding(
                event,
                saw="[]",
                expected="one message",
                fault=sender(event),
                text="a batch with nothing in it",
            )
        return
    if event.batch is None or not _forbidden(event, ctx) or not ctx.first(event.batch[2]):
        return
    yield ctx.finding(
        event, saw=f"{event.batch[1]} messages in an array", expected="one message", fault=sender(event)
    )


def _forbidden(event: Message | NonMessage, ctx: Context) -> bool:
    version = ctx.version or session_version(ctx.memory, event)
    if not version and event.http is not None:
        version = event.http.request_header("mcp-protocol-version") or ""
    if version:
        return version != BATCHES_ALLOWED
    return ctx.era == MODERN


def _charset(event: Signal, ctx: Context) -> Iterator[Finding]:
    http = event.http
    if http is None:
        return
    request = event.what == HTTP_REQUEST
    kind = http.request_header("content-type") if request else http.response_header("content-type")
    if kind is None or "charset" not in kind or "json" not in kind.lower() or http.method != "POST":
        return
    charset = kind.lower().partition("charset=")[2].partition(";")[0].strip().strip('"')
    if charset and charset not in ("utf-8", "utf8", "us-ascii", "ascii"):
        yield ctx.finding(
            event, saw=kind, expected="charset=utf-8, or none", path="content-type",
            fault="client" if request else "server", text="the content type names another encoding than UTF-8",
        )  # fmt: skip


def encoded_otherwise(raw: bytes) -> str:
    """The other encoding of Unicode that a text is in, "" when it is none."""
    for start, encoding in _OTHER_ENCODINGS:
        if raw.startswith(start):
            text = raw[: len(raw) // 4 * 4].decode(encoding, "replace")
            return encoding if '"' in text and ("jsonrpc" in text or "method" in text) else ""
    return ""


def _page_of_a_gateway(event: NonMessage, http: HttpExchange) -> bool:
    status = http.status or 0
    return status in (401, 403, 404, 429) or status >= 500 or event.raw.lstrip()[:1] == b"<"


def _as_long_as_said(event: NonMessage, http: HttpExchange) -> bool:
    """The body has the length that its head announced: it was sent like that."""
    length = http.request_header if event.dir == "c2s" else http.response_header
    return length("content-length") == str(event.size)


def _breaks_off(raw: bytes) -> bool:
    """The text is the beginning of a JSON text."""
    text = raw.decode("utf-8", "replace").strip()
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text) or error.msg.startswith("Unterminated")
    except (ValueError, RecursionError):
        pass
    return False


def _input_request(detail: str) -> bool:
    steps = detail.split("/")
    return steps[1:3] == ["result", "inputRequests"] and len(steps) == 4


def _start(raw: bytes) -> str:
    return raw[:200].decode("utf-8", "replace")

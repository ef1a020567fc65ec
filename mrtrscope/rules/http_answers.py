"""basic/transports/streamable-http: what the server answers to a POST, and in what form."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import LEGACY, MODERN
from mrtrscope.link.heads import essence
from mrtrscope.link.processes import LISTEN
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ADVISORY,
    BOTH,
    EXTRA,
    FAULT,
    MUST,
    NON_MESSAGE,
    NOTIFICATION,
    ODD_REPLY,
    REQUEST,
    RESULT,
    SERVER,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import HTTP_END, HTTP_RESPONSE, HttpExchange, Message, NonMessage, Signal

PAGE = "2026-07-28/basic/transports/streamable-http"
SENDING = PAGE + "#sending-messages item "
RECEIVING = PAGE + "#receiving-messages"
JSON = "application/json"
OLDEST = "2024-11-05"  # had another transport

PROGRESS = "notifications/progress"
CANCELLED = "notifications/cancelled"
ON_LISTEN = frozenset({
    "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
    "notifications/resources/updated", "notifications/tasks", "notifications/subscriptions/acknowledged",
})  # fmt: skip


@rule("http/notification-status", level=MUST, fault=SERVER, on=(NOTIFICATION, ODD_REPLY), eras=BOTH,
      signals=(HTTP_RESPONSE,), source=SENDING + "5")  # fmt: skip
def notification_answered_otherwise(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """A posted notification or response is answered with another success than 202, or redirected.

    Why it matters: clients wait for a body, or take the message for lost.
    Cannot tell: 4xx and 5xx say that it was not accepted, and are fine.
    """
    if isinstance(event, Message):
        if event.dir == "c2s" and event.http is not None:
            ctx.tested()
        return
    http = event.http
    if http is not None and "status" in http.facts["reply"] and _streamable(http, ctx):
        if ctx.era == MODERN and http.facts["posted"] != "notification":
            return
        text = f"a posted {http.facts['posted']} is answered with HTTP {http.status} instead of 202"
        yield ctx.finding(event, saw=http.status, expected=202, path="status", text=text)


@rule("http/notification-no-body", level=MUST, fault=SERVER, on=ODD_REPLY, eras=BOTH, signals=(HTTP_END,),
      source=SENDING + "5")  # fmt: skip
def body_behind_202(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A 202 has a body.

    Why it matters: a client that keeps the connection may take it for the next answer.
    Cannot tell: white space alone is only noted.
    """
    http = event.http
    if http is None or "body" not in http.facts["reply"] or not _streamable(http, ctx):
        return
    ctx.tested()
    blank = "text" not in http.facts
    yield ctx.finding(event, saw=f"{http.response_size} bytes", expected="no body", path="body",
                      level="info" if blank else None)  # fmt: skip


@rule("http/request-content-type", level=MUST, fault=SERVER, on=(ODD_REPLY, FAULT, NON_MESSAGE), eras=BOTH,
      dirs=("s2c",), signals=(HTTP_RESPONSE,), exercised=RESULT, source=SENDING + "6")  # fmt: skip
def answer_in_other_clothes(event: Message | NonMessage | Signal, ctx: Context) -> Iterator[Finding]:
    """A request is answered neither with application/json nor with text/event-stream.

    Why it matters: the client chooses by it how to read the answer, and drops what it does not know.
    Cannot tell: errors of HTTP without a JSON-RPC body.
    """
    http = event.http
    if http is None or not _streamable(http, ctx):
        return
    kind = http.response_header("content-type")
    if isinstance(event, Signal):
        if "type" in http.facts["reply"]:
            shown = f"HTTP {http.status}, {kind or 'no Content-Type'}"
            yield ctx.finding(event, saw=shown, expected=[JSON, "text/event-stream"], path="content-type",
                              text=_of_status(http.status, kind))  # fmt: skip
        return
    if (http.status or 0) < 400 or http.facts.get("posted") != "request":
        return
    if isinstance(event, NonMessage) and not _is_error(event):
        return
    ctx.tested()
    if essence(kind or "") != JSON:
        yield ctx.finding(event, saw=kind or "no Content-Type", expected=JSON, path="content-type",
                          text="a JSON-RPC error comes with another Content-Type than application/json")  # fmt: skip


@rule("http/json-body-single-response", level=MUST, fault=SERVER,
      on=(NOTIFICATION, REQUEST, EXTRA, NON_MESSAGE, ODD_REPLY), eras=BOTH, dirs=("s2c",), signals=(HTTP_END,),
      exercised=RESULT, source=SENDING + "6")  # fmt: skip
def json_answer_is_no_response(event: Message | NonMessage | Signal, ctx: Context) -> Iterator[Finding]:
    """A JSON answer to a request is empty, or not one single response.

    Why it matters: the client reads one object, the response; the rest is lost, or breaks the reading.
    Cannot tell: arrays and broken JSON have rules of their own.
    """
    http = event.http
    if http is None or http.facts.get("posted") != "request" or http.method != "POST" or "old" in http.facts:
        return
    if isinstance(event, Signal):
        if "empty" in http.facts["reply"]:
            yield ctx.finding(event, saw="no bytes", expected="a JSON-RPC response", path="body",
                              text="a JSON answer to a request is empty")  # fmt: skip
        return
    if (
        event.sse is not None
        or (http.status or 0) >= 400
        or essence(http.response_header("content-type") or "") != JSON
    ):
        return
    if isinstance(event, NonMessage):
        if event.why in ("not-json-rpc", "not-an-object"):
            ctx.tested()
            yield ctx.finding(event, saw=_shown(event), expected="a JSON-RPC response", path="body",
                              text="a JSON answer to a request is no JSON-RPC response")  # fmt: skip
        return
    if event.batch is None:
        ctx.tested()
        what = "a second response" if event.kind in ("response", "error") else f"a {event.kind}"
        yield ctx.finding(event, saw=what, expected="one response", path="body",
                          text=f"a JSON answer to a request holds {what}")  # fmt: skip


@rule("http/sse-data-is-message", level=MUST, fault=SERVER, on=NON_MESSAGE, eras=BOTH, dirs=("s2c",), exercised=RESULT,
      source=RECEIVING)  # fmt: skip
def event_is_no_message(event: NonMessage, ctx: Context) -> Iterator[Finding]:
    """The data of an event is no JSON-RPC message.

    Why it matters: clients parse every event of type message; one that is none ends the stream for some of them.
    Cannot tell: comments, events without data and events of another type are not read by anybody, and fine.
    """
    if event.sse is None or event.why == "too-long":
        return
    if ctx.exchange is None and not (ctx.era == LEGACY or ctx.channel.modern):
        return
    ctx.tested()
    yield ctx.finding(event, saw=_shown(event), expected="a JSON-RPC message")


@rule("http/stream-notifications-relate", level=MUST, fault=SERVER, on=NOTIFICATION, dirs=("s2c",),
      methods=(PROGRESS, CANCELLED, *sorted(ON_LISTEN)), source=RECEIVING)  # fmt: skip
def notification_on_another_stream(message: Message, ctx: Context) -> Iterator[Finding]:
    """A response stream carries a notification that does not belong to its request.

    Why it matters: the client reads it as being about this request, or drops it.
    Cannot tell: of log messages, which name no request.
    """
    http = message.http
    asked = http.facts.get("method") if http is not None else None
    if http is None or asked is None:
        return
    ctx.tested()
    if message.method == PROGRESS:
        exchange = ctx.exchange
        if exchange is None or exchange.http is not http:
            return
        given, named = exchange.request.meta.get("progressToken"), message.params.get("progressToken")
        if named is not None and (given is None or canonical(given) != canonical(named)):
            expected = "no progress: it was not asked for" if given is None else given
            yield ctx.finding(message, saw=named, expected=expected, also=[exchange.request],
                              path="/params/progressToken",
                              text="progress on a response stream is not about its request")  # fmt: skip
    elif asked != LISTEN:
        place = "the end of the stream" if message.method == CANCELLED else f"the stream of {LISTEN}"
        yield ctx.finding(message, saw=f"{message.method} on the stream of {asked}"[:300], expected=place)


@rule("http/stream-ends-after-response", level=SHOULD, fault=SERVER, on=(NOTIFICATION, REQUEST, EXTRA, ODD_REPLY),
      eras=BOTH, dirs=("s2c",), signals=(HTTP_RESPONSE, HTTP_END), source=RECEIVING)  # fmt: skip
def stream_goes_on(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """The response is not the last thing on its stream.

    Why it matters: the client has let go of the stream; what still comes is lost, and a connection is held for it.
    Cannot tell: streams that close within five seconds are fine. After input_required there is a rule of its own.
    """
    http, exchange = event.http, ctx.exchange
    if http is None or exchange is None:
        return
    if isinstance(event, Signal):
        reply = http.facts["reply"]
        if "stream" in reply:
            ctx.tested()
        if event.what == HTTP_END and "lingering" in reply:
            seconds = reply["lingering"] / 1_000_000
            yield ctx.finding(event, saw=f"open for {seconds:.1f} s more", expected="the end of the stream", path="end",
                              also=[exchange.answer], text="a stream stays open after its response")  # fmt: skip
        return
    answer = exchange.answer
    if (
        event.sse is None
        or answer is None
        or answer is event
        or answer.http is not http
        or exchange.http is not http
    ):
        return
    if answer.result.get("resultType") == "input_required":
        return
    ctx.tested()
    yield ctx.finding(event, saw=event.method or event.kind, expected="the end of the stream", also=[answer])


@rule("http/stream-without-response", level=ADVISORY, fault=SERVER, on=ODD_REPLY, signals=(HTTP_END,), exercised=RESULT,
      source=RECEIVING)  # fmt: skip
def stream_breaks_off(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A stream ended from the server's side without the response.

    Why it matters: streams of this revision cannot be resumed, so the request is lost, and may have had effects.
    Cannot tell: a stream that the client closed is a cancellation, and a subscription may end at any time.
    """
    http = event.http
    if http is not None and "unanswered" in http.facts["reply"] and ctx.exchange is not None:
        saw = f"closed by {http.facts['reply']['unanswered']}"
        yield ctx.finding(event, saw=saw, expected="a response", also=[ctx.exchange.request])


def _streamable(http: HttpExchange, ctx: Context) -> bool:
    """Not one of the oldest revision, nor over its transport, where answers come on another stream."""
    return ctx.version != OLDEST and "old" not in http.facts


def _is_error(event: NonMessage) -> bool:
    body = event.body
    return type(body) is dict and "jsonrpc" in body and "error" in body


def _shown(event: NonMessage) -> str:
    return event.raw[:120].decode("utf-8", "replace")


def _of_status(status: int | None, kind: str | None) -> str:
    if status == 202:
        return "a request is answered with 202, which is the answer to a notification"
    shown = essence(kind) if kind else "no Content-Type"
    return f"a request is answered with {shown[:100]}"

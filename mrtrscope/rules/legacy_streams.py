"""2025-11-25, basic/transports: the streams of GET, ids of events, and how a stream is taken up again."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.heads import essence
from mrtrscope.link.session import is_modern
from mrtrscope.link.streams import stream_of
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.legacy_handshake import FROM_SERVER
from mrtrscope.rules.legacy_sessions import HTTP, TRANSPORT, UNTOLD
from mrtrscope.rules.registry import (
    ANY_MESSAGE,
    CLIENT,
    EXTRA,
    LEGACY_ONLY,
    MUST,
    MUST_NOT,
    SERVER,
    SHOULD,
    SIGNAL,
    rule,
)
from mrtrscope.wire.events import HTTP_END, HTTP_REQUEST, HTTP_RESPONSE, HttpExchange, Message, Signal

LISTENING = TRANSPORT + "#listening-for-messages-from-the-server"
RESUMING = TRANSPORT + "#resumability-and-redelivery"
SENDING = TRANSPORT + "#sending-messages-to-the-server"
STREAM = "text/event-stream"
PRIMED_IN = "2025-11-25"
TOLERANCE = 0.9  # of the time that a client was asked to wait


def _of_client(http: HttpExchange | None, ctx: Context) -> bool:
    """A GET by a client of an earlier revision, and no browser that looks at the address."""
    if (
        http is None
        or http.method != "GET"
        or http.ours
        or "text/html" in (http.request_header("accept") or "")
    ):
        return False
    if is_modern(http.request_header("mcp-protocol-version")):
        return False
    named = http.request_header("mcp-session-id") or http.request_header("mcp-protocol-version")
    return ctx.channel.initialized > 0 and bool(named or STREAM in (http.request_header("accept") or ""))


@rule("legacy/get-accept", level=MUST, fault=CLIENT, on=SIGNAL, signals=(HTTP_REQUEST,), eras=UNTOLD, transports=HTTP,
      source=LISTENING)  # fmt: skip
def listens_for_something_else(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A GET that is to open a stream does not list text/event-stream.

    Why it matters: the server may refuse it.
    Cannot tell: whether a browser or a health check sent it: only what names a session or a version counts.
    """
    http = event.http
    if http is None or not _of_client(http, ctx):
        return
    ctx.tested()
    accept = ",".join(http.request_header_all("accept"))
    if STREAM not in accept.lower():
        yield ctx.finding(event, saw=accept or "no header", expected=STREAM, path="Accept")


@rule("legacy/get-response", level=MUST, fault=SERVER, on=SIGNAL, signals=(HTTP_RESPONSE,), eras=UNTOLD,
      transports=HTTP, source=LISTENING)  # fmt: skip
def answers_get_otherwise(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A GET is answered with neither an event stream nor 405.

    Why it matters: the client cannot tell a server without such streams from one that fails.
    Cannot tell: refusals for the session (400, 404), for access (401, 403), or what something in front of the server
    says.
    """
    http = event.http
    if (
        http is None
        or not _of_client(http, ctx)
        or STREAM not in (http.request_header("accept") or "").lower()
    ):
        return
    status, kind = http.status or 0, http.response_header("content-type") or ""
    if 200 <= status < 300:
        ctx.tested()
        if essence(kind) != STREAM:
            yield ctx.finding(event, saw=f"{status} {kind}".strip(), expected=f"{STREAM}, or 405")
    elif 400 <= status < 500 and status not in (400, 401, 403, 404, 429):
        ctx.tested()
        if status != 405:
            yield ctx.finding(event, saw=status, expected=405)


@rule("legacy/no-response-on-get-stream", level=MUST_NOT, fault=SERVER, on=ANY_MESSAGE, dirs=FROM_SERVER, eras=UNTOLD,
      transports=HTTP, source=LISTENING)  # fmt: skip
def response_on_a_listening_stream(message: Message, ctx: Context) -> Iterator[Finding]:
    """A response comes on a stream that GET opened.

    Why it matters: the client looks for it on the stream of its request.
    Cannot tell: on a stream that takes up an earlier one it is right.
    """
    http = message.http
    if http is None or http.method != "GET" or message.sse is None or http.facts.get("old"):
        return  # a refusal of the GET itself is no stream
    if ctx.channel.initialized == 0:
        return
    ctx.tested()
    if message.kind in ("response", "error") and http.request_header("last-event-id") is None:
        also = [ctx.exchange.request] if ctx.exchange is not None else []
        yield ctx.finding(message, saw=message.kind, expected="on the stream of the request", also=also)


@rule("legacy/no-broadcast", level=MUST_NOT, fault=SERVER, on=(ANY_MESSAGE, EXTRA), dirs=FROM_SERVER, eras=LEGACY_ONLY,
      transports=HTTP, source=TRANSPORT + "#multiple-connections")  # fmt: skip
def sent_on_two_streams(message: Message, ctx: Context) -> Iterator[Finding]:
    """A message is sent on two streams of one client.

    Why it matters: the client does it twice: it asks the user again, or counts it double.
    Cannot tell: two notifications that say the same may be two; within a second on streams that are open together they
    are probably one. What is told again after Last-Event-ID does not count.
    """
    stream, exchange = stream_of(message), ctx.exchange
    if stream is None:
        return
    ctx.tested()
    if "copied" in stream.odd:
        text = "probably one notification on two streams" if message.kind == "notification" else None
        yield ctx.finding(
            message, saw=message.method, expected="one stream", also=[stream.odd["copied"]], text=text
        )
    elif message.kind in ("response", "error") and exchange is not None and not stream.resumed:
        first = exchange.answer
        if (
            first is not None
            and first is not message
            and first.http is not message.http
            and first.raw == message.raw
        ):
            yield ctx.finding(message, saw=message.kind, expected="one stream", also=[first])


@rule("legacy/sse-event-id-unique", level=MUST, fault=SERVER, on=ANY_MESSAGE, dirs=FROM_SERVER, eras=LEGACY_ONLY,
      transports=HTTP, source=RESUMING)  # fmt: skip
def event_id_used_again(message: Message, ctx: Context) -> Iterator[Finding]:
    """The id of an event was used before in this session, for something else.

    Why it matters: whoever takes up a stream by it is given another one, or loses what came between.
    Cannot tell: where sessions have no ids; on a stream that takes up an earlier one.
    """
    stream = stream_of(message)
    if stream is None or message.sse is None or not message.sse.id or not stream.named:
        return
    ctx.tested()
    if "reused" in stream.odd:
        also = [stream.odd["reused"]]
        yield ctx.finding(message, saw=message.sse.id, expected="an id of its own", also=also, path="id")


@rule("legacy/no-replay-of-other-stream", level=MUST_NOT, fault=SERVER, on=ANY_MESSAGE, dirs=FROM_SERVER,
      eras=LEGACY_ONLY, transports=HTTP, source=RESUMING)  # fmt: skip
def tells_another_stream_again(message: Message, ctx: Context) -> Iterator[Finding]:
    """A stream that is taken up again brings what was sent on another one.

    Why it matters: the client has it already, or reads it on that other stream a second time.
    Cannot tell: what has no id, and was not an answer that came elsewhere.
    """
    stream, exchange = stream_of(message), ctx.exchange
    if stream is None or not stream.resumed:
        return
    ctx.tested()
    also = stream.odd.get("foreign", "")
    if not also and message.kind in ("response", "error") and exchange is not None:
        first = exchange.answer
        if first is not None and first is not message and first.http is not None and first.raw == message.raw:
            before = first.http.facts.get("stream")
            also = first.key if before is not None and before.root != stream.root else ""
    if also:
        said = message.sse.id if message.sse is not None else None
        expected = "events of the stream that is taken up"
        yield ctx.finding(message, saw=said or message.kind, expected=expected, also=[also])


@rule("legacy/retry-respected", level=MUST, fault=CLIENT, on=SIGNAL, signals=(HTTP_REQUEST,), eras=UNTOLD,
      transports=HTTP, source=SENDING)  # fmt: skip
def comes_back_too_soon(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client takes up a stream before the time that the server asked it to wait.

    Why it matters: the server closed the stream to be left alone; all clients at once bring it down.
    Cannot tell: when the stream ended for the client, so a tenth less is taken.
    """
    resume = event.http.facts.get("resume") if event.http is not None else None
    if event.http is None or resume is None or event.http.method != "GET":
        return
    if resume["retry"] is None or resume["since"] is None:
        return
    ctx.tested()
    waited, asked = resume["since"] / 1000, resume["retry"]
    if waited < asked * TOLERANCE:
        yield ctx.finding(event, saw=f"after {waited:.0f} ms", expected=f"{asked} ms")


@rule("legacy/resume-by-get", level=SHOULD, fault=CLIENT, on=SIGNAL, signals=(HTTP_REQUEST,), eras=UNTOLD,
      transports=HTTP, source=RESUMING)  # fmt: skip
def resumes_elsewhere(event: Signal, ctx: Context) -> Iterator[Finding]:
    """A client takes up a stream not at its end, or not by GET.

    Why it matters: it is told again what it knows, or misses the rest.
    Cannot tell: an id that was sent before the recording, or long ago.
    """
    http = event.http
    resume = http.facts.get("resume") if http is not None else None
    if http is None or resume is None:
        return
    ctx.tested()
    if http.method != "GET":
        yield ctx.finding(event, saw=http.method, expected="GET", path="Last-Event-ID",
                          text="a stream is taken up by another method than GET")  # fmt: skip
    elif resume["last"] and resume["last"] != resume["id"]:
        yield ctx.finding(event, saw=resume["id"], expected=resume["last"], path="Last-Event-ID",
                          text="a stream is taken up before its end")  # fmt: skip


@rule("legacy/priming-and-retry-events", level=SHOULD, fault=SERVER, on=(ANY_MESSAGE, SIGNAL), signals=(HTTP_END,),
      eras=LEGACY_ONLY, transports=HTTP, source=SENDING)  # fmt: skip
def stream_that_cannot_be_taken_up(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """A stream does not begin with an id to take it up by, or ends early and does not say when to come back.

    Why it matters: what is lost before the first id is lost for good.
    Cannot tell: only 2025-11-25 says so. Noted once a server. A stream is over, and need not be taken up again, when
    its request was cancelled or its session was deleted.
    """
    if isinstance(event, Message):
        stream = stream_of(event)
        if event.dir != "s2c" or stream is None or stream.method != "POST" or ctx.version != PRIMED_IN:
            return
        if "unprimed" in stream.odd and ctx.first("primed"):
            ctx.tested()
            yield ctx.finding(event, saw=event.kind, expected="an event with an id and no data",
                              text="the event stream does not begin with a priming event")  # fmt: skip
        elif stream.primed:
            ctx.tested()
        return
    http = event.http
    stream = http.facts.get("stream") if http is not None else None
    if http is None or stream is None or stream.method != "POST" or stream.answered or not stream.last:
        return
    if http.closed_by != "server" or http.error or http.cut or ctx.version != PRIMED_IN:
        return
    if stream.of.over or (ctx.exchange is not None and ctx.exchange.cancel is not None):
        return
    ctx.tested()
    if stream.retry is None:
        yield ctx.finding(event, saw="closed without a response", expected="a retry field before it", path="retry",
                          text="the stream is closed early and does not say when to come back")  # fmt: skip

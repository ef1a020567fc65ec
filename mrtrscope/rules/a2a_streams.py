"""Rules of A2A on streams of events, on the ids of answers, and on heads."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qsl, urlsplit

from mrtrscope.link import agents
from mrtrscope.rules.a2a_tasks import met, now
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    A2A_ONLY,
    CLIENT,
    EXTRA,
    FAULT,
    MUST,
    MUST_NOT,
    REQUEST,
    RESULT,
    SERVER,
    STRAY,
    rule,
)
from mrtrscope.wire.events import Message

STREAMED = "SendStreamingMessage"
FOLLOWED = "SubscribeToTask"
EARLIER = frozenset({"message/stream", "tasks/resubscribe"})


@rule("a2a/stream-begins-with-task", level=MUST, fault=SERVER, on=RESULT, eras=A2A_ONLY,
      methods={STREAMED, FOLLOWED}, source="A2A 1.0 §3.1.2 Send Streaming Message")  # fmt: skip
def begins_in_the_middle(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A stream begins with neither a task nor a message.

    Why it matters: the client is told of changes to what it was never shown.
    Cannot tell: the stream of a message to a task that the client has already: whether that has to begin with the
    task anew is read both ways.
    """
    if answer.sse is None or ctx.exchange is None:
        return
    follows = ctx.exchange.method == FOLLOWED
    if not follows and agents.named(ctx.exchange.request):
        return
    ctx.tested()
    expected = [agents.TASK] if follows else [agents.TASK, agents.MESSAGE]
    what = now(ctx).get("what", "")
    if what not in expected:
        yield ctx.finding(answer, saw=what or sorted(answer.result)[:8], expected=expected)


@rule("a2a/message-ends-stream", level=MUST, fault=SERVER, on=EXTRA, eras=A2A_ONLY, methods={STREAMED},
      source="A2A 1.0 §3.1.2 Send Streaming Message")  # fmt: skip
def goes_on_after_a_message(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A stream that answers with a message goes on after it.

    Why it matters: a message is all there is: clients close the stream, and what comes later is lost.
    Cannot tell: when what came before on the stream was not recorded.
    """
    before = met(ctx).get("before")
    if before is None:
        return
    ctx.tested()
    if before["what"] == agents.MESSAGE:
        yield ctx.finding(answer, saw=now(ctx).get("what") or answer.kind, expected="the end of the stream")


@rule("a2a/stream-ends-with-task", level=MUST, fault=SERVER, on=EXTRA, eras=A2A_ONLY, methods={STREAMED, FOLLOWED},
      source="A2A 1.0 §3.1.2 Send Streaming Message")  # fmt: skip
def goes_on_after_the_end(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A stream goes on after the state that ends its task.

    Why it matters: clients stop reading there: an artifact that comes later is lost.
    Cannot tell: the whole task may be told once more; another state is a breach of its own; how long a server leaves a
    stream open that says nothing.
    """
    over, told = met(ctx).get("over"), now(ctx)
    if over is None or over[1] == answer.key:
        return
    ctx.tested()
    if (
        answer.kind == "response"
        and (told.get("state") or "") in ("", over[0])
        and told.get("what") != agents.TASK
    ):
        yield ctx.finding(
            answer, saw=told.get("what") or "a result", expected="the end of the stream", also=[over[1]],
            text=f"the task was {over[0]}, and its stream went on",
        )  # fmt: skip


@rule("a2a/final-is-final", level=MUST_NOT, fault=SERVER, on=EXTRA, eras=A2A_ONLY, methods=EARLIER,
      source="A2A 0.3 §7.2.2 TaskStatusUpdateEvent, final")  # fmt: skip
def goes_on_after_final(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A stream goes on after the event that it called final.

    Why it matters: clients stop reading there.
    Cannot tell: when what came before on the stream was not recorded.
    """
    before = met(ctx).get("before")
    if before is None:
        return
    ctx.tested()
    if before["final"]:
        yield ctx.finding(answer, saw=now(ctx).get("what") or answer.kind, expected="the end of the stream")


@rule("a2a/response-id", level=MUST, fault=SERVER, on=STRAY, exercised=(RESULT, FAULT, EXTRA, STRAY), eras=A2A_ONLY,
      source="A2A 1.0 §9.3 Base Request Structure (JSON-RPC 2.0 §5)")  # fmt: skip
def another_id(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An answer has another id than the request that it answers.

    Why it matters: the client cannot tell what it is the answer to, and goes on waiting.
    Cannot tell: an answer that stands in no HTTP exchange of a request: which one is meant is not known then.
    """
    if ctx.exchange is not None:
        request = ctx.exchange.request
        yield ctx.finding(answer, saw=answer.id_text, expected=request.id_text, also=[request], path="/id")


@rule("a2a/version-header", level=MUST, fault=CLIENT, on=REQUEST, eras=A2A_ONLY, methods=agents.LATER,
      source="A2A 1.0 §3.6.1 Client Responsibilities")  # fmt: skip
def no_version(request: Message, ctx: Context) -> Iterator[Finding]:
    """A request of A2A 1.x does not say its version.

    Why it matters: an agent has to take it for 0.3, whose methods and objects have other names.
    Cannot tell: where there is no HTTP. The version may stand in the query of the address as well.
    """
    if request.http is None:
        return
    ctx.tested()
    if request.http.request_header(agents.VERSION_HEADER):
        return
    if not any(name.lower() == agents.VERSION_HEADER and value for name, value in _query(request.http.url)):
        yield ctx.finding(request, saw="no A2A-Version", expected="A2A-Version: 1.0", path="A2A-Version")


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, max_num_fields=100)
    except ValueError:
        return []

"""The tasks extension (SEP-2663): polling, answers to the questions of a task, and its end."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.session import Channel
from mrtrscope.link.tasks import (
    CANCEL,
    GET,
    TERMINAL,
    TOLD,
    UPDATE,
    seen_of,
    subscribed,
    told_of,
)
from mrtrscope.link.tools import CALL
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    CHANNEL_PRESENT,
    CLIENT,
    MUST,
    MUST_NOT,
    REMARKED,
    SERVER,
    SHOULD,
    SHOULD_NOT,
    rule,
)
from mrtrscope.rules.task_access import LOST, UNKNOWN_METHOD, not_found
from mrtrscope.rules.task_objects import TASKED
from mrtrscope.rules.tasks import FROM_CLIENT, FROM_SERVER, SEP
from mrtrscope.wire.events import Message

SECOND = 1_000_000
SKEW = 5 * SECOND  # between the clocks of the server and of the recording
INTERVALS = 10  # without a poll, while the client is busy otherwise
_TASK_MEMBERS = frozenset({
    "taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttlMs", "ttl", "pollIntervalMs", "pollInterval",
    "result", "error", "inputRequests", "requestState", "task",
})  # fmt: skip


@rule("tasks/durable-before-answer", level=MUST_NOT, fault=SERVER, on=REMARKED, methods=(GET,), dirs=FROM_SERVER,
      source=SEP + "task-creation")  # fmt: skip
def handed_out_too_soon(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The first poll of a task that was just created does not find it.

    Why it matters: the client takes it for lost and gives up, or starts the work again.
    Cannot tell: refusals for access, headers or capabilities; or when its ttl has passed.
    """
    seen = seen_of(ctx.exchange, answer)
    if seen is None or ctx.exchange is None or not seen.record.created or seen.record.gets != 1:
        return
    record = seen.record
    if record.ttl is not None and ctx.exchange.t - record.t > record.ttl * 1000:
        return
    ctx.tested()
    if not_found(answer):
        after = (ctx.exchange.t - record.t) / SECOND
        yield ctx.finding(answer, saw=f"{said.code(answer)}, {after:.2f} s after it was created", expected="the task",
                          also=[ctx.exchange.request, record.created])  # fmt: skip


@rule("tasks/no-early-expiry", level=ADVISORY, fault=SERVER, on=REMARKED, methods=(GET,), dirs=FROM_SERVER,
      source=SEP + "tasks")  # fmt: skip
def forgotten_too_soon(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A task is not found before the time is over for which the server said it keeps it.

    Why it matters: its result is lost, though the client came in time.
    Cannot tell: within five seconds of that time; and when the creation was not seen. The first poll has
    tasks/durable-before-answer.
    """
    seen = seen_of(ctx.exchange, answer)
    if seen is None or not seen.record.created or seen.record.gets < 2 or seen.record.ttl is None:
        return
    until = seen.record.t + seen.record.ttl * 1000
    if answer.t > until - SKEW:
        return
    ctx.tested()
    if not_found(answer):
        age, kept = (answer.t - seen.record.t) / SECOND, seen.record.ttl / 1000
        yield ctx.finding(answer, saw=f"not found after {age:.0f} s", expected=f"kept for {kept:.0f} s",
                          also=[seen.record.created, seen.before_key or None])  # fmt: skip


@rule("tasks/poll-interval-respected", level=SHOULD, fault=CLIENT, on=REMARKED, methods=(GET,), dirs=FROM_CLIENT,
      source=SEP + "task-polling")  # fmt: skip
def polls_too_often(request: Message, ctx: Context) -> Iterator[Finding]:
    """A task is polled more often than the server asked for.

    Why it matters: the server named the interval that it can bear, or that makes sense for the work.
    Cannot tell: a single early poll, or one right after an update or a notification; three under 80 percent count.
    """
    seen = seen_of(ctx.exchange, request)
    if seen is None or seen.record.poll is None:
        return
    ctx.tested()
    if seen.hasty:
        yield ctx.finding(
            request, saw=f"{seen.hasty // 1000} ms after the poll before, for the third time",
            expected=f"{seen.record.poll} ms", also=[seen.record.status_key or None],
        )  # fmt: skip


@rule("tasks/polled-to-terminal", level=SHOULD, fault=CLIENT, on=CHANNEL_PRESENT, eras=ANY_ERA,
      source=SEP + "task-polling")  # fmt: skip
def task_left_alone(channel: Channel, ctx: Context) -> Iterator[Finding]:
    """A task is neither polled to its end nor cancelled, while its client goes on with other things.

    Why it matters: the server works on, and keeps a result that nobody fetches.
    Cannot tell: what comes after the recording; only noted. A subscription to the task is as good.
    """
    for id, (at, t, poll, _, active) in channel.facts.get("running", {}).items():
        ctx.tested()
        if active - t > INTERVALS * poll * 1000 and not subscribed(channel, at, id):
            saw = f"not polled for {(active - t) // SECOND} s"
            yield ctx.finding(
                at, saw=saw, expected="a terminal status, or tasks/cancel", level="info", path=id
            )


@rule("tasks/input-key-unique", level=MUST, fault=SERVER, on=TASKED, methods=(GET, TOLD), dirs=FROM_SERVER,
      source=SEP + "task-update-requests")  # fmt: skip
def key_used_again(message: Message, ctx: Context) -> Iterator[Finding]:
    """A task asks something under a key that it used before.

    Why it matters: the client answered that key and does not ask again, or its old answer is taken for the new one.
    Cannot tell: the same question in the polls before the answer took effect.
    """
    seen = seen_of(ctx.exchange, message) or told_of(ctx.channel, message)
    if seen is None or not seen.record.keys:
        return
    ctx.tested()
    for key, how, before in seen.reused:
        text = "a key of the task stands for another question than before"
        if how == "again":
            text = "a question of the task comes again that was answered and gone"
        where = "params" if message.kind == "notification" else "result"
        yield ctx.finding(message, saw=key, expected="a new key", also=[before], text=text,
                          path=pointer(where, "inputRequests", key))  # fmt: skip


@rule("tasks/input-via-update", level=SHOULD_NOT, fault=CLIENT, on=REMARKED, methods=(CALL,), dirs=FROM_CLIENT,
      source=SEP + "example-message-flow")  # fmt: skip
def answers_by_calling_again(request: Message, ctx: Context) -> Iterator[Finding]:
    """Questions of a task are answered by calling the tool again.

    Why it matters: the call begins anew, and the task goes on waiting for tasks/update.
    Cannot tell: when an input_required result of the same call explains it.
    """
    exchange = ctx.exchange
    if exchange is None or "inputResponses" not in request.params:
        return
    seen = seen_of(exchange, request)
    if seen is None or exchange.link is not None:
        return
    ctx.tested()
    yield ctx.finding(request, saw=sorted(exchange.answers), expected=f"{UPDATE} of {seen.id}",
                      path="/params/inputResponses", also=[seen.record.status_key or None])  # fmt: skip


@rule("tasks/update-keys-outstanding", level=MUST, fault=CLIENT, on=REMARKED, methods=(UPDATE,), dirs=FROM_CLIENT,
      source=SEP + "request")  # fmt: skip
def answers_what_was_not_asked(request: Message, ctx: Context) -> Iterator[Finding]:
    """An update answers a key that its task never asked for, or one that was answered before.

    Why it matters: the server passes it over, and what it did ask for stays without an answer.
    Cannot tell: when no question of the task was seen: it may have come on a subscription that is not recorded.
    """
    seen = seen_of(ctx.exchange, request)
    if seen is None or not seen.record.keys:
        return
    ctx.tested()
    also = [row[2] for row in seen.record.keys.values()][-4:]
    for key in seen.unknown:
        yield ctx.finding(request, saw=key, expected=sorted(seen.record.keys), also=also,
                          path=pointer("params", "inputResponses", key))  # fmt: skip
    for key in seen.twice:
        yield ctx.finding(request, saw=key, expected="one answer", level="should", also=[seen.record.keys[key][2]],
                          path=pointer("params", "inputResponses", key),
                          text="a question of a task is answered a second time")  # fmt: skip


@rule("tasks/update-extra-keys-ignored", level=SHOULD, fault=SERVER, on=REMARKED, methods=(UPDATE,), dirs=FROM_SERVER,
      source=SEP + "response")  # fmt: skip
def refuses_other_keys(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An update is refused because it answers more or less than what was asked.

    Why it matters: answers may cross with the questions; the sound ones are lost with the rest.
    Cannot tell: the reason, unless the keys differ from those that wait. A task that is over may be refused.
    """
    seen, exchange = seen_of(ctx.exchange, answer), ctx.exchange
    if seen is None or exchange is None or not seen.known or not seen.partial or seen.record.over:
        return
    code = said.code(answer)
    if code in said.EXPLAINED_CODES or code == UNKNOWN_METHOD or LOST.search(said.words(answer)):
        return
    ctx.tested()
    if answer.kind == "error":
        yield ctx.finding(answer, saw=code, expected="an empty result", also=[exchange.request])


@rule("tasks/ack-empty", level=MUST, fault=SERVER, on=REMARKED, methods=(UPDATE, CANCEL), dirs=FROM_SERVER,
      source=SEP + "task-update-requests")  # fmt: skip
def acknowledges_with_a_task(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An update or a cancellation of a task is acknowledged with more than an empty result.

    Why it matters: the task may change right after; clients that read it there do not poll.
    Cannot tell: nothing; it speaks whenever such a message is seen. Members that no task has are passed over.
    """
    if seen_of(ctx.exchange, answer) is None or answer.kind != "response":
        return
    ctx.tested()
    more = sorted(_TASK_MEMBERS.intersection(answer.result))
    if more:
        yield ctx.finding(answer, saw=more, expected="resultType alone", path="/result")


@rule("tasks/terminal-final", level=SHOULD, fault=SERVER, on=TASKED, methods=(GET, TOLD), dirs=FROM_SERVER,
      source="docs/extensions/tasks/overview#task-lifecycle")  # fmt: skip
def comes_back_to_life(message: Message, ctx: Context) -> Iterator[Finding]:
    """A task that was over has another status.

    Why it matters: the client has taken its result, and does not look again.
    Cannot tell: a status that was not recorded: the first one seen counts.
    """
    seen = seen_of(ctx.exchange, message) or told_of(ctx.channel, message)
    if seen is None or seen.before not in TERMINAL or seen.record.status_key != message.key:
        return
    ctx.tested()
    if seen.record.status != seen.before:
        yield ctx.finding(message, saw=seen.record.status, expected=seen.before, also=[seen.before_key])

"""basic/patterns/cancellation: what may be cancelled, by whom, and what may still follow."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import Operation
from mrtrscope.link.pairing import past_key
from mrtrscope.link.processes import LISTEN
from mrtrscope.rules import facets
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.jsonrpc_form import sender
from mrtrscope.rules.registry import (
    ADVISORY,
    BOTH,
    CLIENT,
    EITHER,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    PRESENT,
    REMARKED,
    SERVER,
    SETTLED,
    SHOULD,
    SHOULD_NOT,
    SIGNAL,
    STRAY,
    rule,
)
from mrtrscope.wire.events import ABSENT, EXIT, Message, Signal
from mrtrscope.wire.jsonrpc import id_text

PAGE = "2026-07-28/basic/patterns/cancellation"
ITEM = PAGE + "#behavior-requirements item "
CANCELLED = ("notifications/cancelled",)
SECOND = 1_000_000
GRACE = SECOND  # what comes within it after a cancellation may have been under way
BELIEF = 5 * SECOND  # for so long a client may not have read an answer that was written to it; ours


@rule("cancel/request-id-valid", level=MUST, fault=EITHER, on=NOTIFICATION, methods=CANCELLED,
      source="schema/2026-07-28/schema.ts CancelledNotificationParams")  # fmt: skip
def cancels_nothing_nameable(message: Message, ctx: Context) -> Iterator[Finding]:
    """A cancellation does not name a request by a string or integer, or its reason is no string.

    Why it matters: the receiver cannot know what to stop, and goes on.
    Cannot tell: nothing; it speaks whenever such a message is seen. 7.0 is the integer 7.
    """
    ctx.tested()
    params, fault = message.params, sender(message)
    id = params.get("requestId", ABSENT)
    if not (type(id) in (int, str) or (isinstance(id, float) and id.is_integer())):
        yield ctx.finding(
            message, saw="absent" if id is ABSENT else id, expected="a string or an integer", path="/params/requestId",
            fault=fault,
            text="a cancellation names no request" if id is ABSENT else "requestId is no string or integer",
        )  # fmt: skip
    if type(params.get("reason", "")) is not str:
        yield ctx.finding(message, saw=params["reason"], expected="a string", path="/params/reason", fault=fault,
                          text="the reason of a cancellation is no string")  # fmt: skip


@rule("cancel/references-own-request", level=MUST, fault=CLIENT, on=NOTIFICATION, methods=CANCELLED, dirs=("c2s",),
      source=ITEM + "1")  # fmt: skip
def cancels_what_was_never_sent(message: Message, ctx: Context) -> Iterator[Finding]:
    """The client cancels a request that it never sent.

    Why it matters: what it meant to stop goes on.
    Cannot tell: unless the process is recorded from its start and without a gap. Ids are compared with their type.
    """
    id = message.params.get("requestId")
    process = ctx.channel.processes.get(message.peer.id)
    if type(id) not in (int, str) or process is None or not process.known:
        return
    ctx.tested()
    past = past_key(message.peer.id + "c2s", id_text(id) or "")
    if ctx.exchange is None and ctx.memory.get("past", past) is None:
        yield ctx.finding(
            message, saw=id, expected="the id of a request of this client", path="/params/requestId"
        )


@rule("cancel/references-pending-request", level=MUST, fault=CLIENT, on=NOTIFICATION, methods=CANCELLED, dirs=("c2s",),
      source=ITEM + "1")  # fmt: skip
def cancels_what_was_answered(message: Message, ctx: Context) -> Iterator[Finding]:
    """The client cancels a request that was answered long before.

    Why it matters: it seems to mean another request, a later round of the same call perhaps, and that one goes on.
    Cannot tell: what the client believed. An answer that was written less than five seconds before may have crossed the
    cancellation.
    """
    exchange = ctx.exchange
    if (
        exchange is None
        or exchange.cancel is message
        or exchange.answer is None
        or exchange.cancel is not None
    ):
        return
    ctx.tested()
    since = message.t - exchange.answer.t
    if since > BELIEF:
        yield ctx.finding(
            message,
            saw=f"answered {since / SECOND:.0f} s before",
            expected="a request that waits for its answer",
            also=[exchange.request, exchange.answer],
            path="/params/requestId",
        )


@rule("cancel/server-only-for-listen", level=MUST_NOT, fault=SERVER, on=NOTIFICATION, methods=CANCELLED, dirs=("s2c",),
      source=ITEM + "2")  # fmt: skip
def server_cancels_a_request(message: Message, ctx: Context) -> Iterator[Finding]:
    """The server cancels something else than a subscription.

    Why it matters: only the client may give a request up; it still waits for the answer.
    Cannot tell: an id that may lie before the recording.
    """
    exchange = ctx.exchange
    id = message.params.get("requestId")
    if exchange is not None and exchange.request.id_text == id_text(id):
        ctx.tested()
        if exchange.method != LISTEN:
            yield ctx.finding(message, saw=exchange.method, expected=LISTEN, also=[exchange.request])
        return
    process = ctx.channel.processes.get(message.peer.id)
    if message.http is None and type(id) in (int, str) and process is not None and process.known:
        ctx.tested()
        if ctx.memory.get("past", past_key(message.peer.id + "c2s", id_text(id) or "")) is None:
            yield ctx.finding(message, saw=id, expected="the id of a subscription", path="/params/requestId",
                              text="the server cancels a request that was never sent")  # fmt: skip


@rule("cancel/server-teardown-signalled", level=ADVISORY, fault=SERVER, on=SIGNAL, signals=(EXIT,),
      source=PAGE + " (introduction)")  # fmt: skip
def leaves_subscriptions_open(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The server ends by itself and in good order, and does not end its subscriptions first.

    Why it matters: the client cannot tell an end from a crash.
    Cannot tell: the pages disagree on how it is signalled, so either way is accepted and it is only noted.
    """
    process = ctx.channel.processes.get(event.peer.id)
    if process is None or not process.listened or process.code != 0 or process.eof is not None:
        return
    ctx.tested()
    if process.listens:
        yield ctx.finding(
            event, saw=f"{len(process.listens)} open", expected="notifications/cancelled, or a result for each",
            also=list(process.listens.values())[:16],
        )  # fmt: skip


@rule("cancel/no-response-after-cancel", level=SHOULD_NOT, fault=SERVER, on=REMARKED, dirs=("s2c",), eras=BOTH,
      source=ITEM + "3")  # fmt: skip
def answers_what_was_cancelled(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A request is answered more than a second after it was cancelled.

    Why it matters: work was done that nobody wanted; the client has forgotten the request.
    Cannot tell: when the server read the cancellation. What comes within a second may have been under way; the closing
    result of a subscription is only noted.
    """
    exchange = ctx.exchange
    cancel = exchange.cancel if exchange is not None else None
    if exchange is None or cancel is None or cancel.dir != "c2s" or answer.kind == "request":
        return
    ctx.tested()
    late = answer.t - cancel.t
    if late > GRACE:
        yield ctx.finding(
            answer, saw=f"{answer.kind}, {late / SECOND:.1f} s after the cancellation", expected="no response",
            also=[exchange.request, cancel], level="info" if exchange.method == LISTEN else None,
        )  # fmt: skip


@rule("cancel/client-timeout-cancels", level=SHOULD, fault=CLIENT, on=(SETTLED, PRESENT), eras=BOTH, facet="ended",
      source=PAGE + "#timeouts")  # fmt: skip
def never_times_out(operation: Operation, ctx: Context) -> Iterator[Finding]:
    """A request waited for more than ten minutes, without progress, and was not cancelled.

    Why it matters: after its timeout a client should say that it no longer waits.
    Cannot tell: how long its timeout is, so it is only noted.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.dir != "c2s" or exchange.method == LISTEN or exchange.noted:
        return
    until = exchange.t_end if exchange.t_end is not None else ctx.channel.last
    if until - exchange.t > facets.LONG and exchange.cancel is None:
        ctx.tested()
        waited = f"{(until - exchange.t) // SECOND} s"
        yield ctx.finding(exchange.request, saw=waited, expected="notifications/cancelled", level="info")


@rule("cancel/invalid-ignored", level=SHOULD, fault=SERVER, on=(STRAY, SIGNAL), signals=(EXIT,), dirs=("s2c",),
      source=PAGE + "#error-handling")  # fmt: skip
def reacts_to_a_vain_cancellation(event: Message | Signal, ctx: Context) -> Iterator[Finding]:
    """A cancellation that names nothing open is answered, or the server ends over it.

    Why it matters: races make such cancellations common; whoever sent one does not expect an answer.
    Cannot tell: what comes more than a second later, or while something unreadable waits for an answer.
    """
    process = ctx.channel.processes.get(event.peer.id)
    if process is None or not process.cancel or not 0 <= event.t - process.cancel_t <= GRACE:
        return
    if isinstance(event, Signal):
        crashed = process.eof is None and (process.code not in (0, None) or process.signal is not None)
        if crashed and process.said_key == process.cancel:
            ctx.tested()
            yield ctx.finding(event, saw=event.detail, expected="silence", also=[process.cancel])
        return
    nameless = event.id is None or event.id is ABSENT
    if event.id_text == process.cancel_id or (
        nameless and process.said_key == process.cancel and not process.excused
    ):
        ctx.tested()
        yield ctx.finding(event, saw=event.kind, expected="silence", also=[process.cancel])

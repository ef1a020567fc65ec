"""basic/patterns/subscriptions: opening a stream, its acknowledgment, and the id that everything on it carries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import MODERN, UNKNOWN, Operation
from mrtrscope.link.heads import essence
from mrtrscope.link.origins import split
from mrtrscope.link.processes import LISTEN
from mrtrscope.link.servers import advertised
from mrtrscope.link.subscriptions import (
    ACKNOWLEDGED,
    CANCELLED,
    FLAGS,
    SUBSCRIPTION,
    TYPES,
    Filter,
    listen_of,
    listen_of_notification,
    of_process,
    open_ones,
    other_type,
)
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import pointer
from mrtrscope.rules.registry import (
    ADVISORY,
    CLIENT,
    MUST,
    NOTIFICATION,
    PRESENT,
    REQUEST,
    RESULT,
    SERVER,
    SETTLED,
    SHOULD,
    rule,
)
from mrtrscope.wire.events import ABSENT, Message
from mrtrscope.wire.jsonrpc import id_text

PAGE = "2026-07-28/basic/patterns/subscriptions"
LISTENS = (LISTEN,)
FROM_SERVER, FROM_CLIENT = ("s2c",), ("c2s",)
# A process that served nothing yet is of no era; who asked to listen is a modern client all the same.
LISTENED = frozenset({MODERN, UNKNOWN})
REQUEST_SCOPED = ("notifications/message", "notifications/progress")
SECOND = 1_000_000
ACKNOWLEDGED_WITHIN = 10 * SECOND  # ours
ID = pointer("params", "_meta", SUBSCRIPTION)
BACKED = {
    "toolsListChanged": ("tools", "listChanged"),
    "promptsListChanged": ("prompts", "listChanged"),
    "resourcesListChanged": ("resources", "listChanged"),
    "resourceSubscriptions": ("resources", "subscribe"),
}


@rule("subscriptions/filter-present", level=MUST, fault=CLIENT, on=REQUEST, methods=LISTENS, dirs=FROM_CLIENT,
      source="schema/2026-07-28/schema.ts SubscriptionsListenRequestParams, SubscriptionFilter")  # fmt: skip
def listens_without_filter(request: Message, ctx: Context) -> Iterator[Finding]:
    """A subscription does not say in a filter what it is for, or says it in another type.

    Why it matters: the server cannot know what to send, and must send nothing that was not asked for.
    Cannot tell: what members of extensions mean. A filter that asks for nothing is legal, and noted.
    """
    ctx.tested()
    wanted = request.params.get("notifications", ABSENT)
    if type(wanted) is not dict:
        saw = "absent" if wanted is ABSENT else wanted
        yield ctx.finding(request, saw=saw, expected="an object", path="/params/notifications")
        return
    for name in FLAGS:
        if name in wanted and type(wanted[name]) is not bool:
            yield ctx.finding(request, saw=wanted[name], expected="a boolean",
                              path=pointer("params", "notifications", name), text=f"{name} is no boolean")  # fmt: skip
    uris = wanted.get("resourceSubscriptions", [])
    if type(uris) is not list or any(type(uri) is not str for uri in uris):
        yield ctx.finding(request, saw=uris, expected="an array of strings",
                          path="/params/notifications/resourceSubscriptions",
                          text="resourceSubscriptions is no array of strings")  # fmt: skip
    if not wanted:
        yield ctx.finding(request, saw={}, path="/params/notifications", level="info",
                          text="the filter asks for nothing")  # fmt: skip


@rule("subscriptions/ack-first", level=MUST, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER, eras=LISTENED,
      source=PAGE + "#acknowledgment")  # fmt: skip
def tells_before_acknowledging(message: Message, ctx: Context) -> Iterator[Finding]:
    """A notification of a subscription comes before its acknowledgment, or a second acknowledgment comes.

    Why it matters: until it is acknowledged, the client does not know what it will get, and may drop what comes.
    Cannot tell: a cancellation, or on stdio what names another subscription. One finding for each subscription.
    """
    found = listen_of_notification(ctx.channel, message, ctx.exchange)
    if found is None or message.method == CANCELLED:
        return
    ctx.tested()
    if found.early == message.key:
        yield ctx.finding(message, saw=message.method, expected=ACKNOWLEDGED, also=[found.key],
                          text="a notification of the subscription comes before its acknowledgment")  # fmt: skip
    elif message.method == ACKNOWLEDGED and found.ack and found.ack != message.key:
        yield ctx.finding(message, saw="a second acknowledgment", expected="one", also=[found.key, found.ack],
                          text="the subscription is acknowledged twice")  # fmt: skip


@rule("subscriptions/ack-sent", level=MUST, fault=SERVER, on=(SETTLED, PRESENT), methods=LISTENS,
      source=PAGE + "#acknowledgment")  # fmt: skip
def never_acknowledged(operation: Operation, ctx: Context) -> Iterator[Finding]:
    """A subscription is neither acknowledged nor refused.

    Why it matters: the client does not know whether it will hear of anything, and waits.
    Cannot tell: within ten seconds, or when the client gave it up before, or the connection or process was lost.
    """
    exchange = ctx.exchange
    found = listen_of(exchange)
    if found is None or exchange is None:
        return
    answer = exchange.answer
    if found.ack or (answer is not None and answer.kind == "error"):
        ctx.tested()
        return
    http = exchange.http
    if http is not None and (http.ours or http.cut or (http.status is not None and http.status >= 400)):
        return
    until = exchange.t_end if exchange.t_end is not None else ctx.channel.last
    waited = until - exchange.t
    ended = answer is not None or (
        http is not None
        and http.status is not None
        and http.t_end is not None
        and http.closed_by == "server"
        and not http.error
    )
    if waited <= ACKNOWLEDGED_WITHIN and not ended:
        return
    if exchange.state in ("lost", "cancelled") and not ended and waited <= ACKNOWLEDGED_WITHIN:
        return
    ctx.tested()
    saw = "ended without" if ended else f"nothing in {waited // SECOND} s"
    yield ctx.finding(exchange.request, saw=saw, expected=ACKNOWLEDGED, also=[answer])


@rule("subscriptions/ack-subset", level=MUST, fault=SERVER, on=NOTIFICATION, methods=(ACKNOWLEDGED,), dirs=FROM_SERVER,
      eras=LISTENED, source=PAGE + "#acknowledgment")  # fmt: skip
def acknowledges_what_nobody_wanted(message: Message, ctx: Context) -> Iterator[Finding]:
    """An acknowledgment names what the subscription did not ask for, or nothing at all.

    Why it matters: the client learns from it what it will hear of, and cannot rely on it.
    Cannot tell: addresses that only a different spelling tells apart; these are noted.
    """
    found = listen_of_notification(ctx.channel, message, ctx.exchange)
    if found is None:
        return
    ctx.tested()
    named = message.params.get("notifications", ABSENT)
    if type(named) is not dict:
        yield ctx.finding(message, saw="absent" if named is ABSENT else named, expected="an object",
                          path="/params/notifications", also=[found.key],
                          text="the acknowledgment does not say what was accepted")  # fmt: skip
        return
    for name in FLAGS:
        if name not in named or name in found.wanted.types:
            continue
        note = "info" if named[name] is not True else None
        yield ctx.finding(message, saw=named[name], expected="left out, as it was not asked for", level=note,
                          path=pointer("params", "notifications", name), also=[found.key],
                          text=f"{name} is acknowledged and was not asked for")  # fmt: skip
    accepted, wanted = Filter(named).uris, found.wanted.uris
    if accepted is None or wanted is None:
        return
    spelled = {_spelling(uri) for uri in wanted}
    for uri in accepted:
        if uri not in wanted:
            same = _spelling(uri) in spelled
            yield ctx.finding(
                message, saw=uri, expected=wanted, level="info" if same else None, also=[found.key],
                path=pointer("params", "notifications", "resourceSubscriptions", uri),
                text="an address is acknowledged in another spelling" if same
                else "an address is acknowledged that was not asked for",
            )  # fmt: skip


def _spelling(uri: str) -> str:
    """One spelling for addresses that mean the same."""
    address = split(uri)
    if address is None:
        return uri.rstrip("/")
    return f"{address.scheme}:{address.host}:{address.port}{address.path.rstrip('/')}?{address.query}{address.fragment}"


@rule("subscriptions/id-present", level=MUST, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER, eras=LISTENED,
      source=PAGE + "#receiving-notifications")  # fmt: skip
def notification_without_subscription(message: Message, ctx: Context) -> Iterator[Finding]:
    """A notification of a subscription does not carry its id.

    Why it matters: a client with several subscriptions, above all on stdio, cannot tell which one it belongs to.
    Cannot tell: progress and log messages, which belong to no subscription; and on stdio, while none is open.
    """
    if message.method in REQUEST_SCOPED or message.method == CANCELLED:
        return
    if message.http is not None:
        if listen_of_notification(ctx.channel, message, ctx.exchange) is None:
            return
    else:
        told = message.method == ACKNOWLEDGED or message.method in TYPES
        if not told or ctx.channel.initialized or not open_ones(ctx.channel, message):
            return
    ctx.tested()
    if SUBSCRIPTION not in message.meta:
        yield ctx.finding(message, saw=sorted(message.meta), expected=SUBSCRIPTION, path="/params/_meta")


@rule("subscriptions/id-equals-listen-id", level=MUST, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER, eras=LISTENED,
      source=PAGE + "#receiving-notifications")  # fmt: skip
def names_another_subscription(message: Message, ctx: Context) -> Iterator[Finding]:
    """A notification carries the id of no subscription, or not of the one on whose stream it is.

    Why it matters: the client throws away what belongs to no subscription of its own.
    Cannot tell: on stdio, unless the process is recorded from its start. 1 and "1" are different ids.
    """
    if SUBSCRIPTION not in message.meta:
        return
    named = message.meta[SUBSCRIPTION]
    if message.http is not None:
        found = listen_of_notification(ctx.channel, message, ctx.exchange)
        if found is None or ctx.exchange is None:
            return
        ctx.tested()
        wanted = ctx.exchange.request.id
        if id_text(named) != found.id:
            yield _wrong_id(ctx, message, named, wanted, found.key, other_type(named, wanted))
        return
    process = ctx.channel.processes.get(message.peer.id)
    known = of_process(ctx.channel, message)
    if process is None or not process.known:
        return
    ctx.tested()
    if id_text(named) not in known:
        like = ctx.exchange is not None and other_type(named, ctx.exchange.request.id)
        ids = [one.id for one in open_ones(ctx.channel, message)][:16]
        yield _wrong_id(ctx, message, named, ids, ctx.exchange.key if ctx.exchange and like else "", like)


def _wrong_id(ctx: Context, message: Message, saw: Any, expected: Any, key: str, type_only: bool) -> Finding:
    text = "the id of the subscription comes back in another JSON type" if type_only else None
    return ctx.finding(message, saw=saw, expected=expected, path=ID, also=[key or None], text=text)


@rule("subscriptions/listen-over-sse", level=SHOULD, fault=SERVER, on=RESULT, methods=LISTENS, dirs=FROM_SERVER,
      source="2026-07-28/basic/transports/streamable-http#receiving-messages")  # fmt: skip
def answers_a_subscription_at_once(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A subscription is answered with a single JSON result instead of a stream.

    Why it matters: there is nothing that notifications could come on; the subscription ended as it began.
    Cannot tell: errors, which may be JSON.
    """
    http = answer.http
    if http is None or http.status is None:
        return
    ctx.tested()
    kind = http.response_header("content-type") or ""
    if essence(kind) == "application/json":
        yield ctx.finding(answer, saw=kind, expected="text/event-stream", path="content-type")


@rule("subscriptions/capability-backed", level=ADVISORY, fault=SERVER, on=NOTIFICATION, methods=(ACKNOWLEDGED,),
      dirs=FROM_SERVER, source="2026-07-28/server/resources#capabilities")  # fmt: skip
def acknowledges_other_than_advertised(message: Message, ctx: Context) -> Iterator[Finding]:
    """What is acknowledged and what the server advertises contradict each other.

    Why it matters: a client that reads the capabilities does not ask for what it could get, or waits for what never
    comes.
    Cannot tell: without a discover result for the same credential.
    """
    found = listen_of_notification(ctx.channel, message, ctx.exchange)
    if found is None or ctx.exchange is None or found.ack != message.key or found.acked is None:
        return
    capabilities = advertised(ctx.channel, ctx.exchange)
    if capabilities is None:
        return
    ctx.tested()
    for name, (area, member) in BACKED.items():
        if name not in found.wanted.types:
            continue
        part = capabilities.get(area)
        offers = type(part) is dict and part.get(member) is True
        accepted = name in found.acked.types
        if offers != accepted:
            text = f"{name} is acknowledged, {area}.{member} is not advertised"
            if offers:
                text = f"{area}.{member} is advertised, {name} is not acknowledged"
            yield ctx.finding(message, saw=found.acked.types, expected=capabilities.get(area), text=text,
                              path=pointer("params", "notifications", name), also=[found.key])  # fmt: skip

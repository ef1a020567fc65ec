"""basic/patterns/subscriptions: what may come on a subscription, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import MODERN
from mrtrscope.link.origins import split
from mrtrscope.link.processes import LISTEN
from mrtrscope.link.session import Channel
from mrtrscope.link.subscriptions import (
    BY_CLIENT,
    BY_SERVER,
    CANCELLED,
    ERROR,
    OPEN,
    RESULT,
    SETTLES,
    SUBSCRIPTION,
    TYPES,
    listen_of,
    listen_of_notification,
    of_process,
    open_ones,
)
from mrtrscope.rules import registry as reg
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    ADVISORY,
    ANY_ERA,
    CHANNEL_PRESENT,
    MUST,
    MUST_NOT,
    NOTIFICATION,
    SERVER,
    SHOULD,
    SIGNAL,
    rule,
)
from mrtrscope.rules.subscriptions import FROM_SERVER, ID, LISTENED, LISTENS, PAGE, REQUEST_SCOPED
from mrtrscope.wire.events import ABSENT, HTTP_END, Message, Signal
from mrtrscope.wire.jsonrpc import id_text

SECOND = 1_000_000
GRACE = SECOND  # what comes within it after a client's cancellation may have been under way
ROUND = (30, 60, 120, 300, 600, 900, 3600)  # seconds after which gateways close idle streams


@rule("subscriptions/only-requested-types", level=MUST_NOT, fault=SERVER, on=NOTIFICATION, methods=TYPES,
      dirs=FROM_SERVER, eras=LISTENED, source=PAGE + "#opening-a-stream")  # fmt: skip
def sends_another_type(message: Message, ctx: Context) -> Iterator[Finding]:
    """A subscription gets a notification of a type that it did not ask for.

    Why it matters: the client has no use for it, and may refetch lists for nothing.
    Cannot tell: what the server left out of its acknowledgment and sends all the same is a should.
    """
    found = listen_of_notification(ctx.channel, message, ctx.exchange)
    if found is None:
        return
    ctx.tested()
    wanted = TYPES[message.method or ""]
    if wanted not in found.wanted.types:
        yield ctx.finding(message, saw=message.method, expected=found.wanted.types, also=[found.key])
    elif found.acked is not None and wanted not in found.acked.types:
        yield ctx.finding(
            message, saw=message.method, expected=found.acked.types, also=[found.key, found.ack], level="should",
            text="a notification comes of a type that the acknowledgment left out",
        )  # fmt: skip


@rule("subscriptions/only-requested-uris", level=MUST_NOT, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER,
      methods=("notifications/resources/updated",), eras=LISTENED, source=PAGE + "#notification-filter")  # fmt: skip
def sends_another_resource(message: Message, ctx: Context) -> Iterator[Finding]:
    """A subscription gets the update of a resource that it did not ask for.

    Why it matters: the client hears of what it may not even be able to read.
    Cannot tell: what counts as part of a resource is the server's to say; only another scheme or authority is certain.
    """
    found = listen_of_notification(ctx.channel, message, ctx.exchange)
    uri = message.params.get("uri")
    if found is None or type(uri) is not str or not found.wanted.uris:
        return
    ctx.tested()
    if any(_within(uri, one) for one in found.wanted.uris):
        return
    foreign = not any(_related(uri, one) for one in found.wanted.uris)
    yield ctx.finding(message, saw=uri, expected=found.wanted.uris, also=[found.key], path="/params/uri",
                      level=None if foreign else "info")  # fmt: skip


def _within(uri: str, asked: str) -> bool:
    """Equal, or below it at the boundary of a path."""
    return uri == asked or uri.rstrip("/") == asked.rstrip("/") or uri.startswith(asked.rstrip("/") + "/")


def _related(uri: str, asked: str) -> bool:
    one, other = split(uri), split(asked)
    if one is None or other is None:
        return one is other
    return (one.scheme, one.authority) == (other.scheme, other.authority)


@rule("subscriptions/no-request-scoped-notifications", level=MUST_NOT, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER,
      methods=REQUEST_SCOPED, eras=LISTENED,
      source="2026-07-28/server/utilities/logging#per-request-log-level")  # fmt: skip
def tells_of_requests_on_a_subscription(message: Message, ctx: Context) -> Iterator[Finding]:
    """Progress or a log message comes on a subscription.

    Why it matters: it belongs on the stream of its own request, where whoever made that looks for it.
    Cannot tell: progress of the subscription itself is unusual, and noted. On progress there is no key word: should.
    """
    exchange = ctx.exchange
    if message.http is not None:
        found = listen_of_notification(ctx.channel, message, exchange)
        if found is None or exchange is None:
            return
    elif SUBSCRIPTION in message.meta:
        found = of_process(ctx.channel, message).get(id_text(message.meta[SUBSCRIPTION]) or "")
    else:
        return
    ctx.tested()
    level = None
    if message.method == "notifications/progress":
        token = message.params.get("progressToken", ABSENT)
        own = (
            exchange is not None
            and listen_of(exchange) is found
            and found is not None
            and token is not ABSENT
            and id_text(token) == id_text(exchange.request.meta.get("progressToken", ABSENT))
        )
        level = "info" if own else "should"
    yield ctx.finding(message, saw=message.method, expected="on the stream of its own request", level=level,
                      also=[found.key if found is not None else None])  # fmt: skip


@rule("subscriptions/list-changed-only-on-listen", level=MUST, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER,
      methods=(*TYPES.keys() - {"notifications/tasks"},), transports=frozenset({"stdio"}), eras=LISTENED,
      source="schema/2026-07-28/schema.ts ToolListChangedNotification, PromptListChangedNotification, "
      "ResourceListChangedNotification, ResourceUpdatedNotification")  # fmt: skip
def tells_whoever_did_not_ask(message: Message, ctx: Context) -> Iterator[Finding]:
    """A change is told to a client that has no subscription for it.

    Why it matters: since this revision changes are opt-in; whoever did not ask does not expect it.
    Cannot tell: unless the process is recorded from its start and never had a handshake. Over HTTP see
    http/stream-notifications-relate.
    """
    process = ctx.channel.processes.get(message.peer.id)
    if message.http is not None or process is None or not process.known or process.handshake:
        return
    known = of_process(ctx.channel, message)
    if ctx.era != MODERN and not known:
        return
    if SUBSCRIPTION in message.meta and id_text(message.meta[SUBSCRIPTION]) in known:
        return  # that subscription did not ask for it, or is over: rules of their own
    ctx.tested()
    wanted = TYPES[message.method or ""]
    if any(wanted in one.wanted.types for one in open_ones(ctx.channel, message)):
        return
    if any(
        one.end not in (OPEN, ERROR) and wanted in one.wanted.types and message.t - one.end_t <= GRACE
        for one in known.values()
    ):
        return  # it may have been under way; what the server refused excuses nothing
    yield ctx.finding(message, saw=message.method, expected=f"{LISTEN} with {wanted}")


@rule("subscriptions/graceful-result", level=SHOULD, fault=SERVER, on=SIGNAL, signals=(HTTP_END,),
      transports=frozenset({"http"}), source=PAGE + "#graceful-closure")  # fmt: skip
def ends_without_a_word(event: Signal, ctx: Context) -> Iterator[Finding]:
    """The server ends a subscription in good order and gives no result.

    Why it matters: the client cannot tell an intended end from a broken connection, and subscribes again at once.
    Cannot tell: resets, or a gateway that closes idle streams; at a round age it is only noted. On stdio see
    cancel/server-teardown-signalled.
    """
    http, exchange = event.http, ctx.exchange
    found = listen_of(exchange)
    if found is None or http is None or exchange is None or http.cut or http.ours or http.status != 200:
        return
    if exchange.answer is not None:
        ctx.tested()
        return
    if http.closed_by != "server" or http.error or http.t_end is None or exchange.cancel is not None:
        return
    if not found.ack:
        return  # subscriptions/ack-sent
    ctx.tested()
    age = (http.t_end - found.t) / SECOND
    idle = any(abs(age - limit) <= 1 for limit in ROUND)
    yield ctx.finding(event, saw=f"closed after {age:.1f} s", expected="a complete result", also=[found.key],
                      level="info" if idle else None)  # fmt: skip


@rule("subscriptions/closing-result-shape", level=MUST, fault=SERVER, on=reg.RESULT, methods=LISTENS, dirs=FROM_SERVER,
      source="schema/2026-07-28/schema.ts SubscriptionsListenResult, SubscriptionsListenResultMetaObject")  # fmt: skip
def closes_without_its_id(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The result that ends a subscription does not repeat its id in `_meta`.

    Why it matters: a client that goes by subscription ids keeps the subscription for an open one.
    Cannot tell: nothing; it speaks whenever such a message is seen. Further members are noted.
    """
    ctx.tested()
    result, exchange = answer.result, ctx.exchange
    meta = result.get("_meta")
    named = meta.get(SUBSCRIPTION, ABSENT) if type(meta) is dict else ABSENT
    path = ID.replace("/params/", "/result/", 1)
    wanted = exchange.request if exchange is not None else answer
    if named is ABSENT:
        yield ctx.finding(answer, saw="absent", expected=wanted.id, path=path)
    elif id_text(named) != wanted.id_text:
        yield ctx.finding(answer, saw=named, expected=wanted.id, path=path,
                          text="the result that ends a subscription names another one")  # fmt: skip
    more = sorted(result.keys() - {"_meta", "resultType"})
    if more:
        yield ctx.finding(answer, saw=more, level="info", path="/result",
                          text="the result that ends a subscription has further members")  # fmt: skip


@rule("subscriptions/nothing-after-close", level=ADVISORY, fault=SERVER, on=NOTIFICATION, dirs=FROM_SERVER,
      eras=LISTENED, source=PAGE + "#cancellation")  # fmt: skip
def tells_after_the_end(message: Message, ctx: Context) -> Iterator[Finding]:
    """A notification carries the id of a subscription that is over.

    Why it matters: the client has forgotten it; the server goes on working for nobody.
    Cannot tell: what comes within a second after the client cancelled may have been under way.
    """
    found = listen_of_notification(ctx.channel, message, ctx.exchange)
    if found is None or message.method == CANCELLED:
        return
    ctx.tested()
    if found.end in (RESULT, BY_SERVER) or (found.end == BY_CLIENT and message.t - found.end_t > GRACE):
        late = (message.t - found.end_t) / SECOND
        yield ctx.finding(message, saw=f"{late:.1f} s after it was over ({found.end})", expected="silence",
                          also=[found.key, found.end_key or None])  # fmt: skip


@rule("subscriptions/list-change-announced", level=SHOULD, fault=SERVER, on=CHANNEL_PRESENT, eras=ANY_ERA,
      source="2026-07-28/server/tools#list-changed-notification")  # fmt: skip
def change_is_not_announced(channel: Channel, ctx: Context) -> Iterator[Finding]:
    """A list changed, somebody had asked to hear of it, and nothing was said.

    Why it matters: clients go on with the old list.
    Cannot tell: lists that depend on who asks; only one client's own lists are compared, whole ones alone, and the
    server has five seconds. It must have declared listChanged.
    """
    for method, at, key, since in channel.facts.get("unannounced", ()):
        if channel.last - at.t > SETTLES:
            ctx.tested()
            text = f"the list changed within {(at.t - since) / SECOND:.1f} s, and no {method} came"
            yield ctx.finding(at, saw="other names than before", expected=method, also=[key], text=text)

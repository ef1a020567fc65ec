"""Which request a notification or an answer belongs to, which one a cancellation names, and what can be known."""

from __future__ import annotations

from collections.abc import Mapping

from mrtrscope.link.facts import A2A, MODERN, Exchange
from mrtrscope.link.pairing import Pending
from mrtrscope.link.processes import LISTEN
from mrtrscope.wire.events import Message
from mrtrscope.wire.jsonrpc import id_text

# Notifications of clients that the core protocol of some revision knows.
_CLIENT_SAYS = frozenset({
    "notifications/initialized", "notifications/progress", "notifications/roots/list_changed",
    "notifications/tasks/status",
})  # fmt: skip
_LOOKED_AT = 16
UNREAD = ("too-long", "too-deep")  # what is kept and not read: a message, of which nobody knows the id


def owner(pending: Pending, scope: str, message: Message, on: Exchange | None) -> tuple[Exchange | None, str]:
    """(the exchange that a notification belongs to, key of its operation); `on`: that of its HTTP stream."""
    operation = ""
    if message.method == "notifications/progress":
        if on is None:
            asker = "c2s" if message.dir == "s2c" else "s2c"
            on, operation = pending.with_token(scope, asker, message)
        else:
            on = pending.on_stream(message) or on
    elif on is None and message.dir == "c2s":
        on = _misshapen(pending, scope, message)
    if on is None and message.http is None:
        on = _subscription(pending, scope, message)
    return on, operation


def elsewhere(pending: Pending, scope: str, message: Message) -> Exchange | None:
    """The request of an earlier revision in this session that a response on another stream answers; on the one stream
    of 2024-11-05 also one of a newer, which was tried there."""
    found = pending.waiting(scope, "c2s", message.id_text)
    old = message.http is not None and "pair" in message.http.facts
    return found if found is not None and (old or found.era != MODERN) else None


def named(pending: Pending, scope: str, message: Message, on: Exchange | None) -> Exchange | None:
    """The open request that notifications/cancelled names.

    It is one of its own sender, or, where a server ends a subscription, a modern one of the client (of whatever method;
    over HTTP that of its stream, `on`). Clients that share an HTTP channel without sessions count alike: of their open
    requests with this id none is chosen.
    """
    id = id_text(message.params.get("requestId"))
    found = pending.waiting(scope, message.dir, id)
    if message.http is not None and pending.several(scope, message.dir, id):
        found = None
    if found is not None or message.dir == "c2s":
        return found
    found = on if message.http is not None else pending.waiting(scope, "c2s", id)
    return found if found is not None and found.era == MODERN and found.request.id_text == id else None


def cancels(message: Message, exchange: Exchange) -> bool:
    """Whether notifications/cancelled ends the request that it names: a server can end nothing but a subscription, and
    over the HTTP of this revision a client cancels by closing the stream; what it posts has no force."""
    if exchange.dir != message.dir:
        return exchange.method == LISTEN
    return message.http is None or message.dir != "c2s" or exchange.era != MODERN


def may_be_missing(message: Message, gapped: Mapping[str, bool]) -> bool:
    """Whether what a response answers may lie before the capture, in a gap of it, or in what was too much to read."""
    if message.peer.id in gapped:
        return True
    if message.http is not None and message.dir == "c2s" and message.channel in gapped:
        return True  # a server may have asked on any stream
    if message.http is None:
        return not message.peer.whole
    # A stream of 2024-11-05 begins with the address that its client posts to.
    return message.dir == "s2c" and message.http.method == "GET" and "pair" not in message.http.facts


def _subscription(pending: Pending, scope: str, message: Message) -> Exchange | None:
    """The `subscriptions/listen` request whose id a notification names (subscriptions page, #subscription-id)."""
    wanted = message.meta.get("io.modelcontextprotocol/subscriptionId")
    if wanted is None:
        return None
    for same in pending.by_id.get(scope + "c2s", {}).values():
        if same[0].method == LISTEN and str(same[0].request.id) == str(wanted):
            return same[0]
    return None


def _misshapen(pending: Pending, scope: str, message: Message) -> Exchange | None:
    """The open question of the server that a made-up notification of the client repeats by its id."""
    if message.method in _CLIENT_SAYS:
        return None
    for value in list(message.params.values())[:_LOOKED_AT]:
        if type(value) in (int, str):
            found = pending.waiting(scope, "s2c", id_text(value))
            if found is not None:
                return found
    return None


def posted(pending: Pending, message: Message) -> Exchange | None:
    """Note with an answer that fits no request which ids were posted there; the request, where it was to an agent."""
    if message.http is None:
        return None
    exchanges = pending.by_http.get(message.http.key, [])
    message.http.facts["ids"] = [e.request.id for e in exchanges]
    return exchanges[0] if exchanges and exchanges[0].era == A2A else None

"""Subscriptions: what each `subscriptions/listen` asked for, what was acknowledged, and which have ended.

The one of a request is `Exchange.remarks["listen"]`. `Channel.facts["listening"]` has the last `KEPT` of each process
(stdio; by `Peer.id`, then id_text), or of the channel (HTTP; under "", by key, those that are open).
`Channel.facts["unannounced"]`: [notification, `Mark` of a list, key of the list before it, t of that], lists that
differ though nothing was announced while somebody listened; the last few. `["announced"]`: when each kind was last.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import MODERN, Exchange
from mrtrscope.link.listings import LISTS as LISTINGS
from mrtrscope.link.listings import newest
from mrtrscope.link.marks import mark
from mrtrscope.link.memory import Memory
from mrtrscope.link.offers import offered
from mrtrscope.link.processes import LISTEN
from mrtrscope.link.remarks import remark
from mrtrscope.link.runs import run_of
from mrtrscope.link.session import Channel
from mrtrscope.wire.events import ABSENT, Event, Message
from mrtrscope.wire.jsonrpc import id_text

KEPT, PEERS, URIS, UNANNOUNCED = 256, 64, 1024, 16
SETTLES = 5_000_000  # µs after which a change is no longer announced in time; ours
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
CANCELLED = "notifications/cancelled"
TYPES = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/resources/updated": "resourceSubscriptions",
    "notifications/tasks": "taskIds",
}
FLAGS = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
LISTS = ("resourceSubscriptions", "taskIds")

# How a subscription ended.
OPEN, RESULT, ERROR, BY_SERVER, BY_CLIENT, LOST = (
    "", "result", "error", "cancelled by server", "cancelled by client", "lost",
)  # fmt: skip


class Filter:
    """The contents of a filter, asked for or acknowledged.

    types   of `FLAGS` those that are true, of `LISTS` those that are not empty
    uris, tasks   resourceSubscriptions and taskIds; None when they are no lists of strings, or too long to keep
    """

    __slots__ = ("tasks", "types", "uris")

    def __init__(self, wanted: Any) -> None:
        filter = wanted if type(wanted) is dict else {}
        self.types = [name for name in FLAGS if filter.get(name) is True]
        self.types += [name for name in LISTS if type(filter.get(name)) is list and filter[name]]
        self.uris = _strings(filter.get("resourceSubscriptions"))
        self.tasks = _strings(filter.get("taskIds"))


class Listen:
    """One subscription.

    id, key, t   id_text, key and time of the request      wanted   its filter
    ack          key of the acknowledgment, "" while there is none; `acked`: what it names
    early        key of the first notification of it that came before the acknowledgment
    end          how it ended, "" while it is open; `end_t` when, `end_key` the message that ended it, "" for none
    """

    __slots__ = ("ack", "acked", "early", "end", "end_key", "end_t", "id", "key", "t", "wanted")

    def __init__(self, exchange: Exchange) -> None:
        self.id = exchange.request.id_text or ""
        self.key = exchange.key
        self.t = exchange.t
        self.wanted = Filter(exchange.request.params.get("notifications"))
        self.ack = ""
        self.acked: Filter | None = None
        self.early = ""
        self.end = OPEN
        self.end_t = 0
        self.end_key = ""


class Subscriptions:
    """Keeps them, in `Channel.facts` and in remarks."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def requested(self, channel: Channel, exchange: Exchange) -> None:
        """A client's request was linked."""
        if exchange.method != LISTEN or exchange.era != MODERN:
            return
        found = Listen(exchange)
        remark(exchange, "listen", found)
        peers = channel.facts.setdefault("listening", {})
        known = peers.setdefault(_peer(exchange.request), {})
        name = _name(exchange)
        known.pop(name, None)
        known[name] = found
        if len(known) > KEPT:
            del known[next(iter(known))]
        if len(peers) > PEERS:
            del peers[next(iter(peers))]

    def told(self, channel: Channel, message: Message, exchange: Exchange | None) -> None:
        """A notification of the server."""
        if message.method not in TYPES and "listening" not in channel.facts:
            return
        if message.method in TYPES:
            channel.facts.setdefault("announced", {})[message.method] = message.t
        if "unannounced" in channel.facts and message.method in TYPES:
            rows = channel.facts["unannounced"]
            channel.facts["unannounced"] = [
                r for r in rows if r[0] != message.method or message.t - r[1].t > SETTLES
            ]
        if "listening" not in channel.facts:
            return
        found = listen_of_notification(channel, message, exchange)
        if message.method == ACKNOWLEDGED:
            if found is None and message.http is None:
                # It names none that is known; still somebody was told that a subscription stands.
                waiting = [one for one in open_ones(channel, message) if not one.ack]
                found = waiting[0] if waiting else None
            if found is not None and not found.ack:
                found.ack = message.key
                found.acked = Filter(message.params.get("notifications"))
        elif found is not None and not found.ack and not found.early and not found.end:
            found.early = message.key

    def list_before(self, exchange: Exchange, answer: Message) -> dict[str, Any] | None:
        """The newest whole list that this client saw, asked before the answer is filed; None when it is no list."""
        if exchange.method not in LISTINGS or answer.kind != "response" or exchange.dir != "c2s":
            return None
        return newest(self._memory, exchange, exchange.method)

    def listed(self, channel: Channel, exchange: Exchange, answer: Message, before: dict[str, Any]) -> None:
        """The answer was filed: does a whole list differ from the one before, and nobody said so?"""
        now = newest(self._memory, exchange, exchange.method)
        if now is None or now["key"] != answer.key or now["set"] == before["set"]:
            return
        if before["t"] < run_of(channel, exchange).since:
            return  # another server listed that
        method = LISTINGS[exchange.method][2]
        if not before["client"].surely_same(exchange.client) or not announces(channel, exchange, method):
            return
        if exchange.era == MODERN and not any(
            one.t < before["t"] and TYPES[method] in one.wanted.types
            for one in open_ones(channel, exchange.request)
        ):
            return
        if channel.facts.get("announced", {}).get(method, 0) > before["t"]:
            return
        rows = [
            *channel.facts.get("unannounced", []),
            [method, mark(answer), before["key"], before["t"]],
        ]
        channel.facts["unannounced"] = rows[-UNANNOUNCED:]

    def ended(self, channel: Channel, exchange: Exchange) -> None:
        """A subscription got an answer, was cancelled or cut off."""
        found = listen_of(exchange)
        if found is None or found.end:
            return
        cancel, answer = exchange.cancel, exchange.answer
        if cancel is not None:
            found.end, found.end_key = (BY_CLIENT if cancel.dir == "c2s" else BY_SERVER), cancel.key
        elif answer is not None:
            found.end, found.end_key = (ERROR if answer.kind == "error" else RESULT), answer.key
        else:
            found.end = BY_CLIENT if exchange.state == "cancelled" else LOST
        found.end_t = exchange.t_end or exchange.t
        if exchange.http is not None:
            channel.facts.get("listening", {}).get("", {}).pop(_name(exchange), None)


def listen_of(exchange: Exchange | None) -> Listen | None:
    """The subscription that a request asked for, None when it asked for none."""
    if exchange is None or exchange.remarks is None:
        return None
    found: Listen | None = exchange.remarks.get("listen")
    return found


def listen_of_notification(channel: Channel, message: Message, exchange: Exchange | None) -> Listen | None:
    """The subscription that a notification belongs to: HTTP, that of its stream; stdio, the one it names exactly."""
    if message.http is not None:
        return listen_of(exchange) if exchange is not None and exchange.http is message.http else None
    named = id_text(message.meta.get(SUBSCRIPTION, ABSENT))
    return of_process(channel, message).get(named) if named is not None else None


def of_process(channel: Channel, message: Message) -> dict[str, Listen]:
    """The subscriptions of a stdio process, open or not, by id_text; {} over HTTP."""
    if message.http is not None:
        return {}
    found: dict[str, Listen] = channel.facts.get("listening", {}).get(message.peer.id, {})
    return found


def open_ones(channel: Channel, event: Event) -> list[Listen]:
    """Those of a stdio process that are open, or of an HTTP channel, whoever asked."""
    known: dict[str, Listen] = channel.facts.get("listening", {}).get(_peer(event), {})
    return [one for one in known.values() if not one.end]


def announces(channel: Channel, exchange: Exchange, method: str) -> bool:
    """Whether the server declared that it announces changes of this list, to whom it can: an older HTTP session needs
    a stream of its own for that, so it does not count."""
    if exchange.era != MODERN and exchange.http is not None:
        return False
    capabilities = offered(channel, exchange)
    part = capabilities.get(method.split("/")[1]) if capabilities is not None else None
    return type(part) is dict and part.get("listChanged") is True


def other_type(one: Any, other: Any) -> bool:
    """Whether two ids differ in their type alone: 1 and "1"."""
    return canonical(one) != canonical(other) and str(one) == str(other)


def _strings(value: Any) -> list[str] | None:
    if value is None:
        return []
    if type(value) is not list or len(value) > URIS or any(type(v) is not str for v in value):
        return None
    return value


def _peer(event: Event) -> str:
    return event.peer.id if event.peer.transport == "stdio" else ""


def _name(exchange: Exchange) -> str:
    return (exchange.request.id_text or "") if exchange.http is None else exchange.key

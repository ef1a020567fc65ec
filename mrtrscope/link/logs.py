"""Log messages: which requests asked for them, at what level, and how fast they come.

A request that names a level has the remark `level`: the value as sent, in `_meta` or as `params.level` of the older
logging/setLevel. `Channel.facts`:

leveled   stdio: `Peer.id` -> {key of a modern request that names a level: [rank of it, when it ended or 0]}
lograte   request or `Peer.id` -> [second, messages in it, how many seconds in a row had more than `FAST`]
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import LEGACY, MODERN, Exchange
from mrtrscope.link.remarks import remark
from mrtrscope.link.session import Channel
from mrtrscope.wire.events import Message

LOG_LEVEL = "io.modelcontextprotocol/logLevel"
MESSAGE, SET_LEVEL = "notifications/message", "logging/setLevel"
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
RANK = {name: rank for rank, name in enumerate(LEVELS)}
FAST = 100  # messages in one second that are many
LATE = 1_000_000  # µs after its end for which a request still stands for what was under way
KEPT, PEERS = 256, 64


class Logs:
    """Keeps the facts; it has no state of its own."""

    def requested(self, channel: Channel, exchange: Exchange) -> None:
        """A client's request was linked."""
        request = exchange.request
        meta = request.meta
        if LOG_LEVEL in meta and exchange.era != LEGACY:
            level = meta[LOG_LEVEL]
            remark(exchange, "level", level)
            if exchange.http is None and exchange.era == MODERN:
                self._leveled(channel, exchange, rank(level))
        elif exchange.method == SET_LEVEL:
            remark(exchange, "level", request.params.get("level"))

    def _leveled(self, channel: Channel, exchange: Exchange, rank: int) -> None:
        peers = channel.facts.setdefault("leveled", {})
        known = peers.setdefault(exchange.peer.id, {})
        known[exchange.key] = [rank, 0]
        if len(known) > KEPT:
            del known[next(iter(known))]
        if len(peers) > PEERS:
            del peers[next(iter(peers))]

    def ended(self, channel: Channel, exchange: Exchange) -> None:
        """A client's request was answered, cancelled or cut off."""
        peers = channel.facts.get("leveled")
        if peers is None or exchange.http is not None or exchange.remarks is None:
            return
        if "level" not in exchange.remarks:
            return
        known = peers.get(exchange.peer.id, {})
        if exchange.key in known:
            known[exchange.key][1] = exchange.t_end
        for key in [k for k, row in known.items() if row[1] and row[1] < (exchange.t_end or 0) - LATE]:
            del known[key]

    def told(self, channel: Channel, message: Message, exchange: Exchange | None) -> None:
        """A notification of the server."""
        if message.method != MESSAGE:
            return
        of = exchange.key if exchange is not None else message.peer.id
        rates = channel.facts.setdefault("lograte", {})
        second = message.t // 1_000_000
        last, count, fast = rates.pop(of, (second, 0, 0))
        if second == last:
            count += 1
            fast += count == FAST + 1
        else:
            fast = fast if second == last + 1 and count > FAST else 0
            count = 1
        rates[of] = [second, count, fast]
        if len(rates) > PEERS:
            del rates[next(iter(rates))]


def rank(level: Any) -> int:
    """The place of a level among the eight, -1 for anything else."""
    return RANK.get(level, -1) if type(level) is str else -1


def levels_asked(channel: Channel, message: Message) -> list[int]:
    """Ranks that requests of this stdio process ask for, open ones and those that ended a moment before."""
    known = channel.facts.get("leveled", {}).get(message.peer.id, {})
    return [row[0] for row in known.values() if not row[1] or message.t - row[1] <= LATE]


def seconds_of_flood(channel: Channel, message: Message, exchange: Exchange | None) -> int:
    """How many seconds in a row had too many log messages of this request or process."""
    of = exchange.key if exchange is not None else message.peer.id
    row = channel.facts.get("lograte", {}).get(of, (0, 0, 0))
    return int(row[2])

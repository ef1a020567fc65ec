"""The same request once more after its HTTP answer broke off: another operation, which says after which loss it came.

Nothing on the wire names the lost request, so this is never a fact, and the two stay operations of their own:

    inferred    one lost request alone has the same method and params, of the same client as far as can be told, not
                longer than `WITHIN` ago, and no other repeat came before this one
    ambiguous   several fit, or nothing tells whose they are: all are listed, none is chosen

Whose: the same session of an earlier revision ("session"), certainly the same client ("client"), or everything that is
known of both agrees, though no credentials prove it ("name"). The share is `Operation.more["again"]`, in the form of
`more["within"]` (see `link.nested`).
"""

from __future__ import annotations

from collections import OrderedDict

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import AMBIGUOUS, INFERRED, LEGACY, Client, Exchange
from mrtrscope.link.longs import facts
from mrtrscope.link.memory import digest
from mrtrscope.link.pairing import LOST
from mrtrscope.link.session import scope_of

WITHIN = 60_000_000  # µs from the loss to the repeat; ours
KEPT, SAME = 256, 16  # lost requests that are remembered: kinds, and of each kind
NEVER = frozenset({"initialize", "ping"})  # said again for other reasons


class Lost:
    """A request whose answer broke off at `t`; no more of it than tells whose it was."""

    __slots__ = ("client", "key", "operation", "scope", "t")

    def __init__(self, exchange: Exchange) -> None:
        self.key = exchange.key
        self.operation = exchange.operation.key
        self.t: int = exchange.t_end or exchange.t
        self.client: Client = exchange.client
        self.scope = scope_of(exchange.peer, exchange.request.channel, exchange.http)


class Again:
    """Remembers what was lost of late."""

    def __init__(self) -> None:
        self._lost: OrderedDict[bytes, list[Lost]] = OrderedDict()

    def ended(self, exchange: Exchange) -> None:
        """A client's request was answered, or will not be."""
        http = exchange.http
        if http is None or exchange.part or exchange.link or exchange.method in NEVER:
            return
        if exchange.state != LOST:
            if self._lost and exchange.era == LEGACY:
                self._forget(_as_sent(exchange), exchange.key)  # its stream was taken up again
            return
        if http.cut or http.ours or exchange.request.edited:
            return
        key = _as_sent(exchange)
        same = self._lost.setdefault(key, [])
        same.append(Lost(exchange))
        del same[:-SAME]
        self._lost.move_to_end(key)
        if len(self._lost) > KEPT:
            self._lost.popitem(last=False)

    def requested(self, exchange: Exchange) -> None:
        """A client asked something: was it lost before?"""
        if not self._lost or exchange.http is None or exchange.part or exchange.link:
            return
        if exchange.operation.key != exchange.key:
            return  # it belongs to another already
        key = _as_sent(exchange)
        lost = [
            one
            for one in self._lost.get(key, ())
            if exchange.t - one.t <= WITHIN and not one.client.surely_other(exchange.client)
        ]
        if not lost:
            return
        whose = {one.key: _whose(exchange, one) for one in lost}
        best = [one for one in lost if whose[one.key] in ("session", "client")]
        best = best or [one for one in lost if whose[one.key]] or lost
        told = whose[best[0].key]
        chosen = best[0] if len(best) == 1 and told else None
        facts(exchange.operation)["again"] = {
            "in": "" if chosen is None else chosen.operation,
            "grade": AMBIGUOUS if chosen is None else INFERRED,
            "evidence": ["lost", "params", *([told] if told else []), "soon"],
            "candidates": [one.operation for one in best],
        }
        if chosen is not None:
            self._forget(key, chosen.key)  # the next one is not its repeat any more

    def _forget(self, key: bytes, request: str) -> None:
        same = [one for one in self._lost.get(key, ()) if one.key != request]
        if same:
            self._lost[key] = same
        else:
            self._lost.pop(key, None)


def _as_sent(exchange: Exchange) -> bytes:
    params = {name: value for name, value in exchange.request.params.items() if name != "_meta"}
    return digest(exchange.request.channel, exchange.method, canonical(params))


def _whose(exchange: Exchange, lost: Lost) -> str:
    """What tells that both are of one client, "" for nothing."""
    scope = scope_of(exchange.peer, exchange.request.channel, exchange.http)
    if scope == lost.scope and not scope.endswith("\0"):
        return "session"
    mine, its = exchange.client, lost.client
    if mine.surely_same(its):
        return "client"
    known = (mine.info, mine.host, mine.credential)
    return "name" if mine.info and known == (its.info, its.host, its.credential) else ""

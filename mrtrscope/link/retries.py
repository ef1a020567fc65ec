"""Which earlier `input_required` result a request takes up: the heart of linking.

Every such result (an `Ask`) is filed in `Memory` under a few digests, so that a retry finds those that agree with it
most by exact look-up, however many there are and however long ago. Candidates are results on the same channel with
the same method and target, answered or not, less those whose client is certainly another. They are ranked by equal
state, equal answered keys, equal arguments, certainly the same client, in this order; age never decides. With several
first the link is `ambiguous`: all are listed and none is chosen; the operation is certain only where it is that of each
(a server that asks the same again, or hands out the same state while the client waits).

A request that carries no state, or one that was never issued, needs equal arguments to be taken for a retry at all
(strength 2 in the catalogue's `chain_and_link`); the difference is then named, and the link is `suspect`. One with
empty answers and no state takes up a result that asked for nothing, and is what a client makes of `inputRequests: {}`;
after a result with questions it may as well be a fresh call of a client that always writes the member.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from mrtrscope.link import untyped
from mrtrscope.link.asks import dump, load
from mrtrscope.link.canonical import arguments_text, canonical, difference, spelling
from mrtrscope.link.clients import Clients, Signed
from mrtrscope.link.common import common, never_issued
from mrtrscope.link.explain import alike, explain
from mrtrscope.link.facts import (
    AMBIGUOUS,
    EXACT,
    INFERRED,
    SUSPECT,
    Ask,
    Client,
    Difference,
    Exchange,
    Link,
)
from mrtrscope.link.memory import Memory, digest
from mrtrscope.wire.events import ABSENT, Message

CANDIDATES = 256  # how many of those that stand first are listed
HOT = 2048  # asks kept as objects; the others are read back from memory
NO_STATE = "-"

# Files an ask stands in; see `_Where`.
STATE_KEYS_ARGS, ARGS, ISSUED = "ska", "a", "issued"
DOUBT = (
    "doubt"  # calls, by method, target and arguments: when one of them was last retried nobody knows which
)


class Retries:
    """Files asks, and finds for a request the ask that it takes up."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._hot: OrderedDict[str, Ask] = OrderedDict()
        self._clients = Clients(memory)

    def __snapshot__(self) -> dict[str, object]:
        return {"_memory": self._memory}  # the asks themselves are in memory

    def __restore__(self, fields: dict[str, Any]) -> None:
        self._memory, self._hot = fields["_memory"], OrderedDict()
        self._clients = Clients(self._memory)

    # -- filing

    def file(self, request: Message, ask: Ask) -> None:
        """Remember an input_required result, to this request, for the retries to come."""
        self._keep(ask)
        self._memory.set("ask", digest(ask.key), dump(ask))
        channel = request.channel
        where = _Where(channel, ask.method, ask.target, ask.state, ask.questions, arguments_text(request))
        self._memory.add(ARGS, where.key(ARGS), ask.key)
        if ask.state is not ABSENT:
            self._memory.add(ISSUED, where.key(ISSUED), ask.key)
        if not _asked_nothing_of_nothing(request, ask):
            self._memory.add(STATE_KEYS_ARGS, where.key(STATE_KEYS_ARGS), self._clients.signed(ask))

    def ask(self, key: str) -> Ask | None:
        """The ask whose answer message has this key."""
        found = self._hot.get(key)
        if found is not None:
            self._hot.move_to_end(key)
            return found
        text = self._memory.get("ask", digest(key))
        if text is None:
            return None
        found = load(text)
        self._keep(found)
        return found

    def _keep(self, ask: Ask) -> None:
        self._hot[ask.key] = ask
        if len(self._hot) > HOT:
            self._hot.popitem(last=False)

    # -- finding

    def link(self, channel: str, exchange: Exchange) -> Link | None:
        """How this request is joined to what it takes up; None when it takes up nothing that was seen."""
        state, answers = exchange.request_state, exchange.answers
        if state is ABSENT and answers is ABSENT:
            return None  # a fresh call, or a retry that cannot be told from one
        keys = answers if type(answers) is dict else {}
        where = _Where(
            channel, exchange.method, exchange.target, state, keys, arguments_text(exchange.request)
        )
        if state is ABSENT:
            return self._without_state(exchange, where, keys)
        return (
            self._with_issued_state(exchange, where, keys)
            or self._with_state_of_another_target(channel, exchange, where)
            or self._with_state_never_issued(exchange, where, keys)
        )

    def _with_issued_state(self, exchange: Exchange, where: _Where, keys: dict[str, Any]) -> Link | None:
        """The state was issued for this very method and target."""
        equal, total = self._find_equal(exchange, where)
        if equal:
            return self._choose(exchange, equal, total, ("state", "keys", "arguments"), EXACT, 3)
        asks, total = self._find(ISSUED, where.key(ISSUED), exchange.client)
        asks = [ask for ask in asks if (ask.method, ask.target) == (exchange.method, exchange.target)]
        if not asks:
            return None
        stale = self._stale(exchange, asks, where, keys)
        if stale is not None:
            return stale
        best, evidence = _best(asks, exchange, keys)
        total = _counted(best, total)
        return self._choose(exchange, best, total, ("state", *evidence), EXACT, 3)

    def _stale(self, exchange: Exchange, asks: list[Ask], where: _Where, keys: dict[str, Any]) -> Link | None:
        """An older round's state with the answers to another round of the same chain."""
        if not keys or any(keys.keys() & ask.questions.keys() for ask in asks):
            return None
        chains = {ask.operation for ask in asks}
        others, _ = self._find(ARGS, where.key(ARGS), exchange.client)
        meant = [
            ask
            for ask in others
            if ask.operation in chains
            and ask.questions.keys() == keys.keys()
            and ask.state != exchange.request_state
        ]
        if not meant:
            return None
        what = "state-invented" if all(ask.state is ABSENT for ask in meant) else "state-stale"
        text = "the state of another round of this operation came back with the answers to this one"
        return self._choose(
            exchange, meant, len(meant), ("keys", "arguments"), SUSPECT, 2, (Difference(what, text),)
        )

    def _without_state(self, exchange: Exchange, where: _Where, keys: dict[str, Any]) -> Link | None:
        """No state came: either none was issued, or it was dropped. Arguments have to be equal."""
        if not keys and type(exchange.answers) is not dict:
            return None
        equal, total = self._find_equal(exchange, where)
        if equal:
            return self._choose(exchange, equal, total, ("no-state", "keys", "arguments"), INFERRED, 2)
        if not keys:
            return None  # answers to nothing are a retry only where nothing was asked
        found, total = self._find(ARGS, where.key(ARGS), exchange.client)
        asks = [ask for ask in found if keys.keys() & ask.questions.keys()]
        if not asks:
            return None
        # State counts before keys: to leave an answer out is less than to lose a state and answer another round.
        stateless = [ask for ask in asks if ask.state is ABSENT or ask.state is None]  # null is no state
        best, evidence = _with_keys(stateless or asks, keys)
        total = _counted(best, total)
        if stateless:
            return self._choose(exchange, best, total, ("no-state", *evidence), INFERRED, 2)
        dropped = Difference("state-dropped", "requestState was issued and did not come back")
        return self._choose(exchange, best, total, evidence, SUSPECT, 2, (dropped,))

    def _with_state_of_another_target(self, channel: str, exchange: Exchange, where: _Where) -> Link | None:
        """The state was issued on this channel, but for another method or target."""
        asks, total = self._find(ISSUED, where.key(ISSUED), exchange.client)
        asks = [ask for ask in asks if (ask.method, ask.target) != (exchange.method, exchange.target)]
        if not asks:
            return None
        places = sorted({f"{ask.method} {ask.target}".strip() for ask in asks})
        moved = Difference("state-moved", f"this state was issued for {', '.join(places[:3])}")
        return self._choose(exchange, asks, _counted(asks, total), ("state",), SUSPECT, 3, (moved,))

    def _with_state_never_issued(
        self, exchange: Exchange, where: _Where, keys: dict[str, Any]
    ) -> Link | None:
        """A state that nobody issued: changed on the way, or invented. Arguments have to be equal."""
        if untyped.taken_up(self._memory, exchange) is not None:
            return None  # it came in a result that did not say what it is
        found, total = self._find(ARGS, where.key(ARGS), exchange.client)
        asks, evidence = _with_keys(found, keys)
        came = exchange.request_state
        meeting = [ask for ask in asks if keys.keys() & ask.questions.keys()] if keys else asks
        asks = meeting or [ask for ask in asks if not keys or alike(ask.state, came)]
        made = [ask for ask in asks if ask.state is not ABSENT and alike(ask.state, came)]
        if made:  # the altered text itself tells whose it is
            return self._choose(exchange, made, len(made), ("state-alike", *evidence), SUSPECT, 2, named=True)
        if not asks:
            return None
        return self._choose(exchange, asks, _counted(asks, total), evidence, SUSPECT, 2, named=True)

    def _find_equal(self, exchange: Exchange, where: _Where) -> tuple[list[Signed], int]:
        """As `_find`, for those that are equal in state, keys and arguments: who was asked is all that matters then."""
        found, total = self._memory.find(STATE_KEYS_ARGS, where.key(STATE_KEYS_ARGS), CANDIDATES)
        asks = self._clients.read_all(found)
        # Hundreds of equal results mostly have one client, so each client is looked at once.
        others = {client for client in {ask.client for ask in asks} if exchange.client.surely_other(client)}
        if others:
            asks = [ask for ask in asks if ask.client not in others]
        return asks, _counted(asks, total)

    def _find(self, space: str, key: bytes, client: Client) -> tuple[list[Ask], int]:
        """Asks filed under the digest whose client may be this one, and how many there are in all."""
        found, total = self._memory.find(space, key, CANDIDATES)
        asks = [
            ask for ask in map(self.ask, found) if ask is not None and not client.surely_other(ask.client)
        ]
        return asks, _counted(asks, total)

    def _choose(
        self,
        exchange: Exchange,
        asks: Sequence[Ask | Signed],
        total: int,
        evidence: tuple[str, ...],
        grade: str,
        strength: int,
        differences: tuple[Difference, ...] = (),
        named: bool = False,
    ) -> Link:
        """The one that stands first, or all that do. `named`: the difference of the state is still to be explained."""
        link = Link()
        if len(asks) > 1:
            clients = {ask.client for ask in asks}
            same = {client for client in clients if _tells(exchange, client)}
            if same and len(same) < len(clients):
                asks, evidence = [ask for ask in asks if ask.client in same], (*evidence, "client")
                total = _counted(asks, total)
        link.evidence = evidence
        link.candidates = tuple([ask.key for ask in asks])
        link.total = max(total, len(asks))
        link.strength = strength
        link.among = link.common = None
        if len(asks) > 1 or total > CANDIDATES:
            link.grade, link.to, link.ask, link.differences = AMBIGUOUS, None, None, differences
            link.among = self._of_one_operation(asks) if total <= CANDIDATES else None
            if total <= CANDIDATES and (link.among is not None or "arguments" in evidence):
                link.common = common(exchange, asks, self.ask)
                if named:
                    link.differences = never_issued(asks)
            if link.among is None:
                self._memory.set(DOUBT, _alike(exchange.request.channel, exchange), str(exchange.t))
            return link
        ask = asks[0] if type(asks[0]) is Ask else self.ask(asks[0].key)
        assert ask is not None  # filed together
        if named:
            differences = (_state_difference(ask.state, exchange.request_state),)
        # those found under their arguments have equal ones
        if (
            grade == EXACT
            and "arguments" not in evidence
            and (path := difference(ask.arguments, exchange.arguments)) is not None
        ):
            differences = (
                *differences,
                Difference("arguments-changed", f"arguments changed at {path or '/'}"),
            )
        link.grade, link.to, link.ask, link.differences = grade, ask.key, ask, differences
        return link

    def _of_one_operation(self, asks: Sequence[Ask | Signed]) -> Ask | None:
        """The latest of these where all are rounds of one operation."""
        latest = None
        for one in reversed(asks):
            ask = one if type(one) is Ask else self.ask(one.key)
            if ask is None or (latest is not None and ask.operation != latest.operation):
                return None
            latest = latest or ask
        return latest


def _asked_nothing_of_nothing(request: Message, ask: Ask) -> bool:
    """No questions and no state, in answer to a call with empty answers: the next such call may be as fresh as this."""
    fresh = ask.chain.rounds == 1 and request.params.get("inputResponses") == {}
    return fresh and not ask.questions and ask.state is ABSENT


def _counted(asks: Sequence[Ask | Signed], total: int) -> int:
    """How many stand first: those at hand, unless the file holds more than were looked at."""
    return len(asks) if total <= CANDIDATES else total


def _tells(exchange: Exchange, its: Client) -> bool:
    """Whether being of the same client speaks for an ask of this one and against the others.

    A process is all there is of its client. A TCP connection is not: clients keep several and take any of them for a
    retry, so that an equal connection says nothing against another (tried: of the links made so, 18 % were wrong).
    """
    mine = exchange.client
    if exchange.http is None:
        return mine.peer == its.peer
    return bool(mine.credential and mine.info and mine.host) and mine.surely_same(its)


def in_doubt(memory: Memory, channel: str, ask: Ask) -> bool:
    """Whether a later retry may be the one that takes up this result, or may take up another like it."""
    t = memory.get(DOUBT, _alike(channel, ask))
    return t is not None and int(t) >= ask.t


def _alike(channel: str, of: Ask | Exchange) -> bytes:
    return digest(channel, of.method, of.target, canonical(of.arguments))


def _state_difference(issued: Any, came: Any) -> Difference:
    if issued is ABSENT:
        return Difference("state-invented", "requestState came although none was issued")
    return Difference("state-changed", explain(issued, came))


def _with_keys(asks: list[Ask], keys: dict[str, Any]) -> tuple[list[Ask], tuple[str, ...]]:
    """Of those with equal arguments the ones that asked for just these keys, where there are any."""
    equal = [ask for ask in asks if keys and ask.questions.keys() == keys.keys()]
    return (equal, ("keys", "arguments")) if equal else (asks, ("arguments",))


def _best(asks: list[Ask], exchange: Exchange, keys: dict[str, Any]) -> tuple[list[Ask], tuple[str, ...]]:
    """Those that agree most, where the state is equal: equal keys, else keys that meet, then equal arguments."""
    evidence: tuple[str, ...] = ()
    if equal := [ask for ask in asks if keys.keys() == ask.questions.keys()]:
        asks, evidence = equal, ("keys",)
    elif meeting := [ask for ask in asks if keys.keys() & ask.questions.keys()]:
        asks = meeting
    wanted = arguments_text(exchange.request)
    if equal := [ask for ask in asks if canonical(ask.arguments) == wanted]:
        asks, evidence = equal, (*evidence, "arguments")
    return asks, evidence


class _Where:
    """Under which digest each file has this ask, or has what this retry looks for; reckoned when asked for."""

    __slots__ = ("arguments", "asked", "base", "channel", "state")

    def __init__(
        self, channel: str, method: str, target: str, state: Any, keys: Iterable[str], arguments: str
    ) -> None:
        self.channel = channel
        self.base = f"{len(channel)}.{len(method)}:{channel}{method}{target}"
        self.state = _state_text(state)
        self.asked = spelling(sorted(keys))
        self.arguments = arguments

    def key(self, space: str) -> bytes:
        """The digest in the file `space`."""
        if space == STATE_KEYS_ARGS:
            return digest(self.base, self.state, self.asked, self.arguments)
        if space == ARGS:
            return digest(self.base, self.arguments)
        return digest(self.channel, self.state)


def where_issued(channel: str, state: Any) -> bytes:
    """The digest under which the file ISSUED has all results of a channel that carried this state."""
    return digest(channel, _state_text(state))


def _state_text(state: Any) -> str:
    if type(state) is str:
        return "s" + state
    return NO_STATE if state is ABSENT else "j" + canonical(state)

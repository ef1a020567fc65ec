"""What several results that stand first for a retry have in common: see `facts.Common`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mrtrscope.link.clients import Signed
from mrtrscope.link.facts import Ask, Common, Difference, Exchange
from mrtrscope.wire.events import ABSENT

NEAR = 16  # results that are read back to be compared, where their signatures say that they differ


def common(
    exchange: Exchange, asks: Sequence[Ask | Signed], read: Callable[[str], Ask | None]
) -> Common | None:
    """What these results, of which the retry takes up one, have in common."""
    first = _whole(asks[0], read)
    if first is None or (first.method, first.target) != (exchange.method, exchange.target):
        return None
    found = Common()
    if _signed_alike(asks):
        found.questions, found.keys = first.questions, list(first.questions)
        found.asked = found.keys
    else:
        if len(asks) > NEAR and type(asks[0]) is Signed:
            return None
        every = [ask for ask in (_whole(one, read) for one in asks) if ask is not None]
        if len(every) != len(asks):
            return None
        found.keys = [key for key in first.questions if all(key in ask.questions for ask in every)]
        found.asked = sorted({key for ask in every for key in ask.questions})
        words = first.chain.asked
        found.questions = {
            key: first.questions[key]
            for key in found.keys
            if key in words and all(ask.chain.asked.get(key) == words[key] for ask in every)
        }
    found.same_id = all(_goes_back_to(exchange.request.id_text, _whole(ask, read)) for ask in asks)
    return found


def never_issued(asks: Sequence[Ask | Signed]) -> tuple[Difference, ...]:
    """What is wrong with a state that none of these results carried, where that is the same for all."""
    states = [ask.state for ask in asks if type(ask) is Ask]
    if all(state is ABSENT for state in states):
        return (Difference("state-invented", "requestState came although none was issued"),)
    if any(state is ABSENT for state in states):
        return ()
    return (
        Difference("state-changed", f"it is none of those of the {len(states)} results that it may answer"),
    )


def _signed_alike(asks: Sequence[Ask | Signed]) -> bool:
    return len({ask.asks if type(ask) is Signed else None for ask in asks}) == 1 and type(asks[0]) is Signed


def _whole(ask: Ask | Signed, read: Callable[[str], Ask | None]) -> Ask | None:
    return ask if type(ask) is Ask else read(ask.key)


def _goes_back_to(id_text: str | None, ask: Ask | None) -> bool:
    return ask is not None and id_text in ask.chain.ids

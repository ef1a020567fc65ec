"""The form in which an `input_required` result outlives the process."""

from __future__ import annotations

import json
from operator import attrgetter

from pydantic_core import PydanticSerializationError, to_json

from mrtrscope.link.canonical import compact
from mrtrscope.link.clients import from_list, to_list
from mrtrscope.link.facts import Ask, Chain
from mrtrscope.wire.events import ABSENT


def dump(ask: Ask) -> str:
    """JSON text of an ask, for `Memory`."""
    state = [] if ask.state is ABSENT else [ask.state]
    fields = [_plain_of(ask), _chain_of(ask.chain), to_list(ask.client), state]
    try:
        return to_json(fields).decode()
    except (PydanticSerializationError, ValueError):  # lone surrogates
        return compact(fields)


_PLAIN = tuple(name for name in Ask.__slots__ if name not in ("chain", "client", "state"))
_CHAIN = Chain.__slots__
_plain_of, _chain_of = attrgetter(*_PLAIN), attrgetter(*_CHAIN)


def load(text: str) -> Ask:
    """The ask that `dump` wrote."""
    plain, chain, client, state = json.loads(text)
    ask = Ask()
    for name, value in zip(_PLAIN, plain, strict=True):
        setattr(ask, name, value)
    ask.state = state[0] if state else ABSENT
    ask.client = from_list(client)
    ask.chain = Chain()
    for name, value in zip(_CHAIN, chain, strict=True):
        setattr(ask.chain, name, value)
    return ask

"""The form in which an `input_required` result outlives the process."""

from __future__ import annotations

import json

from pydantic_core import PydanticSerializationError, to_json

from mrtrscope.link.canonical import compact
from mrtrscope.link.clients import from_list, to_list
from mrtrscope.link.facts import Ask, Chain
from mrtrscope.wire.events import ABSENT


def dump(ask: Ask) -> str:
    """JSON text of an ask, for `Memory`."""
    fields = {name: getattr(ask, name) for name in _PLAIN}
    fields["chain"] = {name: getattr(ask.chain, name) for name in _CHAIN}
    fields["client"] = to_list(ask.client)
    if ask.state is not ABSENT:
        fields["state"] = ask.state
    try:
        return to_json(fields).decode()
    except (PydanticSerializationError, ValueError):  # lone surrogates
        return compact(fields)


_PLAIN = tuple(name for name in Ask.__slots__ if name not in ("chain", "client", "state"))
_CHAIN = Chain.__slots__


def load(text: str) -> Ask:
    """The ask that `dump` wrote."""
    fields = json.loads(text)
    ask = Ask()
    for name in _PLAIN:
        setattr(ask, name, fields[name])
    ask.state = fields.get("state", ABSENT)
    ask.client = from_list(fields["client"])
    ask.chain = Chain()
    for name in _CHAIN:
        setattr(ask.chain, name, fields["chain"][name])
    return ask

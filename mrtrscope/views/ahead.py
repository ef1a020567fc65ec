"""A whole capture looked through before a part of it is shown: a secret is hidden wherever it stands, not only where
it is named, and not only in what was read together with that place.

What is secret is told by the name of a member, by a form that says so of its field (`format: password`, `writeOnly`),
or by a header; the same value may stand in any other message. Most messages have nothing that could be such a
name, and are passed over unread.
"""

from __future__ import annotations

from mrtrscope.store.bodies import everything
from mrtrscope.store.reader import Store
from mrtrscope.views.masked import Masked
from mrtrscope.views.redact import Redactor, may_name_a_secret
from mrtrscope.wire.events import Event, Message, NonMessage


def redactor(store: Store, raw: bool = False) -> Redactor:
    """One that knows all that is secret in a capture; stand-ins are given out when something is shown."""
    redact = Redactor(raw)
    if not raw:
        scout = Redactor()
        hide = Masked(scout)
        for event in everything(store):
            if event.http is not None or _may(event):
                hide.learn({"": event})
        redact.adopt(scout)
    return redact


def _may(event: Event) -> bool:
    if not isinstance(event, Message):
        return isinstance(event, NonMessage)
    return may_name_a_secret(event.raw.decode("latin-1"))

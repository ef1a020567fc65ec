"""Messages looked through before anything of them is shown: a secret is hidden earlier than where it is named, too.

What is secret is told by the name of a member, by a form that says so of its field (`format: password`, `writeOnly`),
or by a header; the same value may stand in a message before that one. Most messages have nothing that could be such a
name, and are passed over unread.
"""

from __future__ import annotations

from collections.abc import Mapping

from mrtrscope.views.masked import Masked
from mrtrscope.views.redact import Redactor, may_name_a_secret
from mrtrscope.wire.events import Event, Message, NonMessage


def learn(events: Mapping[str, Event], redact: Redactor) -> None:
    """Take in what is secret in these messages."""
    if redact.raw:
        return
    Masked(redact).learn({m: event for m, event in events.items() if event.http is not None or _may(event)})


def _may(event: Event) -> bool:
    if not isinstance(event, Message):
        return isinstance(event, NonMessage)
    return may_name_a_secret(event.raw.decode("latin-1"))

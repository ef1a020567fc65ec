"""Messages looked through before anything of them is shown: a secret is hidden earlier than where it is named, too.

What is secret is told by the name of a member, by a form that says so of its field (`format: password`, `writeOnly`),
or by a header; the same value may stand in a message before that one. Most messages have nothing that could be such a
name, and are passed over unread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from mrtrscope.views.masked import Masked
from mrtrscope.views.redact import Redactor
from mrtrscope.wire.events import Event, Message, NonMessage

# Whatever `redact.is_secret_name` may say yes to has one of these in it, however it is spelled.
_MAY: Final = re.compile(
    rb"(?i)pass|pwd|phrase|secret|credential|key|auth|bearer|(?<!progress)token|cookie|session|\bsid\b|otp|\bpin|cv[vc]"
    rb"|card|\bpan\b|iban|ssn|social|mfa|onetime|one.time|code|assertion|jwt|mnemonic|writeonly|\\u"
)


def learn(events: Mapping[str, Event], redact: Redactor) -> None:
    """Take in what is secret in these messages."""
    if redact.raw:
        return
    Masked(redact).learn({m: event for m, event in events.items() if event.http is not None or _may(event)})


def _may(event: Event) -> bool:
    raw = event.raw if isinstance(event, Message | NonMessage) else b""
    return _MAY.search(raw) is not None

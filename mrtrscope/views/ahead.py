"""What hides the secrets of a capture: wherever they stand, not only where they are named.

What is secret is told by the name of a member, by a form that says so of its field (`format: password`, `writeOnly`),
or by a header; the same value may stand in any other message. The analysis wrote down digests of them
(`store.secrecy`), so that all outputs hide the same, and a picture of one operation need not read the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mrtrscope.store.secrecy import Known
from mrtrscope.views.redact import Redactor

if TYPE_CHECKING:
    from mrtrscope.store.base import Base


def redactor(store: Base, raw: bool = False) -> Redactor:
    """One that knows all that is secret in a capture; stand-ins are given out when something is shown."""
    return Redactor(raw, None if raw else Known(store.db.conn))

"""Who is told what the linker makes of events."""

from __future__ import annotations

from typing import Protocol

from mrtrscope.link.facts import Exchange, Operation
from mrtrscope.wire.events import Message, NonMessage, Signal


class Sink(Protocol):
    """See the top of `link.linker`."""

    def message(self, message: Message, role: str, exchange: Exchange | None, operation: str) -> None: ...
    def event(self, event: NonMessage | Signal, exchange: Exchange | None) -> None: ...
    def line(self, event: NonMessage) -> None: ...
    def changed(self, exchange: Exchange) -> None: ...
    def settled(self, operation: Operation) -> None: ...

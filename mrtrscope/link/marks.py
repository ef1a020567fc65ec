"""Where a message stands, without the message: what a finding needs that is made long after."""

from __future__ import annotations

from mrtrscope.wire.events import Event


class Mark(Event):
    """The key, time and place of an event that is no longer at hand."""

    __slots__ = ()


def mark(event: Event) -> Mark:
    """The mark of an event."""
    found = Mark()
    found.journal, found.offset, found.part, found.t = event.journal, event.offset, event.part, event.t
    found.channel, found.dir, found.lane, found.peer = event.channel, event.dir, event.lane, event.peer
    found.http, found.place, found.cut, found.edited = None, event.place, event.cut, event.edited
    return found

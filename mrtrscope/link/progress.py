"""Follows the progress notifications of one exchange."""

from __future__ import annotations

from mrtrscope.link.facts import Exchange, Progress
from mrtrscope.wire.events import Message

FAST = 50  # notifications in one second that are many
_SECOND = 1_000_000
_IDS = 64


def follow(exchange: Exchange, message: Message) -> None:
    """One more progress notification for the exchange."""
    progress = exchange.progress
    if progress is None:
        progress = exchange.progress = Progress()
    event = message.sse.id if message.sse is not None else None
    progress.again = event is not None and event in progress.ids
    if progress.again:
        return  # a 2025-11-25 stream that was resumed tells its events again
    if event is not None:
        progress.ids = [*progress.ids[-_IDS + 1 :], event]
    value = message.params.get("progress")
    if type(value) in (int, float):
        progress.previous, progress.last = progress.last, value
    second = message.t // _SECOND
    if second == progress.second:
        progress.seconds += 1
        if progress.seconds == FAST + 1:
            progress.fast += 1
    else:
        if second != progress.second + 1 or progress.seconds <= FAST:
            progress.fast = 0
        progress.second, progress.seconds = second, 1

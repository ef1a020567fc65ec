"""Lines of stdio that are no message, until it is clear whether several of them are one.

A message printed over several lines makes many lines that are none, and one fault. So lines that may be such parts are
held until the brackets close, and shown to the rules as one: the first, with `why` "split-message" and the message as
`body`. When they turn out not to be a message, each is shown as what it is.
"""

from __future__ import annotations

import re

from mrtrscope.wire.events import NonMessage
from mrtrscope.wire.jsonrpc import kind_of, parse

LINES = 1000
SPLIT = "split-message"

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"')


class Run:
    """Lines of one lane that may belong together."""

    __slots__ = ("depth", "events")

    def __init__(self) -> None:
        self.events: list[NonMessage] = []
        self.depth = 0


class Lines:
    """Feed lines that are no message; get those that can be judged."""

    def __init__(self) -> None:
        self.runs: dict[str, Run] = {}  # journal and lane -> what is held

    def take(self, event: NonMessage) -> list[NonMessage]:
        """One more line of its lane; the lines that are decided by it, in order."""
        lane = f"{event.journal}\0{event.lane}"
        run = self.runs.get(lane)
        if run is None:
            if event.why != "not-json" or event.raw.lstrip()[:1] not in (b"{", b"["):
                return [event]
            run = Run()
        step = _step(event)
        run.events.append(event)
        if step is not None:
            run.depth += step
        if step is None or run.depth < 0 or len(run.events) > LINES:
            self.runs.pop(lane, None)
            return run.events
        if run.depth:
            self.runs[lane] = run
            return []
        self.runs.pop(lane, None)
        return _joined(run.events)

    def ended(self, journal: str, lane: str) -> list[NonMessage]:
        """A message, a gap or the end of the lane: what was held is no message."""
        run = self.runs.pop(f"{journal}\0{lane}", None)
        return run.events if run is not None else []

    def held(self) -> list[NonMessage]:
        """Everything that is not decided."""
        return [event for run in self.runs.values() for event in run.events]


def _step(event: NonMessage) -> int | None:
    """How many brackets the line opens more than it closes; None when it cannot be a part of a JSON text."""
    if event.cut or event.edited or event.size > len(event.raw):
        return None
    rest = _STRING.sub(b"", event.raw)
    if b'"' in rest:
        return None
    return rest.count(b"{") + rest.count(b"[") - rest.count(b"}") - rest.count(b"]")


def _joined(events: list[NonMessage]) -> list[NonMessage]:
    body, _, why, rest = parse(b"\n".join([event.raw for event in events]))
    if len(events) == 1 or why or rest or type(body) is not dict or not kind_of(body):
        return events
    first = events[0]
    first.why, first.body = SPLIT, body
    return [first]

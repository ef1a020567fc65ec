"""A capture as something to play: every request of a client with all that answered it, in the order of its operation.

Read straight from the frames by the same `wire` and `link` that judge them, so that a replay and a report never
disagree about which request took up which question. The whole recording is held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import AMBIGUOUS, Exchange, Operation
from mrtrscope.link.linker import Linker
from mrtrscope.link.memory import DictMemory
from mrtrscope.sources import open_source
from mrtrscope.wire.events import Message, NonMessage, Signal
from mrtrscope.wire.reader import Reader

# What exporters put in the place of a credential: digests, stars, the words for it.
SCRUBBED = re.compile(
    r"(?i)redacted|scrubbed|hidden|removed|masked|filtered|\*{3}|…|‹|^<.*>$|^(bearer|basic)? ?x{4,}$|^(sha|blake2b)\w*:"
)


class Step:
    """One request of the recorded client, and what came back.

    exchange   request and answer                  children  the retries that took up its `input_required` answer
    notes      notifications of the server on it, in order     asked   the server's own (2025-11-25) requests in it
    parent     the step whose question this one answers, None for the first of an operation
    number     running number of the request in the recording, 0-based, in order of time
    op         the operation, "op7", as `mrtrscope list` numbers it
    """

    __slots__ = ("asked", "children", "exchange", "notes", "number", "op", "parent")

    def __init__(self, exchange: Exchange, number: int) -> None:
        self.exchange = exchange
        self.number = number
        self.notes: list[Message] = []
        self.asked: list[Exchange] = []
        self.children: list[Step] = []
        self.parent: Step | None = None
        self.op = ""

    @property
    def params(self) -> dict[str, Any]:
        return self.exchange.request.params

    @property
    def key(self) -> str:
        """Equal for requests that mean the same; see `request_key`."""
        return request_key(self.exchange.method, self.params)

    def script(self) -> Iterator[tuple[int, Message | Exchange]]:
        """What the server sent before its answer: (microseconds after the request, notification or own request)."""
        items: list[tuple[int, Message | Exchange]] = [(note.t, note) for note in self.notes]
        items += [(asked.t, asked) for asked in self.asked]
        items.sort(key=lambda item: item[0])
        for t, what in items:
            yield max(0, t - self.exchange.t), what

    @property
    def took(self) -> int:
        """Microseconds from request to answer."""
        answer = self.exchange.answer
        return max(0, answer.t - self.exchange.t) if answer is not None else 0

    @property
    def name(self) -> str:
        return f"{self.exchange.method} {self.exchange.target}".strip()


def request_key(method: str, params: dict[str, Any]) -> str:
    """Method and params, less what a new client may say otherwise: `_meta`, and the answers and state of a retry.

    A handshake says nothing but who the client is, what it can and what it wants to speak: all are equal.
    """
    if method == "initialize":
        return method
    kept = {k: v for k, v in params.items() if k not in ("_meta", "inputResponses", "requestState")}
    if not kept.get("arguments", True):
        del kept["arguments"]  # absent and empty mean the same
    return f"{method} {canonical(kept)}"


class Recording:
    """All steps of a capture.

    steps    in order of time             firsts   those that begin an operation
    trouble  what could not be read       scrubbed   True when secrets were taken out of it
    """

    def __init__(self, steps: list[Step], trouble: list[str], scrubbed: bool = False) -> None:
        self.steps = steps
        self.trouble = trouble
        self.scrubbed = scrubbed
        self.firsts = [step for step in steps if step.parent is None]

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Read a capture in any form that `open_source` knows; SourceError when it is none."""
        collector = _Collector()
        reader, linker = Reader(), Linker(DictMemory(), b"", collector)
        with open_source(path) as source:
            for name, header in source.headers().items():
                reader.source(name, header)
            for frame in source.frames():
                for event in reader.feed(frame):
                    linker.feed(event)
            trouble = list(source.trouble)
        return cls(collector.joined(), trouble, collector.scrubbed)


def _is_scrubbed(exchange: Exchange) -> bool:
    """Whether a credential was taken out of the head of this request: a stand-in is where it was."""
    http = exchange.http
    value = http.request_header("authorization") if http is not None else None
    return value is not None and SCRUBBED.search(value) is not None


class _Collector:
    """A sink of the linker that keeps everything."""

    def __init__(self) -> None:
        self._steps: dict[str, Step] = {}
        self._by_answer: dict[str, Step] = {}
        self._requests: list[Exchange] = []
        self.scrubbed = False

    def message(self, message: Message, role: str, exchange: Exchange | None, operation: str) -> None:
        if exchange is None:
            return
        if role == "request":
            self._requests.append(exchange)
            self.scrubbed = self.scrubbed or _is_scrubbed(exchange)
        if exchange.dir == "s2c":
            if role == "request":
                self._ask(exchange)
            return
        step = self._steps.get(exchange.key)
        if role == "request":
            self._steps[exchange.key] = Step(exchange, len(self._steps))
        elif step is not None and role == "notification" and message.dir == "s2c":
            step.notes.append(message)
        elif step is not None and role in ("result", "fault"):
            self._by_answer[message.key] = step

    def _ask(self, exchange: Exchange) -> None:
        """A server's own request belongs to the call on whose stream it came, else to the latest still open."""
        http = exchange.http
        open_ones = [s for s in self._steps.values() if s.exchange.answer is None and s.exchange.dir == "c2s"]
        same = [s for s in open_ones if http is not None and s.exchange.http is http]
        near = [s for s in open_ones if s.exchange.peer.id == exchange.peer.id or http is not None]
        if same or near:
            (same or near)[-1].asked.append(exchange)

    def joined(self) -> list[Step]:
        """The steps with their parents. Where the wire decides nothing, the first twin that nobody took is as good."""
        for step in self._steps.values():
            link = step.exchange.link
            if link is None:
                continue
            if link.grade == AMBIGUOUS:
                twins = [self._by_answer[key] for key in link.candidates if key in self._by_answer]
                parent = next((twin for twin in twins if not twin.children), twins[0] if twins else None)
            else:
                parent = self._by_answer.get(link.to or "")
            if parent is not None and parent.exchange.method == step.exchange.method:
                step.parent = parent
                parent.children.append(step)
        self._number()
        return list(self._steps.values())

    def _number(self) -> None:
        first: dict[str, tuple[int, str, int, int]] = {}
        for exchange in self._requests:
            key = exchange.operation.key
            first[key] = min(first.get(key, exchange.request.order), exchange.request.order)
        ranks = {key: f"op{n}" for n, key in enumerate(sorted(first, key=first.__getitem__), 1)}
        for step in self._steps.values():
            step.op = ranks[step.exchange.operation.key]

    def event(self, event: NonMessage | Signal, exchange: Exchange | None) -> None:
        pass

    def line(self, event: NonMessage) -> None:
        pass

    def changed(self, exchange: Exchange) -> None:
        pass

    def settled(self, operation: Operation) -> None:
        pass

"""The only road from frames to findings: `feed(frame)`, `drain()`, `finish()`. No file, clock or thread."""

from __future__ import annotations

from typing import Any

from mrtrscope import snapshot
from mrtrscope.frames import Frame
from mrtrscope.link.facts import Exchange, Operation
from mrtrscope.link.linker import Linker
from mrtrscope.link.memory import Memory
from mrtrscope.link.session import Channel
from mrtrscope.rules.context import Finding
from mrtrscope.rules.judge import Judge
from mrtrscope.wire.events import EDITED, Message, NonMessage, Signal
from mrtrscope.wire.reader import Reader

_SHORT = ("single", "mrtr")  # kinds of operations of which nothing is asked any more once they are settled


class Batch:
    """All that is new or changed since the last `drain()`.

    messages    (message, key of its exchange or "", key of its operation or ""), each once, in order of arrival
    events      non-messages and signals, each once (they are what f-numbers count)
    exchanges   by key, new or changed          operations  by key, new or changed
    channels    by name, new or changed         findings    lasting ones, each once
    tested      (channel, rule id) -> how many times more the rule was exercised
    edited      key of a message that was changed on its way -> its kind, id, method and size now
    """

    __slots__ = ("channels", "edited", "events", "exchanges", "findings", "messages", "operations", "tested")

    def __init__(self) -> None:
        self.messages: list[tuple[Message, str, str]] = []
        self.events: list[NonMessage | Signal] = []
        self.exchanges: dict[str, Exchange] = {}
        self.operations: dict[str, Operation] = {}
        self.channels: dict[str, Channel] = {}
        self.findings: list[Finding] = []
        self.tested: dict[tuple[str, str], int] = {}
        self.edited: dict[str, list[Any] | None] = {}


class Present:
    """The present state, asked by `finish()`; replaces the answer to the last `finish()`.

    outcomes   operation key -> outcome, of the operations that are not settled
    findings   provisional ones
    """

    __slots__ = ("findings", "outcomes")

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.findings: list[Finding] = []


class Pipeline:
    """Bytes in, values out.

    memory   see `link.memory`          salt   of this capture, for digests of credentials
    judge    whether the rules are run
    """

    def __init__(self, memory: Memory, salt: bytes = b"", judge: bool = True) -> None:
        self._memory = memory
        self.reader = Reader()
        self.linker = Linker(memory, salt, self)
        self.judge = Judge(memory=memory) if judge else None
        self._batch = Batch()

    def source(self, journal: str, header: dict[str, Any]) -> None:
        """Introduce a journal before its first frame; `header` is its first line."""
        self.reader.source(journal, header)

    def feed(self, frame: Frame) -> None:
        """Take one frame, in order of time."""
        for event in self.reader.feed(frame):
            self.linker.feed(event)

    def drain(self) -> Batch:
        """What is new or changed; forgets it."""
        batch, self._batch = self._batch, Batch()
        batch.channels = self.linker.sessions.channels
        if self.judge is not None:
            batch.findings, batch.tested = self.judge.take()
        return batch

    def finish(self) -> Present:
        """What is open, lost, undecided now; ends nothing, may be asked again after more frames."""
        present = Present()
        operations = self.linker.operations
        present.outcomes = operations.present(self.linker.now)
        channels = self.linker.sessions.channels
        if self.judge is not None:
            # Rules read the outcome as it is now; the operation itself goes on unchanged.
            still = []
            for key, outcome in present.outcomes.items():
                operation = operations.open[key]
                channel = channels.get(operation.channel)
                if channel is not None:
                    still.append((operation.at_present(outcome), channel))
            lines = [(line, self.linker.channel(line)) for line in self.linker.stdio.lines.held()]
            present.findings = self.judge.present(still, channels.values(), lines)
        return present

    def snapshot(self) -> bytes:
        """The checkpoint: all state that is not in `memory`, as JSON text. Call it after `drain()`."""
        return snapshot.dump([self.reader, self.linker], {"memory": self._memory, "sink": self})

    @classmethod
    def restore(cls, state: bytes, memory: Memory, salt: bytes = b"", judge: bool = True) -> Pipeline:
        """A pipeline that goes on where the one that made the snapshot stood; ValueError when it cannot."""
        pipeline = cls(memory, salt, judge)
        loaded = snapshot.load(state, {"memory": memory, "sink": pipeline})
        if type(loaded) is not list or [type(part) for part in loaded] != [Reader, Linker]:
            raise ValueError("no checkpoint of a pipeline")
        pipeline.reader, pipeline.linker = loaded
        return pipeline

    # -- what the linker tells (see `link.linker.Sink`)

    def message(self, message: Message, role: str, exchange: Exchange | None, operation: str) -> None:
        self._batch.messages.append((message, exchange.key if exchange is not None else "", operation))
        if self.judge is not None:
            self.judge.on_message(message, role, exchange, self.linker.channel(message))

    def event(self, event: NonMessage | Signal, exchange: Exchange | None) -> None:
        self._batch.events.append(event)
        channel = self.linker.channel(event)
        if self.judge is not None and (event.http is not None or type(event) is Signal):
            self.judge.on_event(event, exchange, channel)
        event.channel = channel.name
        if type(event) is Signal and event.what == EDITED:
            self._batch.edited.update(zip(event.detail["keys"], event.detail["now"], strict=True))
            if self.judge is not None:
                self.judge.take_back(event.detail["keys"])

    def line(self, event: NonMessage) -> None:
        if self.judge is not None:
            self.judge.on_event(event, None, self.linker.channel(event))

    def changed(self, exchange: Exchange) -> None:
        self._batch.exchanges[exchange.key] = exchange
        self._batch.operations[exchange.operation.key] = exchange.operation

    def settled(self, operation: Operation) -> None:
        self._batch.operations[operation.key] = operation
        if self.judge is not None:
            self.judge.on_settled(operation, self.linker.sessions.channels[operation.channel])
        if operation.kind in _SHORT and not operation.open:
            operation.last = None  # which refers to it in turn: then both would wait for the collector

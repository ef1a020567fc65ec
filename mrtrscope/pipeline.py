"""The only road from frames to findings: `feed(frame)`, `drain()`, `finish()`. No file, clock or thread."""

from __future__ import annotations

from mrtrscope.frames import Frame
from mrtrscope.link.facts import Exchange, Operation
from mrtrscope.link.memory import Memory
from mrtrscope.link.session import Channel
from mrtrscope.rules.context import Finding
from mrtrscope.wire.events import Message, NonMessage, Signal


class Batch:
    """All that is new or changed since the last `drain()`.

    messages    (message, key of its exchange or "", key of its operation or ""), each once, in order of arrival
    events      non-messages and signals, each once (they are what f-numbers count)
    exchanges   by key, new or changed          operations  by key, new or changed
    channels    by name, new or changed         findings    lasting ones, each once
    tested      (channel, rule id) -> how many times more the rule was exercised
    """

    __slots__ = ("channels", "events", "exchanges", "findings", "messages", "operations", "tested")

    def __init__(self) -> None:
        self.messages: list[tuple[Message, str, str]] = []
        self.events: list[NonMessage | Signal] = []
        self.exchanges: dict[str, Exchange] = {}
        self.operations: dict[str, Operation] = {}
        self.channels: dict[str, Channel] = {}
        self.findings: list[Finding] = []
        self.tested: dict[tuple[str, str], int] = {}


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
    """

    def __init__(self, memory: Memory, salt: bytes = b"", judge: bool = True) -> None:
        raise NotImplementedError

    def feed(self, frame: Frame) -> None:
        """Take one frame, in order of time."""
        raise NotImplementedError

    def drain(self) -> Batch:
        """What is new or changed; forgets it."""
        raise NotImplementedError

    def finish(self) -> Present:
        """What is open, lost, undecided now; ends nothing, may be asked again after more frames."""
        raise NotImplementedError

    def snapshot(self) -> bytes:
        """The checkpoint: all state that is not in `memory`, as JSON text."""
        raise NotImplementedError

    @classmethod
    def restore(cls, state: bytes, memory: Memory) -> Pipeline:
        """A pipeline that goes on where the one that made the snapshot stood; ValueError when it cannot."""
        raise NotImplementedError

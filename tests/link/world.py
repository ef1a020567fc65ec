"""A small world for tests of the linker: clients and a server speak, a recording sink listens."""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link.facts import Exchange, Link, Operation
from mrtrscope.link.linker import Linker
from mrtrscope.link.memory import DictMemory, Memory
from mrtrscope.wire.events import (
    ABSENT,
    ERROR,
    NOTIFICATION,
    REQUEST,
    RESPONSE,
    Message,
    NonMessage,
    Peer,
    Signal,
)

MODERN = "2026-07-28"
ELICIT = {"method": "elicitation/create", "params": {"message": "Go on?", "mode": "form"}}


class World:
    """`call` and `answer` write on one stdio channel; what the linker says is kept in the lists below."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.linker = Linker(memory if memory is not None else DictMemory(), b"salt", self)
        self.t = 0
        self.ids = 0
        self.seen: list[tuple[Message, str, Exchange | None, str]] = []
        self.operations: dict[str, Operation] = {}
        self.exchanges: dict[str, Exchange] = {}
        self.settled_ones: list[tuple[str, str]] = []
        self.peers: dict[str, Peer] = {}
        self.lines: list[NonMessage] = []

    # -- the sink

    def message(self, message: Message, role: str, exchange: Exchange | None, operation: str) -> None:
        self.seen.append((message, role, exchange, operation))

    def event(self, event: NonMessage | Signal, exchange: Exchange | None) -> None:
        pass

    def line(self, event: NonMessage) -> None:
        self.lines.append(event)

    def changed(self, exchange: Exchange) -> None:
        self.exchanges[exchange.key] = exchange
        self.operations[exchange.operation.key] = exchange.operation

    def settled(self, operation: Operation) -> None:
        self.settled_ones.append((operation.key, operation.outcome))

    # -- the speakers

    def say(self, dir: str, body: dict[str, Any], *, at: float | None = None, channel: str = "files",
            process: str = "p") -> Message:  # fmt: skip
        """One message on the wire, `at` seconds, else 10 ms after the last one."""
        self.t = int(at * 1e6) if at is not None else self.t + 10_000
        message = Message()
        message.journal, message.offset, message.part = "test", len(self.seen) + self.ids * 1000, 0
        self.ids += 1
        message.t, message.channel, message.dir, message.lane = (
            self.t,
            channel,
            dir,
            "0i" if dir == "c2s" else "0o",
        )
        message.peer = self.peers.setdefault(process, Peer(f"{channel}/{process}", "stdio", whole=True))
        message.http = message.place = message.sse = message.batch = None
        message.cut = message.edited = False
        message.body, message.raw = body, json.dumps(body).encode()
        message.id = body.get("id", ABSENT)
        message.id_text = json.dumps(body["id"]) if "id" in body else None
        message.method = body.get("method")
        message.oddities, message.frames = (), (f"test:{message.offset}",)
        if message.method is not None:
            message.kind = REQUEST if "id" in body else NOTIFICATION
        else:
            message.kind = RESPONSE if "result" in body else ERROR
        self.linker.feed(message)
        return message

    def call(self, id: Any, name: str = "deploy", arguments: Any = None, *, state: Any = ABSENT, answers: Any = ABSENT,
             method: str = "tools/call", **how: Any) -> Exchange:  # fmt: skip
        params: dict[str, Any] = {"uri" if method == "resources/read" else "name": name}
        if arguments is not None:
            params["arguments"] = arguments
        if state is not ABSENT:
            params["requestState"] = state
        if answers is not ABSENT:
            params["inputResponses"] = answers
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }
        message = self.say("c2s", {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, **how)
        return self.exchanges[message.key]

    def ask(self, id: Any, *keys: str, state: Any = ABSENT, questions: Any = None, **how: Any) -> Message:
        """The server answers `input_required` with these keys."""
        result: dict[str, Any] = {"resultType": "input_required"}
        if keys or questions is not None:
            result["inputRequests"] = questions if questions is not None else dict.fromkeys(keys, ELICIT)
        if state is not ABSENT:
            result["requestState"] = state
        return self.say("s2c", {"jsonrpc": "2.0", "id": id, "result": result}, **how)

    def done(self, id: Any, **how: Any) -> Message:
        result = {"resultType": "complete", "content": []}
        return self.say("s2c", {"jsonrpc": "2.0", "id": id, "result": result}, **how)


def accept(*keys: str) -> dict[str, Any]:
    """Answers that accept under each key."""
    return {key: {"action": "accept", "content": {"v": True}} for key in keys}


def link_of(exchange: Exchange) -> Link:
    """The link, which has to be there."""
    assert exchange.link is not None
    return exchange.link

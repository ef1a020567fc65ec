"""Traffic of a gateway with both sides in one capture, many calls in flight, and the truth about it.

A host calls on the channel "host"; the gateway calls the same tool, prompt or resource on the channel "up", whose
server answers, or asks: in rounds that the gateway passes on, or (`legacy`) by requests of its own that the gateway
makes rounds of. Somebody else calls "up" directly at times.
All by a seeded generator of chance: the same seed makes the same traffic.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .world import MODERN, World

META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}


@dataclass
class Gateway:
    """`truth`: key of an operation -> key of the host's operation that it was made for, "" for nobody's."""

    seed: int
    world: World = field(default_factory=World)
    truth: dict[str, str] = field(default_factory=dict)
    ids: int = 0
    legacy: bool = False  # what the server behind the gateway speaks

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def run(self, calls: int, in_flight: int) -> None:
        """So many calls, at most so many at once; which of them goes on next is left to chance."""
        stories: list[Iterator[None]] = []
        n = 0
        while n < calls or stories:
            if n < calls and len(stories) < in_flight:
                stories.append(self._direct() if self.chance.random() < 0.05 else self._call(n))
                n += 1
            story = self.chance.choice(stories)
            if next(story, self) is self:
                stories.remove(story)

    def _call(self, n: int) -> Iterator[None]:
        """One call from the host's request to the answer that it gets."""
        chance = self.chance
        of = n if chance.random() < 0.7 else -chance.randrange(4)
        arguments = of if chance.random() < 0.3 else {"n": of}
        question = {"method": "elicitation/create",
                    "params": {"message": f"Sure about {chance.choice([n, 'this'])}?", "mode": "form",
                               "requestedSchema": {"type": "object", "properties": {}}}}  # fmt: skip
        host_id, key = self._request("host", arguments)
        self.truth[key] = ""
        yield
        up_id, up = self._request("up", arguments)
        self.truth[up] = key
        yield
        if self.legacy and chance.random() < 0.5:
            self.ids += 1
            asked = self.ids
            body = {"jsonrpc": "2.0", "id": asked, **question}
            self.world.say("s2c", body, channel="up", process="up")
            yield
            asks = {"resultType": "input_required", "requestState": f"s{n}", "inputRequests": {"k": question}}
            self._answer("host", host_id, asks)
            yield
            given = {"action": "accept", "content": {}}
            host_id, _ = self._request("host", arguments, f"s{n}", {"k": given})
            yield
            self.world.say(
                "c2s", {"jsonrpc": "2.0", "id": asked, "result": given}, channel="up", process="up"
            )
            yield
        elif not self.legacy and chance.random() < 0.5:
            state = f"s{n}" if chance.random() < 0.5 else "constant"
            asks = {"resultType": "input_required", "requestState": state, "inputRequests": {"k": question}}
            self._answer("up", up_id, asks)
            yield
            self._answer("host", host_id, {**asks, "inputRequests": {"up/k": question}})
            yield
            given = {"action": "accept", "content": {}}
            host_id, _ = self._request("host", arguments, state, {"up/k": given})
            yield
            up_id, _ = self._request("up", arguments, state, {"k": given})
            yield
        said = [{"type": "text", "text": f"did {of}"}]
        result = {"resultType": "complete", "content" if arguments is not of else "contents": said}
        self._answer("up", up_id, result)
        yield
        self._answer("host", host_id, result)

    def _direct(self) -> Iterator[None]:
        """Somebody calls the upstream server without the gateway."""
        n = 10**6 + self.ids if self.chance.random() < 0.5 else -self.chance.randrange(4)
        id, key = self._request("up", {"n": n}, process="direct")
        self.truth[key] = ""
        yield
        self._answer("up", id, {"resultType": "complete", "content": []}, process="direct")

    def _request(
        self, channel: str, arguments: Any, state: str | None = None, answers: Any = None, process: str = ""
    ) -> tuple[int, str]:
        self.ids += 1
        resource = type(arguments) is int
        params: dict[str, Any] = (
            {"uri": f"doc://{arguments}"} if resource else {"name": "work", "arguments": arguments}
        )
        if channel == "host" or not self.legacy:
            params["_meta"] = META
        if state is not None:
            params |= {"requestState": state, "inputResponses": answers}
        method = "resources/read" if resource else "prompts/get" if arguments["n"] % 3 == 0 else "tools/call"
        body = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}
        return self.ids, self.world.say("c2s", body, channel=channel, process=process or channel).key

    def _answer(self, channel: str, id: int, result: dict[str, Any], process: str = "") -> None:
        body = {"jsonrpc": "2.0", "id": id, "result": result}
        self.world.say("s2c", body, channel=channel, process=process or channel)

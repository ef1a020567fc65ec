"""A2A over JSON-RPC: one operation a task, its messages as rounds, its stops as time of the client."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link import agents
from mrtrscope.link.facts import A2A, Exchange, Operation
from mrtrscope.wire.events import HTTP_END, HttpExchange, Message, Peer, Signal

from .world import World

PEER = Peer("web/1", "http", "127.0.0.1:1")


class Agent(World):
    """A world whose messages come by HTTP; `stream` is the exchange that the next ones belong to."""

    stream: HttpExchange

    def __init__(self) -> None:
        super().__init__()
        self.answers: dict[int, str] = {}

    def over_http(self, message: Message) -> None:
        message.http, message.peer = self.stream, PEER

    def send(self, n: int, at: float, method: str = "SendStreamingMessage", /, **params: Any) -> Exchange:
        self.stream = HttpExchange(f"h{n}", n, PEER, "agent", 0)
        self.stream.method, self.stream.request_headers = "POST", [("A2A-Version", "1.0")]
        body = {"jsonrpc": "2.0", "id": n, "method": method, "params": params}
        return self.exchanges[self._http("c2s", body, at).key]

    def to(self, id: int, at: float, **names: str) -> Exchange:
        message = {"messageId": f"m{id}", "role": "ROLE_USER", "parts": [{"text": "go"}], **names}
        return self.send(id, at, message=message)

    def tells(self, id: int, at: float, result: dict[str, Any]) -> None:
        self.answers[id] = self._http("s2c", {"jsonrpc": "2.0", "id": id, "result": result}, at).key

    def key_of(self, id: int) -> str:
        """The latest answer to a request."""
        return self.answers[id]

    def is_in(self, id: int, at: float, state: str, task: str = "t") -> None:
        self.tells(id, at, {"statusUpdate": {"taskId": task, "contextId": "c", "status": {"state": state}}})

    def ends(self) -> None:
        """The answer is at its end, and the server closed it."""
        signal = Signal()
        signal.journal, signal.offset, signal.part, signal.t = "test", self.ids * 1000 + 1, 0, self.t
        signal.channel, signal.dir, signal.lane, signal.peer = "agent", "s2c", "0o", PEER
        signal.http, signal.place, signal.cut, signal.edited = self.stream, None, False, False
        signal.what, signal.detail = HTTP_END, {}
        self.stream.closed_by, self.stream.t_end, self.stream.status = "server", self.t, 200
        self.linker.feed(signal)

    def _http(self, dir: str, body: dict[str, Any], at: float) -> Message:
        feed = self.linker.feed

        def fed(event: Any) -> None:
            self.over_http(event)
            feed(event)

        self.linker.feed = fed  # type: ignore[method-assign]
        try:
            return self.say(dir, body, at=at, channel="agent")
        finally:
            del self.linker.feed


def stopped_twice() -> tuple[Agent, Operation]:
    a = Agent()
    first = a.to(1, 1.0)
    a.tells(1, 1.5, {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}}})
    a.is_in(1, 2.0, "TASK_STATE_INPUT_REQUIRED")
    a.to(2, 4.0, taskId="t")
    a.is_in(2, 4.5, "TASK_STATE_WORKING")
    a.is_in(2, 5.0, "TASK_STATE_AUTH_REQUIRED")
    a.to(3, 8.0, taskId="t")
    a.is_in(3, 8.5, "TASK_STATE_WORKING")
    a.tells(3, 8.75, {"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a"}}})
    a.is_in(3, 9.0, "TASK_STATE_COMPLETED")
    return a, first.operation


def test_a_task_that_stops_for_input_and_for_authorization_is_one_operation_of_three_rounds() -> None:
    a, operation = stopped_twice()
    assert len(a.operations) == 1
    assert (operation.kind, operation.count, operation.outcome) == (A2A, 3, "complete")
    assert (operation.server, operation.waiting) == (3_000_000, 5_000_000)
    assert operation.more is not None
    assert [state for _, state in operation.more["states"]] == [
        "submitted", "input_required", "working", "auth_required", "working", "completed",
    ]  # fmt: skip
    assert operation.more["context"] == "c"
    assert a.settled_ones == [(operation.key, "complete")]
    assert {key for _, _, _, key in a.seen} == {operation.key}


def test_a_message_to_a_finished_task_is_no_round() -> None:
    a, operation = stopped_twice()
    late = a.to(4, 10.0, taskId="t")
    assert (late.operation, late.part, operation.count) == (operation, "late", 3)


@pytest.mark.parametrize(
    ("method", "part"), [("GetTask", "poll"), ("SubscribeToTask", "poll"), ("CancelTask", "cancel")]
)
def test_requests_about_the_task_are_parts(method: str, part: str) -> None:
    a, operation = stopped_twice()
    asked = a.send(4, 10.0, method, id="t")
    assert (asked.operation, asked.part) == (operation, part)
    assert a.send(5, 11.0, method, id="other").operation is not operation


def test_a_task_that_was_cancelled() -> None:
    a = Agent()
    operation = a.to(1, 1.0).operation
    a.tells(1, 1.5, {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}})
    a.send(2, 2.0, "CancelTask", id="t")
    a.tells(2, 2.5, {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_CANCELED"}})
    assert operation.outcome == "cancelled"


def test_an_answer_without_a_task_is_all_there_is() -> None:
    a = Agent()
    operation = a.to(1, 1.0).operation
    a.tells(1, 1.5, {"message": {"messageId": "x", "role": "ROLE_AGENT", "parts": []}})
    assert (operation.kind, operation.outcome) == ("single", "complete")


def test_an_event_about_another_task_changes_nothing() -> None:
    a = Agent()
    operation = a.to(1, 1.0).operation
    a.tells(1, 1.5, {"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}})
    a.is_in(1, 2.0, "TASK_STATE_COMPLETED", task="other")
    assert operation.outcome == "open"


def test_no_era_of_mcp() -> None:
    a = Agent()
    exchange = a.to(1, 1.0)
    assert (exchange.era, exchange.version) == ("a2a", "1.0")


@pytest.mark.parametrize(
    "value", [{}, {"task": 1}, {"task": {"id": 7}}, {"statusUpdate": {"taskId": "t" * 600}}]
)
def test_what_is_no_task_is_none(value: dict[str, Any]) -> None:
    assert agents.told(value) is None


def elsewhere(a: Agent, id: int, at: float) -> None:
    """The same client is answered something that has nothing to do with the task."""
    a.to(id, at)
    a.tells(id, at + 0.1, {"message": {"messageId": f"x{id}", "role": "ROLE_AGENT", "parts": []}})


def stopped() -> tuple[Agent, Operation]:
    a = Agent()
    operation = a.to(1, 1.0).operation
    a.tells(1, 2.0, {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}})
    return a, operation


def test_a_stop_that_its_client_went_on_after_without_a_word_is_abandoned() -> None:
    a, operation = stopped()
    elsewhere(a, 2, 40.0)
    assert operation.outcome == "open"
    elsewhere(a, 3, 70.0)
    elsewhere(a, 4, 125.0)
    assert operation.outcome == "abandoned"
    assert (operation.key, "abandoned") in a.settled_ones


def test_a_client_that_comes_back_goes_on_with_it() -> None:
    a, operation = stopped()
    for n, at in ((2, 70.0), (3, 130.0)):
        elsewhere(a, n, at)
    assert operation.outcome == "abandoned"
    back = a.to(5, 140.0, taskId="t")
    assert (back.operation, back.part, operation.outcome, operation.count) == (operation, "", "open", 2)
    a.is_in(5, 141.0, "TASK_STATE_COMPLETED")
    assert (operation.outcome, operation.waiting) == ("complete", 138_000_000)


def test_who_polls_a_stop_waits_for_it() -> None:
    a, operation = stopped()
    for n in range(2, 12):
        a.send(n, 30.0 * n, "GetTask", id="t")
        status = {"state": "TASK_STATE_INPUT_REQUIRED"}
        a.tells(n, 30.0 * n + 1, {"id": "t", "contextId": "c", "status": status})
    assert operation.outcome == "open"

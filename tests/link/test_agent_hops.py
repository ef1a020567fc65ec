"""A message to an agent that was sent for a tool call, and the reverse: joined where both carry one trace id."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.facts import Exchange
from mrtrscope.wire.events import HttpExchange, Peer

from .test_agents import Agent
from .test_hops import OTHER, TRACE, call, hop


def to_agent(a: Agent, trace: str = "", at: float | None = None) -> Exchange:
    """A message that begins a task, with a trace in its head."""
    stream = HttpExchange("h", 1, Peer("web/1", "http", "127.0.0.1:1"), "agent", 0)
    stream.method = "POST"
    stream.request_headers = [("A2A-Version", "1.0")] + ([("traceparent", trace)] if trace else [])
    a.stream = stream
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "go"}]}
    body = {"jsonrpc": "2.0", "id": 900 + a.ids, "method": "SendMessage", "params": {"message": message}}
    return a.exchanges[a._http("c2s", body, at if at is not None else a.t / 1e6 + 0.01).key]


def test_a_message_for_a_tool_call_with_its_trace_is_inferred_to_be_its_hop() -> None:
    a = Agent()
    host = call(a, "gateway", {"n": 1}, trace=TRACE)
    assert hop(to_agent(a, TRACE)) == (host.key, "inferred", ["trace", "time"])


@pytest.mark.parametrize(("mine", "its"), [("", ""), (TRACE, ""), ("", TRACE), (OTHER, TRACE)])
def test_without_the_same_trace_nothing_is_joined(mine: str, its: str) -> None:
    a = Agent()
    call(a, "gateway", {"n": 1}, trace=its)
    assert hop(to_agent(a, mine)) is None


def test_two_calls_of_one_trace_leave_it_open() -> None:
    a = Agent()
    calls = [call(a, "gateway", {"n": n}, trace=TRACE) for n in (1, 2)]
    sent = to_agent(a, TRACE)
    found: dict[str, Any] = (sent.operation.more or {})["hop"]
    assert (found["in"], found["grade"]) == ("", "ambiguous")
    assert set(found["candidates"]) == {c.key for c in calls}


def test_a_tool_call_that_an_agent_makes_for_a_message() -> None:
    a = Agent()
    sent = to_agent(a, TRACE)
    assert hop(call(a, "tools", {"n": 1}, trace=TRACE)) == (sent.key, "inferred", ["trace", "time"])
    assert hop(call(a, "tools", {"n": 2})) is None


def test_two_messages_of_like_arguments_are_no_hops_of_each_other() -> None:
    a = Agent()
    to_agent(a)
    a.stream.channel = "agent"
    other = to_agent(a)
    assert hop(other) is None

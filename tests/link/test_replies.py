"""What is odd about an answer, by what was posted."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.facts import MODERN, Exchange
from mrtrscope.link.replies import LINGER, ended, headed
from mrtrscope.wire.events import HttpExchange, Message, Peer, SseEvent

JSON, STREAM = ("Content-Type", "application/json; charset=utf-8"), ("content-type", "text/event-stream")


def answered(
    posted: str | None, status: int, *headers: tuple[str, str], size: int = 10, **fields: Any
) -> HttpExchange:
    http = HttpExchange("j:0", 1, Peer("j:1", "http"), "http://127.0.0.1:8000/mcp", 0)
    http.method, http.status, http.response_headers = "POST", status, list(headers)
    http.response_size, http.closed_by, http.t_end = size, "server", 10_000_000
    if posted is not None:
        http.facts["posted"] = posted
    for name, value in fields.items():
        setattr(http, name, value)
    return http


def exchange(http: HttpExchange, answer: Message | None = None, method: str = "tools/call") -> Exchange:
    made = Exchange()
    made.era, made.method, made.answer, made.http = MODERN, method, answer, http
    return made


@pytest.mark.parametrize(
    ("http", "kinds"),
    [
        (answered("request", 200, JSON), set()),
        (answered("request", 200, STREAM, ("X-Accel-Buffering", "NO")), {"stream"}),
        (answered("request", 200, STREAM), {"stream", "buffering"}),
        (answered("request", 200), {"type"}),
        (answered("request", 202, JSON), {"type"}),
        (answered("request", 404, ("Content-Type", "text/html")), set()),
        (answered("request", 200, JSON, ("Mcp-Session-Id", "1")), {"session"}),
        (answered("notification", 202), set()),
        (answered("notification", 204), {"status"}),
        (answered("notification", 403), set()),
        (answered("response", 302), {"status"}),
        (answered("batch", 200), set()),
        (answered(None, 204), set()),
        (answered(None, 200, STREAM, method="GET"), {"verb"}),
        (answered(None, 204, method="OPTIONS"), set()),
    ],
)
def test_heads(http: HttpExchange, kinds: set[str]) -> None:
    headed(http, exchange(http), known=True)
    assert set(http.facts.get("reply", {})) == kinds


@pytest.mark.parametrize(
    ("http", "method", "kinds"),
    [
        (answered("request", 200, STREAM), "tools/call", {"unanswered"}),
        (answered("request", 200, STREAM, closed_by="client"), "tools/call", set()),
        (answered("request", 200, STREAM), "subscriptions/listen", set()),
        (answered("request", 200, STREAM, cut=True), "tools/call", set()),
        (answered("request", 200, JSON, size=0), "tools/call", {"empty"}),
        (answered("request", 200, JSON, size=0, error="reset"), "tools/call", set()),
        (answered("request", 200, JSON, size=0, flow="f1"), "tools/call", set()),
        (answered("request", 200, JSON, ("content-length", "0"), size=0, flow="f1"), "tools/call", {"empty"}),
        (answered("notification", 202), "", {"body"}),
        (answered("notification", 202, size=0), "", set()),
    ],
)
def test_ends(http: HttpExchange, method: str, kinds: set[str]) -> None:
    ended(http, exchange(http, method=method))
    assert set(http.facts.get("reply", {})) == kinds


@pytest.mark.parametrize(("late", "told"), [(LINGER, False), (LINGER + 1, True)])
def test_a_stream_may_close_within_five_seconds(late: int, told: bool) -> None:
    http = answered("request", 200, STREAM)
    answer = Message()
    answer.sse, answer.t = SseEvent(0, None, None, None), 10_000_000 - late
    ended(http, exchange(http, answer))
    assert ("lingering" in http.facts.get("reply", {})) is told


def test_answers_that_say_they_come_out_of_a_cache() -> None:
    for header in (("Age", "12"), ("X-Cache", "HIT from edge"), ("Cache-Status", "edge; hit")):
        http = answered("request", 200, JSON, header)
        headed(http, exchange(http), known=True)
        assert http.facts["hit"] is True
    http = answered("request", 200, JSON, ("X-Cache", "MISS"))
    headed(http, exchange(http), known=True)
    assert "hit" not in http.facts

"""Event streams of a session: ids, copies, and what a Last-Event-ID leads to."""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link.memory import DictMemory
from mrtrscope.link.streams import STREAMS, TOLD, Stream, Streams, stream_of
from mrtrscope.wire.events import HttpExchange, Message, Peer, Signal, SseEvent

PEER = Peer("p", "http")
CHANGED = {"method": "notifications/tools/list_changed"}


def opened(
    streams: Streams, key: str, method: str = "POST", after: str | None = None, t: int = 0
) -> HttpExchange:
    http = HttpExchange(key, 0, PEER, "c", t)
    http.method = method
    if after is not None:
        streams.resumes(http, after, t)
    streams.opened(http, named=True)
    return http


def message(http: HttpExchange, body: dict[str, Any], id: str | None = None, t: int = 0) -> Stream:
    made = Message()
    made.journal, made.offset, made.part, made.t, made.http = http.key, t, 0, t, http
    made.body, made.raw = body, json.dumps(body).encode()
    made.kind = "response" if "result" in body else "request" if "id" in body else "notification"
    made.sse = SseEvent(0, None, id, None)
    stream: Stream = http.facts["stream"]
    stream.message(made)
    assert stream_of(made) is stream
    return stream


def event(http: HttpExchange, id: str, retry: str | None = None, t: int = 0) -> None:
    made = Signal()
    made.journal, made.offset, made.part, made.t, made.http = http.key, t, 0, t, http
    made.what, made.detail = "sse-event", {"event": None, "id": id, "retry": retry, "data": ""}
    http.facts["stream"].event(made)


def test_a_stream_that_begins_with_an_id_is_primed() -> None:
    streams = Streams(DictMemory(), "session")
    http = opened(streams, "a")
    event(http, "a-0", "500")
    stream = message(http, {"id": 1, "result": {}}, "a-1")
    assert stream.primed and stream.answered and stream.odd == {} and stream.retry == 500


def test_an_id_for_two_events_is_odd() -> None:
    streams = Streams(DictMemory(), "session")
    message(opened(streams, "a"), CHANGED, "1", t=1)
    stream = message(opened(streams, "b"), {"id": 1, "result": {}}, "1", t=2)
    assert stream.odd == {"unprimed": "", "reused": "a:1"}


def test_what_is_told_again_on_its_own_line_is_right_and_on_another_is_not() -> None:
    streams = Streams(DictMemory(), "session")
    a, b = opened(streams, "a"), opened(streams, "b", "GET")
    message(a, {"id": 9, "method": "roots/list"}, "a-1", t=1)
    message(b, CHANGED, "b-1", t=2)
    own = opened(streams, "c", "GET", after="a-1", t=5)
    assert message(own, {"id": 9, "method": "roots/list"}, "a-1", t=6).odd == {}
    assert message(own, CHANGED, "b-1", t=7).odd == {"foreign": "b:2"}
    assert own.facts["stream"].root == "a"


def test_copies_on_streams_that_are_open_together() -> None:
    streams = Streams(DictMemory(), "session")
    a, b = opened(streams, "a", "GET"), opened(streams, "b", "GET")
    message(a, CHANGED, t=1)
    assert message(b, CHANGED, t=500_000).odd == {"copied": "a:1"}
    assert message(a, CHANGED, t=9_000_000).odd == {}  # later: another one


def test_a_stream_is_taken_up_where_it_ended() -> None:
    streams = Streams(DictMemory(), "session")
    a = opened(streams, "a")
    event(a, "a-0", "3000", t=1_000)
    message(a, CHANGED, "a-1", t=2_000)
    a.closed_by = "server"
    a.facts["stream"].ends(a, 5_000)
    resume = opened(streams, "b", "GET", after="a-0", t=9_000).facts["resume"]
    assert resume == {"id": "a-0", "root": "a", "last": "a-1", "retry": 3000, "since": 4_000}
    assert opened(streams, "c", "GET", after="zz").facts["resume"]["root"] == ""


def test_ids_belong_to_one_session() -> None:
    memory = DictMemory()
    message(opened(Streams(memory, "one"), "a"), CHANGED, "1", t=1)
    stream = message(opened(Streams(memory, "other"), "b"), {"id": 1, "result": {}}, "1", t=2)
    assert "reused" not in stream.odd


def test_streams_and_what_was_told_are_bounded() -> None:
    streams = Streams(DictMemory(), "session")
    for n in range(STREAMS + TOLD):
        message(opened(streams, str(n)), {"method": f"notifications/{n}"})
    assert (len(streams.streams), len(streams.told)) == (STREAMS, TOLD)


def test_a_stream_that_may_be_taken_up_outlives_those_that_are_over() -> None:
    streams = Streams(DictMemory(), "session")
    event(opened(streams, "listening", "GET"), "l-0")
    for n in range(STREAMS + 4):
        http = opened(streams, str(n))
        message(http, {"id": n, "result": {}}).ends(http, n + 1)
    assert "listening" in streams.streams and len(streams.streams) == STREAMS

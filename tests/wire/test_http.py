"""HTTP exchanges as a proxy or a transcript tells them: heads, bodies, events, ends."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from mrtrscope.frames import DATA, END, GAP, HEAD, NOTE, OPEN, SENT
from mrtrscope.wire.events import (
    EDITED,
    HTTP_END,
    HTTP_REQUEST,
    HTTP_REQUEST_END,
    HTTP_RESPONSE,
    SSE_COMMENT,
    SSE_EVENT,
    SSE_UNDELIVERED,
)
from mrtrscope.wire.exchange import channel_of

from .tools import CHUNKINGS, Step, data, journal, messages, others, read, read_steps, result, rpc, signals

URL = "http://127.0.0.1:8000/mcp"
JSON, SSE = ("Content-Type", "application/json"), ("Content-Type", "text/event-stream")
ADDON = {"how": "addon", "channel": "proxy"}


def ask(
    *chunks: bytes, n: int = 1, method: str = "POST", url: str = URL, headers: Any = (JSON,), **opened: Any
) -> list[Step]:
    opened = {"conn": 900, "client": "127.0.0.1:5000", "flow": f"f{n}", **opened}
    head = {"method": method, "url": url, "http": "HTTP/1.1", "headers": [list(pair) for pair in headers]}
    return [
        (f"{n}q", OPEN, opened),
        (f"{n}q", HEAD, head),
        *data(f"{n}q", *chunks),
        (f"{n}q", END, {"by": "client"}),
    ]


def reply(
    *chunks: bytes, n: int = 1, status: int = 200, headers: Any = (JSON,), end: Any = None, **more: Any
) -> list[Step]:
    head = {
        "status": status,
        "reason": "OK",
        "http": "HTTP/1.1",
        "headers": [list(pair) for pair in headers],
        **more,
    }
    return [
        (f"{n}a", HEAD, head),
        *data(f"{n}a", *chunks),
        (f"{n}a", END, {"by": "server"} if end is None else end),
    ]


def event(text: bytes, **fields: str) -> bytes:
    return "".join(f"{k}: {v}\n" for k, v in fields.items()).encode() + b"data: " + text + b"\n\n"


def test_one_exchange() -> None:
    frames = journal([*ask(rpc(1)), *reply(result(1))])
    events = read(frames, ADDON)
    question, answer = messages(events)
    http = question.http
    assert http is not None and http is answer.http
    assert [(s.what, s.offset, s.t) for s in signals(events)] == [
        (what, frames[n].offset, frames[n].t)
        for what, n in ((HTTP_REQUEST, 1), (HTTP_REQUEST_END, 3), (HTTP_RESPONSE, 4), (HTTP_END, 6))
    ]
    assert (question.channel, answer.channel) == (URL, URL)
    assert (question.peer.id, question.peer.transport, question.peer.address) == (
        "j:900",
        "http",
        "127.0.0.1:5000",
    )
    assert (question.lane, answer.lane, question.dir, answer.dir) == ("1q", "1a", "c2s", "s2c")
    # a request is of the moment it was complete, an answer of its last chunk
    assert (question.t, question.offset, answer.t, answer.offset) == (
        frames[3].t, frames[2].offset, frames[5].t, frames[5].offset,
    )  # fmt: skip
    assert (http.method, http.url, http.status, http.reason, http.flow, http.number) == (
        "POST",
        URL,
        200,
        "OK",
        "f1",
        1,
    )
    assert (http.request_size, http.response_size, http.closed_by, http.error) == (
        len(rpc(1)),
        len(result(1)),
        "server",
        "",
    )
    times = (http.t, http.t_request_end, http.t_response, http.t_end)
    assert times == tuple(frames[n].t for n in (1, 3, 4, 6))
    assert http.request_headers == [JSON] and http.response_headers == [JSON]


def test_exchanges_of_one_connection_share_a_peer_and_unknown_connections_do_not() -> None:
    steps = [*ask(rpc(1), n=1), *ask(rpc(2), n=2), *ask(rpc(3), n=3, conn=901)]
    steps += [step for step in [*ask(rpc(4), n=4), *ask(rpc(5), n=5)] if step[1] != OPEN]
    assert [m.peer.id for m in messages(read_steps(steps, ADDON))] == [
        "j:900",
        "j:900",
        "j:901",
        "j:4q",
        "j:5q",
    ]


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("trailing", [b"", b"data: never"])
def test_an_event_stream(chunking, packed, trailing) -> None:
    note = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'
    text = (
        b"id: 1\nretry: 5\ndata:\n\n: keep\n\n" + event(note, event="message") + event(b"soon", event="ping")
        + event(b'{"type":"heartbeat"}') + event(result(1), id="2") + trailing
    )  # fmt: skip
    headers = [SSE, ("Content-Encoding", "gzip")] if packed else [SSE]
    wire = gzip.compress(text) if packed else text
    frames = journal([*ask(rpc(1)), *reply(*chunking(wire), headers=headers)])
    events = read(frames, ADDON)
    _, progress, final = messages(events)
    assert (progress.kind, progress.raw, final.kind, final.raw) == (
        "notification",
        note,
        "response",
        result(1),
    )
    assert progress.sse is not None and final.sse is not None
    assert [(s.index, s.event, s.id, s.retry) for s in (progress.sse, final.sse)] == [
        (0, "message", None, None), (3, None, "2", None),
    ]  # fmt: skip
    assert [(s.what, s.detail) for s in signals(events) if s.what in (SSE_EVENT, SSE_COMMENT)] == [
        (SSE_EVENT, {"event": None, "id": "1", "retry": "5", "data": ""}), (SSE_COMMENT, {"text": "keep"}),
        (SSE_EVENT, {"event": "ping", "id": None, "retry": None, "data": "soon"}),
    ]  # fmt: skip
    assert [(n.raw, n.why, n.counts) for n in others(events)] == [
        (b'{"type":"heartbeat"}', "not-json-rpc", True)
    ]
    assert [s.detail for s in signals(events, SSE_UNDELIVERED)] == (
        [{"size": len(trailing)}] if trailing else []
    )
    keys = [e.key for e in events]
    assert len(set(keys)) == len(keys)
    if not packed:
        chunks = list(chunking(wire))
        for message in (progress, final):  # of the chunk that completed it, and placed at its first byte
            place = text.index(message.raw) + len(message.raw) + 2
            at = next(n for n in range(len(chunks)) if len(b"".join(chunks[: n + 1])) >= place)
            assert message.t == frames[5 + at].t


def test_bodies_of_events_are_placed_as_transcripts_count_them() -> None:
    steps = [
        *ask(rpc(1)),
        *reply(event(b"x", event="ping") + event(result(1)) + event(result(2)), headers=[SSE]),
    ]
    steps += [*ask(rpc(2), n=2), *reply(b"[" + result(1) + b"," + result(2) + b"]", n=2)]
    frames = journal(steps)
    for frame in frames:
        frame.place = {"flow": 40 + int(frame.lane[:-1])}
    found = messages(read(frames))
    assert [m.place for m in found] == [
        {"flow": 41}, {"flow": 41, "event": 1}, {"flow": 41, "event": 2},
        {"flow": 42}, {"flow": 42, "event": 0}, {"flow": 42, "event": 0},
    ]  # fmt: skip
    assert [m.http.number for m in found if m.http] == [41, 41, 41, 42, 42, 42]


def test_an_answer_is_read_as_soon_as_it_is_complete_and_not_before() -> None:
    text = result(1, text="}")
    for headers, early in (
        ([JSON], True),
        ([JSON, ("Content-Length", str(len(text)))], True),
        ([("Content-Type", "text/html")], False),
    ):
        frames = journal([*ask(rpc(1)), *reply(text[:-3], text[-3:], headers=headers)])
        reader_events = [read(frames[:n], ADDON) for n in (6, 7, 8)]
        found = [len(messages(e)[1:] + others(e)) for e in reader_events]
        assert found == ([0, 1, 1] if early else [0, 0, 1])


def test_a_body_of_several_texts_is_read_the_same_in_any_chunking() -> None:
    text = result(1) + b"\n" + result(2) + b"\nrest"
    for chunking in CHUNKINGS:
        events = read_steps([*ask(rpc(1)), *reply(*chunking(text))], ADDON)
        assert [(m.id, [name for name, _ in m.oddities]) for m in messages(events)[1:]] == [
            (1, []),
            (2, ["trailing-data"]),
        ]
        assert [n.raw for n in others(events)] == [b"rest"]


@pytest.mark.parametrize(
    ("kind", "status", "body", "want"),
    [
        ("application/json; charset=utf-8", 200, result(1), "message"),
        ("Application/JSON", 400, b'{"jsonrpc":"2.0","error":{"code":1,"message":""}}', "message"),
        ("application/problem+json", 400, b'{"id":1,"error":{"code":1,"message":""}}', "message"),
        ("application/json", 401, b'{"error":"invalid_token"}', "not-json-rpc"),
        ("application/json", 200, b"null", "not-an-object"),
        ("application/json", 200, b"{}", "not-json-rpc"),
        ("application/json", 200, b'{"jsonrpc":"2.0","id"', "not-json"),
        ("application/json", 200, b"[]", "empty-batch"),
        ("", 200, result(1), "message"),
        ("", 200, b"hello", "not-json"),
        ("text/plain", 200, result(1), "other-content-type"),
        ("text/html", 503, b"<h1>503</h1>", "other-content-type"),
        ("application/json", 202, b"", "nothing"),
        ("application/json", 202, b" \r\n", "nothing"),
    ],
)
def test_answers_to_a_message(kind, status, body, want) -> None:
    headers = [("content-type", kind)] if kind else []
    events = read_steps([*ask(rpc(1)), *reply(body, status=status, headers=headers)], ADDON)
    found = [*messages(events)[1:], *others(events)]
    assert ["message" if hasattr(one, "kind") else one.why for one in found] == (
        [want] if want != "nothing" else []
    )
    assert all(one.counts for one in others(events))
    if want == "other-content-type" and kind == "text/plain":
        assert others(events)[0].body == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.parametrize(
    ("method", "url", "headers", "body", "answer", "counted"),
    [
        (
            "POST",
            "/token",
            [("Content-Type", "application/x-www-form-urlencoded")],
            b"a=b",
            b'{"access_token":"x"}',
            (0, 0),
        ),
        ("POST", "/register", [JSON], b'{"redirect_uris":[]}', b'{"client_id":"x"}', (0, 0)),
        ("GET", "/.well-known/oauth-protected-resource", [], b"", b'{"resource":"x"}', (0, 0)),
        ("GET", "/mcp", [("Accept", "text/event-stream")], b"", b"Method Not Allowed", (0, 0)),
        ("POST", "/mcp", [("MCP-Protocol-Version", "x")], b"[]", b"no", (1, 1)),
        ("POST", "/mcp", [("Accept", "application/json, text/event-stream")], b"hello", b"no", (1, 1)),
        ("POST", "/seen", [JSON], b"hello", b"no", (1, 1)),
    ],
)
def test_non_messages_count_only_where_messages_are_due(method, url, headers, body, answer, counted) -> None:
    before = [*ask(rpc(1), n=7, url="http://h/seen"), *reply(result(1), n=7)]
    steps = [*ask(body, method=method, url=f"http://h{url}", headers=headers), *reply(answer)]
    events = read_steps([*before, *steps], ADDON)
    found = [(one.dir, one.counts) for one in others(events)]
    assert [sum(counts for dir, counts in found if dir == wanted) for wanted in ("c2s", "s2c")] == list(
        counted
    )


@pytest.mark.parametrize(
    ("url", "channel"),
    [
        ("HTTP://Example.TEST:80/mcp?x=1#y", "http://example.test/mcp"),
        ("https://h:443", "https://h/"),
        ("https://h:80/a/b", "https://h:80/a/b"),
        ("http://user:secret@h:1/x", "http://h:1/x"),
        ("http://[::1]:8000/mcp", "http://[::1]:8000/mcp"),
        ("/mcp", ""),
        ("", ""),
    ],
)
def test_channels(url, channel) -> None:
    assert channel_of(url) == channel


def test_ends() -> None:
    steps: list[Step] = []
    ends = [
        {"by": "client", "error": "Client disconnected."},
        {"by": "upstream", "error": "refused"},
        {"by": "us"},
        {},
        b"junk",
    ]
    for n, end in enumerate(ends, 1):
        steps += [*ask(rpc(n), n=n), *reply(event(b"x")[:-1], n=n, headers=[SSE], end=end)]
    https = [s.http for s in signals(read_steps(steps, ADDON), HTTP_END)]
    assert [(h.closed_by, h.error, h.ours) for h in https if h] == [
        ("client", "Client disconnected.", False),
        ("upstream", "refused", False),
        ("us", "", True),
        ("server", "", False),
        ("server", "", False),
    ]


def test_an_answer_that_is_over_before_its_request() -> None:
    steps = ask(rpc(1)[:9], rpc(1)[9:])
    frames = journal(
        [*steps[:3], *reply(b'{"jsonrpc":"2.0","error":{"code":1,"message":""}}', status=413), *steps[3:]]
    )
    events = read(frames, ADDON)
    assert [m.kind for m in messages(events)] == ["error", "request"]
    assert [s.what for s in signals(events)] == [HTTP_REQUEST, HTTP_RESPONSE, HTTP_REQUEST_END, HTTP_END]
    (end,) = signals(events, HTTP_END)
    assert end.http is not None and (end.http.closed_by, end.http.error) == ("server", "")


def test_a_request_that_breaks_off() -> None:
    steps = ask(rpc(1)[:20])
    steps[-1] = ("1q", END, {"by": "client", "error": "gone"})
    events = read_steps([*steps, ("1a", END, {"by": "client", "error": "gone"})], ADDON)
    assert messages(events) == []
    assert [(n.why, n.counts) for n in others(events)] == [("not-json", False)]
    assert [s.what for s in signals(events)] == [HTTP_REQUEST, HTTP_REQUEST_END, HTTP_END]


def test_what_the_proxy_says_itself() -> None:
    events = read_steps(
        [*ask(rpc(1)), *reply(b"bad", status=502, headers=[], ours=True, end={"by": "us"})], ADDON
    )
    (end,) = signals(events, HTTP_END)
    assert end.http is not None and end.http.ours
    events = read_steps([*ask(rpc(1)), *reply(status=103, ours=True, end={"by": "us"})], ADDON)
    (end,) = signals(events, HTTP_END)
    assert end.http is not None and (end.http.status, end.http.ours, end.http.informational) == (
        103,
        True,
        [],
    )


def test_interim_answers_are_collected() -> None:
    interim: Step = ("1a", HEAD, {"status": 100, "headers": []})
    events = read_steps([*ask(rpc(1)), interim, interim, *reply(result(1))], ADDON)
    (head,) = signals(events, HTTP_RESPONSE)
    assert head.http is not None and (head.http.informational, head.http.status) == ([100, 100], 200)


def test_gaps_make_an_exchange_doubtful() -> None:
    gap: Step = ("1a", GAP, {"bytes": 3, "frames": 1, "why": "disk full"})
    head, *rest = reply(event(result(1)), event(result(2)), headers=[SSE])
    events = read_steps([*ask(rpc(1)), head, gap, *rest], ADDON)
    assert [(m.id, m.cut) for m in messages(events)] == [(1, False), (1, True), (2, False)]
    assert all(m.http is not None and m.http.cut for m in messages(events))


def test_a_body_that_was_edited_after_it_was_kept() -> None:
    steps = [
        *ask(rpc(1, name="old")),
        ("1q", SENT, rpc(1, name="new")),
        ("1q", NOTE, {"edited": {"method": "POST"}}),
    ]
    steps += [*reply(result(1, a=1)), ("1a", SENT, result(1, a=2))]
    frames = journal(steps)
    events = read(frames, ADDON)
    question, answer = messages(events)
    assert (question.params, question.edited, answer.result, answer.edited) == (
        {"name": "new"},
        True,
        {"a": 2},
        True,
    )
    assert [(s.offset, s.detail) for s in signals(events, EDITED)] == [
        (frames[4].offset, {"keys": [question.key], "now": [["request", "1", "tools/call", len(question.raw)]]}),
        (frames[9].offset, {"keys": [answer.key], "now": [["response", "1", None, len(answer.raw)]]}),
    ]  # fmt: skip
    assert (question.before, answer.before) == (rpc(1, name="old"), result(1, a=1))
    assert question.http is not None and question.http.facts["edited"] == {"method": "POST"}


def test_a_message_whose_head_alone_was_edited() -> None:
    frames = journal([*ask(rpc(1, name="same")), ("1q", NOTE, {"edited": {"method": "POST"}})])
    events = read(frames, ADDON)
    (question,) = messages(events)
    assert (question.params, question.edited, question.before) == ({"name": "same"}, True, b"")
    assert [s.detail["keys"] for s in signals(events, EDITED)] == [[question.key]]


def test_heads_that_make_no_sense_raise_nothing() -> None:
    steps: list[Step] = [
        ("1q", HEAD, {"method": 5, "url": None, "headers": [["a"], 5, ["b", 1], ["c", "d"]]}),
        ("1q", HEAD, b"\xff"),
        ("1a", HEAD, {"status": "200", "headers": {"x": "y"}}),
        ("1a", DATA, b"x"),
        ("1q", DATA, b"y"),
        ("1q", END, b""),
        ("2a", DATA, b"{}"),
        ("2a", HEAD, {}),
        ("2a", END, b""),
        ("3q", SENT, b"x"),
        ("3a", OPEN, {"conn": "x", "client": 5}),
    ]
    assert read_steps(steps, ADDON)

"""What holds for all of `wire`: no bytes raise, neither chunking nor a checkpoint changes anything."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrtrscope import snapshot
from mrtrscope.frames import DATA, DIRECTION, END, EXIT, GAP, HEAD, KINDS, NOTE, OPEN, SENT, Frame
from mrtrscope.wire.events import Event
from mrtrscope.wire.reader import Reader

from .tools import (
    OPENED,
    RELAY,
    Step,
    answer,
    bytewise,
    chunked,
    data,
    exchange,
    journal,
    post,
    read,
    result,
    rpc,
    told,
)

TEXTS = st.sampled_from(
    [
        rpc(1),
        rpc("x", name="deploy"),
        result(1),
        result("x", text="\u2028"),
        b"",
        b"\n",
        b"\r\n",
        b"[]",
        b"{}",
        b"null",
        b"[" + rpc(1) + b",1]",
        b'{"jsonrpc":"2.0","id":1,"method":"a","id":1}',
        b'{"a":NaN}',
        b"\xff\xfe",
        b"noise",
        b"Content-Length: 5\r\n",
        b"data: ",
        b"event: ping\n",
        b": c\n\n",
        b"data: " + result(1) + b"\n\n",
        b"\xef\xbb\xbf",
        post(rpc(1)),
        answer(result(1)),
        b"HTTP/1.1 100 Continue\r\n\r\n",
        post(b"x", length=500),
        b"GET / HTTP/1.1\r\n\r\n",
        b"HEAD / HTTP/1.1\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        chunked(b"data: 1", b"\n\n"),
        b"0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"5\r\n",
        b"HTTP/1.1 101 x\r\n\r\n",
    ]
)
BYTES = st.lists(TEXTS | st.binary(max_size=12), max_size=6).map(b"".join)
HEADS: list[dict[str, Any]] = [
    {"method": "POST", "url": "http://h/mcp", "headers": [["Content-Type", "application/json"]]},
    {"method": "POST", "url": "/x", "headers": [["Content-Encoding", "gzip"], ["MCP-Protocol-Version", "x"]]},
    {"status": 200, "headers": [["Content-Type", "text/event-stream"]]},
    {"status": 200, "headers": [["Content-Type", "text/event-stream"], ["Content-Encoding", "br"]]},
    {"status": 200, "headers": [["Content-Type", "application/json"], ["Content-Length", "40"]]},
    {"status": 404, "headers": [["Content-Type", "text/html"]], "ours": True},
    {"status": 100, "headers": []},
    {"headers": 5},
    {},
]
DETAILS: list[dict[str, Any]] = [
    {"by": "client"},
    {"by": "us", "error": "x"},
    {"bytes": 7, "why": "disk full"},
    {"code": 1},
    {"conn": 1, "client": "h:1"},
    {"edited": {}},
    {},
]
LANES = st.tuples(st.integers(0, 2), st.sampled_from(sorted(DIRECTION))).map(
    lambda lane: f"{lane[0]}{lane[1]}"
)
STEPS = st.one_of(
    st.tuples(LANES, st.sampled_from([DATA, DATA, DATA, SENT]), BYTES),
    st.tuples(LANES, st.just(HEAD), st.sampled_from(HEADS)),
    st.tuples(LANES, st.sampled_from([OPEN, END, GAP, EXIT, NOTE]), st.sampled_from(DETAILS)),
    st.tuples(
        LANES | st.text(max_size=3),
        st.sampled_from(sorted(KINDS)) | st.text(max_size=3),
        st.binary(max_size=9),
    ),
)
HOW = st.sampled_from(["wrap", "relay", "addon", "transcript"])


def final(events: list[Event]) -> list[Any]:
    return [told(event) for event in events] + [exchange(event.http) for event in events]


@settings(max_examples=400)
@given(st.lists(STEPS, max_size=14), HOW)
def test_any_frames_give_events_with_unique_keys_and_no_exception(steps: list[Step], how: str) -> None:
    events = read(journal(steps), {"how": how, "channel": "http://h:1"})
    keys = [event.key for event in events]
    assert len(set(keys)) == len(keys)
    assert json.dumps(final(events), default=repr)


@settings(max_examples=200)
@given(st.lists(STEPS, max_size=10), HOW)
def test_a_checkpoint_between_any_two_frames_changes_nothing(steps: list[Step], how: str) -> None:
    frames, header = journal(steps), {"how": how, "channel": "http://h:1"}
    events = read(frames, header)
    reader, pieces = Reader(), []
    reader.source("j", header)
    for frame in frames:
        pieces += reader.feed(frame)
        reader = snapshot.load(snapshot.dump(reader, {}), {})
    assert [(event.key, type(event)) for event in pieces] == [(event.key, type(event)) for event in events]
    if not any(
        event.edited for event in events
    ):  # an edit reaches what the reader holds, not what was given out before
        assert [told(event) for event in pieces] == [told(event) for event in events]


WHOLE: list[tuple[str, dict[str, Any], list[Step]]] = [
    ("pipe", {"how": "wrap"}, [("1i", DATA, b""), ("1i", END, {})]),
    (
        "answer",
        {"how": "addon"},
        [("1q", HEAD, HEADS[0]), ("1q", END, {}), ("1a", HEAD, HEADS[2]), ("1a", DATA, b""), ("1a", END, {})],
    ),
    (
        "json",
        {"how": "addon"},
        [
            ("1q", HEAD, HEADS[0]),
            ("1q", END, {}),
            ("1a", HEAD, HEADS[0] | {"status": 200}),
            ("1a", DATA, b""),
            ("1a", END, {}),
        ],
    ),
    (
        "packed",
        {"how": "addon"},
        [("1q", HEAD, HEADS[0]), ("1q", END, {}), ("1a", HEAD, HEADS[3]), ("1a", DATA, b""), ("1a", END, {})],
    ),
    (
        "request",
        {"how": "addon"},
        [("1q", HEAD, HEADS[1]), ("1q", DATA, b""), ("1q", END, {}), ("1a", END, {})],
    ),
    ("client", RELAY, [OPENED, ("1c", DATA, b""), ("1c", END, {}), ("1s", END, {})]),
    (
        "server",
        RELAY,
        [OPENED, ("1c", DATA, post(rpc(1)) + b"HEAD / HTTP/1.1\r\n\r\n"), ("1s", DATA, b""), ("1s", END, {})],
    ),
]


@settings(max_examples=300)
@given(st.sampled_from(WHOLE), BYTES, st.data())
def test_chunking_changes_nothing(
    case: tuple[str, dict[str, Any], list[Step]], text: bytes, draw: st.DataObject
) -> None:
    _, header, steps = case
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    (slot,) = [n for n, step in enumerate(steps) if step[1] == DATA and step[2] == b""]

    def run(chunks: list[bytes]) -> list[Any]:
        filled = [*steps[:slot], *data(steps[slot][0], *chunks), *steps[slot + 1 :]]
        return [told(event, places=False) for event in read(journal(filled), header)]

    assert run(chunks) == run([text])


@pytest.mark.parametrize("closing", [b"}", b"]", b"\n"])
def test_a_body_in_single_bytes_is_not_tried_again_and_again(closing: bytes) -> None:
    text = b"[" + b"{}," * 20_000 + b"{}" + closing * 20_000
    head = HEADS[0] | {"status": 200}
    steps: list[Step] = [
        ("1q", HEAD, HEADS[0]),
        ("1q", END, {}),
        ("1a", HEAD, head),
        *data("1a", *bytewise(text)),
    ]
    begin = time.process_time()
    read(journal([*steps, ("1a", END, {})]), {"how": "addon"})
    assert time.process_time() - begin < 20


def test_an_event_without_end_is_remembered_in_bounds() -> None:
    steps: list[Step] = [
        ("1q", HEAD, HEADS[0]),
        ("1a", HEAD, HEADS[2]),
        *data("1a", b"data: ", *[b"x"] * 20_000),
    ]
    reader = Reader()
    for frame in journal(steps):
        reader.feed(frame)
    assert len(snapshot.dump(reader, {})) < 500_000
    (message,) = read(journal([("1a", DATA, b"\n\n")], start=10**7), reader=reader)
    assert message.offset < 10_000 and message.t > 0


def exchanges(count: int) -> Iterator[Frame]:
    """Stdio, proxied and relayed exchanges, all of them ended."""
    offset = 0
    for n in range(count):
        q, a, c, s, i = (f"{n * 3 + 1}{role}" for role in "qacsi")
        steps: list[Step] = [
            (q, OPEN, {"conn": n * 3 + 2, "client": f"h:{n}"}), (q, HEAD, HEADS[0]), (q, DATA, rpc(n)), (q, END, {}),
            (a, HEAD, HEADS[2]), (a, DATA, b"data: " + result(n) + b"\n\n"), (a, END, {}),
            (c, DATA, post(rpc(n))), (s, DATA, answer(result(n))), (c, END, {}), (s, END, {}),
            ("7i", DATA, rpc(n) + b"\n"), ("7o", DATA, result(n) + b"\n"), (i, DATA, rpc(n) + b"\n"), (i, END, {}),
        ]  # fmt: skip
        for frame in journal(steps, start=offset):
            yield frame
            offset = frame.offset + len(frame.data) + 20


@pytest.mark.parametrize("how", ["addon", "relay"])
def test_state_is_as_large_as_what_is_under_way(how: str) -> None:
    reader = Reader()
    reader.source("j", {"how": how, "channel": "http://h:1"})
    sizes = []
    for n, frame in enumerate(exchanges(12_000)):
        reader.feed(frame)
        if n in (60_000, 179_990):
            gc.collect()
            sizes.append((len(gc.get_objects()), len(snapshot.dump(reader, {}))))
    (objects_before, state_before), (objects, state) = sizes
    assert objects - objects_before < 200
    assert state < min(1.1 * state_before, 1_000_000)

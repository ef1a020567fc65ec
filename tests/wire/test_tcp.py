"""Relayed connections: requests and answers of one connection, however it is used and ended."""

from __future__ import annotations

import pytest

from mrtrscope.frames import END, GAP
from mrtrscope.wire.events import (
    HTTP_END,
    HTTP_REQUEST,
    HTTP_REQUEST_END,
    HTTP_RESPONSE,
    HTTP_UNREADABLE,
    OPENED,
    HttpExchange,
)

from .tools import (
    CHUNKINGS,
    RELAY,
    Step,
    answer,
    chunked,
    data,
    journal,
    messages,
    others,
    post,
    read,
    read_steps,
    result,
    rpc,
    signals,
)
from .tools import (
    OPENED as OPEN_STEP,
)

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CLOSED: list[Step] = [("1s", END, {"by": "server"}), ("1c", END, {"by": "client"})]


def event(text: bytes) -> bytes:
    return b"data: " + text + b"\n\n"


def relay(*steps: Step) -> list:
    return read_steps([OPEN_STEP, *steps], RELAY)


def ended(events: list) -> list[HttpExchange]:
    return [signal.http for signal in signals(events, HTTP_END)]


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("trailing", [b"", b"POST /mcp HT"])
def test_one_connection_used_twice(chunking, trailing) -> None:
    first = data("1c", *chunking(post(rpc(1)))) + data("1s", *chunking(answer(result(1))))
    second = data("1c", *chunking(post(rpc(2), target="/mcp?x=1") + trailing))
    second += data("1s", *chunking(STREAM + chunked(event(result(2))[:9], event(result(2))[9:])))
    frames = journal([OPEN_STEP, *first, *second])
    events = read(frames, RELAY)
    assert [s.what for s in signals(events)] == [OPENED] + [
        HTTP_REQUEST,
        HTTP_REQUEST_END,
        HTTP_RESPONSE,
        HTTP_END,
    ] * 2
    found = messages(events)
    assert [(m.dir, m.id, m.http.number if m.http else 0) for m in found] == [
        ("c2s", 1, 1),
        ("s2c", 1, 1),
        ("c2s", 2, 2),
        ("s2c", 2, 2),
    ]
    assert {m.channel for m in found} == {"http://127.0.0.1:8000/mcp"}
    assert {(m.peer.id, m.peer.address) for m in found} == {("j:1", "127.0.0.1:5000")}
    assert [(h.closed_by, h.error, h.status) for h in ended(events)] == [("server", "", 200)] * 2
    keys = [e.key for e in events]
    assert len(set(keys)) == len(keys)
    by_key = {frame.key: frame for frame in frames}
    for message in found:
        began = by_key[message.frames[0]]
        assert began.offset <= message.offset < began.offset + len(began.data)
        at = message.offset - began.offset
        start = b"data" if message.sse else message.raw[:4]
        assert began.data[at : at + 4] == start[: len(began.data) - at]


def test_pipelined_requests_get_their_answers_by_order() -> None:
    events = relay(
        *data("1c", post(rpc(1)) + b"HEAD /mcp HTTP/1.1\r\n\r\n" + post(rpc(2))),
        *data("1s", answer(result(1)) + b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + answer(result(2))), *CLOSED,
    )  # fmt: skip
    assert [(m.dir, m.id, m.http.number) for m in messages(events)] == [
        ("c2s", 1, 1),
        ("c2s", 2, 3),
        ("s2c", 1, 1),
        ("s2c", 2, 3),
    ]
    assert [(h.method, h.number, h.response_size) for h in ended(events)] == [
        ("POST", 1, len(result(1))), ("HEAD", 2, 0), ("POST", 3, len(result(2))),
    ]  # fmt: skip


def test_interim_answers_are_not_the_answer() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    events = relay(*data("1c", post(rpc(1))), *data("1s", interim + answer(result(1))))
    (http,) = ended(events)
    assert (http.informational, http.status) == ([100, 103], 200)
    assert len(messages(events)) == 2


@pytest.mark.parametrize(
    ("sent", "ends", "closed_by", "error"),
    [
        (
            STREAM + b"5\r\ndata:",
            [("1s", END, {"by": "server"})],
            "server",
            "closed before the answer was complete",
        ),
        (
            STREAM + b"5\r\ndata:",
            [("1c", END, {"by": "client"}), ("1s", END, {"by": "client"})],
            "client",
            "closed before the answer was complete",
        ),
        (
            STREAM + b"5\r\ndata:",
            [("1c", END, {}), ("1s", END, {})],
            "client",
            "closed before the answer was complete",
        ),
        (STREAM + b"5\r\ndata:", [("1s", END, {"by": "server", "error": "reset"})], "server", "reset"),
        (
            answer(b"{}")[:-1],
            [("1s", END, {"by": "server"})],
            "server",
            "closed before the answer was complete",
        ),
        (b"", [("1s", END, {"by": "server"})], "server", "closed before the answer was complete"),
        (
            b"",
            [("1c", END, {"by": "client"}), ("1s", END, {"by": "server"})],
            "server",
            "closed before the answer was complete",
        ),
        (b"HTTP/1.1 200 OK\r\n\r\n" + result(1), [("1s", END, {"by": "server"})], "server", ""),
        (
            b"HTTP/1.1 200 OK\r\n\r\n" + result(1),
            [("1c", END, {"by": "client"}), ("1s", END, {"by": "server"})],
            "server",
            "",
        ),
        (answer(result(1)), CLOSED, "server", ""),
    ],
)
def test_who_ended_what(sent, ends, closed_by, error) -> None:
    events = relay(*data("1c", post(rpc(1))), *(data("1s", sent) if sent else []), *ends)
    assert [(h.closed_by, h.error) for h in ended(events)] == [(closed_by, error)]
    keys = [e.key for e in events]
    assert len(set(keys)) == len(keys)


def test_a_half_closed_connection_still_gets_its_answer() -> None:
    events = relay(
        *data("1c", post(rpc(1))),
        ("1c", END, {"by": "client"}),
        *data("1s", answer(result(1))),
        ("1s", END, {"by": "server"}),
    )
    assert [m.dir for m in messages(events)] == ["c2s", "s2c"]
    assert [(h.closed_by, h.error) for h in ended(events)] == [("server", "")]


@pytest.mark.parametrize("sent", [b"", STREAM + b"5\r\ndata:", answer(b"{}")[:-1]])
def test_whoever_closed_first_had_left(sent: bytes) -> None:
    for ends, left in ((("1c", "1s"), True), (("1s", "1c"), False)):
        closing: list[Step] = [(lane, END, {"by": "client" if lane == "1c" else "server"}) for lane in ends]
        events = relay(*data("1c", post(rpc(1))), *(data("1s", sent) if sent else []), *closing)
        assert ["left" in h.facts for h in ended(events)] == [left]


@pytest.mark.parametrize("first", ["client", "server"])
def test_a_stream_in_good_order_whose_client_had_left(first: str) -> None:
    """The server saw that nobody listens, and ended it as it should."""
    over = [*data("1s", b"0\r\n\r\n")]
    left: Step = ("1c", END, {"by": "client"})
    events = relay(
        *data("1c", post(rpc(1))),
        *data("1s", STREAM),
        *([left, *over] if first == "client" else [*over, left]),
        ("1s", END, {"by": "client"}),
    )
    assert [("left" in h.facts, h.closed_by, h.error) for h in ended(events)] == [
        (first == "client", "server", "")
    ]


def test_an_aborted_request() -> None:
    events = relay(
        *data("1c", post(rpc(1))[:-5]), ("1c", END, {"by": "client"}), ("1s", END, {"by": "client"})
    )
    assert messages(events) == []
    assert [n.why for n in others(events)] == ["not-json"]
    assert [(h.closed_by, h.error) for h in ended(events)] == [("client", "the request breaks off")]


def test_an_answer_before_the_request_is_complete() -> None:
    events = relay(
        *data("1c", post(rpc(1))[:-5]),
        *data("1s", answer(b"{}", status="413 Too Large")),
        *data("1c", post(rpc(1))[-5:]),
    )
    assert [s.what for s in signals(events)][1:] == [HTTP_REQUEST, HTTP_RESPONSE, HTTP_REQUEST_END, HTTP_END]
    assert [m.id for m in messages(events)] == [1]


def test_a_request_that_cannot_be_read_takes_its_own_answer() -> None:
    junk = b"hello server\r\n\r\n"
    events = relay(
        *data("1c", post(rpc(1)) + junk + post(rpc(2))),
        *data(
            "1s",
            answer(result(1))
            + answer(b"bad", status="400 Bad Request", kind="text/plain")
            + answer(result(2)),
        ),
        *CLOSED,
    )
    assert [(m.dir, m.id, m.http.number) for m in messages(events)] == [
        ("c2s", 1, 1),
        ("c2s", 2, 3),
        ("s2c", 1, 1),
        ("s2c", 2, 3),
    ]
    (unreadable,) = signals(events, HTTP_UNREADABLE)
    assert (unreadable.dir, unreadable.detail) == ("c2s", {"bytes": len(junk), "preview": junk.decode()})
    assert unreadable.http is not None and unreadable.http.status == 400
    assert [n.counts for n in others(events)] == [False]


def test_an_answer_that_cannot_be_read_costs_that_answer() -> None:
    events = relay(
        *data("1c", post(rpc(1))),
        *data("1s", b"HTTP/1.1 2oo OK\r\n\r\n"),
        *data("1c", post(rpc(2))),
        *data("1s", answer(result(2))),
        *CLOSED,
    )
    assert [(m.dir, m.id) for m in messages(events)] == [("c2s", 1), ("c2s", 2), ("s2c", 2)]
    (unreadable,) = signals(events, HTTP_UNREADABLE)
    assert unreadable.dir == "s2c"
    assert [(h.number, h.error) for h in ended(events)] == [
        (1, "the head of the answer cannot be read"),
        (2, ""),
    ]


def test_junk_at_the_end_of_a_connection_is_told() -> None:
    events = relay(*data("1c", b"\x16\x03\x01tls"), *CLOSED)
    assert [s.detail for s in signals(events, HTTP_UNREADABLE)] == [
        {"bytes": 6, "preview": "\x16\x03\x01tls"}
    ]
    assert ended(events) == []


def test_an_answer_to_nothing() -> None:
    events = relay(*data("1s", answer(b"", status="408 Request Timeout")), *CLOSED)
    assert [(h.method, h.status) for h in ended(events)] == [("", 408)]


def test_tunnels_and_upgrades() -> None:
    connect = b"CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n"
    tunnel = relay(
        *data("1c", connect),
        *data("1s", b"HTTP/1.1 200 OK\r\n\r\n"),
        *data("1c", b"\x16tls"),
        *data("1s", b"\x16tls"),
        *CLOSED,
    )
    assert [(h.method, h.status, h.error) for h in ended(tunnel)] == [("CONNECT", 200, "")]
    assert signals(tunnel, HTTP_UNREADABLE) == []

    refused = relay(
        *data("1c", connect + post(rpc(1))),
        *data("1s", answer(b"", status="405 No")),
        *data("1s", answer(result(1))),
        *CLOSED,
    )
    assert [m.id for m in messages(refused)] == [1, 1]

    upgrade = b"GET /ws HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    ws = relay(
        *data("1c", upgrade),
        *data("1s", b"HTTP/1.1 101 Switching\r\n\r\n\x81\x05hello"),
        *data("1c", b"\x81\x85xxxx"),
        *CLOSED,
    )
    assert [(h.status, h.informational, h.error) for h in ended(ws)] == [(101, [], "")]
    ignored = relay(
        *data("1c", upgrade),
        *data("1s", answer(b"")),
        *data("1c", post(rpc(1))),
        *data("1s", answer(result(1))),
        *CLOSED,
    )
    assert [m.id for m in messages(ignored)] == [1, 1]


def test_absolute_targets_and_headers_without_an_upstream() -> None:
    events = read_steps(data("1c", post(rpc(1), target="http://other:99/x?y") + post(rpc(2))), RELAY)
    assert [m.channel for m in messages(events)] == ["http://other:99/x", "http://127.0.0.1:8000/mcp"]


# -- what the recorder lost ------------------------------------------------------------------------------------------


def test_a_gap_within_a_body_of_known_length() -> None:
    body = result(1, text="x" * 100)
    whole = answer(body)
    gap: Step = ("1s", GAP, {"bytes": 10, "frames": 1, "why": "disk full"})
    events = relay(
        *data("1c", post(rpc(1))),
        *data("1s", whole[:-50]),
        gap,
        *data("1s", whole[-40:]),
        *data("1c", post(rpc(2))),
        *data("1s", answer(result(2))),
    )
    assert [(m.dir, m.id, m.cut) for m in messages(events)] == [
        ("c2s", 1, False),
        ("s2c", 1, True),
        ("c2s", 2, False),
        ("s2c", 2, False),
    ]
    assert [h.cut for h in ended(events)] == [True, False]


def test_a_gap_that_swallowed_an_answer() -> None:
    gap: Step = ("1s", GAP, {"bytes": 300, "frames": 1, "why": "disk full"})
    events = relay(
        *data("1c", post(rpc(1))), gap, *data("1c", post(rpc(2))), *data("1s", answer(result(2))), *CLOSED
    )
    assert [(m.dir, m.id) for m in messages(events)] == [("c2s", 1), ("c2s", 2), ("s2c", 2)]
    assert [(h.number, h.cut, h.closed_by) for h in ended(events)] == [
        (1, True, "open"),
        (2, False, "server"),
    ]


def test_a_gap_that_swallowed_a_request_and_a_half() -> None:
    gap: Step = ("1c", GAP, {"bytes": 300, "frames": 1, "why": "disk full"})
    events = relay(
        *data("1c", post(rpc(1))[:-9]),
        gap,
        *data("1c", b'half"}}' + post(rpc(3))),
        *data("1s", answer(result(1))),
        *CLOSED,
    )
    assert [(m.dir, m.id) for m in messages(events)] == [("c2s", 3), ("s2c", 1)]


def test_a_damaged_record_does_not_make_a_body_eat_the_next_head() -> None:
    damaged: Step = ("0z", GAP, {"bytes": 99, "why": "damaged record"})
    events = relay(
        *data("1c", post(rpc(1))[:-9]),
        damaged,
        *data("1s", answer(result(1))),
        *data("1c", post(rpc(2))),
        *data("1s", answer(result(2))),
    )
    assert [(m.dir, m.id) for m in messages(events)] == [("s2c", 1), ("c2s", 2), ("s2c", 2)]
    assert [(h.number, h.cut) for h in ended(events)] == [(1, True), (2, False)]

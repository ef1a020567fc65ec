"""Pipes of a wrapped process: lines to messages, with the place, time and frames of each."""

from __future__ import annotations

import pytest

from mrtrscope.frames import END, EXIT, GAP, OPEN, SENT
from mrtrscope.wire.events import EDITED, LANE_END, OPENED, STDERR

from .tools import CHUNKINGS, SECOND, data, journal, messages, others, read, read_steps, result, rpc, signals


def test_both_directions_of_a_process() -> None:
    frames = journal(
        [
            ("1i", OPEN, {}),
            ("1i", "data", rpc(1) + b"\n"),
            ("1e", "data", b"log \xff\n"),
            ("1o", "data", result(1) + b"\n"),
            ("1i", END, {"by": "client"}),
            ("1o", END, {"by": "server"}),
            ("1e", END, {}),
            ("1o", EXIT, {"code": 3}),
        ]
    )
    events = read(frames)
    ask, reply = messages(events)
    assert (ask.dir, ask.kind, ask.method, ask.id_text) == ("c2s", "request", "tools/call", "1")
    assert (reply.dir, reply.kind, reply.method, reply.id) == ("s2c", "response", None, 1)
    assert ask.peer is reply.peer
    assert (ask.peer.id, ask.peer.transport, ask.peer.whole) == ("j:1", "stdio", True)
    assert (ask.channel, ask.http, ask.sse, ask.batch, ask.place, ask.cut, ask.edited) == (
        "server", None, None, None, None, False, False,
    )  # fmt: skip
    assert (ask.t, ask.key, ask.frames, ask.raw) == (SECOND + 1000, frames[1].key, (frames[1].key,), rpc(1))
    assert [(s.what, s.detail) for s in signals(events)] == [
        (OPENED, {}), (STDERR, {"text": "log \ufffd\n"}),
        (LANE_END, {"lane": "i", "by": "client"}), (LANE_END, {"lane": "o", "by": "server"}),
        (LANE_END, {"lane": "e", "by": ""}), ("exit", {"code": 3}),
    ]  # fmt: skip


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("trailing", [b"", b'{"jsonrpc":'])
def test_messages_over_many_frames(chunking, trailing) -> None:
    text = rpc(1) + b"\n\n" + rpc(2) + b"\r\n" + rpc("3") + b"\n" + trailing
    frames = journal(data("1i", *chunking(text)))
    found = messages(read(frames))
    assert [m.id_text for m in found] == ["1", "2", '"3"']
    assert [m.raw for m in found] == [rpc(1), rpc(2), rpc("3")]
    assert [m.oddities for m in found] == [(), (("carriage-return", ""),), ()]
    starts = [0, len(rpc(1)) + 2, len(rpc(1) + rpc(2)) + 4]
    for message, start in zip(found, starts, strict=True):
        at = 0
        for frame in (
            frames
        ):  # the message begins at that byte of that frame, and is complete with the frame of its end
            if at <= start < at + len(frame.data):
                assert message.offset == frame.offset + start - at
                assert message.frames[0] == frame.key
            if at <= text.index(b"\n", start) < at + len(frame.data):
                assert (message.t, message.frames[-1]) == (frame.t, frame.key)
            at += len(frame.data)


@pytest.mark.parametrize(
    ("line", "why", "counts"),
    [
        (b"", "blank-line", False),
        (b" \t\r", "blank-line", False),
        (b"hello", "not-json", True),
        (b"42", "not-an-object", True),
        (b"null", "not-an-object", True),
        (b'"x"', "not-an-object", True),
        (b"[]", "empty-batch", True),
        (b"[1]", "not-json-rpc", True),
        (b"{}", "not-json-rpc", True),
        (b'{"level":"info"}', "not-json-rpc", True),
        (b'{"a":1} x', "not-json", True),
        (b"Content-Length: 211\r", "length-header", True),
        (b"content-type: x", "length-header", True),
        (b"[" * 600, "too-deep", True),
        (b'{"a":', "not-json", True),
        (b"\xff\xfe", "not-json", True),
    ],
)
def test_what_is_no_message(line, why, counts) -> None:
    (event,) = others(read_steps(data("1o", line + b"\n")))
    assert (event.why, event.counts, event.size, event.raw) == (
        why,
        counts,
        len(line.rstrip(b"\r")),
        line.rstrip(b"\r")[:4096],
    )


def test_a_batch_is_as_many_messages() -> None:
    line = b' [{"jsonrpc":"2.0","id":1,"method":"a"}, 7,{"x":1,"x":2}, {"jsonrpc":"2.0","id":1,"result":{}} ]'
    frames = journal(data("1i", line + b"\n"))
    found = messages(read(frames))
    assert [(m.kind, m.id_text, m.key) for m in found] == [
        ("request", "1", "j:100"),
        ("invalid", None, "j:100.1"),
        ("invalid", None, "j:100.2"),
        ("response", "1", "j:100.3"),
    ]
    assert [m.batch for m in found] == [(n, 4, "j:100") for n in range(4)]
    assert [m.raw for m in found][1:3] == [b"7", b'{"x":1,"x":2}']
    assert [m.oddities for m in found] == [(), (), (("duplicate-key", "/x"),), ()]
    assert [m.body for m in found][1] == 7


def test_a_huge_batch_is_read_in_bounds() -> None:
    line = b"[" + b",".join([rpc(1)] + [b"0"] * 150_000) + b"]\n"
    found = messages(read_steps(data("1i", line)))
    assert len(found) == 100_000
    assert found[-1].oddities == (("too-long", "150001 elements, 100000 read"),)


def test_several_messages_in_one_line_are_all_read() -> None:
    events = read_steps(data("1o", result(1) + result(2) + b" " + result(3) + b" rest\n"))
    assert [(m.id, m.raw, m.part) for m in messages(events)] == [
        (1, result(1), 0),
        (2, result(2), 1),
        (3, result(3), 2),
    ]
    assert [[name for name, _ in m.oddities] for m in messages(events)] == [
        [],
        ["trailing-data"],
        ["trailing-data"],
    ]
    assert [(n.raw, n.why, n.part) for n in others(events)] == [(b"rest", "not-json", 3)]


def test_length_headers_are_named_at_the_message_behind_them() -> None:
    body = result(1)
    events = read_steps(
        data(
            "1o",
            b"Content-Length: %d\r\n\r\n" % len(body) + body + b"Content-Length: 9\r\n\r\n" + body + b"\n",
        )
    )
    odd = [[name for name, _ in m.oddities] for m in messages(events)]
    assert odd == [["carriage-return", "content-length-framing"], ["content-length-framing"]]
    assert [n.why for n in others(events) if n.counts] == ["length-header", "length-header"]


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_the_end_completes_a_line_without_newline(chunking) -> None:
    frames = journal([*data("1o", *chunking(rpc(1))), ("1o", END, {"by": "server"})])
    events = read(frames)
    (message,) = messages(events)
    assert (message.t, message.offset) == (frames[-2].t, 100)
    assert signals(events)[-1].what == LANE_END


def test_a_line_of_more_than_64_mib_is_kept_and_not_parsed() -> None:
    chunk = b"x" * (1 << 20)
    events = read_steps(
        [
            *data("1o", b'{"jsonrpc":"2.0","id":1,"result":"', *[chunk] * 64, b'"}\n'),
            *data("1o", result(2) + b"\n"),
        ]
    )
    (long,) = others(events)
    assert (long.why, long.size > 1 << 26, len(long.raw)) == ("too-long", True, 4096)
    assert [m.id for m in messages(events)] == [2]


# -- what the recorder lost, and what somebody changed ---------------------------------------------------------------


def test_a_gap_inside_a_line_makes_it_doubtful_and_no_other() -> None:
    lost = {"bytes": 5, "frames": 1, "why": "disk full"}
    events = read_steps(
        [
            ("1o", "data", result(1)[:20]),
            ("1o", GAP, lost),
            ("1o", "data", result(1)[20:] + b"\n" + result(2) + b"\n"),
            ("1o", GAP, lost),
            ("1o", "data", b'tail"}}\n' + result(3) + b"\n"),
            ("1o", GAP, lost),
            ("1o", "data", result(4) + b"\n"),
        ]
    )
    assert [(m.id, m.cut) for m in messages(events)] == [(1, True), (2, False), (3, False), (4, False)]
    assert [(n.raw, n.cut) for n in others(events)] == [(b'tail"}}', True)]
    gaps = signals(events, GAP)
    assert [(s.detail, s.cut) for s in gaps] == [({"bytes": 5, "why": "disk full"}, True)] * 3


def test_a_gap_of_the_whole_journal_concerns_every_lane() -> None:
    events = read_steps([
        ("1o", "data", b'{"a'), ("2o", "data", result(2)[:9]), ("0z", GAP, {"bytes": 9, "why": "damaged record"}),
        ("1o", "data", b"x\n"), ("2o", "data", result(2)[9:] + b"\n"),
    ])  # fmt: skip
    assert [n.cut for n in others(events)] == [True]
    assert [m.cut for m in messages(events)] == [True]
    (gap,) = signals(events, GAP)
    assert (gap.lane, gap.detail) == ("0z", {"bytes": 9, "why": "damaged record"})


def test_an_edited_line_is_set_right_wherever_it_is_held() -> None:
    frames = journal([
        ("1i", "data", rpc(1, name="old") + b"\n" + rpc(2) + b"\n"), ("1o", "data", result(9) + b"\n"),
        ("1i", SENT, rpc(7, name="new") + b"\n" + rpc(2) + b"\n"),
    ])  # fmt: skip
    events = read(frames, {"how": "addon", "channel": "server"})
    first, second, reply = messages(events)
    assert (first.params, first.id_text, first.raw) == ({"name": "new"}, "7", rpc(7, name="new"))
    assert [m.edited for m in (first, second, reply)] == [True, True, False]
    (signal,) = signals(events, EDITED)
    assert (signal.key, signal.detail["keys"]) == (frames[2].key, [first.key, second.key])
    assert signal.detail["now"] == [["request", e.id_text, e.method, len(e.raw)] for e in (first, second)]


def test_an_edit_that_drops_a_message_or_breaks_it() -> None:
    frames = journal(
        [("1i", "data", rpc(1) + b"\n" + rpc(2) + b"\n"), ("1i", SENT, b"broken\n"), ("1i", SENT, b"again\n")]
    )
    events = read(frames, {"how": "addon", "channel": "server"})
    assert [(m.id, m.edited) for m in messages(events)] == [(1, True), (2, True)]
    assert len(signals(events, EDITED)) == 1


def test_several_processes_and_lanes_that_nobody_knows() -> None:
    events = read_steps(
        [
            ("1i", "data", rpc(1) + b"\n"),
            ("2i", "data", rpc(1) + b"\n"),
            ("x", "data", b"?"),
            ("9", "end", {}),
            ("3z", "note", {}),
            ("1o", "open", b"no json"),
            ("1o", "end", b"[]"),
            ("1o", "what", b""),
            ("77777777777i", "data", b"x\n"),
        ]
    )
    assert [m.peer.id for m in messages(events)] == ["j:1", "j:2"]


def test_an_open_frame_may_name_the_channel() -> None:
    events = read_steps(
        [
            ("4i", OPEN, {"channel": "files", "client": "127.0.0.1:9"}),
            ("4o", "data", result(1) + b"\n"),
            ("4i", "data", rpc(1) + b"\n"),
        ],
        {"how": "addon", "channel": "proxy"},
    )
    assert [(m.channel, m.peer.address) for m in messages(events)] == [("files", "127.0.0.1:9")] * 2

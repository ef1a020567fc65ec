"""HTTP/1.1 as it comes: in any chunking, well formed or not; and on what is well formed, the same as h11."""

from __future__ import annotations

import time
from typing import Any

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrtrscope import snapshot
from mrtrscope.wire.http1 import DATA, END, HEAD, JUNK, HttpReader

from .tools import CHUNKINGS, answer, chunked, post

Shown = list[tuple[Any, ...]]


def summary(pieces: list[Any]) -> Shown:
    """Messages as (start line, headers, body, whole), junk as ("junk", bytes)."""
    found: Shown = []
    for piece in pieces:
        if piece.what == HEAD:
            head = piece.head
            start = (head.status, head.reason) if head.status else (head.method, head.target)
            found.append([start, head.headers, b"", None])
        elif piece.what == DATA:
            found[-1][2] += piece.data
        elif piece.what == END:
            found[-1][3] = piece.whole
        else:
            assert piece.what == JUNK
            found.append([("junk", piece.end - piece.begin), piece.data, b"", None])
    return [tuple(item) for item in found]


def run(chunks: list[bytes], answers: bool = False, methods: str = "", finish: bool = False) -> Shown:
    reader = HttpReader(answers)
    reader.methods.extend(methods.split())
    pieces = [piece for chunk in chunks for piece in reader.feed(chunk)]
    if finish:
        pieces += reader.finish()
    return summary(pieces)


def bodies(found: Shown) -> list[Any]:
    return [(start[0], body, whole) for start, _, body, whole in found]


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("trailing", [b"", b"POST /next HT"])
def test_pipelined_requests(chunking, trailing) -> None:
    text = (
        post(b"{}", "X-A:  1 ", target="/a?b=c") + b"\r\nGET /b HTTP/1.1\r\n\r\n"
        + b"PUT /c HTTP/1.1\nTransfer-Encoding: Chunked\n\n" + chunked(b"abc", b"d" * 300) + trailing
    )  # fmt: skip
    assert run(list(chunking(text))) == [
        (
            ("POST", "/a?b=c"),
            [("Host", "h"), ("Content-Type", "application/json"), ("X-A", "1"), ("Content-Length", "2")],
            b"{}",
            True,
        ),
        (("GET", "/b"), [], b"", True),
        (("PUT", "/c"), [("Transfer-Encoding", "Chunked")], b"abc" + b"d" * 300, True),
    ]


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_answers_know_what_was_asked(chunking) -> None:
    text = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + answer(b"one")
        + b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"
        + b"HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n"
        + b"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"HTTP/1.0 200\r\n\r\nto the end\r\n\r\n"
    )  # fmt: skip
    found = run(list(chunking(text)), True, "POST HEAD POST GET GET", finish=True)
    assert bodies(found) == [
        (100, b"", True), (103, b"", True), (200, b"one", True), (200, b"", True), (204, b"", True), (304, b"", True),
        (200, b"to the end\r\n\r\n", True),
    ]  # fmt: skip


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("trailing", [b"", b"G"])
def test_chunked_with_extensions_and_trailers(chunking, trailing) -> None:
    body = b'4 ;name=value;x="y"\r\nabcd\r\n0A\n0123456789\n000;last\r\nX-Sum: 1\r\nX-B: 2\n\r\n'
    text = b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + body + trailing
    assert bodies(run(list(chunking(text)))) == [("POST", b"abcd0123456789", True)]


@pytest.mark.parametrize(
    ("headers", "body", "odd"),
    [
        ("Content-Length: 3\r\nContent-Length: 3", b"abc", []),
        ("Content-Length: 3, 3", b"abc", []),
        ("Content-Length: 3\r\nContent-Length: 5", b"abc", ["contradicting content-lengths"]),
        ("Content-Length: x\r\nContent-Length: 3", b"abc", ["content-length is no number"]),
        ("Content-Length: -1", b"", ["content-length is no number"]),
        ("Content-Length: \u0663".encode().decode("latin-1"), b"", ["content-length is no number"]),
        ("Content-Length: 3\r\nno colon here", b"abc", ["header without colon"]),
        ("Content-Length:\r\n 3", b"abc", ["folded header"]),
        (" X: 1\r\nContent-Length: 3", b"abc", ["white space before the first header"]),
        ("Content-Length : 3", b"abc", []),
        ("Transfer-Encoding: identity\r\nContent-Length: 3", b"abc", []),
        (
            "Transfer-Encoding: chunked, gzip\r\nContent-Length: 3",
            b"",
            ["transfer-encoding does not end in chunked"],
        ),
    ],
)
def test_odd_heads_are_read_as_far_as_they_can_be(headers, body, odd) -> None:
    reader = HttpReader()
    pieces = reader.feed(f"POST / HTTP/1.1\r\n{headers}\r\n\r\n".encode("latin-1") + b"abc")
    assert pieces[0].head.odd == odd
    assert b"".join(piece.data for piece in pieces if piece.what == DATA) == body


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03binary\r\n\r\n",
        b"GET / HTTP/2.0\r\nHost: h\r\n\r\n",
        b"GET /\r\n\r\n",
        b"hello server\r\n\r\n",
        b"POST /x y HTTP/1.1 z\r\nContent-Length: 5\r\n\r\nabcde",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0",
        b"}",
    ],
)
def test_what_cannot_be_read_costs_that_message_only(chunking, junk) -> None:
    text = post(b"1") + junk + post(b"22") + post(b"333")
    found = run(list(chunking(text)))
    assert bodies(found) == [
        ("POST", b"1", True),
        ("junk", b"", None),
        ("POST", b"22", True),
        ("POST", b"333", True),
    ]
    assert found[1][0] == ("junk", len(junk))
    assert found[1][1] == junk[:200]


def test_a_head_without_end_costs_that_message_only() -> None:
    junk = b"POST / HTTP/1.1\r\nX: " + b"x" * (1 << 18) + b"\r\n\r\n"
    assert bodies(run([post(b"1") + junk[:99999], junk[99999:] + post(b"22")])) == [
        ("POST", b"1", True), ("junk", b"", None), ("POST", b"22", True),
    ]  # fmt: skip


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_a_length_that_is_too_short_leaves_junk(chunking) -> None:
    text = post(b'{"a":1}', length=5) + post(b"2")
    assert bodies(run(list(chunking(text)))) == [
        ("POST", b'{"a":', True),
        ("junk", b"", None),
        ("POST", b"2", True),
    ]


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("broken", [b"zz\r\n", b"3\r\nabcde\r\n", b"-1\r\n\r\n", b"0x3\r\nabc\r\n"])
def test_broken_chunks_end_the_message_and_reading_resumes(chunking, broken) -> None:
    text = (
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
        + broken
        + b"0\r\n\r\n"
        + post(b"2")
    )
    found = bodies(run(list(chunking(text))))
    assert [(start, whole) for start, _, whole in found] == [("POST", False), ("junk", None), ("POST", True)]


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_unreadable_answers(chunking) -> None:
    text = b"SSH-2.0-OpenSSH_9.7\r\n" + answer(b"{}") + b"HTTP/1.1 2xx no\r\n\r\n" + answer(b"[]")
    found = bodies(run(list(chunking(text)), True, "POST POST"))
    assert found == [("junk", b"", None), (200, b"{}", True), ("junk", b"", None), (200, b"[]", True)]


@pytest.mark.parametrize(
    ("text", "answers", "want"),
    [
        (post(b"abc", length=9), False, [("POST", b"abc", False)]),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", False, [("POST", b"ab", False)]),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: 1", False, [("POST", b"", False)]),
        (b"POST / HTTP/1.1\r\nHo", False, [("junk", b"", None)]),
        (b"\r\n\r\n", False, []),
        (b"HTTP/1.1 200 OK\r\n\r\nabc", True, [(200, b"abc", True)]),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", True, [(200, b"abc", False)]),
        (
            b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n\x00\x01binary HTTP/1.1 200 OK\r\n\r\n",
            True,
            [(101, b"", None)],
        ),
        (b"", True, []),
    ],
)
def test_the_end_of_the_connection(text, answers, want) -> None:
    for chunking in CHUNKINGS:
        assert bodies(run(list(chunking(text)), answers, finish=True)) == want


def test_after_connect_nothing_is_read_until_the_answer_is_known() -> None:
    head, inside = b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", b"\x16\x03GET / HTTP/1.1\r\n\r\n"
    reader = HttpReader()
    assert bodies(summary(reader.feed(head + inside))) == [("CONNECT", b"", True)]
    reader.tunnel()
    assert reader.feed(inside) + reader.finish() == []

    reader = HttpReader()
    reader.feed(head + post(b"2"))
    assert bodies(summary(reader.release())) == [("POST", b"2", True)]


def test_a_tunnel_that_was_never_confirmed_does_not_fill_the_memory() -> None:
    reader = HttpReader()
    reader.feed(b"CONNECT h:443 HTTP/1.1\r\n\r\n")
    for _ in range(100):
        reader.feed(b"x" * (1 << 16))
    assert len(reader._buffer) <= 1 << 20


def test_gaps() -> None:
    reader = HttpReader()
    pieces = reader.feed(post(b"abc", length=10))
    pieces += reader.gap(4) + reader.feed(b"hij" + post(b"2"))
    assert bodies(summary(pieces)) == [("POST", b"abchij", True), ("POST", b"2", True)]

    reader = HttpReader()
    pieces = reader.feed(post(b"abc", length=10))
    pieces += reader.gap(0) + reader.feed(b"whatever" + post(b"2"))
    assert bodies(summary(pieces)) == [("POST", b"abc", False), ("junk", b"", None), ("POST", b"2", True)]


def test_positions_are_those_of_the_stream() -> None:
    text = post(b"abc") + b"!!\n" + post(b"de")
    for chunking in CHUNKINGS:
        reader = HttpReader()
        pieces = [piece for chunk in chunking(text) for piece in reader.feed(chunk)]
        heads = [text[p.begin : p.end] for p in pieces if p.what == HEAD]
        assert heads == [post(b"abc")[:-3], post(b"de")[:-2]]
        assert b"".join(text[p.begin : p.end] for p in pieces if p.what == DATA) == b"abcde"
        assert [text[p.begin : p.end] for p in pieces if p.what == JUNK] == [b"!!\n"]
        assert [text[p.end - 1 : p.end] for p in pieces if p.what == END] == [b"c", b"e"]


def test_a_checkpoint_while_nothing_can_be_read() -> None:
    reader = HttpReader()
    reader.feed(b"junk junk junk" + b"x" * 5000 + b"\n")
    again = snapshot.load(snapshot.dump(reader, {}), {})
    assert again.needed == reader.needed == 0
    assert next((p.what, p.begin, p.end) for p in again.feed(post(b""))) == (JUNK, 0, 5015)


def test_junk_does_not_fill_the_memory() -> None:
    reader = HttpReader()
    for _ in range(200):
        assert reader.feed(b"\xff" * (1 << 16)) == []
    assert len(reader._buffer) < 1 << 17
    assert next((p.what, p.end - p.begin) for p in reader.feed(post(b"1"))) == (JUNK, 200 << 16)


@pytest.mark.parametrize(
    "text",
    [
        b"GET " + b" " * 60_000 + b"x\n",
        b"GET " + b" a" * 30_000 + b"\n",
        b"HTTP/1.1 200 " + b" " * 60_000 + b"\rx\n",
        b"HTTP/1.1 200 OK\n" * 20_000,
        b"GET GET " * 100_000,
        b"HTTP/1.1 200 " * 100_000,
        b"X" * 1_000_000,
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5" + b" " * 60_000,
        b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1;\r\nx\r\n" * 20_000,
        b"GET / HTTP/1.1\r\n" + b"\n ".join([b"A:" + b" " * 100] * 2_000) + b"\r\n\r\n",
    ],
)
@pytest.mark.parametrize("answers", [False, True])
def test_no_bytes_are_slow(text: bytes, answers: bool) -> None:
    for chunks in ([text], [text[n : n + 40] for n in range(0, len(text), 40)]):
        begin = time.process_time()
        run(chunks, answers, finish=True)
        assert time.process_time() - begin < 20  # where a text is read again for every byte, minutes


# -- the same as h11 ---------------------------------------------------------------------------------------------------

TOKEN = st.text("abcdefghijklmnopqrstuvwxyzABCDEFXYZ0123456789!#$%&'*+-.^_`|~", min_size=1, max_size=8)
FRAMING = {"content-length", "transfer-encoding", "connection", "upgrade", "host", "expect"}
VALUE = st.text([chr(c) for c in range(0x21, 0x7F)] + ["\x80", "\xff", " ", "\t"], max_size=12).map(str.strip)
EXTRA = st.lists(st.tuples(TOKEN.filter(lambda name: name.lower() not in FRAMING), VALUE), max_size=3)
LINE_END = st.sampled_from(["\r\n", "\r\n", "\n"])


@st.composite
def body_of(draw: st.DrawFn) -> tuple[list[tuple[str, str]], bytes]:
    """Headers that frame a body, and the bytes of the body."""
    data = draw(st.binary(max_size=40))
    if draw(st.booleans()):
        return [("Content-Length", str(len(data)))], data
    cuts = sorted(draw(st.lists(st.integers(1, max(1, len(data) - 1)), max_size=3)))
    parts = [p for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True) if (p := data[a:b])]
    extension = draw(st.sampled_from([b"", b";x", b";a=b"]))
    text = b"".join(b"%x%b\r\n%b\r\n" % (len(p), extension, p) for p in parts)
    trailers = draw(st.sampled_from([b"", b"X-Sum: 1\r\n"]))
    return [("Transfer-Encoding", "chunked")], text + b"0\r\n" + trailers + b"\r\n"


@st.composite
def request(draw: st.DrawFn) -> bytes:
    method = draw(st.sampled_from(["GET", "POST", "PUT", "DELETE", "QUERY", "M-SEARCH"]))
    headers, body = draw(st.just(([], b"")) | body_of())
    return text_of(draw, f"{method} /{draw(TOKEN)} HTTP/1.1", [("Host", "h"), *draw(EXTRA), *headers], body)


@st.composite
def response(draw: st.DrawFn) -> bytes:
    status = draw(st.sampled_from([200, 202, 204, 304, 400, 404, 500]))
    headers, body = draw(body_of())
    if status in (204, 304):
        headers, body = [], b""
    interim = draw(
        st.sampled_from([b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 x\r\nLink: y\r\n\r\n"])
    )
    return interim + text_of(draw, f"HTTP/1.1 {status} {draw(VALUE)}", [*draw(EXTRA), *headers], body)


def text_of(draw: st.DrawFn, start: str, headers: list[tuple[str, str]], body: bytes) -> bytes:
    end = draw(LINE_END)
    gap = draw(st.sampled_from([" ", "", "  ", " \t"]))
    return (start + end + "".join(f"{name}:{gap}{value}{end}" for name, value in headers) + end).encode(
        "latin-1"
    ) + body


def pieces_of(draw: st.DataObject, text: bytes) -> list[bytes]:
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def by_h11(chunks: list[bytes], answers: bool) -> Shown:
    """What h11 reads. A server of h11's reads on when it has answered, a client when it has asked."""
    peer = h11.Connection(h11.CLIENT if answers else h11.SERVER)
    found: Shown = []

    def ask() -> None:
        peer.send(h11.Request(method="POST", target="/", headers=[("Host", "h"), ("Content-Length", "0")]))
        peer.send(h11.EndOfMessage())

    if answers:
        ask()
    for chunk in chunks:
        if chunk:
            peer.receive_data(chunk)
        while True:
            event = peer.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                break
            if isinstance(event, (h11.Request, h11.Response, h11.InformationalResponse)):
                headers = [(name.decode(), value.decode("latin-1")) for name, value in event.headers]
                if isinstance(event, h11.Request):
                    start: Any = (event.method.decode(), event.target.decode())
                else:
                    start = event.status_code
                found.append([start, headers, b"", isinstance(event, h11.InformationalResponse)])
            elif isinstance(event, h11.Data):
                found[-1][2] += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                found[-1][3] = True
                if not answers:
                    peer.send(h11.Response(status_code=204, headers=[]))
                    peer.send(h11.EndOfMessage())
                peer.start_next_cycle()
                if answers:
                    ask()
    return [tuple(item) for item in found]


def by_us(chunks: list[bytes], answers: bool) -> Shown:
    """The same of ours, as h11 spells it."""
    found = []
    for start, headers, body, whole in run(chunks, answers, "POST " * 10):
        names = [(name.lower(), value) for name, value in headers]
        names = [(n, v.lower() if n == "transfer-encoding" else v) for n, v in names]
        found.append((start[0] if answers else start, names, body, whole))
    return found


@settings(max_examples=300)
@given(st.lists(request(), min_size=1, max_size=4), st.data())
def test_requests_read_as_h11_reads_them(texts: list[bytes], draw: st.DataObject) -> None:
    chunks = pieces_of(draw, b"".join(texts))
    assert by_us(chunks, False) == by_h11(chunks, False)


@settings(max_examples=300)
@given(st.lists(response(), min_size=1, max_size=4), st.data())
def test_answers_read_as_h11_reads_them(texts: list[bytes], draw: st.DataObject) -> None:
    chunks = pieces_of(draw, b"".join(texts))
    assert by_us(chunks, True) == by_h11(chunks, True)


@given(st.lists(st.binary(max_size=30) | request() | response()), st.booleans(), st.data())
def test_any_bytes_in_any_chunking_give_the_same(
    texts: list[bytes], answers: bool, draw: st.DataObject
) -> None:
    text = b"".join(texts)
    chunks = pieces_of(draw, text)
    assert run(chunks, answers, "HEAD POST CONNECT", True) == run([text], answers, "HEAD POST CONNECT", True)

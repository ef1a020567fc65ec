"""Event streams are read as the standard says, and what a browser throws away is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.wire.sse import Event, SseReader

from .tools import CHUNKINGS, bytewise

BLOCK = 'event: message\nid: 7\nretry: 3000\ndata: {"a":\ndata: 1}\n\n'


def shown(event: Event) -> dict[str, Any]:
    names = ("comment", "data", "event", "id", "retry")
    return {name: value for name in names if (value := getattr(event, name)) is not None}


def events(chunks: list[bytes]) -> tuple[list[dict[str, Any]], int]:
    reader = SseReader()
    found = [shown(event) for chunk in chunks for event in reader.feed(chunk)]
    return found, reader.undelivered


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("trailing", ["", "data: never"])
def test_all_line_ends(chunking, end, trailing) -> None:
    text = (BLOCK.replace("\n", end) + ": hello" + end + end + trailing).encode()
    block = {"event": "message", "id": "7", "retry": "3000", "data": b'{"a":\n1}'}
    assert events(list(chunking(text))) == ([block, {"comment": b"hello"}], len(trailing))


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize(
    ("text", "want"),
    [
        (b"data\n\ndata\ndata\n\ndata:", [{"data": b""}, {"data": b"\n"}]),
        (b"data:  two spaces\n\n", [{"data": b" two spaces"}]),
        (b"data:test\n\ndata: test\n\n", [{"data": b"test"}, {"data": b"test"}]),
        (b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n", [{"data": b"1"}, {}]),
        (b"id: a\0b\ndata: 1\n\n", [{"data": b"1"}]),
        (b"id\ndata: 1\n\n", [{"id": "", "data": b"1"}]),
        (b"retry: 12x\nretry: -1\ndata: 1\n\n", [{"data": b"1"}]),
        (b"retry:10000\n\n", [{"retry": "10000"}]),
        (b"event: a\nevent: b\ndata: 1\n\n", [{"event": "b", "data": b"1"}]),
        (b"nonsense: x\ndata: 1\n\n", [{"data": b"1"}]),
        (b" data: 1\n\n", [{}]),
        (b":\r\n:\r\n\r\n", [{"comment": b""}, {"comment": b""}]),
        (b":ka\ndata: 1\n:mid\n\n", [{"comment": b"ka"}, {"comment": b"mid"}, {"data": b"1"}]),
        (b"event: message\r\ndata: x\r\n\r", [{"event": "message", "data": b"x"}]),
        (b"event: m\rdata: x\n\r\nevent: n\r\rdata: y\r\n\n", [
            {"event": "m", "data": b"x"}, {"event": "n"}, {"data": b"y"},
        ]),
        (b"event: \xff\ndata: \xff\n\n", [{"event": "\ufffd", "data": b"\xff"}]),
        (b"\n\n\n", []),
    ],
)  # fmt: skip
def test_the_standard(chunking, text, want) -> None:
    assert events(list(chunking(text)))[0] == want


def test_a_cr_completes_the_event_at_once_and_its_lf_belongs_to_it() -> None:
    reader = SseReader()
    assert [e.data for e in reader.feed(b"data: 1\r\n\r")] == [b"1"]
    assert [e.data for e in reader.feed(b"\ndata: 2\r\n\r\n")] == [b"2"]
    assert reader.undelivered == 0


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_an_event_begins_at_its_first_field(chunking) -> None:
    text = b": hi\n\r\ndata: 1\n:c\n\nid: 5\n\n"
    reader = SseReader()
    found = [event for chunk in chunking(text) for event in reader.feed(chunk)]
    assert [event.begin for event in found] == [0, 15, 7, 19]
    assert [text[event.begin :][:5] for event in found] == [b": hi\n", b":c\n\ni", b"data:", b"id: 5"]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (b"data: 1\n", 8),
        (b"data: 1", 7),
        (b": hi", 0),
        (b"", 0),
        (b"\xef\xbb", 0),
        (b"data: 1\n\nev", 2),
        (b"id: 1\n\r", 0),
    ],
)
def test_undelivered_text(text, size) -> None:
    assert events([text])[1] == events(list(bytewise(text)))[1] == size


def test_an_event_beyond_the_limit_is_cut_and_says_so() -> None:
    reader = SseReader(limit=10)
    text = b"data: 0123456789abc\n\ndata: 1\n\n" + b"data: 01234\n" * 3 + b"\ndata: 2\n\n"
    for chunking in CHUNKINGS:
        reader = SseReader(limit=10)
        found = [(event.data, event.size) for chunk in chunking(text) for event in reader.feed(chunk)]
        assert [(len(data or b"") <= 17, size) for data, size in found] == [
            (True, 13),
            (True, 1),
            (True, 17),
            (True, 1),
        ]
        assert found[1][0] == b"1" and found[3][0] == b"2"


def test_a_long_line_in_single_bytes_is_read_in_reasonable_time() -> None:
    reader = SseReader()
    text = b"data: " + b"x" * 300_000 + b"\n\n"
    found = [event for chunk in bytewise(text) for event in reader.feed(chunk)]
    assert [event.data for event in found] == [b"x" * 300_000]


def naive(text: bytes) -> list[dict[str, Any]]:
    """The standard's words, one after the other, on the whole text."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    found: list[dict[str, Any]] = []
    block: dict[str, Any] | None = None
    *lines, _ = re.split(rb"\r\n|\r|\n", text)
    for line in lines:
        if line == b"":
            if block is not None:
                found.append(block)
            block = None
        elif line.startswith(b":"):
            found.append({"comment": line[2:] if line[1:2] == b" " else line[1:]})
        else:
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            block = {} if block is None else block
            if name == b"data":
                block["data"] = block["data"] + b"\n" + value if "data" in block else value
            elif (
                (name == b"event")
                or (name == b"id" and b"\0" not in value)
                or (name == b"retry" and value.isdigit())
            ):
                block[name.decode()] = value.decode("utf-8", "replace")
    return found


PIECES = st.sampled_from([
    b"data", b"event", b"id", b"retry", b":", b" ", b"\r", b"\n", b"\r\n", b"\n\n", b"\0", b"1", b"x", b"\xef\xbb\xbf",
    b"\xff", b"message",
])  # fmt: skip


@given(st.lists(PIECES, max_size=40), st.data())
def test_any_text_in_any_chunking_is_what_the_standard_says(pieces: list[bytes], draw: st.DataObject) -> None:
    text = b"".join(pieces)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    want = naive(text)
    assert events(chunks)[0] == want
    assert events([text]) == events(chunks)

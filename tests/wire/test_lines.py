"""Lines are cut at 0x0A alone, however the bytes come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.wire.lines import LineSplitter

from .tools import CHUNKINGS


def lines(chunks: list[bytes], finish: bool = True, limit: int = 1 << 26) -> list[tuple[bytes, int, bool]]:
    splitter = LineSplitter(limit)
    found = [line for chunk in chunks for line in splitter.feed(chunk)]
    if finish:
        found += splitter.finish()
    return [(line.data, line.size, line.cut) for line in found]


@pytest.mark.parametrize("chunking", CHUNKINGS)
@pytest.mark.parametrize("trailing", [b"", b"half a line"])
def test_only_0a_ends_a_line(chunking, trailing) -> None:
    text = "one\r\n\n two\u2028three\u0085\x0b\x0cfour\n".encode() + trailing
    want = [b"one\r", b"", " two\u2028three\u0085\x0b\x0cfour".encode()]
    found = lines(list(chunking(text)), finish=False)
    assert found == [(line, len(line), False) for line in want]
    left = [(trailing, len(trailing), False)] if trailing else []
    assert lines(list(chunking(text))) == found + left


@pytest.mark.parametrize("chunking", CHUNKINGS)
def test_a_line_beyond_the_limit_is_cut_and_the_next_one_is_not(chunking) -> None:
    assert lines(list(chunking(b"0123456789\nabc\n01234567890123\n")), limit=10) == [
        (b"0123456789", 10, False),
        (b"abc", 3, False),
        (b"0123456789", 14, True),
    ]


@given(st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\x00", b"\n"))))
def test_any_chunking_gives_what_split_gives(chunks: list[bytes]) -> None:
    *want, left = b"".join(chunks).split(b"\n")
    assert [data for data, _, _ in lines(chunks, finish=False)] == want
    assert [data for data, _, _ in lines(chunks)] == want + ([left] if left else [])


def test_a_line_in_single_bytes_costs_no_more_than_its_length() -> None:
    splitter = LineSplitter()
    for _ in range(300_000):
        assert not list(splitter.feed(b"x"))
    assert splitter.pending == 300_000
    (line,) = splitter.feed(b"\n")
    assert (line.data, line.cut) == (b"x" * 300_000, False)

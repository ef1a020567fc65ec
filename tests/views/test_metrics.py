"""Widths, cutting and folding: never inside a grapheme, never wider than asked."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from mrtrscope.views import metrics
from mrtrscope.views.escape import visible

SANS = partial(metrics.width, size=12)
TEXT = st.text(max_size=80).map(visible)


@pytest.mark.parametrize(
    ("text", "bold", "mono", "ems"),
    [
        ("iiii", False, False, 4 * 0.222),
        ("WWWW", False, False, 4 * 0.944),
        ("W", True, False, 0.944),
        ("a", True, False, 0.556),
        ("abc", False, True, 1.8),
        ("日本", False, False, 2.0),
        ("日本", False, True, 2.0),
        ("e\u0301", False, False, 0.556),
        ("👩‍👩‍👧‍👦", False, False, 1.0),
        ("", False, False, 0.0),
    ],
)
def test_width(text: str, bold: bool, mono: bool, ems: float) -> None:
    assert metrics.width(text, 10, bold=bold, mono=mono) == pytest.approx(10 * ems)


def test_cells_counts_columns_of_a_terminal() -> None:
    assert [metrics.cells(t) for t in ("abc", "日本", "e\u0301", "👍🏽", "")] == [3, 4, 1, 2, 0]


@given(TEXT, st.floats(0, 300), st.booleans())
def test_cut_fits_and_keeps_whole_graphemes(text: str, limit: float, middle: bool) -> None:
    shown = metrics.cut(text, limit, SANS, middle)
    if shown == text:
        return
    assert SANS(text) > limit or len(text) > 4096
    assert SANS(shown) <= max(limit, SANS("…")) + 1e-6
    head, _, tail = shown.partition("…")
    assert text.startswith(head) and text.endswith(tail)
    pieces = list(iter_graphemes(text))
    assert "".join(pieces[: len(list(iter_graphemes(head)))]).rstrip() == head.rstrip()


def test_cut_in_the_middle_keeps_both_ends() -> None:
    shown = metrics.cut("file:///srv/data/reports/2026/november/ledger.csv", 200, SANS, middle=True)
    assert shown.startswith("file:///srv") and shown.endswith("r.csv")


@given(TEXT, st.floats(20, 300), st.integers(1, 5))
def test_wrap_fits_and_loses_nothing_unsaid(text: str, limit: float, lines: int) -> None:
    shown = metrics.wrap(text, limit, lines, SANS)
    assert len(shown) <= lines
    for line in shown:
        assert SANS(line) <= limit + 1e-6 or len(list(iter_graphemes(line))) == 1
    told = "".join("".join(shown).split())
    whole = "".join(text.split())
    if not shown or not shown[-1].endswith("…"):
        assert told == whole


def test_wrap_breaks_at_blanks_and_newlines() -> None:
    assert metrics.wrap("one two three\nfour", 50, 9, SANS) == ["one two", "three", "four"]
    assert metrics.wrap("x" * 30, 50, 2, SANS) == ["x" * 8, "x" * 6 + "…"]


def test_endless_text_is_cut_in_no_time() -> None:
    assert metrics.cut("部" * 1_000_000, 100, SANS).endswith("…")
    assert len(metrics.wrap("word " * 1_000_000, 100, 3, SANS)) == 3


def test_our_own_signs_are_as_wide_as_the_library_says() -> None:
    from wcwidth import wcwidth

    for char in metrics._SIGNS | {chr(code) for code in range(0xA0, 0x300)} - {"\xad"}:
        assert wcwidth(char) == 1, hex(ord(char))
        assert list(iter_graphemes(f"a{char}b")) == ["a", char, "b"]

"""How a changed requestState is put into words, and that the words are true."""

from __future__ import annotations

import base64
import json
import unicodedata
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link.explain import alike, explain, reencoded

B64 = base64.b64encode(bytes(range(40))).decode()
URL = base64.urlsafe_b64encode(bytes(range(180, 256))).decode()
TEXT = json.dumps({"b": 1, "a": "é"}, ensure_ascii=False)


@pytest.mark.parametrize(
    ("issued", "came", "words"),
    [
        (B64, B64.rstrip("="), "padding lost"),
        (B64.rstrip("="), B64, "padding added"),
        (URL, URL.replace("-", "+").replace("_", "/"), "base64url turned into base64"),
        (quote("a b/c?d", safe=""), "a b/c?d", "percent-decoded"),
        ("a b/c", quote("a b/c", safe=""), "percent-encoded"),
        ("v1.a-b", "v1%2Ea%2Db", "percent-encoded"),
        ("a+b+cd", "a b cd", "percent-decoded, with + taken for a space"),
        (" token-1 ", "token-1", "white space around it trimmed"),
        ("token-1\n", "token-1", "white space around it trimmed"),
        ("Cafe\u0301-9", unicodedata.normalize("NFC", "Cafe\u0301-9"), "another normal form (made NFC)"),
        ("AbCdEf", "abcdef", "turned into lower case"),
        ("a\r\nb", "a\nb", "line ends changed to LF"),
        ("token", '"token"', "put into quotation marks"),
        ('tok"en', json.dumps('tok"en'), "JSON-encoded once more"),
        ("a&b", "a&amp;b", "HTML-escaped"),
        (TEXT, json.dumps(json.loads(TEXT), separators=(",", ":"), ensure_ascii=False), "JSON text written anew"),
        (TEXT, json.dumps(json.loads(TEXT), sort_keys=True, ensure_ascii=False),
         "JSON text written anew with its members sorted"),
        ("żółw-1", "żółw-1".encode().decode("latin-1"), "UTF-8 read as Latin-1"),
        ("step-1", base64.b64encode(b"step-1").decode(), "base64-encoded"),
        ("x" * 212, "x" * 120, "cut after 120 of 212 bytes"),
        ("0123456789abcdef", "89abcdef", "the first 8 of 16 bytes cut off"),
        ("v1.token", "v1.token.x", "2 bytes added behind its 8 bytes"),
        ("v1.tokenA", "v1.tokexA", "one character changed, number 8 of 9"),
        ("v1.token-abcdef", "v1.token-abef", "2 characters missing from number 12 of 15"),
        ("v1.token-abcdef", "v1.toXYken-abcdef", "2 characters put in at number 6 of 15"),
    ],
)  # fmt: skip
def test_what_was_done_to_it_is_named_and_tells_whose_it_is(issued: str, came: str, words: str) -> None:
    assert explain(issued, came) == words
    assert alike(issued, came)


@pytest.mark.parametrize(
    ("issued", "came", "words"),
    [
        ("abcdefgh", "", "came back empty; 8 bytes were issued"),
        ("", "x", "an empty string was issued, 1 byte came back"),
        ("s1", None, "JSON type null came back where string was issued"),
        ("s1", {"a": 1}, "JSON type object came back where string was issued"),
        ("first-state-of-it", "QQQQ", "another string: 17 bytes issued, 4 bytes came back"),
        ({"a": 1}, {"a": 2}, "another JSON object"),
    ],
)
def test_a_string_that_is_not_made_from_it_proves_nothing(issued: object, came: object, words: str) -> None:
    assert explain(issued, came) == words
    assert not alike(issued, came)


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_two_strings_get_some_words_exactly_when_they_differ(issued: str, came: str) -> None:
    assert bool(explain(issued, came)) == (issued != came)


@given(st.text(min_size=12, max_size=60), st.data())
def test_the_counts_of_a_cut_are_true(issued: str, data: st.DataObject) -> None:
    keep = data.draw(st.integers(min_value=8, max_value=len(issued) - 1))
    came = issued[:keep]
    words = explain(issued, came)
    if words.startswith("cut after"):
        assert words == f"cut after {len(came.encode())} of {len(issued.encode())} bytes"
    else:  # the same text can be had by a rule that knows a cause, such as trimmed white space
        assert alike(issued, came)


@given(st.text(min_size=8, max_size=40), st.integers(min_value=0), st.characters(exclude_categories=["Cs"]))
def test_one_changed_character_is_found_where_it_is(issued: str, at: int, other: str) -> None:
    at %= len(issued)
    came = issued[:at] + other + issued[at + 1 :]
    words = explain(issued, came)
    if words.startswith("one character"):
        assert words == f"one character changed, number {at + 1} of {len(issued)}"


def test_a_state_of_a_mebibyte_is_compared_at_once() -> None:
    issued = "k" * (1 << 20)
    assert explain(issued, issued[:-1] + "x") == f"one character changed, number {1 << 20} of {1 << 20}"


@pytest.mark.parametrize(
    ("issued", "came", "same"),
    [
        (B64, B64.rstrip("="), True),
        ("v1.a-b", "v1%2Ea%2Db", True),
        (B64, B64, False),
        (B64, B64[:-6], False),
        ("token-1", "TOKEN-1", False),
        (B64, None, False),
    ],
)
def test_reencoded_says_whether_the_bytes_within_are_the_same(issued: Any, came: Any, same: bool) -> None:
    assert reencoded(issued, came) is same

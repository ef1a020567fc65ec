"""Equal JSON values have one text; different ones have two."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link.canonical import canonical, difference

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        (1, 1.0, True),
        ([1.0, {"x": 2.50}], [1, {"x": 2.5}], True),
        (True, 1, False),
        (0, False, False),
        (None, 0, False),
        ("1", 1, False),
        ({}, [], False),
        (10**30, 10**30 + 1, False),
    ],
)
def test_equality_is_that_of_json(a: Any, b: Any, equal: bool) -> None:
    assert (canonical(a) == canonical(b)) is equal
    assert (difference(a, b) is None) is equal


@given(VALUES)
def test_a_value_equals_its_own_text_read_again(value: Any) -> None:
    again = json.loads(canonical(value))
    assert canonical(again) == canonical(value)
    assert difference(value, again) is None


@given(VALUES, VALUES)
def test_a_difference_is_found_exactly_when_the_texts_differ(a: Any, b: Any) -> None:
    assert (difference(a, b) is None) == (canonical(a) == canonical(b))


@pytest.mark.parametrize(
    ("a", "b", "path"),
    [
        ({"x": {"y": [1, 2]}}, {"x": {"y": [1, 3]}}, "/x/y/1"),
        ({"x": 1}, {"x": 1, "a/b": 2}, "/a~1b"),
        ([1], [1, 2], "/1"),
        (1, 2, ""),
    ],
)
def test_the_path_leads_to_the_first_difference(a: Any, b: Any, path: str) -> None:
    assert difference(a, b) == path

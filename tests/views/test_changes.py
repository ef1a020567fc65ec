"""What changed between two rounds, place by place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link.canonical import canonical
from mrtrscope.views.changes import changes
from mrtrscope.wire.events import ABSENT


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [("/a", 1, True)]),
        ({"i": 3, "p": {"x": 1}}, {"i": 8, "p": {"x": 1, "y": {"z": 2}}}, [("/i", 3, 8), ("/p/y", ABSENT, {"z": 2})]),
        ({"a/b": {"~": [1, 2, 3]}}, {"a/b": {"~": [1, 5]}}, [("/a~1b/~0/1", 2, 5), ("/a~1b/~0/2", 3, ABSENT)]),
        ({"s": "x"}, {"s": None}, [("/s", "x", None)]),
        ({"s": "x"}, {"s": ["x"]}, [("/s", "x", ["x"])]),
        ([], {}, [("", [], {})]),
    ],
)  # fmt: skip
def test_changes(before: Any, after: Any, expected: list[tuple[str, Any, Any]]) -> None:
    assert [(c.path, c.before, c.after) for c in changes(before, after)] == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)


@given(JSON, JSON)
def test_nothing_changed_exactly_where_the_values_are_equal(before: Any, after: Any) -> None:
    assert (not list(changes(before, after))) == (canonical(before) == canonical(after))


def test_what_is_very_deep_is_told_as_a_whole() -> None:
    before: Any = 1
    after: Any = 2
    for _ in range(300):
        before, after = {"x": before}, {"x": after}
    (one,) = changes(before, after)
    assert one.path == "/x" * 20

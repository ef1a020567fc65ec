"""Ids of tasks: which ones count on, and that long ones cost nothing."""

from __future__ import annotations

import time

import pytest

from mrtrscope.rules.tasks import _counts_on


@pytest.mark.parametrize(
    ("before", "id", "on"),
    [
        ("task-1", "task-2", True),
        ("task-9", "task-10", True),
        ("1-a", "2-a", True),
        ("task-1", "task-99", False),
        ("task-1", "job-2", False),
        ("task-2", "task-1", False),
        ("", "1", False),
        ("a" * 300 + "1", "a" * 300 + "2", False),
    ],
)
def test_ids_that_count_on(before: str, id: str, on: bool) -> None:
    assert _counts_on(before, id) is on


def test_an_id_of_a_million_digits_takes_no_time() -> None:
    started = time.process_time()
    assert not _counts_on("1" * 1_000_000 + "a1", "1" * 1_000_000 + "a2")
    assert time.process_time() - started < 60

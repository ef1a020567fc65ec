"""Findings in a picture: marks at arrows keep off the labels, and the list below says nothing twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mrtrscope.views.build import build
from mrtrscope.views.marks import beyond
from tests.views import scenes


def test_what_the_text_of_a_finding_says_is_not_said_again() -> None:
    made = scenes.broken_state()
    found = made.findings[0]
    made.findings = [replace(found, text="cut after 2 of 5 bytes", saw="cut after 2 of 5 bytes"), found]
    told, apart = build(made).marks
    assert told.saw == "" and told.expected
    assert apart.saw


@pytest.mark.parametrize(
    ("label", "leftward", "x"),
    [
        (50, False, 180),  # far from the middle
        (150, False, 260),
        (280, False, 180),  # no room behind it
        (50, True, 180),
        (150, True, 180),
        (180, True, 170),
        (380, True, 180),
    ],
)
def test_marks_stand_behind_a_label_that_reaches_the_middle(label: float, leftward: bool, x: float) -> None:
    begin = beyond(200, 40, label, (100, 400), leftward)
    assert begin == x

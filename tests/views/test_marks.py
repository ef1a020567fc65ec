"""The list of findings below a picture says nothing twice."""

from __future__ import annotations

from dataclasses import replace

from mrtrscope.views.build import build
from tests.views import scenes


def test_what_the_text_of_a_finding_says_is_not_said_again() -> None:
    made = scenes.broken_state()
    found = made.findings[0]
    made.findings = [replace(found, text="cut after 2 of 5 bytes", saw="cut after 2 of 5 bytes"), found]
    told, apart = build(made).marks
    assert told.saw == "" and told.expected
    assert apart.saw

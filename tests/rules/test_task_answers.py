"""Answers that `tasks/update` brings: each is for the question that was shown under its key, wherever that was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.rules.examples import Case, cases_of

from .judging import judged

RULE = "elicitation/action-valid"


def case_of_two_questions() -> Case:
    """The case of an update, with a second question that another message shows; both are answered badly."""
    (found,) = (case for case in cases_of(RULE) if case.name == "violates-update")
    lines: list[dict[str, Any]] = [json.loads(line) for line in found.text if line]
    polled, shown = json.loads(json.dumps(lines[2:4]))
    polled["c2s"]["id"] = shown["s2c"]["id"] = 22
    questions = shown["s2c"]["result"]["inputRequests"]
    questions["r"] = questions.pop("q")
    answers = lines[4]["c2s"]["params"]["inputResponses"]
    answers["r"] = answers["q"]
    lines[4:4] = [polled, shown]
    return Case(RULE, found.name, "\n".join(json.dumps(line) for line in [found.head, *lines]))


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_each_answer_names_the_message_that_showed_its_question(
    transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "case.jsonl"
    file.write_text(case_of_two_questions().transcript(transport)[0], encoding="utf-8")
    found = {f.path: f.also for f in judged(file, monkeypatch).findings if f.rule == RULE}
    assert sorted(found) == ["/params/inputResponses/q/action", "/params/inputResponses/r/action"]
    (q,), (r,) = found.values()
    assert q != r

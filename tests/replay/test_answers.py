"""Answers that fit their question, and those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.replay.answers import misfit, same_question

FORM = {
    "method": "elicitation/create",
    "params": {
        "message": "?",
        "requestedSchema": {
            "type": "object",
            "properties": {"n": {"type": "integer", "minimum": 1}},
            "required": ["n"],
        },
    },
}
URL = {
    "method": "elicitation/create",
    "params": {"mode": "url", "url": "https://example.org", "message": "?"},
}
SAMPLE = {"method": "sampling/createMessage", "params": {}}


@pytest.mark.parametrize(
    ("question", "answer", "wrong"),
    [
        (FORM, {"action": "accept", "content": {"n": 2}}, ""),
        (FORM, {"action": "decline"}, ""),
        (FORM, {"action": "accept", "content": {"n": 0}}, "content/n does not fit minimum 1"),
        (FORM, {"action": "accept", "content": {}}, "content lacks 'n'"),
        (FORM, {"action": "accept"}, "content lacks 'n'"),
        (FORM, {"action": "accept", "content": 3}, "has a content that is no object"),
        (FORM, {"action": "reject"}, "has no action accept, decline or cancel"),
        (FORM, "yes", "is no object"),
        (URL, {"action": "accept"}, ""),
        (SAMPLE, {"role": "assistant"}, "lacks content, model"),
        (SAMPLE, {"role": "assistant", "content": {}, "model": "m"}, ""),
        ({"method": "roots/list"}, {"roots": {}}, "has no list of roots"),
        ({"method": "roots/list"}, {"roots": []}, ""),
        (None, {"anything": 1}, ""),
        ({"method": "other/kind"}, {"anything": 1}, ""),
    ],
)
def test_what_does_not_fit_is_said(question: Any, answer: Any, wrong: str) -> None:
    assert misfit(question, answer) == wrong


def test_a_question_is_the_same_under_fresh_names() -> None:
    one = {
        "method": "elicitation/create",
        "params": {"message": "a", "elicitationId": "1", "_meta": {"x": 1}},
    }
    two = {"method": "elicitation/create", "params": {"message": "a", "elicitationId": "2"}}
    assert same_question(one, two)
    assert not same_question(one, {"method": "elicitation/create", "params": {"message": "b"}})
    assert same_question(None, None)

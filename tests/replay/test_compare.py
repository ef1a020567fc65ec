"""What counts as a difference between two answers, and what is set aside."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mrtrscope.replay.compare import DEPTH, MOST, aligned, differences
from mrtrscope.wire.events import ABSENT
from tests.replay.world import FORM, asks, result, said


def told(recorded: Any, now: Any, *ignore: str) -> list[tuple[str, Any, Any]]:
    return [(d.path, d.recorded, d.now) for d in differences(recorded, now, ignore)]


def test_equal_is_equal_whatever_the_id_and_spelling_of_numbers() -> None:
    assert told(result(1, n=1, x=[1, {"a": 2.0}]), {**result("z", n=1.0, x=[1, {"a": 2}])}) == []


def test_every_place_is_told_up_to_a_bound() -> None:
    recorded, now = result(1, a=1, b=[1, 2], c=3), result(1, a=2, b=[1], d=True)
    assert told(recorded, now) == [
        ("/result/a", 1, 2),
        ("/result/b/1", 2, ABSENT),
        ("/result/c", 3, ABSENT),
        ("/result/d", ABSENT, True),
    ]
    assert len(differences(result(1, **{f"k{n}": n for n in range(99)}), result(1))) == MOST


def test_true_is_not_one() -> None:
    assert told(result(1, a=1), result(1, a=True)) == [("/result/a", 1, True)]


def test_an_error_is_not_a_result() -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}
    assert told(said(1, "x"), error)[0] == ("/result", said(1, "x")["result"], ABSENT)
    assert told(error, {**error, "error": {"code": -32603, "message": "no"}}) == [
        ("/error/code", -32602, -32603)
    ]


def test_states_are_opaque_but_must_be_there() -> None:
    assert told(asks(1, "one"), asks(1, "two")) == []
    assert told(asks(1, "one"), asks(1)) == [("/result/requestState", "one", ABSENT)]
    assert told(asks(1, "one"), asks(1, 7)) == [("/result/requestState", "one", 7)]


@pytest.mark.parametrize(
    ("recorded", "now"),
    [
        ({"task": {"taskId": "a", "createdAt": "1"}}, {"task": {"taskId": "b", "createdAt": "2"}}),
        ({"_meta": {"traceparent": "00-1"}}, {"_meta": {"traceparent": "00-2"}}),
        ({"nextCursor": "x"}, {"nextCursor": "y"}),
    ],
)
def test_what_is_made_anew_each_time_is_set_aside(recorded: Any, now: Any) -> None:
    assert told(result(1, **recorded), result(1, **now)) == []


def test_json_inside_text_is_compared_as_json() -> None:
    assert told(said(1, '{"a": 1, "b": [2]}'), said(1, '{"b":[2.0],"a":1}')) == []
    assert told(said(1, '{"a": {"t": 1}}'), said(1, '{"a": {"t": 2}}')) == [
        ("/result/content/0/text/#/a/t", 1, 2)
    ]
    assert told(said(1, '{"a": {"t": 1}}'), said(1, '{"a": {"t": 2}}'), "/result/content/*/text/#/a/t") == []
    assert told(said(1, "[1"), said(1, "[2")) == [("/result/content/0/text", "[1", "[2")]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("/result/a/b", ["/result/a/c", "/result/d"]),
        ("/result/a", ["/result/d"]),
        ("/result/*/b", ["/result/a/c", "/result/d"]),
        ("/**/c", ["/result/a/b", "/result/d"]),
        ("/result", []),
        ("/**", []),
        ("/result/a/b/x", ["/result/a/b", "/result/a/c", "/result/d"]),
    ],
)
def test_paths_that_are_ignored(pattern: str, left: list[str]) -> None:
    recorded, now = result(1, a={"b": 1, "c": 1}, d=1), result(1, a={"b": 2, "c": 2}, d=2)
    assert [d.path for d in differences(recorded, now, [pattern])] == left


def other(message: str) -> dict[str, Any]:
    form = copy.deepcopy(FORM)
    form["params"]["message"] = message
    return form


def test_questions_under_fresh_keys_are_compared_by_what_they_ask() -> None:
    recorded = asks(1, "s", a=other("one"), b=other("two"))
    assert told(recorded, asks(1, "t", x9=other("two"), x8=other("one"))) == []
    now = asks(1, "t", x9=other("two"), x8=other("three"))
    assert [path for path, *_ in told(recorded, now)] == [
        "/result/inputRequests/a",
        "/result/inputRequests/x8",
    ]


def test_a_question_whose_form_changed_keeps_its_name() -> None:
    changed = other("one")
    changed["params"]["requestedSchema"]["properties"]["n"]["type"] = "string"
    assert told(asks(1, a=other("one")), asks(1, zz=changed)) == [
        ("/result/inputRequests/a/params/requestedSchema/properties/n/type", "integer", "string")
    ]


def test_alignment_prefers_keys_of_the_same_kind() -> None:
    roots = {"method": "roots/list"}
    assert aligned({"a": other("x"), "b": roots}, {"a": roots, "b": other("x")}) == {"a": "b", "b": "a"}
    assert aligned({"a": other("x")}, {"a": other("y")}) == {"a": "a"}


def test_an_address_is_compared_without_its_query() -> None:
    def url(address: str) -> dict[str, Any]:
        return asks(1, "s", q={"method": "elicitation/create", "params": {"mode": "url", "url": address}})

    assert told(url("https://a.example/x?t=1#f"), url("https://a.example/x?t=2")) == []
    assert len(told(url("https://a.example/x?t=1"), url("https://b.example/x?t=1"))) == 1


def test_what_is_very_deep_is_compared_as_a_whole() -> None:
    one: Any = 1
    two: Any = 2
    for _ in range(400):
        one, two = [one], [two]
    (found,) = differences(one, two)
    assert found.path.count("/") == DEPTH + 1

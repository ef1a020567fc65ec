"""Which recorded answer fits a request: matching, order, retries, refusals, misses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mrtrscope.replay import Miss, Refused, Stand, Step
from tests.replay.world import FORM, META, YES, asks, call, recording, request, result, said


def text(step: Step) -> str:
    answer = step.exchange.answer
    assert answer is not None
    return str(answer.result["content"][0]["text"])


def params(name: str = "a", arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments or {}, **more}


def test_equal_calls_are_answered_in_recorded_order_then_by_policy(tmp_path: Path) -> None:
    recorded = recording(tmp_path, call(1, "a"), said(1, "one"), call(2, "a"), said(2, "two"))
    stand = Stand(recorded)
    assert [text(stand.begin("tools/call", params(), "c")) for _ in range(2)] == ["one", "two"]
    with pytest.raises(
        Miss, match=r"recorded 2 times and played as often\. Loosen with --when-used-up repeat"
    ):
        stand.begin("tools/call", params(), "c")
    again = Stand(recorded, when_used_up="repeat")
    assert [text(again.begin("tools/call", params(), "c")) for _ in range(4)] == ["one", "two", "two", "two"]


def test_ids_meta_order_and_absent_arguments_do_not_matter(tmp_path: Path) -> None:
    recorded = recording(
        tmp_path, call(1, "a", {"x": 1, "y": [2.0]}), said(1, "one"), call(2, "b"), said(2, "two")
    )
    stand = Stand(recorded)
    other = {"arguments": {"y": [2], "x": 1.0}, "name": "a", "_meta": {**META, "progressToken": 7}}
    assert text(stand.begin("tools/call", other, "c")) == "one"
    assert text(stand.begin("tools/call", {"name": "b"}, "c")) == "two"


def test_lists_are_given_as_often_as_asked_for(tmp_path: Path) -> None:
    stand = Stand(recording(tmp_path, request(1, "tools/list"), result(1, tools=[])))
    assert {stand.begin("tools/list", {}, "c").number for _ in range(3)} == {0}


def test_a_miss_names_the_nearest_recording_and_what_differs(tmp_path: Path) -> None:
    stand = Stand(
        recording(
            tmp_path,
            call(1, "a", {"x": 1, "y": 1}), said(1, "one"),
            call(2, "a", {"x": 2, "y": 2}), said(2, "two"),
        )
    )  # fmt: skip
    with pytest.raises(Miss) as miss:
        stand.begin("tools/call", params("a", {"x": 2, "y": 3}), "c")
    assert str(miss.value) == (
        "No recorded answer fits tools/call a. The closest recorded call differs at /arguments/y."
    )
    assert miss.value.error["data"] == {"nearest": 1, "path": "/arguments/y", "recorded": 2, "asked": 3}
    with pytest.raises(Miss, match="nothing of that name was recorded"):
        stand.begin("tools/call", params("b"), "c")
    with pytest.raises(Miss, match="holds no prompts/get") as miss:
        stand.begin("prompts/get", params("b"), "c")
    assert miss.value.error["code"] == -32601


def test_a_retry_goes_on_with_its_own_operation(tmp_path: Path) -> None:
    """Two operations that are equal but for their states and ends, asked at once, taken up crosswise."""
    stand = Stand(
        recording(
            tmp_path,
            call(1, "a"), asks(1, "s1"), call(2, "a"), asks(2, "s2"),
            call(3, "a", inputResponses={"q": YES}, requestState="s1"), said(3, "first"),
            call(4, "a", inputResponses={"q": YES}, requestState="s2"), said(4, "second"),
        )
    )  # fmt: skip
    for client in ("x", "y"):
        stand.played(stand.begin("tools/call", params(), client), client)
    retry = params(inputResponses={"q": YES})
    assert text(stand.begin("tools/call", {**retry, "requestState": "s2"}, "x")) == "second"
    assert text(stand.begin("tools/call", {**retry, "requestState": "s1"}, "y")) == "first"


def asked(folder: Path, answers: str = "any") -> Stand:
    """A stand that has just asked for `q` with the state "state-0001"; a call of `b` waits with "other-state"."""
    stand = Stand(
        recording(
            folder,
            call(1, "a"), asks(1, "state-0001"), call(2, "b"), asks(2, "other-state"),
            call(3, "a", inputResponses={"q": YES}, requestState="state-0001"), said(3, "done"),
        ),
        answers=answers,
    )  # fmt: skip
    for name in ("a", "b"):
        stand.played(stand.begin("tools/call", params(name), "c"), "c")
    return stand


@pytest.mark.parametrize(
    ("state", "name", "arguments", "why"),
    [
        (
            "state-0002",
            "a",
            {},
            "requestState is not as it was issued: one character changed, number 10 of 10",
        ),
        ("state-0", "a", {}, "requestState was never issued here"),
        ("never", "a", {}, "requestState was never issued here"),
        (7, "a", {}, "requestState was never issued here"),
        ("state-0001", "b", {}, "requestState was issued for tools/call a"),
        ("state-0001", "a", {"x": 1}, "requestState was issued for a call with other params"),
        ("other-state", "a", {}, "requestState was issued for tools/call b"),
    ],
)
def test_a_state_that_does_not_belong_here_is_refused(
    tmp_path: Path, state: Any, name: str, arguments: dict[str, Any], why: str
) -> None:
    with pytest.raises(Refused) as refused:
        asked(tmp_path).begin(
            "tools/call", params(name, arguments, inputResponses={"q": YES}, requestState=state), "c"
        )
    assert str(refused.value) == why
    assert refused.value.error["code"] == -32602


def test_a_question_that_nobody_took_up_cannot_go_on(tmp_path: Path) -> None:
    with pytest.raises(Miss, match="tools/call b ends with this question"):
        asked(tmp_path).begin(
            "tools/call", params("b", inputResponses={"q": YES}, requestState="other-state"), "c"
        )


def test_an_answer_left_out_is_asked_for_again(tmp_path: Path) -> None:
    stand = asked(tmp_path)
    step = stand.begin("tools/call", params("a", inputResponses={}, requestState="state-0001"), "c")
    assert step.number == 0


NO = {"action": "decline"}
BAD = {"action": "accept", "content": {"n": "one"}}


@pytest.mark.parametrize(
    ("policy", "answer", "outcome"),
    [
        ("any", NO, "done"),
        ("any", BAD, "done"),
        ("same", YES, "done"),
        (
            "same",
            NO,
            "Other answers than the recorded ones to tools/call a, at /q/action. Loosen with --answers",
        ),
        ("schema", NO, "done"),
        ("schema", BAD, "the answer for q content/n does not fit type 'integer'"),
        ("schema", None, "no answer for q"),
        ("same", None, "no answer for q"),
    ],
)
def test_answers_are_held_to_the_policy(tmp_path: Path, policy: str, answer: Any, outcome: str) -> None:
    given = {} if answer is None else {"q": answer}
    retry = params("a", inputResponses=given, requestState="state-0001")
    stand = asked(tmp_path, policy)
    try:
        got = text(stand.begin("tools/call", retry, "c"))
    except (Miss, Refused) as error:
        got = str(error)
    assert got.startswith(outcome)


def test_a_retry_without_a_state_is_told_by_its_keys(tmp_path: Path) -> None:
    stand = Stand(
        recording(
            tmp_path,
            call(1, "a"), asks(1, q=FORM), call(2, "a", inputResponses={"q": YES}), said(2, "done"),
        )
    )  # fmt: skip
    stand.played(stand.begin("tools/call", params(), "c"), "c")
    with pytest.raises(Miss, match="No question that was asked here for this tools/call has these keys"):
        stand.begin("tools/call", params(inputResponses={"other": YES}), "c")
    assert text(stand.begin("tools/call", params(inputResponses={"q": YES}), "c")) == "done"


def test_what_was_asked_and_never_taken_up_is_forgotten_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mrtrscope.replay.stand.KEPT", 5)
    stand = Stand(recording(tmp_path, call(1, "a"), asks(1, "s")), when_used_up="repeat")
    for _ in range(50):
        stand.played(stand.begin("tools/call", params(), "c"), "c")
    assert len(stand._waiting) == 5

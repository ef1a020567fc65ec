"""What is sent in the place of a recorded request, and when."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.replay.answering import Answers, Unanswered
from mrtrscope.replay.lanes import Order
from mrtrscope.replay.plan import Edit, States, altered, request_of
from mrtrscope.wire.events import ABSENT
from tests.replay.world import FORM, META, YES, call, recording, said


def test_a_request_gets_a_new_id_and_token_and_edits(tmp_path: Path) -> None:
    meta = {**META, "progressToken": "old"}
    body = {**call(1, "a", {"env": "dev", "list": [1, 2]})}
    body["params"]["_meta"] = meta
    (step,) = recording(tmp_path, body, said(1, "x")).steps
    edits = [
        Edit("/params/arguments/env=prod"),
        Edit("/params/arguments/list/1=7"),
        Edit('/params/arguments/new/x={"y": 1}'),
    ]
    sent = request_of(step, 41, edits)
    assert sent["id"] == 41
    assert sent["params"]["arguments"] == {"env": "prod", "list": [1, 7], "new": {"x": {"y": 1}}}
    assert sent["params"]["_meta"] == {**META, "progressToken": "replay-41"}
    assert step.exchange.request.body["params"]["arguments"] == {"env": "dev", "list": [1, 2]}


@pytest.mark.parametrize("text", ["params/a=1", "/params/a", "/method=x", "=1"])
def test_an_edit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="PATH=VALUE is wanted"):
        Edit(text)


def test_an_edit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to set in 'b'"):
        Edit("/params/a/b/c=1").apply({"params": {"a": 3}})
    with pytest.raises(ValueError, match="no such place"):
        Edit("/params/a/9=1").apply({"params": {"a": []}})


@pytest.mark.parametrize(
    ("brought", "issued", "fresh", "sent"),
    [
        ("s", "s", "fresh", "fresh"),
        (ABSENT, "s", "fresh", ABSENT),  # the client dropped it, so do we
        (ABSENT, ABSENT, "fresh", "fresh"),
        (ABSENT, ABSENT, ABSENT, ABSENT),
        ("earlier", "s", "fresh", "fresh earlier"),
        ("x", "s", "fresh", "frAsh"),  # the client changed it, so do we
        ("invented", ABSENT, ABSENT, "invented"),
        ("s", "s", ABSENT, ABSENT),
    ],
)
def test_the_state_that_a_retry_brings(brought: Any, issued: Any, fresh: Any, sent: Any) -> None:
    states = States()
    states.issued("earlier", "fresh earlier")
    assert states.for_retry(brought, issued, fresh) == sent


def test_a_changed_state_is_another_one() -> None:
    assert [altered(s) for s in ("A", "ab", "xAx")] == ["B", "aA", "xBx"]


def answer(
    now: dict[str, Any], asked: dict[str, Any], given: dict[str, Any], **options: Any
) -> dict[str, Any]:
    return asyncio.run(Answers(**options).to(now, asked, given))


OTHER = {"method": "elicitation/create", "params": {"message": "other"}}


def test_answers_by_key_by_content_and_from_a_file() -> None:
    assert answer({"q": FORM}, {"q": FORM}, {"q": YES}) == {"q": YES}
    no = {"action": "decline"}
    assert answer({"new": FORM}, {"q": FORM}, {"q": YES}) == {"new": YES}
    now, asked = {"new": FORM, "q": OTHER}, {"q": FORM, "r": OTHER}
    assert answer(now, asked, {"q": YES, "r": no}) == {"new": YES, "q": no}
    assert answer({"q": FORM}, {"q": FORM}, {"q": YES}, file={"?": {"n": 5}}) == {
        "q": {"action": "accept", "content": {"n": 5}}
    }
    assert answer({"q": FORM}, {"q": FORM}, {"q": YES}, file={"q": {"action": "cancel"}}) == {
        "q": {"action": "cancel"}
    }


def test_what_the_client_left_out_or_said_unasked_it_does_again() -> None:
    assert answer({"q": FORM, "r": OTHER}, {"q": FORM, "r": OTHER}, {"q": YES}) == {"q": YES}
    assert answer({"q": FORM}, {"q": FORM}, {"q": YES, "more": YES}) == {"q": YES, "more": YES}


def test_a_question_that_is_new_is_asked_of_a_person_or_of_nobody() -> None:
    with pytest.raises(Unanswered, match="no recorded answer for the question 'new'"):
        answer({"new": OTHER}, {"q": FORM}, {"q": YES})
    asked = []

    def person(key: str, question: dict[str, Any]) -> dict[str, Any]:
        asked.append((key, question["params"]["message"]))
        return {"action": "decline"}

    assert answer({"new": OTHER}, {"q": FORM}, {"q": YES}, person=person) == {"new": {"action": "decline"}}
    assert asked == [("new", "other")]


@pytest.mark.parametrize(
    ("text", "says"), [("[]", "an object is wanted"), ("{", "not JSON"), (None, "No such file or directory")]
)
def test_a_file_of_answers_that_is_none(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "answers.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        Answers.read(path)


def test_operations_run_side_by_side_where_they_did() -> None:
    """0 and 1 overlap, 2 began after both had ended, 3 after 2."""
    order, log = Order([(0, 10), (5, 20), (30, 40), (50, 60)]), []

    async def play(n: int) -> None:
        await order.turn(n)
        log.append(f"+{n}")
        await asyncio.sleep(0)
        log.append(f"-{n}")
        order.ended(n)

    async def run() -> None:
        await asyncio.gather(*(play(n) for n in (3, 2, 1, 0)))

    asyncio.run(run())
    assert sorted(log[:2]) == ["+0", "+1"]
    assert log[4:] == ["+2", "-2", "+3", "-3"]

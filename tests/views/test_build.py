"""The scene: what stands in it for ordinary, broken and endless operations, held to golden files."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrtrscope.views.build import build
from mrtrscope.views.scene import LinkDetail, OperationDetail, RoundDetail, Scene
from tests.conftest import ROOT
from tests.views import nasty, scenes
from tests.views.scenes import ACCEPT, CONFIRM, STATE, Script, asks_once

GOLDEN = ROOT / "tests" / "golden"


def golden(path: Path, text: str) -> None:
    """Compare with a golden file; MRTRSCOPE_GOLDEN=write makes it anew, for a person to read in the diff."""
    if os.environ.get("MRTRSCOPE_GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"{path.name}: MRTRSCOPE_GOLDEN=write shows what changed"


@pytest.mark.parametrize("name", scenes.ALL)
def test_scene_is_the_golden_one(name: str) -> None:
    found = dataclasses.asdict(build(scenes.ALL[name]()))
    for row in found["rows"]:
        row["seen"] = row["seen"][:200]
    golden(GOLDEN / "scenes" / f"{name}.json", json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def rows(scene: Scene) -> list[tuple[str, str]]:
    return [(row.kind, row.label) for row in scene.rows]


def test_one_question_is_a_round_a_question_a_gap_an_answer_a_round() -> None:
    scene = build(asks_once())
    assert rows(scene) == [
        ("arrow", "tools/call deploy  id 1"),
        ("arrow", "input_required"),
        ("ask", "form “confirm”"),
        ("gap", "12.4 s waiting for the user"),
        ("reply", "accept “confirm”"),
        ("arrow", "tools/call deploy  id 2"),
        ("arrow", "complete"),
    ]
    assert [p.id for p in scene.participants] == ["user", "client", "server"]
    assert [(s.label, s.grade, s.first, s.last) for s in scene.spans] == [
        ("round 1 of 2", "", 0, 1),
        ("round 2 of 2", "exact", 5, 6),
    ]
    assert [(r.fate, r.start, r.stop) for r in scene.ribbons] == [("kept", 1, 5)]
    assert scene.title.split(" · ") == [
        "tools/call deploy: complete after 2 rounds",
        "no findings",
        "user asked once, accepted",
        "12.4 s, nearly all of it waiting",
    ]


def test_secrets_are_hidden_and_states_shortened_unless_raw() -> None:
    hidden, raw = (
        json.dumps(dataclasses.asdict(s)) for s in (build(asks_once()), build(asks_once(), redact=_raw()))
    )
    assert "hunter2" not in hidden and STATE not in hidden
    assert "\\u2039hidden 1\\u203a" in hidden
    assert "hunter2" in raw and STATE in raw


def _raw() -> Any:
    from mrtrscope.views.redact import Redactor

    return Redactor(raw=True)


@pytest.mark.parametrize(
    ("issued", "back", "fate"),
    [
        ("s1", "s1", "kept"),
        ("s1", "s2", "changed"),
        ("s1", None, "dropped"),
        (None, "s2", "invented"),
        (None, None, None),
    ],
)
def test_fate_of_a_state(issued: str | None, back: str | None, fate: str | None) -> None:
    scene = build(Script().ask(CONFIRM, issued).retry(ACCEPT, back).done().detail())
    assert [r.fate for r in scene.ribbons] == ([fate] if fate else [])


def test_a_state_of_another_type_is_not_the_same() -> None:
    scene = build(Script().ask(CONFIRM, 1).retry(ACCEPT, True).done().detail())
    assert [r.fate for r in scene.ribbons] == ["changed"]


def test_an_ambiguous_retry_names_its_candidates() -> None:
    made = Script().done().detail()
    made.rounds[0].request.body["params"]["requestState"] = "tick"
    made.rounds[0].link = LinkDetail(None, "ambiguous", [], ["m2", "m6"])
    scene = build(made)
    assert [(r.fate, r.start, r.words) for r in scene.ribbons] == [("unclear", None, "from one of m2, m6")]
    assert scene.spans[0].words == "takes up one of m2, m6"


def test_answers_that_nobody_asked_for_and_questions_without_answer_are_said() -> None:
    two = {**CONFIRM, "name": {"method": "elicitation/create", "params": {"message": "Who?"}}}
    given = {**ACCEPT, "extra": {"action": "accept", "content": {}}}
    scene = build(Script().ask(two, STATE).retry(given, STATE).done().detail())
    labels = [row.label for row in scene.rows]
    assert "no answer to “name”" in labels
    assert [line.text for row in scene.rows if row.label == "accept “extra”" for line in row.lines] == [
        "nobody asked this"
    ]


def test_notifications_fold_and_unfold() -> None:
    folded, unfolded = build(scenes.one_round()), build(scenes.one_round(), unfold=True)
    assert ("fold", "12 progress, 0 → 100 %; 2 log lines: 1 info and 1 warning") in rows(folded)
    assert sum(row.kind == "arrow" for row in unfolded.rows) == 16


def test_what_a_subscription_delivered_is_named_shortly() -> None:
    script = scenes.Script("watch", {})
    for method in ("subscriptions/acknowledged", "resources/updated", "resources/updated"):
        script.note(f"notifications/{method}")
    assert ("fold", "2 resources/updated; 1 acknowledged") in rows(build(script.done().detail()))


def test_many_rounds_fold_but_those_with_findings_stay() -> None:
    made = scenes.many_rounds(60)
    made.findings = [scenes.broken_state().findings[0]]
    made.findings[0].at = made.rounds[30].request.m
    labels = [span.label for span in build(made).spans]
    assert labels == [f"round {n} of 60" for n in (1, 2, 3, 31, 58, 59, 60)]
    assert len(build(made, unfold=True).spans) == 60


def test_a_finding_stands_at_its_message_or_at_one_it_names() -> None:
    made = scenes.broken_state()
    made.findings[2].at, made.findings[2].also = "f9", ["m4"]
    scene = build(made)
    assert [mark.row for mark in scene.marks] == [5, 6, 6]
    assert [row.marks for row in scene.rows if row.marks] == [[1], [2, 3]]


def test_a_gateway_stands_between() -> None:
    outer, inner = asks_once(), asks_once()
    for hop in (outer, inner):
        hop.server = ""
    inner.channel, inner.server = "https://inner.example.test/mcp", "ledger 2"
    for n, round_ in enumerate(inner.rounds):
        for said in filter(None, (round_.request, round_.answer)):
            said.m, said.t = f"m1{n}{said.m}", said.t + (0.001 if said.dir == "c2s" else -0.001)
    outer.hops = [inner]
    scene = build(outer)
    assert [(p.id, p.name) for p in scene.participants][1:] == [
        ("client", "atlas-cli 3.1.0"), ("gateway1", outer.channel), ("server", "ledger 2"),
    ]  # fmt: skip
    assert [(r.source, r.target) for r in scene.rows[:4]] == [
        ("client", "gateway1"), ("gateway1", "server"), ("server", "gateway1"), ("gateway1", "client"),
    ]  # fmt: skip


def test_an_old_question_lies_inside_its_call() -> None:
    script = Script("book", {"table": 4})
    call = script.rounds[0]
    asked = script.said(
        "s2c",
        "request",
        {"id": "q1", "method": "elicitation/create", "params": CONFIRM["confirm"]["params"]},
        0.1,
    )
    reply = script.said("c2s", "response", {"id": "q1", "result": ACCEPT["confirm"]}, 4.0)
    script.done("booked")
    made = script.detail()
    made.rounds = [call, RoundDetail(asked, reply)]
    scene = build(made)
    assert [row.kind for row in scene.rows] == ["arrow", "arrow", "ask", "gap", "reply", "arrow", "arrow"]
    assert [(s.first, s.last, s.depth) for s in scene.spans] == [(0, 6, 0), (1, 5, 1)]


@pytest.mark.parametrize("outcome", ["open", "abandoned", "lost", "cancelled", "something new"])
def test_every_outcome_ends_in_words(outcome: str) -> None:
    made = scenes.abandoned()
    made.outcome = outcome
    ends = [row.label for row in build(made).rows if row.kind == "end"]
    assert len(ends) == (outcome != "something new")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
MEMBERS = (
    "requestedSchema",
    "message",
    "messages",
    "mode",
    "url",
    "roots",
    "action",
    "content",
    "role",
    "maxTokens",
)
PARAMS = st.dictionaries(st.sampled_from(MEMBERS) | st.text(max_size=6), JSON, max_size=6)
METHODS = st.sampled_from(["elicitation/create", "sampling/createMessage", "roots/list", "x", ""])
ASK = st.fixed_dictionaries({"method": METHODS, "params": PARAMS | JSON}) | JSON


@settings(max_examples=150)
@given(
    st.dictionaries(st.text(max_size=8), ASK, max_size=3) | JSON,
    st.dictionaries(st.text(max_size=8), PARAMS | JSON) | JSON,
    JSON,
    JSON,
)
def test_no_message_can_stop_a_picture(asks: Any, answers: Any, state: Any, arguments: Any) -> None:
    script = Script("x", arguments).ask(asks, state)
    script.note("notifications/progress", progress=arguments, total=state).note(
        "notifications/message", level=asks, data=answers
    )
    made = script.retry(answers, state).done().detail()
    for round_ in made.rounds:
        assert round_.request.m
    scene = build(made)
    assert len({row.id for row in scene.rows}) == len(scene.rows)
    assert scene.title


@pytest.mark.parametrize(
    "body", [None, [], 3, "x", {"result": []}, {"error": 3}, {"result": {"content": [[]]}}, {"params": []}]
)
def test_a_body_of_any_shape_is_drawn(body: Any) -> None:
    made: OperationDetail = asks_once()
    for round_ in made.rounds:
        assert round_.answer is not None
        round_.request.body = round_.answer.body = body
    assert len(build(made).rows) >= 4


def test_nasty_labels_are_spelled_out_in_the_scene() -> None:
    for label in nasty.TERMINAL:
        scene = build(
            Script(label, {label: label})
            .ask({label: CONFIRM["confirm"]}, label)
            .retry({}, label)
            .done(label)
            .detail()
        )
        told = [
            scene.title,
            scene.subtitle,
            *(t for row in scene.rows for t in (row.label, *(f"{x.name}{x.text}" for x in row.lines))),
        ]
        assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for text in told for c in text if c != "\n")


def test_a_late_notification_stands_where_the_clock_puts_it() -> None:
    script = Script().ask(CONFIRM, STATE)
    late = script.said(
        "c2s", "notification", {"method": "notifications/cancelled", "params": {"requestId": 1}}, 30.0
    )
    script.rounds[0].notes.append(late)
    script.t -= 30.0
    made = script.retry(ACCEPT, STATE, 5.0).detail()
    made.outcome = "open"
    assert [row.m for row in build(made).rows if row.kind == "arrow"] == ["m1", "m2", "m4", "m3"]


def test_a_request_sent_again_after_a_refusal_waits_in_between() -> None:
    script = Script(status=401)
    script.rounds[0].status = 401
    script.again(40.0)
    made = script.done().detail()
    assert rows(build(made))[:4] == [
        ("arrow", "tools/call deploy  id 1"),
        ("arrow", "HTTP 401, no JSON-RPC answer"),
        ("gap", "40.0 s until sent again"),
        ("arrow", "tools/call deploy  id 2"),
    ]


def test_one_or_two_rounds_between_others_are_not_folded() -> None:
    made = scenes.many_rounds(13)
    at = [round_.request.m for round_ in made.rounds]
    made.findings = [replace(scenes.broken_state().findings[0], at=at[n]) for n in (4, 7)]  # rounds 5 and 8
    assert [row.label for row in build(made).rows if row.kind == "rounds"] == []
    made = scenes.many_rounds(14)
    made.findings = [replace(scenes.broken_state().findings[0], at=made.rounds[4].request.m)]
    labels = [row.label for row in build(made).rows if row.kind == "rounds"]
    assert [label.partition(" not")[0] for label in labels] == ["rounds 6 to 11"]

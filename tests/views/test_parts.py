"""What an operation is drawn with beside its rounds: polls and answers of a task, messages to an agent."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.views import labels, parts
from mrtrscope.views.build import build
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import FindingDetail, OperationDetail, RoundDetail, Said

QUESTION = {"method": "elicitation/create", "params": {"message": "Which hull?", "mode": "form"}}


class Talk:
    """Numbers messages and lets a second go by between them."""

    def __init__(self) -> None:
        self.n = 0

    def said(self, dir: str, kind: str, body: dict[str, Any]) -> Said:
        self.n += 1
        return Said(f"m{self.n}", float(self.n), dir, kind, {"jsonrpc": "2.0", "id": self.n, **body})

    def round(self, method: str, result: dict[str, Any] | None, **params: Any) -> RoundDetail:
        request = self.said("c2s", "request", {"method": method, "params": params})
        return RoundDetail(
            request, None if result is None else self.said("s2c", "response", {"result": result})
        )

    def poll(self, status: str, **more: Any) -> RoundDetail:
        return self.round("tasks/get", {"taskId": "t", "status": status, **more}, taskId="t")

    def event(self, state: str, text: str = "") -> Said:
        status: dict[str, Any] = {"state": f"TASK_STATE_{state}"}
        if text:
            status["message"] = {"parts": [{"text": text}]}
        return self.said("s2c", "response", {"result": {"statusUpdate": {"taskId": "t", "status": status}}})


def detail(
    rounds: list[RoundDetail],
    inner: list[RoundDetail],
    kind: str = "task",
    findings: list[FindingDetail] | None = None,
) -> OperationDetail:
    return OperationDetail(
        "op1", kind, "agent", "tools/call", "refit", "complete", 1.0, 1.0, 1.0, 2.0, rounds, inner=inner,
        findings=findings or [],
    )  # fmt: skip


def finding_at(m: str) -> FindingDetail:
    return FindingDetail("tasks/some-rule", "should", "client", m, "something is wrong")


def test_polls_that_tell_nothing_new_are_counted_before_the_one_that_does() -> None:
    talk = Talk()
    call = talk.round("tools/call", {"resultType": "task", "taskId": "t", "status": "working"}, name="refit")
    told = parts.of_task([talk.poll("working"), talk.poll("working"), talk.poll("completed")], call)
    assert [(one.label, one.skipped, parts.state_of(one.answer)) for one in told] == [
        ("poll", 2, "completed")
    ]


def test_the_task_that_an_older_revision_makes_is_the_first_look_at_it() -> None:
    talk = Talk()
    call = talk.round("tools/call", {"task": {"taskId": "t", "status": "working"}}, name="refit")
    told = parts.of_task([talk.poll("working"), talk.poll("input_required")], call)
    assert parts.state_of(call.answer) == "working"
    assert [(one.skipped, parts.state_of(one.answer)) for one in told] == [(1, "input_required")]


@pytest.mark.parametrize("method", ["notifications/tasks", "notifications/tasks/status"])
def test_what_a_server_tells_of_a_task_says_its_state(method: str) -> None:
    note = Talk().said(
        "s2c", "notification", {"method": method, "params": {"taskId": "t", "status": "working"}}
    )
    label, lines, _ = labels.note(note, Redactor())
    assert label.startswith(method)
    assert [line.text for line in lines] == ["working"]


def test_the_last_poll_is_shown_although_it_tells_nothing_new() -> None:
    talk = Talk()
    call = talk.round("tools/call", {"resultType": "task", "taskId": "t", "status": "working"})
    told = parts.of_task([talk.poll("working") for _ in range(3)], call)
    assert [(one.request.m, one.skipped) for one in told] == [("m7", 2)]


def test_other_questions_in_the_same_state_are_news() -> None:
    talk = Talk()
    asked = [talk.poll("input_required", inputRequests={key: QUESTION}) for key in ("a", "b", "b")]
    told = parts.of_task(asked, None)
    assert [(one.request.m, one.skipped) for one in told] == [("m1", 0), ("m3", 0), ("m5", 0)]


def test_answers_take_up_the_poll_that_asked() -> None:
    talk = Talk()
    asked = talk.poll("input_required", inputRequests={"a": QUESTION})
    update = talk.round("tasks/update", {}, taskId="t", inputResponses={"a": {"action": "accept"}})
    told = parts.of_task([asked, update], None)
    assert told[1].link is not None and told[1].link.to == "m2"


def test_a_task_is_drawn_with_the_question_between_poll_and_answers() -> None:
    talk = Talk()
    call = talk.round("tools/call", {"resultType": "task", "taskId": "t", "status": "working"}, name="refit")
    exchanges = [
        talk.poll("working"), talk.poll("input_required", inputRequests={"a": QUESTION}),
        talk.round("tasks/update", {}, taskId="t", inputResponses={"a": {"action": "accept", "content": {"h": "oak"}}}),
        talk.poll("completed", result={"content": [{"type": "text", "text": "refitted"}]}),
    ]  # fmt: skip
    scene = build(detail([call], parts.of_task(exchanges, call)))
    assert [(row.kind, row.label) for row in scene.rows] == [
        ("arrow", "tools/call refit  id 1"), ("arrow", "working"), ("fold", "1 more poll with nothing new"),
        ("arrow", "tasks/get  id 5"), ("arrow", "input_required"), ("ask", "form “a”"),
        ("gap", "1.00 s waiting for the user"), ("reply", "accept “a”"), ("arrow", "tasks/update  id 7"),
        ("arrow", "result"), ("arrow", "tasks/get  id 9"), ("arrow", "completed"),
    ]  # fmt: skip
    assert [span.label for span in scene.spans] == ["one round", "poll", "answers", "poll"]
    assert scene.title.startswith("tools/call refit: complete · ")


def test_polls_while_the_user_thinks_stand_between_question_and_answer() -> None:
    talk = Talk()
    call = talk.round("tools/call", {"resultType": "task", "taskId": "t", "status": "working"}, name="refit")
    asks = {"a": QUESTION}
    exchanges = [
        talk.poll("input_required", inputRequests=asks),
        talk.poll("input_required", inputRequests=asks), talk.poll("input_required", inputRequests=asks),
        talk.round("tasks/update", {}, taskId="t", inputResponses={"a": {"action": "accept"}}),
    ]  # fmt: skip
    scene = build(detail([call], parts.of_task(exchanges, call)))
    assert [(row.kind, row.label, row.m) for row in scene.rows[3:8]] == [
        ("arrow", "input_required", "m4"), ("ask", "form “a”", "m4"), ("fold", "2 more polls with nothing new", "m5"),
        ("gap", "5.00 s waiting for the user", ""), ("reply", "accept “a”", "m9"),
    ]  # fmt: skip
    assert "user asked once, accepted" in scene.title


def test_what_a_task_goes_on_asking_is_asked_once() -> None:
    talk = Talk()
    call = talk.round("tools/call", {"resultType": "task", "taskId": "t", "status": "working"}, name="refit")
    exchanges = [
        talk.poll("input_required", inputRequests={"a": QUESTION}),
        talk.poll("input_required", inputRequests={"a": QUESTION, "b": QUESTION}),
        talk.round("tasks/update", {}, taskId="t", inputResponses={"a": {"action": "accept"}}),
        talk.poll("input_required", inputRequests={"b": QUESTION}),
        talk.round("tasks/update", {}, taskId="t", inputResponses={"b": {"action": "decline"}}),
    ]
    scene = build(detail([call], parts.of_task(exchanges, call)))
    rows = [row for row in scene.rows if row.kind in ("ask", "reply")]
    assert [(row.label, row.m) for row in rows] == [
        ("form “a”", "m4"), ("form “b”", "m6"), ("accept “a”", "m7"), ("decline “b”", "m11"),
    ]  # fmt: skip
    assert "user asked twice, 1 accepted and 1 declined" in scene.title


def test_a_poll_between_an_old_question_and_its_answer_is_drawn_there() -> None:
    talk = Talk()
    call = talk.round("tools/call", {"task": {"taskId": "t", "status": "working"}}, name="refit")
    fetch = talk.said("c2s", "request", {"method": "tasks/result", "params": {"taskId": "t"}})
    question = talk.said("s2c", "request", {**QUESTION})
    polls = [talk.poll("working"), talk.poll("working"), talk.poll("input_required")]
    answer = talk.said("c2s", "response", {"result": {"action": "accept", "content": {"hull": "oak"}}})
    final = talk.said("s2c", "response", {"result": {"content": []}})
    inner = [*parts.of_task([RoundDetail(fetch, final), *polls], call), RoundDetail(question, answer)]
    found = finding_at(polls[1].request.m)
    scene = build(detail([call], inner, findings=[found]))
    assert [(row.kind, row.label) for row in scene.rows[2:12]] == [
        ("arrow", "tasks/result  id 3"), ("arrow", "elicitation/create  id 4"), ("ask", "form"),
        ("arrow", "tasks/get  id 5"), ("arrow", "working"),
        ("fold", "1 more poll with nothing new"), ("arrow", "tasks/get  id 9"), ("arrow", "input_required"),
        ("gap", "7.00 s waiting for the user"), ("reply", "accept"),
    ]  # fmt: skip
    assert [(row.label, row.lines) for row in scene.rows[12:13]] == [
        ("result, accept  id 11", [])
    ]  # the card says the rest
    assert "user asked once, accepted" in scene.title
    assert scene.rows[scene.marks[0].row or 0].kind == "fold"  # what is found at a poll that is not drawn


def test_rounds_of_an_agent_end_with_its_last_word() -> None:
    talk = Talk()
    first = talk.round("SendStreamingMessage", None, message={"parts": [{"text": "book a trip"}]})
    first.answer = talk.event("SUBMITTED")
    first.notes = [talk.event("WORKING"), talk.event("INPUT_REQUIRED", "Which date?")]
    second = talk.round(
        "SendStreamingMessage", None, message={"taskId": "t", "parts": [{"text": "tomorrow"}]}
    )
    second.answer = talk.event("AUTH_REQUIRED", "Sign in.")
    third = talk.round(
        "SendStreamingMessage", None, message={"taskId": "t", "parts": [{"text": "token abc"}]}
    )
    third.answer = talk.event("COMPLETED", "booked")
    parts.of_agent([first, second, third])
    scene = build(detail([first, second, third], [], "a2a"))
    assert [(row.kind, row.label, [line.text for line in row.lines]) for row in scene.rows if row.kind != "arrow"] == [
        ("ask", "asks for input", ["Which date?"]), ("gap", "1.00 s waiting for the user", []),
        ("reply", "answers", ["tomorrow"]), ("ask", "asks for authorization", ["Sign in."]),
        ("gap", "1.00 s waiting for the user", []), ("reply", "answers", ["token abc"]),
    ]  # fmt: skip
    assert [span.label for span in scene.spans] == ["round 1 of 3", "round 2 of 3", "round 3 of 3"]


@pytest.mark.parametrize(
    "result", [{}, {"status": 7}, {"status": {"state": []}}, {"statusUpdate": {"taskId": "t"}}]
)
def test_what_shows_no_state_has_none(result: dict[str, Any]) -> None:
    assert parts.state_of(Said("m1", 0.0, "s2c", "response", {"result": result})) == ""


@pytest.mark.parametrize(
    ("result", "state", "work"),
    [
        ({"kind": "task", "id": "t", "status": {"state": "input-required"}}, "input_required", False),
        ({"kind": "status-update", "taskId": "t", "status": {"state": "completed"}, "final": True}, "completed", False),
        ({"kind": "artifact-update", "taskId": "t", "artifact": {}}, "", True),
        ({"artifactUpdate": {"taskId": "t", "artifact": {}}}, "", True),
        ({"kind": "message", "parts": []}, "", False),
    ],
)  # fmt: skip
def test_what_an_agent_of_either_form_tells(result: dict[str, Any], state: str, work: bool) -> None:
    said = Said("m1", 0.0, "s2c", "response", {"jsonrpc": "2.0", "id": 1, "result": result}, 200)
    assert (parts.state_of(said), parts.is_work(said)) == (state, work)


def test_an_old_question_without_an_answer_says_so() -> None:
    talk = Talk()
    call = RoundDetail(talk.said("c2s", "request", {"method": "tools/call", "params": {"name": "x"}}))
    question = RoundDetail(talk.said("s2c", "request", {**QUESTION}))
    call.answer = talk.said("s2c", "response", {"result": {"content": []}})
    scene = build(detail([call], [question], "legacy"))
    assert [(row.kind, row.label) for row in scene.rows] == [
        ("arrow", "tools/call x  id 1"), ("arrow", "elicitation/create  id 2"), ("ask", "form"),
        ("end", "no answer to this question"), ("arrow", "result"),
    ]  # fmt: skip


def test_how_a_call_ended_stays_behind_it_whatever_a_gateway_did() -> None:
    talk = Talk()
    call = RoundDetail(talk.said("c2s", "request", {"method": "tools/call", "params": {"name": "x"}}))
    hop = detail([talk.round("tools/call", {"content": []}, name="x")], [], "single")
    made = detail([call], [], "single")
    made.outcome, made.hops = "lost", [hop]
    assert [row.kind for row in build(made).rows] == ["arrow", "end", "arrow", "arrow"]


def test_what_one_side_tells_is_not_folded_with_the_other_sides() -> None:
    talk = Talk()
    call = talk.round("subscriptions/listen", None)
    note = ("notification", {"method": "notifications/tools/list_changed"})
    cancelled = ("notification", {"method": "notifications/cancelled", "params": {"requestId": 1}})
    call.notes = [talk.said("s2c", *note), talk.said("s2c", *note), talk.said("c2s", *cancelled)]
    rows = build(detail([call], [], "subscription")).rows
    assert [(row.kind, row.label, row.target) for row in rows] == [
        ("arrow", "subscriptions/listen  id 1", "server"), ("fold", "2 tools/list_changed", "client"),
        ("arrow", "cancelled  id 1", "server"),
    ]  # fmt: skip


def test_between_two_questions_of_a_call_nothing_is_sent_again() -> None:
    talk = Talk()
    call = RoundDetail(talk.said("c2s", "request", {"method": "tools/call", "params": {"name": "x"}}))
    accept = {"result": {"action": "accept", "content": {}}}
    inner = [
        RoundDetail(talk.said("s2c", "request", {**QUESTION}), talk.said("c2s", "response", accept))
        for _ in range(2)
    ]
    call.answer = talk.said("s2c", "response", {"result": {"content": []}})
    rows = build(detail([call], inner, "legacy")).rows
    assert [row.label for row in rows if row.kind == "gap"] == ["1.00 s waiting for the user"] * 2


def test_a_question_that_becomes_a_task_of_the_client() -> None:
    """Of 2025-11-25: the server polls, and what the model said comes with the result."""
    talk = Talk()
    task = {"taskId": "t", "status": "working"}
    asked = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9, "task": {}}}
    said = {"role": "assistant", "model": "m-1", "content": {"type": "text", "text": "Skua"}}
    steps: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (asked, {"task": task}),
        ({"method": "ping"}, {}),
        ({"method": "tasks/get", "params": {"taskId": "t"}}, {**task, "status": "completed"}),
        ({"method": "tasks/result", "params": {"taskId": "t"}}, said),
    ]
    first, *inner = [
        RoundDetail(talk.said("s2c", "request", request), talk.said("c2s", "response", {"result": result}))
        for request, result in steps
    ]
    scene = build(detail([first], parts.of_task(inner, first)))
    assert [(row.kind, row.label) for row in scene.rows if row.kind != "arrow"] == [
        ("ask", "sampling"), ("gap", "7.00 s waiting for the model"), ("reply", "completion by m-1"),
    ]  # fmt: skip
    assert "model asked once" in scene.title
    assert "user" not in scene.title


def test_questions_at_the_same_time_are_told_apart() -> None:
    talk = Talk()
    call = RoundDetail(talk.said("c2s", "request", {"method": "tools/call", "params": {"name": "x"}}))
    asked = [RoundDetail(talk.said("s2c", "request", {**QUESTION, "id": n})) for n in (7, 8, 9)]
    for one, n in zip((asked[1], asked[2], asked[0]), (8, 9, 7), strict=True):
        one.answer = talk.said("c2s", "response", {"id": n, "result": {"action": "accept"}})
    call.answer = talk.said("s2c", "response", {"result": {"content": []}})
    scene = build(detail([call], asked, "legacy"))
    assert [span.depth for span in scene.spans] == [
        0,
        1,
        2,
        3,
    ]  # their ends cross, but no edge lies on another
    assert [row.label for row in scene.rows if row.label.startswith("result,")] == [
        "result, accept  id 8", "result, accept  id 9", "result, accept  id 7",
    ]  # fmt: skip

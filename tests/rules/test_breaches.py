"""Sound sessions with one thing made wrong: the rule about it says so, at that message, of that side."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from mrtrscope.rules.judge import Judge

from .rounds import Session
from .test_rounds import read

OFTEN = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,
    ],
)


class Round:
    """A question in a drawn session on stdio, and the retry that takes it up: bodies, to be changed in place."""

    def __init__(
        self, lines: dict[tuple[str, str], tuple[int, dict[str, Any]]], before: str, id: str, first: str
    ) -> None:
        self.first = first
        _, self.asked = lines["c2s", before]
        self.answer_at, answer = lines["s2c", before]
        self.retry_at, self.retry = lines["c2s", id]
        self.result: dict[str, Any] = answer["result"]
        self.params: dict[str, Any] = self.retry["params"]
        self.reply = lines.get(("s2c", id), (0, None))[1]
        self.questions: dict[str, Any] = self.result.get("inputRequests", {})
        self.state = self.result.get("requestState")


def rounds(session: Session, bodies: list[dict[str, Any] | None]) -> list[Round]:
    lines: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
    for n, (row, body) in enumerate(zip(session.rows, bodies, strict=True)):
        if body is not None and "id" in body:
            lines[row["dir"], json.dumps(body["id"])] = n, body
    out = []
    for call in session.calls:
        ids = [id for _, id in call.rounds]
        out += [Round(lines, before, id, ids[0]) for before, id in pairwise(ids)]
    return out


def rivals(r: Round, bodies: list[dict[str, Any] | None]) -> bool:
    """Whether the retry, which carries no state of its round, may as well answer another: then nobody is blamed."""
    if r.state and "requestState" in r.params:
        return False  # the text itself tells whose it was
    requests = {
        json.dumps(body["id"]): body
        for body in bodies
        if body is not None and "method" in body and "id" in body
    }
    names, fitting = ("name", "uri", "arguments"), []
    for body in bodies:
        result = body.get("result") if body is not None else None
        if body is None or type(result) is not dict or result.get("resultType") != "input_required":
            continue
        asked = requests[json.dumps(body["id"])]
        if (
            asked["method"] == r.retry["method"]
            and all(asked["params"].get(name) == r.params.get(name) for name in names)
            and type(result.get("inputRequests")) is dict
            and result["inputRequests"].keys() & r.params.get("inputResponses", {}).keys()
        ):
            fitting.append(result)
    stateless = [result for result in fitting if "requestState" not in result]
    if "requestState" not in r.params and stateless:
        fitting = stateless
    return any(result is not r.result for result in fitting)


# Each takes a round, and makes one thing wrong or says False where it cannot.
def state_changed(r: Round) -> bool:
    if r.state:
        r.params["requestState"] = r.state[:-3] + ("A" if r.state[-3] != "A" else "B") + r.state[-2:]
    return bool(r.state)


def state_dropped(r: Round) -> bool:
    return bool(r.questions and r.params.pop("requestState", None))


def state_invented(r: Round) -> bool:
    r.params.setdefault("requestState", "made up")
    return r.state is None


def state_a_number(r: Round) -> bool:
    r.params["requestState"] = 17
    return True


def id_again(r: Round) -> bool:
    r.retry["id"] = json.loads(r.first)
    if r.reply is not None:
        r.reply["id"] = r.retry["id"]
    return True


def answer_missing(r: Round) -> bool:
    if len(r.questions) < 2:
        return False
    del r.params["inputResponses"][next(iter(r.questions))]
    return True


def answer_wrapped(r: Round) -> bool:
    if not r.questions:
        return False
    key = next(iter(r.questions))
    r.params["inputResponses"][key] = {"jsonrpc": "2.0", "id": 1, "result": r.params["inputResponses"][key]}
    return True


def arguments_changed(r: Round) -> bool:
    if r.state is None or "arguments" not in r.params:
        return False
    r.params["arguments"] = r.params["arguments"] | {"n": "another"}
    return True


def questions_listed(r: Round) -> bool:
    if r.questions:
        r.result["inputRequests"] = list(r.questions.values())
    return bool(r.questions)


def state_an_object(r: Round) -> bool:
    r.result["requestState"] = {"a": 1}
    return True


def nothing_asked(r: Round) -> bool:
    r.result.pop("inputRequests", None)
    r.result.pop("requestState", None)
    return True


def kind_unknown(r: Round) -> bool:
    for question in r.questions.values():
        question["method"] = "elicitation/make"
    return bool(r.questions)


def params_missing(r: Round) -> bool:
    asked = [q for q in r.questions.values() if q["method"] != "roots/list"]
    for question in asked:
        del question["params"]
    return bool(asked)


def undeclared(r: Round) -> bool:
    if r.questions:
        r.asked["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = {}
    return bool(r.questions)


def to_be_cached(r: Round) -> bool:
    r.result["ttlMs"] = 1000
    return True


def called_complete(r: Round) -> bool:
    r.result["resultType"] = "complete"
    return True


RETRY, ANSWER = "retry", "answer"
BREACHES: list[tuple[Callable[[Round], bool], str, str]] = [
    (state_changed, "mrtr/state-echoed-verbatim", RETRY),
    (state_dropped, "mrtr/state-echoed-verbatim", RETRY),
    (state_invented, "mrtr/state-not-invented", RETRY),
    (state_a_number, "mrtr/request-state-param-type", RETRY),
    (id_again, "mrtr/new-request-id", RETRY),
    (answer_missing, "mrtr/all-keys-answered", RETRY),
    (answer_wrapped, "mrtr/answer-is-bare-result", RETRY),
    (arguments_changed, "mrtr/retry-params-unchanged", RETRY),
    (questions_listed, "mrtr/input-requests-is-object", ANSWER),
    (state_an_object, "mrtr/request-state-is-string", ANSWER),
    (nothing_asked, "mrtr/at-least-one-field", ANSWER),
    (kind_unknown, "mrtr/input-request-method-allowed", ANSWER),
    (params_missing, "mrtr/input-request-shape", ANSWER),
    (undeclared, "mrtr/input-request-capability-declared", ANSWER),
    (to_be_cached, "mrtr/no-cache-hints-on-input-required", ANSWER),
    (called_complete, "mrtr/input-fields-need-result-type", ANSWER),
]


@pytest.mark.parametrize(
    ("breach", "rule", "where"), BREACHES, ids=lambda value: getattr(value, "__name__", None)
)
@OFTEN
@given(seed=st.integers(0, 2**32))
def test_one_breach_is_found_at_its_message_and_blamed_on_its_side(
    breach: Callable[[Round], bool],
    rule: str,
    where: str,
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Judge, "strict", True)
    random = Random(seed)
    session = Session(random, "stdio", style="token", again=0)
    bodies = [json.loads(row["line"]) if "line" in row else None for row in session.rows]
    found = rounds(session, bodies)
    random.shuffle(found)
    meant = next((one for one in found if breach(one)), None)
    assume(meant is not None)
    assert meant is not None
    assume(not rivals(meant, bodies))
    rows = [row | {"line": json.dumps(body)} if body is not None else row
            for row, body in zip(session.rows, bodies, strict=True)]  # fmt: skip
    findings, _ = read(tmp_path / "s.jsonl", rows)
    at = meant.retry_at if where == RETRY else meant.answer_at
    side = "client" if where == RETRY else "server"
    assert (at, side) in {(f.place["line"], f.party) for f in findings if f.rule == rule and f.place}
    assert {(f.place or {}).get("line") for f in findings if f.rule == rule} == {at}

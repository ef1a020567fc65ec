"""What a probe does wrong with a state and with answers, one thing an attempt, each with the rule that says what the
server should do. Pure. `ATTEMPTS` has these and those of `attempts_request`, in the order in which they are made.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

from mrtrscope.replay.answers import ELICIT
from mrtrscope.replay.attempt import (
    ACCEPT,
    ASK_AGAIN,
    ATTEMPTS,
    HANDLE,
    NOT_GO_ON,
    NOT_TAKE,
    REFUSE,
    TELL,
    Attempt,
    Retry,
    attempt,
)
from mrtrscope.replay.plan import altered

TAMPERED = "mrtr/tampered-state-rejected"


def _with_state(change: Callable[[str], str | None], why: str = "") -> Callable[[Retry], str]:
    def apply(retry: Retry) -> str:
        if type(retry.state) is not str or not retry.state:
            return "the server issued no state"
        changed = change(retry.state)
        if changed is None or changed == retry.state:
            return why or "the state cannot be changed so"
        retry.params["requestState"] = changed
        return ""

    return apply


@attempt("as-recorded", "the retry as it should be", rule="mrtr/bare-answer-accepted", want=ACCEPT)
def as_recorded(retry: Retry) -> str:
    return ""


def _reencoded(state: str) -> str | None:
    """The same bytes in the other alphabet of base64, or with padding; JSON with other spaces."""
    swapped = state.translate(str.maketrans("-_+/", "+/-_"))
    if swapped != state:
        return swapped
    try:
        base64.b64decode(state + "=" * (-len(state) % 4), validate=True)
        return state + "=" if not state.endswith("=") else state.rstrip("=")
    except (binascii.Error, ValueError):
        pass
    try:
        return json.dumps(json.loads(state), indent=1)
    except ValueError:
        return state.upper() if state.upper() != state else None


def _random(state: str) -> str:
    return ("mrtrscope" * (len(state) // 9 + 1))[: max(8, len(state))]


for _name, _does, _change in (
    ("state-invented", "a state that was never issued", _random),
    ("state-changed", "one character of the state changed", altered),
    ("state-extended", "eight characters behind the state", lambda s: s + "TAMPERED"),
    ("state-truncated", "the first half of the state", lambda s: s[: len(s) // 2] or None),
    ("state-reencoded", "the state in another encoding", _reencoded),
):
    attempt(_name, _does, rule=TAMPERED, want=REFUSE)(_with_state(_change))


@attempt("state-dropped", "answers without the state", rule=TAMPERED, want=NOT_GO_ON)
def state_dropped(retry: Retry) -> str:
    return "" if retry.params.pop("requestState", None) is not None else "the server issued no state"


@attempt(
    "replayed",
    "the same retry again, after it was answered",
    rule="mrtr/state-single-use-enforced",
    want=TELL,
)
def replayed(retry: Retry) -> str:
    retry.twice = True
    return "" if retry.state is not None else "the server issued no state"


@attempt("after-a-wait", "the retry after --wait seconds", rule="mrtr/state-expires", want=TELL)
def after_a_wait(retry: Retry) -> str:
    return "" if retry.wait > 0 else "say how long with --wait"


@attempt("other-tool", "the state on another tool", rule="mrtr/state-bound-to-request", want=REFUSE)
def other_tool(retry: Retry) -> str:
    if retry.other is None or retry.state is None:
        return (
            "no other tool that takes arguments is known"
            if retry.other is None
            else "the server issued no state"
        )
    retry.params["name"], retry.params["arguments"], answers = retry.other
    retry.params["inputResponses"] = answers | retry.answers
    return ""


@attempt(
    "other-arguments", "the state with an argument changed", rule="mrtr/state-bound-to-request", want=REFUSE
)
def other_arguments(retry: Retry) -> str:
    if retry.state is None:
        return "the server issued no state"
    found = retry.params.get("arguments")
    arguments: dict[str, Any] = found if type(found) is dict else {}
    for name, value in arguments.items():
        if type(value) in (str, int, bool):
            changed = not value if type(value) is bool else value + "x" if type(value) is str else value + 1
            retry.params["arguments"] = {**arguments, name: changed}
            return ""
    return "it has no argument that could be changed"


@attempt("answer-missing", "one answer left out", rule="mrtr/missing-answer-reasked", want=ASK_AGAIN)
def answer_missing(retry: Retry) -> str:
    if not retry.answers:
        return "nothing was asked"
    retry.params["inputResponses"] = dict(list(retry.answers.items())[1:])
    return ""


@attempt("answer-unasked", "an answer to no question", rule="mrtr/extra-answer-ignored", want=ACCEPT)
def answer_unasked(retry: Retry) -> str:
    retry.params["inputResponses"] = {**retry.answers, "mrtrscope-unasked": {"action": "decline"}}
    return ""


@attempt("answer-of-another-kind", "a list of roots in the place of an answer", rule="mrtr/malformed-answer-rejected",
         want=NOT_TAKE)  # fmt: skip
def answer_of_another_kind(retry: Retry) -> str:
    key = next(
        (k for k, q in retry.questions.items() if type(q) is dict and q.get("method") != "roots/list"), None
    )
    if key is None:
        return "nothing was asked that this could stand for"
    retry.params["inputResponses"] = {**retry.answers, key: {"roots": []}}
    return ""


@attempt("answer-off-schema", "a form filled with values of another type", rule="elicitation/server-validates-content",
         want=NOT_TAKE)  # fmt: skip
def answer_off_schema(retry: Retry) -> str:
    for key in _forms(retry):
        content = retry.answers[key].get("content")
        if type(content) is dict and content:
            off = {name: ["neither"] for name in content}
            retry.params["inputResponses"] = {**retry.answers, key: {"action": "accept", "content": off}}
            return ""
    return "no form was filled"


def _refusing(action: str) -> Callable[[Retry], str]:
    def apply(retry: Retry) -> str:
        forms = _forms(retry)
        if not forms:
            return "no question was accepted"
        refused: dict[str, Any] = {key: {"action": action} for key in forms}
        retry.params["inputResponses"] = retry.answers | refused
        return ""

    return apply


for _action in ("decline", "cancel"):
    attempt(f"answer-{_action}", f"the user chose to {_action}", rule="mrtr/decline-handled", want=HANDLE)(
        _refusing(_action)
    )


def _forms(retry: Retry) -> list[str]:
    """Keys of the elicitations that the recorded user accepted."""
    return [
        key
        for key, question in retry.questions.items()
        if type(question) is dict
        and question.get("method") == ELICIT
        and type(retry.answers.get(key)) is dict
        and retry.answers[key].get("action") == "accept"
    ]


import mrtrscope.replay.attempts_request  # noqa: E402, F401  behind the others, in the table too

__all__ = ["ATTEMPTS", "Attempt", "Retry"]

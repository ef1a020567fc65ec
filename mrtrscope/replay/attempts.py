"""What a probe does wrong, one thing an attempt, each with the rule that says what the server should do. Pure.

An attempt changes a retry that is right, or the first request; it returns "" or why it cannot be made here.
"""

from __future__ import annotations

import base64
import binascii
import copy
import json
from collections.abc import Callable
from typing import Any

from mrtrscope.link.facts import META_CAPABILITIES, META_CLIENT_INFO
from mrtrscope.replay.answers import ELICIT
from mrtrscope.replay.plan import altered

# What the server should do with it; `probe_judge` knows what keeps and what breaks each.
ACCEPT, REFUSE, NOT_GO_ON, ASK_AGAIN, HANDLE, NOT_TAKE, TELL, BAD_REQUEST, NOT_ASK, SAME = (
    "go on", "refuse it", "not go on", "ask again", "cope with it", "not take it for an answer", "(its own choice)",
    "answer 400 with -32020", "not ask", "do the same",
)  # fmt: skip


class Retry:
    """A retry as it is about to be sent; attempts change it.

    body, headers   the message, and HTTP headers beside the usual ones (an empty value takes one away)
    first           the first request, about to be sent when the attempt is on that (`on_first`), else as sent
    questions       what was asked             other   (name, arguments) of another tool, None: none known
    http            whether the server is one on HTTP           as_headers   those of another principal
    wait            seconds to let pass before it is sent       apart        whether it goes over another connection
    twice           whether it is sent again after it was answered
    """

    def __init__(self, body: dict[str, Any], first: dict[str, Any], questions: dict[str, Any]) -> None:
        self.body = body
        self.first = first
        self.questions = questions
        self.headers: dict[str, str] = {}
        self.other: tuple[str, dict[str, Any]] | None = None
        self.http = False
        self.as_headers: dict[str, str] = {}
        self.wait = 0.0
        self.apart = False
        self.twice = False

    @property
    def params(self) -> dict[str, Any]:
        params: dict[str, Any] = self.body["params"]
        return params

    @property
    def state(self) -> Any:
        return self.params.get("requestState")

    @property
    def answers(self) -> dict[str, Any]:
        found = self.params.get("inputResponses")
        return found if type(found) is dict else {}


class Attempt:
    """`name` for the table, `does` in words, `rule` that is tried, `want` one of the above, `change` what to do."""

    def __init__(
        self, name: str, does: str, rule: str, want: str, change: Callable[[Retry], str], on_first: bool
    ) -> None:
        self.name = name
        self.does = does
        self.rule = rule
        self.want = want
        self.change = change
        self.on_first = on_first


ATTEMPTS: dict[str, Attempt] = {}
TAMPERED = "mrtr/tampered-state-rejected"


def attempt(
    name: str, does: str, *, rule: str, want: str, on_first: bool = False
) -> Callable[[Callable[[Retry], str]], Callable[[Retry], str]]:
    def add(change: Callable[[Retry], str]) -> Callable[[Retry], str]:
        ATTEMPTS[name] = Attempt(name, does, rule, want, change, on_first)
        return change

    return add


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
    retry.params["name"], retry.params["arguments"] = retry.other
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


@attempt("other-principal", "the retry with --as", rule="mrtr/state-bound-to-principal", want=REFUSE)
def other_principal(retry: Retry) -> str:
    if not retry.http:
        return "there are no principals on stdio"
    retry.headers.update(retry.as_headers)
    return "" if retry.as_headers else "say who with --as"


@attempt(
    "other-connection",
    "the retry over another connection or process",
    rule="mrtr/retry-self-contained",
    want=ACCEPT,
)
def other_connection(retry: Retry) -> str:
    retry.apart = True
    return ""


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


@attempt("undeclared", "a first request that declares no capability", on_first=True,
         rule="mrtr/input-request-capability-declared", want=NOT_ASK)  # fmt: skip
def undeclared(retry: Retry) -> str:
    meta = _meta(retry.first)
    if META_CAPABILITIES not in meta:
        return "the recorded client declared none"
    meta[META_CAPABILITIES] = {}
    return ""


@attempt("other-client-name", "a first request of a client of another name", on_first=True,
         rule="meta/client-info-not-behavioural", want=SAME)  # fmt: skip
def other_client_name(retry: Retry) -> str:
    meta = _meta(retry.first)
    if META_CLIENT_INFO not in meta:
        return "the recorded client gave no name"
    meta[META_CLIENT_INFO] = {"name": "mrtrscope-probe", "version": "0"}
    return ""


def _meta(message: dict[str, Any]) -> dict[str, Any]:
    """`_meta` of a message, a copy that is in it now."""
    params = message.get("params")
    meta = params.get("_meta") if type(params) is dict else None
    if type(params) is not dict or type(meta) is not dict:
        return {}
    params["_meta"] = copy.deepcopy(meta)
    found: dict[str, Any] = params["_meta"]
    return found


@attempt("header-apart", "Mcp-Name says another name than the body", rule="http/standard-mismatch-rejected",
         want=BAD_REQUEST)  # fmt: skip
def header_apart(retry: Retry) -> str:
    retry.headers["Mcp-Name"] = "mrtrscope-other"
    return "" if retry.http else "there are no headers on stdio"


@attempt("method-apart", "Mcp-Method says another method than the body", rule="http/standard-mismatch-rejected",
         want=BAD_REQUEST)  # fmt: skip
def method_apart(retry: Retry) -> str:
    retry.headers["Mcp-Method"] = "tools/list"
    return "" if retry.http else "there are no headers on stdio"


@attempt("same-id", "the retry under the id of the first request", rule="mrtr/new-request-id", want=TELL)
def same_id(retry: Retry) -> str:
    retry.body["id"] = retry.first["id"]
    return ""

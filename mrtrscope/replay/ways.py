"""The ways in which a server misbehaves towards a client, each with the rule that says what the client should do. Pure.

`Way.answer` says what the server does with the nth request of one call; `Way.judge` what the client made of it, read
from what was recorded. Whether a client falls back to the handshake is judged over several ways: `together`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from mrtrscope.link.explain import explain
from mrtrscope.link.facts import CANCELLED
from mrtrscope.replay.recording import Step
from mrtrscope.replay.served import Verbatim
from mrtrscope.wire.events import ABSENT

CUT, STREAM, SILENCE, NOTHING = "cut", "stream", "silence", "nothing"  # how it goes out, beside the plain way
HTTP, STDIO = "http", "stdio"
CAP = 100  # rounds after which a client is said to go round for ever
KEPT, BROKEN, UNSURE, NOT_SEEN, NOT_MADE = "kept", "broken", "cannot tell", "not seen", "not made"
STATE = "mrtrscope-probe-state"
Value = dict[str, Any]
Verdict = tuple[str, str]
Answer = Callable[[Value, int], Value]
Judge = Callable[[list[Step]], Verdict]


def form(message: str = "Go on?", **more: Any) -> Value:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    return {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema, **more},
    }


def asks(state: Any = STATE, **questions: Value) -> Value:
    found: Value = {"resultType": "input_required", "inputRequests": questions or {"q": form()}}
    return found if state is ABSENT else {**found, "requestState": state}


def done(text: str = "done") -> Value:
    return {"resultType": "complete", "content": [{"type": "text", "text": text}]}


class Way:
    """One way to misbehave.

    answer      (params, n) -> result of the nth request for the tool, 0 the first; {"error": …} is an error
    how         it goes out: "", CUT, STREAM, SILENCE (an answer when the client gave up), NOTHING
    on          the method that is answered so              also    method -> result of others that belong to it
    legacy      whether the server speaks 2025-11-25 alone: every request of 2026-07-28 is answered so
    transports  on which it can be done                     judge   (steps on that method) -> (verdict, what was seen)
    """

    def __init__(
        self, name: str, does: str, rule: str, answer: Answer, judge: Judge, *, how: str = "", on: str = "tools/call",
        also: Value | None = None, legacy: bool = False, transports: tuple[str, ...] = (HTTP, STDIO),
    ) -> None:  # fmt: skip
        self.name, self.does, self.rule = name, does, rule
        self.answer, self._judge, self.how, self.on = answer, judge, how, on
        self.also, self.legacy, self.transports = also or {}, legacy, transports

    def judge(self, steps: list[Step]) -> Verdict:
        """What a client made of it; NOT_SEEN when it never sent what is answered so."""
        here = [step for step in steps if step.exchange.method == self.on]
        if not here:
            return NOT_SEEN, f"the client sent no {self.on}"
        return self._judge(steps if self.legacy else here)

    @property
    def wants_retry(self) -> bool:
        """Whether a client that never retries keeps the rule without showing anything."""
        return self.on in ("tools/call", "tools/list") and self.how in ("", STREAM)


def retries(steps: list[Step]) -> list[Step]:
    """Requests that bring a state or answers."""
    return [s for s in steps if s.exchange.request_state is not ABSENT or s.exchange.answers is not ABSENT]


def _went_round(steps: list[Step]) -> Verdict:
    rounds = len(retries(steps))
    if rounds > CAP:
        return BROKEN, f"{rounds} retries, and no end"
    return KEPT, f"gave up after {rounds} retries" if rounds else "did not retry at all"


def _should_not_retry(steps: list[Step]) -> Verdict:
    found = retries(steps)
    if found:
        return BROKEN, f"retried {len(found)} times"
    return KEPT, "did not retry" + (f", but called {len(steps)} times" if len(steps) > 1 else "")


def _should_finish(steps: list[Step]) -> Verdict:
    found = retries(steps)
    if not found:
        return BROKEN, "did not retry"
    return KEPT, f"answered, {len(found)} retries"


def _echoed(state: Any) -> Callable[[list[Step]], Verdict]:
    def judge(steps: list[Step]) -> Verdict:
        found = retries(steps)
        if not found:
            return UNSURE, "did not retry"
        came = found[0].exchange.request_state
        if came is ABSENT:
            return BROKEN, "came back without the state"
        how = explain(state, came)
        return (BROKEN, how) if how else (KEPT, "came back as it was issued")

    return judge


def _answered(steps: list[Step]) -> Verdict:
    found = retries(steps)
    given = [s.exchange.answers for s in found if type(s.exchange.answers) is dict]
    good = [
        key
        for answers in given
        for key, answer in answers.items()
        if type(answer) is dict and "code" not in answer
    ]
    if good:
        return BROKEN, f"answered {', '.join(sorted(set(good)))} though it declared nothing of the kind"
    return KEPT, f"retried {len(found)} times without such an answer" if found else "did not retry"


def _cancelled(steps: list[Step]) -> Verdict:
    """By a notification, or over HTTP by closing the stream: either is how to say it."""
    if any(step.exchange.cancel is not None or step.exchange.state == CANCELLED for step in steps):
        return KEPT, "gave up, and said so"
    return UNSURE, "was not seen to give up"


def _read_both(steps: list[Step]) -> Verdict:
    """Each resource has to be asked for once; an answer out of the cache for another of them is never seen here."""
    read = {str(step.params.get("uri")) for step in steps}
    if {A, B} <= read:
        return KEPT, f"asked for either, {len(steps)} requests in all"
    return UNSURE, f"asked for {', '.join(sorted(read))} alone; it should read {A}, then {B}"


def _fell_back(steps: list[Step]) -> Verdict:
    if any(step.exchange.method == "initialize" for step in steps):
        return KEPT, "fell back to the handshake"
    return UNSURE, NO_HANDSHAKE


def together(verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """The verdicts, looked at together: who falls back after one error must not need that very one."""
    falls_back = any(WAYS[name].legacy and verdict == KEPT for name, (verdict, _) in verdicts.items())
    return {
        name: (BROKEN, "did not fall back, though it does after another error")
        if falls_back and WAYS[name].legacy and words.startswith(NO_HANDSHAKE)
        else (verdict, words)
        for name, (verdict, words) in verdicts.items()
    }


def _told(steps: list[Step]) -> Verdict:
    """What happened; the specification leaves it to the client."""
    found = retries(steps)
    answers = found[0].exchange.answers if found else ABSENT
    keys = ", ".join(sorted(answers)) if type(answers) is dict else "nothing"
    return UNSURE, f"{len(steps)} requests, {len(found)} of them retries" + (
        f"; answered {keys}" if found else ""
    )


def _once(first: Value) -> Callable[[Value, int], Value]:
    """`first` to whatever brings nothing back, then done."""
    return lambda params, n: done() if "requestState" in params or "inputResponses" in params else first


def _always(result: Value) -> Callable[[Value, int], Value]:
    return lambda params, n: result


def _twice_the_same_key(params: Value, n: int) -> Value:
    if "requestState" in params:
        return done()
    one, two = json.dumps(form("The first?")), json.dumps(form("The second?"))
    text = '{"resultType": "input_required", "requestState": "%s", "inputRequests": {"q": %s, "q": %s}}'
    return Verbatim(text % (STATE, one, two))


def _awkward() -> list[Way]:
    states = {
        "state-quotes": ("a state with quotes and backslashes", 'a"b\\c\\"d\\u0041/\t\n'),
        "state-not-ascii": (
            "a state beyond ASCII, not normalised",
            "Å e\u0301 日本 \U0001f511 \u2028 =+/%20",
        ),
        "state-like-a-number": ("a state that looks like a number", "0123456789012345678901234567890.10e5"),
        "state-like-json": ("a state that looks like JSON", '{"b": 1.0, "a": [ ]}'),
        "state-empty": ("an empty state", ""),
        "state-spaces": ("a state with spaces around it", "  spaced  "),
        "state-long": ("a state of 1 MiB", "0123456789abcdef" * 65536),
    }
    rule = "mrtr/state-echoed-verbatim"
    return [
        Way(name, does, rule, _once(asks(state)), _echoed(state)) for name, (does, state) in states.items()
    ]


A, B = "probe://a", "probe://b"
NO_HANDSHAKE = "sent no initialize; a client of 2026-07-28 alone need not"
_RESOURCES = [{"uri": uri, "name": uri[-1], "mimeType": "text/plain"} for uri in (A, B)]


def _content(params: Value, n: int) -> Value:
    """A text that names its resource, good for a day in every cache."""
    uri = str(params.get("uri"))
    held = [{"uri": uri, "mimeType": "text/plain", "text": f"this is {uri}"}]
    return {"resultType": "complete", "contents": held, "ttlMs": 86_400_000, "cacheScope": "public"}


def _refusals() -> list[Way]:
    """A server of before 2026-07-28 that answers the question which revisions it speaks each time otherwise."""
    errors = {
        "probe-32601": (-32601, "Method not found"), "probe-32602": (-32602, "Invalid params"),
        "probe-32000": (-32000, "Server not initialized"), "probe-1234": (1234, "Not today"),
    }  # fmt: skip
    rule, on = "version/fallback-not-code-keyed", "server/discover"
    found = [
        Way(name, f"speaks 2025-11-25 alone; server/discover is answered with error {code}", rule,
            _always({"error": {"code": code, "message": message}}), _fell_back, on=on, legacy=True, transports=(STDIO,))
        for name, (code, message) in errors.items()
    ]  # fmt: skip
    silent = Way("probe-unanswered", "speaks 2025-11-25 alone; server/discover is never answered", rule, _always({}),
                 _fell_back, how=NOTHING, on=on, legacy=True, transports=(STDIO,))  # fmt: skip
    return [*found, silent]


_LATER = {"resultType": "mrtrscope-later", "requestState": STATE, "inputRequests": {"q": form()}}
_UNTYPED = {"content": [{"type": "text", "text": "x"}], "requestState": STATE, "inputRequests": {"q": form()}}
_MODELESS = {
    "method": "elicitation/create",
    "params": {k: v for k, v in form()["params"].items() if k != "mode"},
}
_LIST = {"resultType": "input_required", "requestState": STATE, "inputRequests": {"q": form()}}
_SAMPLE = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 5},
}
_UNDECLARED: dict[str, Value] = {"roots": {"method": "roots/list"}, "sample": _SAMPLE}

WAYS: dict[str, Way] = {
    way.name: way
    for way in (
        Way("well-behaved", "asks once, then is done",
            "mrtr/state-echoed-verbatim", _once(asks()), _echoed(STATE)),
        Way("endless", "asks the same again for ever",
            "mrtr/client-iteration-cap", _always(asks()), _went_round),
        Way("endless-state-only", "gives a state and no question, for ever",
            "mrtr/client-iteration-cap", _always({"resultType": "input_required", "requestState": STATE}), _went_round),
        Way("unknown-result-type", "a resultType that does not exist",
            "result/unknown-result-type-invalid", _once(_LATER), _should_not_retry),
        Way("no-result-type", "no resultType, but questions and a state",
            "result/absent-result-type-means-complete", _once(_UNTYPED), _should_not_retry),
        Way("neither-field", "asks without question or state",
            "mrtr/at-least-one-field", _always({"resultType": "input_required"}), _went_round),
        Way("unknown-kind", "asks a question of a kind that does not exist",
            "mrtr/input-request-capability-declared", _once(asks(STATE, x={"method": "mrtrscope/none"})), _answered),
        Way("undeclared-kinds", "asks for roots and a model, of a client that declared neither",
            "mrtr/input-request-capability-declared", _once(asks(STATE, **_UNDECLARED)), _answered),
        Way("no-mode", "asks with a form that has no mode",
            "elicitation/absent-mode-is-form", _once(asks(STATE, q=_MODELESS)), _should_finish),
        Way("duplicate-keys", "two questions under one key",
            "jsonrpc/duplicate-member", _twice_the_same_key, _told),
        *_awkward(),
        Way("as-a-stream", "answers as an event stream",
            "http/client-supports-both-types", _once(asks()), _should_finish, how=STREAM,
            transports=(HTTP,)),
        Way("stream-cut", "breaks off in the middle of the answer: the stream, on stdio the line and itself",
            "http/no-stream-resumption", _always(done()), _told, how=CUT),
        Way("late-after-cancel", "no answer until the client gives up, then one",
            "cancel/client-timeout-cancels", _always(done()), _cancelled, how=SILENCE),
        Way("list-asks", "answers tools/list with input_required",
            "mrtr/input-required-on-other-method-invalid", _always(_LIST), _should_not_retry, on="tools/list"),
        Way("cached-reads", "two resources, each good for a day in a cache",
            "caching/key-includes-params", _content, _read_both, on="resources/read",
            also={"resources/list": {"resultType": "complete", "resources": _RESOURCES, "ttlMs": 0,
                                     "cacheScope": "private"}}),
        *_refusals(),
    )
}  # fmt: skip
"""By name, in the order in which they are tried."""

"""The recorded server, played to whoever asks: which recorded answer fits a request. No file, socket or clock.

`Stand.begin` takes a request and says what to play: a `Step` of the recording. A request that carries answers or a
state is a retry and goes on with the operation whose question it takes up; what was never asked here, was altered, or
belongs to another call is refused, as a real server would. What the recording does not hold is a `Miss`.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from mrtrscope.link.canonical import canonical, difference
from mrtrscope.link.explain import alike, explain
from mrtrscope.replay.answers import misfit
from mrtrscope.replay.recording import Recording, Step, request_key
from mrtrscope.replay.waiting import Asked, Waiting
from mrtrscope.wire.events import ABSENT

# What a client may ask as often as it likes, and gets the last recorded answer once the recording is used up.
REPEATABLE = frozenset({
    "initialize", "server/discover", "ping", "tools/list", "prompts/list", "resources/list",
    "resources/templates/list", "logging/setLevel",
})  # fmt: skip
INVALID_PARAMS, METHOD_NOT_FOUND, INTERNAL = -32602, -32601, -32603
KEPT = 10_000  # questions that were asked and can still be answered


class Refused(Exception):
    """The request breaks the contract of a retry; `error` is the JSON-RPC error object to send."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.error = {"code": INVALID_PARAMS, "message": message}


class Miss(Exception):
    """The recording holds no answer; `error` is the JSON-RPC error object that says what comes nearest."""

    def __init__(self, message: str, code: int = INTERNAL, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.error: dict[str, Any] = {"code": code, "message": message}
        if data:
            self.error["data"] = data


class Stand:
    """Answers from a recording.

    when_used_up   "error": a call that was recorded n times is a miss the next time; "repeat": the last answer again
    answers        "any": whatever was answered, the recorded operation goes on; "same": only the recorded answers;
                   "schema": any that answer every question, as its kind and schema want it
    """

    def __init__(self, recording: Recording, when_used_up: str = "error", answers: str = "any") -> None:
        self._when_used_up = when_used_up
        self._answers = answers
        self._left: dict[str, deque[Step]] = {}
        self._last: dict[str, Step] = {}
        self._counts: dict[str, int] = {}
        self._by_name: dict[str, list[Step]] = {}
        self._waiting = Waiting(KEPT)
        self.methods = {step.exchange.method for step in recording.steps}
        for step in recording.firsts:
            if step.exchange.answer is None and not step.notes:
                continue  # nothing came back: nothing can be played
            self._left.setdefault(step.key, deque()).append(step)
            self._by_name.setdefault(step.name, []).append(step)
        for key, steps in self._left.items():
            self._counts[key] = len(steps)

    def begin(self, method: str, params: dict[str, Any], client: str) -> Step:
        """The step to play for a request of this client (any string that is equal for one client); Miss, Refused."""
        state, answers = params.get("requestState", ABSENT), params.get("inputResponses", ABSENT)
        key = request_key(method, params)
        if (state is ABSENT and answers is ABSENT) or method.startswith("tasks/"):
            return self._fresh(method, params, key)
        return self._retry(method, params, key, client, state, answers)

    def played(self, step: Step, client: str) -> None:
        """The answer of a step was sent: if it asks something, a retry may now come."""
        answer = step.exchange.answer
        if answer is None or answer.result.get("resultType") != "input_required":
            return
        self._waiting.add(step, client)

    # -- a first request

    def _fresh(self, method: str, params: dict[str, Any], key: str) -> Step:
        left = self._left.get(key)
        if left:
            step = left.popleft()
            self._last[key] = step
            return step
        last = self._last.get(key)
        if last is not None and (method in REPEATABLE or self._when_used_up == "repeat"):
            return last
        raise self._miss(method, params, key)

    def _miss(self, method: str, params: dict[str, Any], key: str) -> Miss:
        if method not in self.methods:
            return Miss(f"The recording holds no {method}.", METHOD_NOT_FOUND)
        name = _name(method, params)
        if key in self._counts:
            times = self._counts[key]
            last = self._last[key]
            return Miss(
                f"{name} with these arguments was recorded {times} time{'s' * (times > 1)} and played as often."
                " Loosen with --when-used-up repeat.",
                data={"nearest": last.number, "recorded": times},
            )
        return self._nearest(name, params)

    def _nearest(self, name: str, params: dict[str, Any]) -> Miss:
        """A miss that names the recorded call with the same name that agrees most, and the first difference."""
        steps = self._by_name.get(name, [])
        mine = {k: v for k, v in params.items() if k not in ("_meta", "inputResponses", "requestState")}

        def apart(step: Step) -> int:
            theirs = step.params
            own, other = mine.get("arguments"), theirs.get("arguments")
            if type(own) is dict and type(other) is dict:
                return sum(
                    canonical(own.get(k)) != canonical(other.get(k)) for k in own.keys() | other.keys()
                )
            return canonical(own) != canonical(other)

        if not steps:
            return Miss(f"No recorded answer fits {name}: nothing of that name was recorded.")
        nearest = min(steps, key=apart)
        theirs = {k: v for k, v in nearest.params.items() if k != "_meta"}
        path = difference(theirs, mine)
        return Miss(
            f"No recorded answer fits {name}. The closest recorded call differs at {path or '/'}.",
            data={
                "nearest": nearest.number,
                "path": path,
                "recorded": _at(theirs, path),
                "asked": _at(mine, path),
            },
        )

    # -- a retry

    def _retry(
        self, method: str, params: dict[str, Any], key: str, client: str, state: Any, answers: Any
    ) -> Step:
        found = self._waiting.best(state, key, client, answers)
        if found is None:
            raise self._stranger(method, _name(method, params), state)
        step = self._next_step(found, answers)
        if step is not found.step:
            self._waiting.took(found)
        return step

    def _next_step(self, found: Asked, answers: Any) -> Step:
        questions = _questions(found.step)
        given = answers if type(answers) is dict else {}
        missing = sorted(questions.keys() - given.keys())
        if missing and self._answers != "any":
            raise Refused(f"no answer for {', '.join(missing)}")
        if self._answers == "schema":
            for key in sorted(questions):
                if wrong := misfit(questions[key], given[key]):
                    raise Refused(f"the answer for {key} {wrong}")
        if missing:
            return found.step  # asked again, as a server should
        children = found.step.children
        if not children:
            raise Miss(f"The recording of {found.step.name} ends with this question: nobody took it up.")
        equal = [child for child in children if canonical(child.exchange.answers) == canonical(answers)]
        if not equal and answers is ABSENT:
            equal = [child for child in children if child.exchange.answers is ABSENT]
        if not equal and self._answers == "same":
            recorded = children[0].exchange.answers
            path = difference({} if recorded is ABSENT else recorded, given)
            raise Miss(
                f"Other answers than the recorded ones to {found.step.name}, at {path or '/'}."
                " Loosen with --answers schema or any.",
                data={"nearest": children[0].number, "path": path},
            )
        choice = equal or children
        return choice[min(found.taken, len(choice) - 1)]

    def _stranger(self, method: str, name: str, state: Any) -> Exception:
        """Why nothing that was asked here fits a retry."""
        if state is ABSENT:
            return Miss(f"No question that was asked here for this {method} has these keys.")
        if asked := self._waiting.with_state(state):
            if any(a.step.name == name for a in asked):
                return Refused("requestState was issued for a call with other params")
            return Refused(f"requestState was issued for {asked[0].step.name}")
        for other in reversed(self._waiting):
            answer = other.step.exchange.answer
            issued = answer.result.get("requestState", ABSENT) if answer is not None else ABSENT
            if issued is not ABSENT and alike(issued, state):
                return Refused(f"requestState is not as it was issued: {explain(issued, state)}")
        return Refused("requestState was never issued here")


def _name(method: str, params: dict[str, Any]) -> str:
    """As `Step.name`."""
    return f"{method} {params.get('name', params.get('uri', ''))}".strip()


def _questions(step: Step) -> dict[str, Any]:
    answer = step.exchange.answer
    found = answer.result.get("inputRequests") if answer is not None else None
    return found if type(found) is dict else {}


def _at(value: Any, path: str | None) -> Any:
    """What stands at a JSON pointer, cut short; None when nothing does."""
    for part in (path or "").split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if type(value) is dict and name in value:
            value = value[name]
        elif type(value) is list and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    text = canonical(value)
    return value if len(text) <= 200 else text[:200] + "…"

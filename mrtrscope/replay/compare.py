"""What differs between a recorded answer and the one of today. Pure.

What a server makes anew each time is set aside by a table; opaque values (`requestState`, cursors) only have to be
there or not, as in the recording; JSON inside a text is compared as JSON; questions are compared by what they ask when
their keys are made freshly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from mrtrscope.link.canonical import canonical
from mrtrscope.replay.answers import same_question
from mrtrscope.wire.events import ABSENT

MOST = 20  # differences that are told of one answer
DEPTH = 128

# Paths (`*`: any one step, `**`: any number of them) and why they say nothing. `--ignore` adds to them.
VOLATILE: dict[str, str] = {
    "/id": "chosen by whoever asks",
    "/params/progressToken": "chosen by whoever asks",
    "/**/taskId": "made for each task",
    "/**/createdAt": "a time",
    "/**/lastUpdatedAt": "a time",
    "/**/elicitationId": "made for each question",
    "/**/_meta/traceparent": "made for each request",
    "/**/_meta/tracestate": "made for each request",
    "/**/_meta/io.modelcontextprotocol~1subscriptionId": "the id of a request",
}
OPAQUE = ("/result/requestState", "/result/nextCursor")
ADDRESSES = ("/result/inputRequests/*/params/url",)  # compared without query and fragment


class Difference:
    """One place: JSON pointer, and what stands there in the recording and now (ABSENT: nothing)."""

    __slots__ = ("now", "path", "recorded")

    def __init__(self, path: str, recorded: Any, now: Any) -> None:
        self.path = path
        self.recorded = recorded
        self.now = now

    def __repr__(self) -> str:
        return f"Difference({self.path} {self.recorded!r} {self.now!r})"


class Paths:
    """A set of path patterns; `paths.hold(pointer)` says whether one of them is that place or above it."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._patterns = [tuple(pattern.split("/")[1:]) for pattern in patterns]

    def hold(self, steps: tuple[str, ...]) -> bool:
        return any(_matches(pattern, steps) for pattern in self._patterns)


def _matches(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    if not pattern:
        return not steps
    if pattern[0] == "**":
        return any(_matches(pattern[1:], steps[n:]) for n in range(len(steps) + 1))
    return bool(steps) and pattern[0] in ("*", steps[0]) and _matches(pattern[1:], steps[1:])


def differences(recorded: Any, now: Any, ignore: Iterable[str] = ()) -> list[Difference]:
    """How an answer of today (a whole message) differs from the recorded one; at most `MOST`."""
    now = _under_recorded_keys(recorded, now)
    compared = _Comparison(Paths([*VOLATILE, *ignore]))
    found = []
    for one in compared.walk(recorded, now, ()):
        found.append(one)
        if len(found) == MOST:
            break
    return found


class _Comparison:
    def __init__(self, aside: Paths) -> None:
        self._aside = aside
        self._opaque = Paths(OPAQUE)
        self._addresses = Paths(ADDRESSES)

    def walk(self, a: Any, b: Any, steps: tuple[str, ...]) -> Iterator[Difference]:
        if self._aside.hold(steps):
            return
        if self._opaque.hold(steps) and type(a) is type(b):
            return
        if self._addresses.hold(steps) and type(a) is str and type(b) is str:
            a, b = _bare(a), _bare(b)
        if len(steps) > DEPTH:
            if canonical(a) != canonical(b):
                yield Difference(_pointer(steps), a, b)
        elif type(a) is dict and type(b) is dict:
            for key in [*a, *(k for k in b if k not in a)]:
                step = key.replace("~", "~0").replace("/", "~1")
                yield from self.walk(a.get(key, ABSENT), b.get(key, ABSENT), (*steps, step))
        elif type(a) is list and type(b) is list:
            for n in range(max(len(a), len(b))):
                x = a[n] if n < len(a) else ABSENT
                y = b[n] if n < len(b) else ABSENT
                yield from self.walk(x, y, (*steps, str(n)))
        elif type(a) is str and type(b) is str and a != b and (inside := _as_json(a, b)) is not None:
            yield from self.walk(*inside, (*steps, "#"))
        elif (a is ABSENT or b is ABSENT or canonical(a) != canonical(b)) and a is not b:
            yield Difference(_pointer(steps), a, b)


def _pointer(steps: tuple[str, ...]) -> str:
    return "/" + "/".join(steps) if steps else ""


def _bare(address: str) -> str:
    try:
        return urlsplit(address)._replace(query="", fragment="").geturl()
    except ValueError:
        return address


def _as_json(a: str, b: str) -> tuple[Any, Any] | None:
    """Two texts as the JSON objects or arrays that they hold."""
    if a.lstrip()[:1] not in ("{", "[") or b.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(a), json.loads(b)
    except (ValueError, RecursionError):
        return None


# -- questions under fresh keys


def aligned(recorded: dict[str, Any], now: dict[str, Any]) -> dict[str, str]:
    """Key of today -> key in the recording, for questions that are the same: by key and content, by content alone,
    by key and kind, by message."""
    found: dict[str, str] = {}

    def pair(fits: Callable[[str, str], bool]) -> None:
        for key in now:
            if key not in found:
                left = (k for k in recorded if k not in found.values() and fits(k, key))
                if (match := next(left, None)) is not None:
                    found[key] = match

    pair(lambda k, key: k == key and same_question(recorded[k], now[key]))
    pair(lambda k, key: same_question(recorded[k], now[key]))
    pair(lambda k, key: k == key and _kind(recorded[k]) == _kind(now[key]))
    pair(lambda k, key: _same_words(recorded[k], now[key]))
    return found


def _kind(question: Any) -> Any:
    return question.get("method") if type(question) is dict else None


def _same_words(a: Any, b: Any) -> bool:
    """The same kind of question with the same message, though its form may have changed."""
    message = _message(a)
    return _kind(a) == _kind(b) and message is not None and message == _message(b)


def _message(question: Any) -> str | None:
    params = question.get("params") if type(question) is dict else None
    found = params.get("message") if type(params) is dict else None
    return found if type(found) is str else None


def _under_recorded_keys(recorded: Any, now: Any) -> Any:
    """The answer of today with its questions under the keys that the same questions had in the recording."""
    theirs, mine = questions_of(recorded), questions_of(now)
    if not theirs or not mine or theirs.keys() == mine.keys():
        return now
    names = aligned(theirs, mine)
    renamed = {names.get(key, key): question for key, question in mine.items()}
    if len(renamed) != len(mine):
        return now
    return {**now, "result": {**now["result"], "inputRequests": renamed}}


def questions_of(message: Any) -> dict[str, Any]:
    """inputRequests of an answer that asks; {} when it does not."""
    result = message.get("result") if type(message) is dict else None
    if type(result) is not dict or result.get("resultType") != "input_required":
        return {}
    found = result.get("inputRequests")
    return found if type(found) is dict else {}

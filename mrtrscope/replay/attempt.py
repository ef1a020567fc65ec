"""What an attempt of `probe server` is: one thing changed in a retry, or in a first request. Pure.

An attempt returns "" or why it cannot be made here. `attempts` has those on states and answers, `attempts_request`
those on everything else in a request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# What the server should do with it; `probe_judge` knows what keeps and what breaks each.
ACCEPT, REFUSE, NOT_GO_ON, ASK_AGAIN, HANDLE, NOT_TAKE, TELL, BAD_REQUEST, NOT_ASK, SAME, ONCE, NOT_TELL = (
    "go on", "refuse it", "not go on", "ask again", "cope with it", "not take it for an answer", "(its own choice)",
    "answer 400 with -32020", "not ask", "do the same", "answer it, once", "not tell of it",
)  # fmt: skip

# What an attempt changes: the first request, a retry, or nothing of an operation (the server as a whole is looked at).
FIRST, RETRY, SERVER = "first", "retry", "server"


class Retry:
    """A retry as it is about to be sent; attempts change it.

    body, headers   the message, and HTTP headers beside the usual ones (an empty value takes one away)
    first           the first request, about to be sent when the attempt is on that, else as sent
    before          the request that it takes up: the first, or the retry before it
    questions       what was asked
    other           (name, arguments, answers) of another tool, None: none known
    minted          headers that the server gave this connection
    http            whether the server is one on HTTP           as_headers   those of another principal
    wait            seconds to let pass before it is sent       apart        whether it goes over another connection
    twice           whether it is sent again after it was answered
    """

    def __init__(self, body: dict[str, Any], first: dict[str, Any], questions: dict[str, Any]) -> None:
        self.body = body
        self.first = self.before = first
        self.questions = questions
        self.minted: dict[str, str] = {}
        self.headers: dict[str, str] = {}
        self.other: tuple[str, dict[str, Any], dict[str, Any]] | None = None
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
    """`name` for the table, `does` in words, `rule` that is tried, `want` one of the above, `change` what to do,
    `on` what it changes."""

    def __init__(
        self, name: str, does: str, rule: str, want: str, change: Callable[[Retry], str], on: str
    ) -> None:
        self.name = name
        self.does = does
        self.rule = rule
        self.want = want
        self.change = change
        self.on = on


ATTEMPTS: dict[str, Attempt] = {}


def attempt(
    name: str, does: str, *, rule: str, want: str, on: str = RETRY
) -> Callable[[Callable[[Retry], str]], Callable[[Retry], str]]:
    """Add an attempt to the table; the function under it makes the change, and says "" or why it cannot."""

    def add(change: Callable[[Retry], str]) -> Callable[[Retry], str]:
        ATTEMPTS[name] = Attempt(name, does, rule, want, change, on)
        return change

    return add

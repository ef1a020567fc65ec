"""Questions and answers, wherever a revision puts them.

Since 2026-07-28 a question is an entry of `inputRequests` and its answer an entry of `inputResponses` in
the retry; before, the server sent a request and the client a response. Rules about elicitation, sampling and
roots are the same for both: they are declared with `on=QUESTION` or `on=ANSWER` and read `asked()` or
`answered()`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import Ask
from mrtrscope.rules.context import Context
from mrtrscope.rules.registry import ASKED, REQUEST, RESULT, RETRY
from mrtrscope.wire.events import Message

ELICITATION, SAMPLING, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
CAPABILITY = {ELICITATION: "elicitation", SAMPLING: "sampling", ROOTS: "roots"}

QUESTION = (ASKED, REQUEST)  # with dirs={"s2c"}
ANSWER = (RETRY, RESULT)  # with dirs={"c2s"}


class Question:
    """One thing a server asks of a client.

    path     JSON pointer of the request object in the message ("" for a message of its own)
    key      in inputRequests, "" in the old way
    method   "" when it is no string        params   {} when absent or no object
    body     the request object
    """

    __slots__ = ("body", "key", "method", "params", "path")

    def __init__(self, path: str, key: str, body: dict[str, Any]) -> None:
        self.path = path
        self.key = key
        self.body = body
        method, params = body.get("method"), body.get("params")
        self.method = method if type(method) is str else ""
        self.params: dict[str, Any] = params if type(params) is dict else {}


class Answer:
    """One answer, with the question it is for.

    path    JSON pointer of the value in the message       value   any JSON value
    """

    __slots__ = ("path", "question", "value")

    def __init__(self, path: str, question: Question, value: Any) -> None:
        self.path = path
        self.question = question
        self.value = value


def asked(message: Message, ctx: Context, method: str | None = None) -> Iterator[Question]:
    """The questions in a message of the server, of one method only when one is given.

    Entries that are no objects are passed over: `mrtr/input-requests-is-object` has them.
    """
    if message.dir != "s2c":
        return
    if message.kind == "request":
        found = [Question("", "", message.body)]
    else:
        found = list(_entries(message.result.get("inputRequests")))
    for question in found:
        if method is None or question.method == method:
            yield question


def answered(message: Message, ctx: Context, method: str | None = None) -> Iterator[Answer]:
    """The answers in a message of the client whose question was seen and is certain."""
    if message.dir != "c2s":
        return
    if message.kind == "request":
        ask, responses = taken_up(ctx), message.params.get("inputResponses")
        if ask is None or type(responses) is not dict:
            return
        for question in _entries(ask.questions):
            if question.key in responses and (method is None or question.method == method):
                yield Answer(
                    pointer("params", "inputResponses", question.key), question, responses[question.key]
                )
    elif ctx.exchange is not None and ctx.exchange.dir == "s2c":
        question = Question("", "", ctx.exchange.request.body)
        if method is None or question.method == method:
            yield Answer("/result", question, message.body.get("result"))


def taken_up(ctx: Context) -> Ask | None:
    """The `input_required` result of this very request that it takes up as a retry.

    None when it is no retry, when several results stand first, and when the state belongs to another request.
    """
    ask, exchange = ctx.ask, ctx.exchange
    if ask is None or exchange is None or (ask.method, ask.target) != (exchange.method, exchange.target):
        return None
    return ask


def _entries(questions: Any) -> Iterator[Question]:
    for key, body in questions.items() if type(questions) is dict else ():
        if type(body) is dict:
            yield Question(pointer("result", "inputRequests", key), key, body)


def pointer(*steps: str | int) -> str:
    """A JSON pointer, for `path` and texts."""
    return "".join("/" + str(s).replace("~", "~0").replace("/", "~1") for s in steps)


def elicitation_mode(params: dict[str, Any]) -> str:
    """The mode of an elicitation; a form when it names none. "" when it is no string."""
    mode = params.get("mode", "form")
    return mode if type(mode) is str else ""

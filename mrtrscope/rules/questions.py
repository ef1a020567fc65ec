"""Questions and answers, wherever a revision puts them.

Since 2026-07-28 a question is an entry of `inputRequests` and its answer an entry of `inputResponses` in
the retry; before, the server sent a request and the client a response, at once or, since 2025-11-25, as the result of
a task. Rules about elicitation, sampling and roots are the same for all: they are declared with `on=QUESTION` or
`on=ANSWER` and read `asked()` or `answered()`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mrtrscope.link.deferred import FETCH, UPDATE
from mrtrscope.link.facts import Ask, Common, Exchange
from mrtrscope.rules.context import Context
from mrtrscope.rules.registry import ASKED, REQUEST, RESULT, RETRY
from mrtrscope.wire.events import Message

ELICITATION, SAMPLING, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
CAPABILITY = {ELICITATION: "elicitation", SAMPLING: "sampling", ROOTS: "roots"}

QUESTION = (ASKED, REQUEST)  # with dirs={"s2c"}
ANSWER = (RETRY, RESULT)  # with dirs={"c2s"}
SHOWN = 8  # of several results that agree so many are named


class Question:
    """One thing a server asks of a client.

    key      in inputRequests, "" in the old way; `old_way` says that it is a message of its own
    method   "" when it is no string        params   {} when absent or no object
    body     the request object
    """

    __slots__ = ("body", "key", "method", "old_way", "params")

    def __init__(self, key: str | None, body: dict[str, Any]) -> None:
        self.key = "" if key is None else key
        self.old_way = key is None
        self.body = body
        method, params = body.get("method"), body.get("params")
        self.method = method if type(method) is str else ""
        self.params: dict[str, Any] = params if type(params) is dict else {}

    @property
    def path(self) -> str:
        """JSON pointer of the request object in the message, "" for a message of its own."""
        return "" if self.old_way else pointer("result", "inputRequests", self.key)


class Answer:
    """One answer, with the question it is for.

    value   any JSON value          known   what `answers.faults_of` found, None before it was asked
    """

    __slots__ = ("known", "question", "value")

    def __init__(self, question: Question, value: Any) -> None:
        self.question = question
        self.value = value
        self.known: dict[str, str] | None = None

    @property
    def path(self) -> str:
        """JSON pointer of the value in the message."""
        return "/result" if self.question.old_way else pointer("params", "inputResponses", self.question.key)


def asked(message: Message, ctx: Context, method: str | None = None) -> list[Question]:
    """The questions in a message of the server, of one method only when one is given.

    Entries that are no objects are passed over: `mrtr/input-requests-is-object` has them.
    """
    found: list[Question] | None = ctx.asked
    if found is None:  # worked out once for all the rules about this message
        if message.dir != "s2c":
            found = []
        elif message.kind == "request":
            found = [Question(None, message.body)]
        else:
            found = _entries(message.result.get("inputRequests"))
        ctx.asked = found
    return found if method is None else [question for question in found if question.method == method]


def answered(message: Message, ctx: Context, method: str | None = None) -> list[Answer]:
    """The answers in a message of the client whose question was seen and is certain.

    A rule about how a server takes a retry gives the retry: `answered(ctx.exchange.request, ctx)`.
    """
    found: list[Answer] | None = ctx.answered
    if found is None:
        found = ctx.answered = _answers(message, ctx)
    return found if method is None else [answer for answer in found if answer.question.method == method]


def _answers(message: Message, ctx: Context) -> list[Answer]:
    if message.dir != "c2s":
        return []
    if message.kind == "request":
        due, responses = asked_of(ctx), message.params.get("inputResponses")
        if message.method == UPDATE:
            return _of_task(message, ctx)
        if due is None or type(responses) is not dict:
            return []
        return [Answer(q, responses[q.key]) for q in _entries(due.questions) if q.key in responses]
    question = _asked_before(message, ctx.exchange) if ctx.exchange is not None else None
    return [] if question is None else [Answer(Question(None, question), message.body.get("result"))]


def _of_task(message: Message, ctx: Context) -> list[Answer]:
    """Answers to questions of a task; how a server takes them shows later, and not in the answer to this request."""
    if ctx.subject is not message or ctx.exchange is None:
        return []
    found = (ctx.exchange.remarks or {}).get("due", {})
    return [
        Answer(Question(key, body), message.params["inputResponses"][key]) for key, (_, body) in found.items()
    ]


def _asked_before(message: Message, exchange: Exchange) -> dict[str, Any] | None:
    """The server's request that a message answers, also where a task stood for the answer until now."""
    if exchange.dir != "s2c" or _put_off(message, exchange):
        return None
    if exchange.method != FETCH:
        body: dict[str, Any] = exchange.request.body
        return body
    found = _deferred(exchange)
    return None if found is None else dict(found["question"])


def asked_in(ctx: Context, answer: Answer | None = None) -> str | None:
    """Key of the message that asked what is answered here: an `input_required` result, or the server's request; of a
    task, whose questions are shown in several, the one that showed that of this answer."""
    exchange = ctx.exchange
    due = (exchange.remarks or {}).get("due") if exchange is not None else None
    if due and answer is not None and answer.question.key in due:
        return str(due[answer.question.key][0])
    if ctx.ask is not None:
        return ctx.ask.key
    if exchange is None or exchange.dir != "s2c":
        return None
    found = _deferred(exchange)
    return exchange.key if found is None else str(found["key"])


def _deferred(exchange: Exchange) -> dict[str, Any] | None:
    """Of a `tasks/result`: the question, as `link.deferred` found it."""
    found: dict[str, Any] | None = (exchange.remarks or {}).get("deferred")
    return found


def _put_off(message: Message, exchange: Exchange) -> bool:
    """Whether a task of 2025-11-25, which the server asked for, stands for the answer: `tasks/result` brings it."""
    return "task" in exchange.request.params and type(message.result.get("task")) is dict


def taken_up(ctx: Context) -> Ask | None:
    """The `input_required` result of this very request that it takes up as a retry.

    None when it is no retry, when several results stand first, and when the state belongs to another request.
    """
    ask, exchange = ctx.ask, ctx.exchange
    if ask is None or exchange is None or (ask.method, ask.target) != (exchange.method, exchange.target):
        return None
    return ask


class Due:
    """What a retry has to answer, as far as that is certain.

    questions  key -> question, whose words are certain      keys   certainly asked      asked   perhaps asked
    whole      all three are the same                        also   keys of the results that ask
    """

    __slots__ = ("also", "asked", "keys", "questions", "whole")

    def __init__(self, of: Ask | Common, also: tuple[str, ...]) -> None:
        self.questions = of.questions
        self.also = also
        self.keys: Collection[str]
        self.asked: Collection[str]
        if isinstance(of, Common):
            self.keys, self.asked, self.whole = of.keys, of.asked, of.whole
        else:
            self.keys = self.asked = of.questions
            self.whole = True


def asked_of(ctx: Context) -> Due | None:
    """What a retry was asked: of the result that it takes up, or what all have in common of which it takes up one."""
    ask = taken_up(ctx)
    if ask is not None:
        return Due(ask, (ask.key,))
    link = ctx.link
    if link is None or link.common is None:
        return None
    return Due(link.common, link.candidates[:SHOWN])


def _entries(questions: Any) -> list[Question]:
    if type(questions) is not dict:
        return []
    return [Question(key, body) for key, body in questions.items() if type(body) is dict]


def pointer(*steps: str | int) -> str:
    """A JSON pointer, for `path` and texts."""
    return "".join("/" + str(s).replace("~", "~0").replace("/", "~1") for s in steps)


def elicitation_mode(params: dict[str, Any]) -> str:
    """The mode of an elicitation; a form when it names none. "" when it is no string."""
    mode = params.get("mode", "form")
    return mode if type(mode) is str else ""

"""What rules see of a message, where many rules see the same and nothing else.

The same form is asked a thousand times a day, and the same few answers are given. A rule that looks at nothing but the
questions of a result, say, says the same about all results with these questions. It is declared with `facet=QUESTION`;
the judge then asks the rules of a facet once for everything that looks alike, and remembers that they found nothing.
What they found something about they are asked about each time, so that a finding always names its own message.

A key function returns bytes that are equal only for what looks alike to every rule of the facet, or None: ask them.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from mrtrscope.wire.events import Message

if TYPE_CHECKING:
    from mrtrscope.rules.context import Context

QUESTION = (
    "question"  # the questions of an input_required result, its members, what the client declared, the method
)
ANSWER = "answer"  # the answers of a retry, the questions they are for, what the client declared
EITHER = "question or answer"  # for a rule that looks at both
ASKED_ABOUT = "question and arguments"  # the same as QUESTION, and the arguments of the call
REACTION = "reaction"  # of a server that completed a retry or asked again: the ANSWER it reacted to, and which of both
DECLARATION = "declaration"  # `_meta` of a client's request, its tokens and trace context aside

LARGEST = 1 << 16  # bytes of a key; larger ones are not worth the comparison
_SHORT = 256


def _key(value: Any) -> bytes | None:
    try:
        text = to_json(value)
    except (PydanticSerializationError, ValueError):  # lone surrogates, numbers beyond measure
        return None
    if len(text) > LARGEST:
        return None
    return text if len(text) <= _SHORT else blake2b(text, digest_size=16).digest()


def question(message: Message, ctx: Context) -> bytes | None:
    """Of an `input_required` result; None for anything else, and for text with anything odd about it."""
    exchange = ctx.exchange
    if exchange is None or message.kind != "response" or message.oddities:
        return None
    result = message.result
    state = type(result.get("requestState")).__name__
    rest = [*result, state, exchange.method, ctx.era, ctx.version, ctx.transport]
    return _key([result.get("inputRequests"), exchange.capabilities, rest])


def answer(message: Message, ctx: Context) -> bytes | None:
    """Of a retry whose question is certain; None for anything else, and for text with anything odd about it."""
    exchange, ask, link = ctx.exchange, ctx.ask, ctx.link
    if exchange is None or ask is None or link is None or message.kind != "request" or message.oddities:
        return None
    params = message.params
    same = (ask.method, ask.target) == (exchange.method, exchange.target)
    differs = [difference.what for difference in link.differences]
    rest = [
        same,
        link.grade,
        link.strength,
        differs,
        "requestState" in params,
        ctx.era,
        ctx.version,
        ctx.transport,
    ]
    return _key([ask.questions, params.get("inputResponses"), exchange.capabilities, ask.capabilities, rest])


def either(message: Message, ctx: Context) -> bytes | None:
    """Of a question or of an answer."""
    found, mark = (question(message, ctx), b"?") if message.dir == "s2c" else (answer(message, ctx), b"!")
    return None if found is None else mark + found


def asked_about(message: Message, ctx: Context) -> bytes | None:
    """Of an `input_required` result and the call it interrupts."""
    found = question(message, ctx)
    arguments = _key(ctx.exchange.arguments) if found is not None and ctx.exchange is not None else None
    return None if found is None or arguments is None else found + b" " + arguments


def reaction(message: Message, ctx: Context) -> bytes | None:
    """Of a result that is no error; None for errors, whose words matter."""
    exchange, ask = ctx.exchange, ctx.ask
    if exchange is None or ask is None or message.kind != "response":
        return None
    answers = exchange.answers
    if type(answers) is not dict or not answers.keys() >= ask.questions.keys():
        return None  # then the words of the result matter too
    result = message.result
    kind = result.get("resultType")
    if kind not in ("complete", "input_required") or result.get("isError", False) is not False:
        return None
    found = answer(exchange.request, ctx)
    return None if found is None else found + kind.encode()


def declaration(message: Message, ctx: Context) -> bytes | None:
    """Of a request whose only `_meta` is that of its params."""
    if (
        message.kind != "request"
        or message.dir != "c2s"
        or message.oddities
        or message.raw.count(b'"_meta"') != 1
    ):
        return None
    meta = {name: value for name, value in message.meta.items() if name not in _OF_EACH}
    initialize = message.params if message.method == "initialize" else None
    return _key([meta, initialize, ctx.era, ctx.version, ctx.transport])


_OF_EACH = ("progressToken", "traceparent", "tracestate", "baggage")
KEYS: dict[str, Callable[[Any, Context], bytes | None]] = {
    QUESTION: question,
    ANSWER: answer,
    EITHER: either,
    ASKED_ABOUT: asked_about,
    REACTION: reaction,
    DECLARATION: declaration,
}

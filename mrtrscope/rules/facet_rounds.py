"""Keys of the facets of rounds: what a result asks, what a retry answers, and how the one follows the other.

See `facets`, which says what a key is for.
"""

from __future__ import annotations

from collections.abc import Hashable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from mrtrscope.link.deferred import UPDATE
from mrtrscope.link.facts import EXACT, INFERRED, MRTR_METHODS, Operation
from mrtrscope.wire.events import ABSENT, Message

if TYPE_CHECKING:
    from mrtrscope.rules.context import Context

# The questions of an input_required result, its members, what the client declared, the method.
QUESTION = "question"
ANSWER = "answer"  # the answers of a retry, the questions they are for, what the client declared

LARGEST = 1 << 16  # bytes of a key; larger ones are not worth the comparison
_SHORT = 1024  # longer ones are digested, which costs more than to keep them


def key_of(value: Any) -> bytes | None:
    try:
        text = to_json(value)
    except (PydanticSerializationError, ValueError):  # lone surrogates, numbers beyond measure
        return None
    if len(text) > LARGEST:
        return None
    return text if len(text) <= _SHORT else blake2b(text, digest_size=16).digest()


def question(message: Message, ctx: Context) -> bytes | None:
    """Of an `input_required` result; None for anything else, and for text with anything odd about it."""
    if QUESTION not in ctx.looks:  # worked out once for all the facets that build on it
        ctx.looks[QUESTION] = _question(message, ctx)
    return ctx.looks[QUESTION]


def _question(message: Message, ctx: Context) -> bytes | None:
    exchange = ctx.exchange
    if exchange is None or message.kind != "response" or message.oddities:
        return None
    result = message.result
    state = type(result.get("requestState")).__name__
    rest = [*result, state, exchange.method, ctx.era, ctx.version, ctx.transport]
    return key_of([result.get("inputRequests"), exchange.capabilities, rest])


def answer(message: Message, ctx: Context) -> bytes | None:
    """Of a retry whose question is certain; None for anything else, and for text with anything odd about it."""
    if ANSWER not in ctx.looks:
        found = ctx.looks[ANSWER] = _answer(message, ctx)
        if ctx.exchange is not None:  # which will be looked at again with its result
            if len(ctx.given) >= _LOOKED_AT:
                ctx.given.clear()
            ctx.given[ctx.exchange.key] = found
    return ctx.looks[ANSWER]


def _answer(message: Message, ctx: Context) -> bytes | None:
    exchange, ask, link = ctx.exchange, ctx.ask, ctx.link
    if exchange is None or link is None or message.kind != "request" or message.oddities:
        return None
    params = message.params
    if ask is None:  # several results stand first
        rest: list[Any] = [
            link.grade,
            [d.what for d in link.differences],
            ctx.era,
            ctx.version,
            ctx.transport,
        ]
        common = link.common.questions if link.common is not None else None
        return key_of([common, params.get("inputResponses"), exchange.capabilities, rest])
    same = (ask.method, ask.target) == (exchange.method, exchange.target)
    differs = [difference.what for difference in link.differences]
    state = "requestState" in params
    rest = [same, link.grade, link.strength, differs, state, ctx.era, ctx.version, ctx.transport]
    return key_of(
        [ask.questions, params.get("inputResponses"), exchange.capabilities, ask.capabilities, rest]
    )


def either(message: Message, ctx: Context) -> Hashable | None:
    """Of a question or of an answer."""
    if message.dir == "s2c":
        if message.kind == "response" and "inputRequests" not in message.result:
            return "asks nothing"
        found, mark = question(message, ctx), b"?"
    else:
        due = ctx.ask is not None or (ctx.link is not None and ctx.link.common is not None)
        if message.kind == "request":
            if message.method == UPDATE:
                return None  # what a task asked is not in the facet
            if not due:
                return "answers nothing"
        found, mark = answer(message, ctx), b"!"
    return None if found is None else mark + found


def asked_about(message: Message, ctx: Context) -> Hashable | None:
    """Of an `input_required` result and, where its questions may hold a link, the call it interrupts."""
    found = question(message, ctx)
    if found is None or ctx.exchange is None:
        return None
    linked = _linked.get(found)
    if linked is None:
        text = to_json(message.result.get("inputRequests")).lower()
        if len(_linked) >= _LOOKED_AT:
            _linked.clear()
        linked = _linked[found] = any(sign in text for sign in _LINKS)
    if not linked:
        return found, None
    arguments = key_of(ctx.exchange.arguments)
    return None if arguments is None else (found, arguments)


_LINKS = (b"//", b"www.", b"](", b"<a", b"\\")  # escapes may hide one
_LOOKED_AT = 4096
_linked: dict[bytes, bool] = {}  # questions by their key, and whether one of the signs is in them


def reaction(subject: Message | Operation, ctx: Context) -> bytes | None:
    """Of a result that is no error, and of an operation that ended with a message; None for errors, whose words matter,
    and for an operation that ended without."""
    exchange, ask = ctx.exchange, ctx.ask
    if exchange is None:
        return None
    if not isinstance(subject, Message):
        return b"answered" if exchange.answer is not None else None
    if subject.kind != "response":
        return None
    answers = exchange.answers
    if type(answers) is not dict or (ask is not None and not answers.keys() >= ask.questions.keys()):
        return None  # then the words of the result matter too
    link = exchange.link
    if link is not None and link.common is not None and not answers.keys() >= set(link.common.keys):
        return None
    result = subject.result
    kind = result.get("resultType")
    if kind not in ("complete", "input_required") or result.get("isError", False) is not False:
        return None
    given = ctx.given
    found = given.pop(exchange.key) if exchange.key in given else _answer(exchange.request, ctx)
    return None if found is None else found + kind.encode()


def ordinary_round(message: Message, ctx: Context) -> Hashable | None:
    """Of a retry that was joined without any doubt or difference, and carries what it should."""
    exchange, ask, link = ctx.exchange, ctx.ask, ctx.link
    if exchange is None or link is None or exchange.request is not message:
        return None
    params = message.params
    state, answers = params.get("requestState", ABSENT), params.get("inputResponses", _NONE)
    if ask is None:
        sound = type(answers) is dict and (type(state) is str or state is ABSENT)
        if (common := link.common) is not None:
            sound = sound and not common.same_id and set(answers) == set(common.keys) == set(common.asked)
        asks = None if common is None else bool(common.keys)
        return (link.grade, asks) if sound and _in_doubt(ctx) else None
    chain = ask.chain
    if (
        not _without_doubt(ctx)
        or exchange.twin
        or message.id_text in chain.ids
        or chain.loops
        or (chain.quick and not ask.questions)
        or exchange.capabilities != ask.capabilities
        or type(answers) is not dict
        or (type(state) is not str and state is not ABSENT)
    ):
        return None
    if set(answers) != ask.questions.keys():
        return None
    return (
        link.grade, link.strength, state is ABSENT, ask.state is ABSENT, answers is _NONE, not ask.questions,
        ask.capabilities is None,
    )  # fmt: skip


DAY = 24 * 3600 * 1_000_000  # microseconds


def ordinary_reaction(message: Message, ctx: Context) -> Hashable | None:
    """Of a result that answers such a retry within a day."""
    exchange, ask, link = ctx.exchange, ctx.ask, ctx.link
    if exchange is None or link is None or message.kind != "response":
        return None
    if ask is None:
        return link.grade if _in_doubt(ctx) else None
    if not _without_doubt(ctx) or exchange.t - ask.t > DAY:
        return None
    answers = exchange.answers
    given = type(answers) is dict and answers.keys() >= ask.questions.keys()
    return link.grade, exchange.request_state is ABSENT, given or not ask.questions


def _without_doubt(ctx: Context) -> bool:
    """A retry that takes up a result of its own method and target, and differs in nothing."""
    exchange, ask, link = ctx.exchange, ctx.ask, ctx.link
    return (
        exchange is not None
        and ask is not None
        and link is not None
        and link.grade in (EXACT, INFERRED)
        and not link.differences
        and exchange.stranger is None
        and ask.method == exchange.method
        and ask.target == exchange.target
        and ask.method in MRTR_METHODS
    )


def _in_doubt(ctx: Context) -> bool:
    """A retry of which nobody can tell what it takes up, and nothing else is to be said."""
    exchange, link = ctx.exchange, ctx.link
    return (
        exchange is not None
        and link is not None
        and link.ask is None
        and not link.differences
        and exchange.stranger is None
        and exchange.method in MRTR_METHODS
    )


_NONE: dict[str, Any] = {}
SHORT_CHAIN = 5  # rounds; `mrtr_rounds` looks at longer ones


def chain(message: Message, ctx: Context) -> Hashable | None:
    """Of an `input_required` result that brings the operation on."""
    exchange = ctx.exchange
    ask = exchange.ask if exchange is not None else None
    if exchange is None or ask is None or message is not exchange.answer:
        return None
    now = ask.chain
    if now.repeats or now.changed or now.rounds >= SHORT_CHAIN:
        return None
    return ctx.ask is None, not now.answered


def plain_chain(message: Message, ctx: Context) -> Hashable | None:
    """Of a chain with questions of other kinds alone: rules about models and roots have nothing to look at."""
    exchange = ctx.exchange
    if exchange is None:
        return None
    ask = exchange.ask if message.kind == "response" else ctx.ask
    if ask is None and message.kind == "request" and ctx.link is not None:
        return "nobody knows what it answers"
    if ask is None or not _OTHERS.isdisjoint(ask.chain.kinds):
        return None
    return "elicitation alone"


_OTHERS = frozenset({"sampling/createMessage", "roots/list"})

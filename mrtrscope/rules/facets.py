"""What rules see of a message, where many rules see the same and nothing else.

The same form is asked a thousand times a day, and the same few answers are given. A rule that looks at nothing but the
questions of a result, say, says the same about all results with these questions. It is declared with `facet=QUESTION`;
the judge then asks the rules of a facet once for everything that looks alike, and remembers that they found nothing.
What they found something about they are asked about each time, so that a finding always names its own message.

A key function returns something equal only for what looks alike to every rule of the facet, or None: ask them.
Some facets stand for the ordinary case alone (`ROUND` and those after it): their key says how things stand where
nothing can be wrong, and is None wherever a rule of the facet might have something to say.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from mrtrscope.link.canonical import declaration_text
from mrtrscope.link.facts import (
    EXACT,
    INFERRED,
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
    MRTR_METHODS,
    Operation,
)
from mrtrscope.rules.said import complete
from mrtrscope.wire.events import ABSENT, Message

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
ROUND = (
    "round"  # how a retry was linked, and that its id, keys, arguments, pace and capabilities are in order
)
ROUND_ANSWERED = "round answered"  # how a retry was linked, and that it was answered by a result
CHAIN = "chain"  # what `Ask.chain` of an `input_required` result says, while it is short and makes progress
PLAIN_CHAIN = "plain chain"  # that a chain never asked for a model or for roots; of its results and retries
RESULT = "result"  # names and types of the members of a result that is no tool error and quotes no question
CALL = "call"  # the definition of the tool, the arguments, and whether the call was carried out
TOOLLESS = "toolless"  # that no tools are listed or offered
ICONLESS = "iconless"  # that nothing has icons
ENDED = "ended"  # that the last request of a settled operation was answered in time, and asked nothing
DECLARED = "declared"  # that a client's request has all the fields of `_meta` that one must have
DECLARATION_HERE = "declaration here"  # DECLARATION, on this channel: for what is reported once on each

VARIED = frozenset({ASKED_ABOUT, CALL})  # what is said is another with nearly every call

LARGEST = 1 << 16  # bytes of a key; larger ones are not worth the comparison
_SHORT = 1024  # longer ones are digested, which costs more than to keep them


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
    return _key([result.get("inputRequests"), exchange.capabilities, rest])


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
        return _key([common, params.get("inputResponses"), exchange.capabilities, rest])
    same = (ask.method, ask.target) == (exchange.method, exchange.target)
    differs = [difference.what for difference in link.differences]
    state = "requestState" in params
    rest = [same, link.grade, link.strength, differs, state, ctx.era, ctx.version, ctx.transport]
    return _key([ask.questions, params.get("inputResponses"), exchange.capabilities, ask.capabilities, rest])


def either(message: Message, ctx: Context) -> Hashable | None:
    """Of a question or of an answer."""
    if message.dir == "s2c":
        if message.kind == "response" and "inputRequests" not in message.result:
            return "asks nothing"
        found, mark = question(message, ctx), b"?"
    else:
        if message.kind == "request" and ctx.ask is None and (ctx.link is None or ctx.link.common is None):
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
    arguments = _key(ctx.exchange.arguments)
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
SHORT_CHAIN = 5  # rounds; `mrtr_rounds.MANY`


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


def result(message: Message, ctx: Context) -> Hashable | None:
    """Of a result that is no tool error, whose tool promises no output, and which quotes no question or interface."""
    exchange, raw = ctx.exchange, message.raw
    if exchange is None or message.kind != "response" or b"ui://" in raw or b"\\u" in raw:
        return None
    if exchange.method.startswith("tasks/"):  # whose result is that of a call
        return None
    found = message.body["result"]
    if type(found) is not dict or found.get("isError", False) is not False:
        return None
    if exchange.tool is not None and exchange.tool.definition.output is not ABSENT:
        return None
    kind = found.get("resultType")
    asks = kind == "input_required"
    if ("content" in found or "structuredContent" in found) if asks else b"input" in raw:
        return None
    members = tuple([(name, type(value)) for name, value in found.items()])
    return members, asks or kind == "complete", asks, exchange.method, ctx.era


def call(message: Message, ctx: Context) -> Hashable | None:
    """Of a call of a tool, and of its answer."""
    exchange = ctx.exchange
    if exchange is None:
        return None
    if exchange.tool is None:
        return "unknown tool"
    arguments = _key(exchange.arguments) if len(exchange.request.raw) <= LARGEST else None
    if arguments is None:
        return None
    return exchange.tool.definition.digest, arguments, message.kind == "response" and complete(message)


def toolless(message: Message, ctx: Context) -> Hashable | None:
    """Of a message that has nothing of the name."""
    return "no tools" if b'"tools"' not in message.raw else None


def iconless(message: Message, ctx: Context) -> Hashable | None:
    """Of a message that has nothing of the name."""
    return "no icons" if b'"icons"' not in message.raw else None


def ended(operation: Operation, ctx: Context) -> Hashable | None:
    """Of an operation that came to its end with an answer that leaves nothing to wait for."""
    exchange = ctx.exchange
    if (
        exchange is None
        or exchange.answer is None
        or exchange.ask is not None
        or exchange.t_end is None
        or exchange.t_end - exchange.t > LONG
    ):
        return None
    return "answered"


LONG = 600_000_000  # microseconds; `cancellation` looks at what waited longer


def declared(message: Message, ctx: Context) -> Hashable | None:
    """Of a request with version, capabilities and clientInfo."""
    meta = message.meta
    sound = (
        type(meta.get(META_VERSION)) is str
        and type(meta.get(META_CAPABILITIES)) is dict
        and type(meta.get(META_CLIENT_INFO)) is dict
    )
    return "all there" if sound and message.kind == "request" else None


def declaration_here(message: Message, ctx: Context) -> Hashable | None:
    """As `declaration`."""
    found = declaration(message, ctx)
    return None if found is None else (found, ctx.channel.name)


_OTHERS = frozenset({"sampling/createMessage", "roots/list"})


def declaration(message: Message, ctx: Context) -> Hashable | None:
    """Of a request whose only `_meta` is that of its params."""
    if (
        message.kind != "request"
        or message.dir != "c2s"
        or message.oddities
        or message.raw.count(b'"_meta"') != 1
    ):
        return None
    text = declaration_text(message)
    initialize = _key(message.params) if message.method == "initialize" else b""
    if text is None or initialize is None:
        return None
    return text, initialize, ctx.era, ctx.version, ctx.transport


KEYS: dict[str, Callable[[Any, Context], Hashable | None]] = {
    QUESTION: question,
    ANSWER: answer,
    EITHER: either,
    ASKED_ABOUT: asked_about,
    REACTION: reaction,
    DECLARATION: declaration,
    ROUND: ordinary_round,
    ROUND_ANSWERED: ordinary_reaction,
    CHAIN: chain,
    PLAIN_CHAIN: plain_chain,
    RESULT: result,
    CALL: call,
    TOOLLESS: toolless,
    ICONLESS: iconless,
    ENDED: ended,
    DECLARED: declared,
    DECLARATION_HERE: declaration_here,
}

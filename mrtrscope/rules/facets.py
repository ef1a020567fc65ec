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
from typing import TYPE_CHECKING, Any

from mrtrscope.link.canonical import declaration_text
from mrtrscope.link.facts import META_CAPABILITIES, META_CLIENT_INFO, META_VERSION, Operation
from mrtrscope.rules import facet_rounds as rounds
from mrtrscope.rules.facet_rounds import ANSWER, LARGEST, QUESTION, key_of
from mrtrscope.rules.said import complete
from mrtrscope.wire.events import ABSENT, Message

if TYPE_CHECKING:
    from mrtrscope.rules.context import Context

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
    arguments = key_of(exchange.arguments) if len(exchange.request.raw) <= LARGEST else None
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
    initialize = key_of(message.params) if message.method == "initialize" else b""
    if text is None or initialize is None:
        return None
    return text, initialize, ctx.era, ctx.version, ctx.transport


KEYS: dict[str, Callable[[Any, Context], Hashable | None]] = {
    QUESTION: rounds.question,
    ANSWER: rounds.answer,
    EITHER: rounds.either,
    ASKED_ABOUT: rounds.asked_about,
    REACTION: rounds.reaction,
    DECLARATION: declaration,
    ROUND: rounds.ordinary_round,
    ROUND_ANSWERED: rounds.ordinary_reaction,
    CHAIN: rounds.chain,
    PLAIN_CHAIN: rounds.plain_chain,
    RESULT: result,
    CALL: call,
    TOOLLESS: toolless,
    ICONLESS: iconless,
    ENDED: ended,
    DECLARED: declared,
    DECLARATION_HERE: declaration_here,
}

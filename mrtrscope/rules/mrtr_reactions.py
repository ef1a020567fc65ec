"""basic/patterns/mrtr: how a server deals with the answers of a retry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mrtrscope.link.facts import LOST, Operation
from mrtrscope.rules import said
from mrtrscope.rules.answers import faults_of, kind_known, refused, wrapped
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import ELICITATION, Answer, Due, answered, asked_of, elicitation_mode
from mrtrscope.rules.registry import MUST, RETRY_ANSWERED, SERVER, SETTLED, SHOULD, rule
from mrtrscope.wire.events import ABSENT, Message

ERRORS = "2026-07-28/basic/patterns/mrtr#error-handling"
SCHEMA = "schema/2026-07-28/schema.ts "
FROM_SERVER = ("s2c",)
GRACE = 1_000_000  # a process that ends so soon after an answer ended because of it

_ABOUT_ANSWERS = re.compile(r"inputResponses|input response|answer|response", re.I)
_MORE_THAN_DUE = re.compile(r"resultType|jsonrpc|envelope|\bmethod\b|\bparams\b", re.I)
# How validators speak of a form that is not the expected one.
_SHAPE = re.compile(
    r"required|expected|invalid[_ ](?:type|input|response|answer|union|literal)|validat|schema|unrecogni[sz]ed"
    r"|missing|unknown (?:key|field|member|propert)|malformed|shape|input should|must (?:have|be|contain)"
    r"|not an? (?:object|array|string)|could not (?:parse|read)",
    re.I,
)


@rule(
    "mrtr/missing-answer-reasked",
    level=SHOULD,
    fault=SERVER,
    on=RETRY_ANSWERED,
    dirs=FROM_SERVER,
    facet="reaction",
    source=ERRORS,
)
def refuses_a_missing_answer(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A retry that leaves out an answer is refused instead of being asked again.

    Why it matters: the user gave the other answers; with an error they are lost, with a question only one is missing.
    Cannot tell: whether the answer was needed; a result means that it was not. A refusal for the state, a header, the
    version or a capability is right, and may coincide with a missing key.
    """
    due = asked_of(ctx)
    if due is None or _state_differs(ctx):
        return
    missing = [key for key in due.keys if key not in _answers(ctx)]
    if not missing:
        return
    ctx.tested()
    if answer.kind == "error":
        guilty = said.code(answer) not in said.EXPLAINED_CODES and not said.about_the_state(answer)
    else:
        text = said.words(answer)
        guilty = any(re.search(rf"\b{re.escape(key)}\b", text) for key in missing)
    if guilty:
        yield ctx.finding(
            answer,
            saw=said.words(answer),
            expected="another input_required result",
            also=[ctx.exchange.request if ctx.exchange is not None else None, *due.also],
            text=f"probably refused because of missing answers ({_named(missing)}) instead of asking again",
        )


@rule(
    "mrtr/extra-answer-ignored",
    level=SHOULD,
    fault=SERVER,
    on=RETRY_ANSWERED,
    dirs=FROM_SERVER,
    facet="reaction",
    source=ERRORS,
)
def refuses_an_extra_answer(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A retry with one answer too many is refused.

    Why it matters: clients may send all answers of all rounds; the server has what it asked for.
    Cannot tell: a refusal that something else explains: a header, the version, a capability, the state, an answer
    that is none.
    """
    due = asked_of(ctx)
    if due is None:
        return
    extra = [key for key in _answers(ctx) if key not in due.asked]
    if not extra or _state_differs(ctx) or not _all_sound(due, ctx):
        return
    ctx.tested()
    if answer.kind != "error" or said.code(answer) in said.EXPLAINED_CODES or said.about_the_state(answer):
        return
    text = said.words(answer)
    if said.code(answer) in (-32600, -32602) or any(_names(text, key) for key in extra):
        yield ctx.finding(
            answer,
            saw=text,
            expected="the extra entries ignored",
            also=[ctx.exchange.request if ctx.exchange is not None else None],
            text=f"refused although only answers nobody asked for ({_named(extra)}) are wrong with the retry",
        )


@rule(
    "mrtr/malformed-answer-rejected",
    level=SHOULD,
    fault=SERVER,
    on=RETRY_ANSWERED,
    dirs=FROM_SERVER,
    facet="reaction",
    source=ERRORS,
)
def takes_a_malformed_answer(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A retry whose answers are malformed is carried out.

    Why it matters: the server acts on something nobody said; an error or the same question again would be right.
    Cannot tell: whether the malformed answer was needed at all.
    """
    due = asked_of(ctx)
    if due is None or ctx.exchange is None or not due.keys:
        return
    whole = ctx.exchange.answers
    wrong = [a.question.key for a in _answered(ctx) if faults_of(a)]
    if whole is ABSENT or (type(whole) is dict and not wrong):
        return
    ctx.tested()
    if said.complete(answer):
        sure = "" if type(whole) is not dict or len(wrong) == len(due.keys) else "probably "
        what = f"the answers for {_named(wrong)} are" if wrong else "inputResponses is"
        yield ctx.finding(
            answer,
            saw=wrong,
            expected="an error, or the question again",
            also=[ctx.exchange.request],
            text=f"{sure}carried out although {what} malformed",
        )


@rule("mrtr/bare-answer-accepted", level=MUST, fault=SERVER, on=RETRY_ANSWERED, dirs=FROM_SERVER,

      facet="reaction",
      source=SCHEMA + "InputResponse, ElicitResult, ListRootsResult, CreateMessageResult")  # fmt: skip
def refuses_a_bare_answer(answer: Message, ctx: Context) -> Iterator[Finding]:
    """Answers that the schema allows are refused for their shape.

    Why it matters: a client that does as it should cannot use this server.
    Cannot tell: a form's content may rightly be refused by its schema, and a call that its user declined has to end
    somehow, so such answers count only when the error asks for an envelope or a resultType. Roots, what a model said,
    a page that was not filled in may be refused for what they say, so the error has to speak as of a form; a refusal
    that speaks of the state is none of the shape.
    """
    due = asked_of(ctx)
    if due is None or not due.keys or _state_differs(ctx) or _answers(ctx).keys() != set(due.keys):
        return
    if not _all_sound(due, ctx):
        return
    ctx.tested()
    if said.code(answer) not in (-32600, -32602):
        return
    text = said.words(answer)
    named = _ABOUT_ANSWERS.search(text) or any(_names(text, key) for key in due.keys)
    asks_for_more = _MORE_THAN_DUE.search(text) is not None
    may_be_meant = said.about_the_state(answer) or any(map(_may_be_refused, _answered(ctx)))
    if named and (asks_for_more or (not may_be_meant and _SHAPE.search(text))):
        yield ctx.finding(
            answer,
            saw=text,
            expected="the answers taken as they are",
            also=[ctx.exchange.request if ctx.exchange is not None else None],
            text=f"probably refuses answers that the schema allows: {text[:200]}",
        )


def _names(text: str, key: str) -> bool:
    """Whether a text has a key in it, not as a part of some word."""
    at = text.find(key) if key else -1
    return at >= 0 and re.search(rf"(?<!\w){re.escape(key)}(?!\w)", text) is not None


@rule("mrtr/decline-handled", level=MUST, fault=SERVER, on=(RETRY_ANSWERED, SETTLED),
      facet="reaction", source="2026-07-28/client/elicitation#error-handling")  # fmt: skip
def falls_over_a_refusal(subject: Message | Operation, ctx: Context) -> Iterator[Finding]:
    """The server falls over an elicitation that was declined or dismissed.

    Why it matters: saying no is an ordinary answer; content must not be looked for before action.
    Cannot tell: an internal error with another cause at that very moment. A tool error or a result that says what was
    not done, the question again, or -32602 with a clear message are all fine.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.link is None:
        return
    no = [a.question.key for a in _answered(ctx) if refused(a.question.method, a.value)]
    if not no:
        return
    if isinstance(subject, Message):
        ctx.tested()
        if said.code(subject) == -32603:
            yield ctx.finding(
                subject,
                saw=said.words(subject),
                expected="a result, a tool error, or another question",
                also=[exchange.request],
                text=f"internal error after {_named(no)} was refused by the user",
            )
    elif exchange.answer is None and _died(subject, ctx):
        ctx.tested()
        yield ctx.finding(
            exchange.request,
            saw="no answer",
            expected="a result, a tool error, or another question",
            text=f"the server broke down after {_named(no)} was refused by the user",
        )


def _died(operation: Operation, ctx: Context) -> bool:
    """The process ended at once, or HTTP 500 came without a message."""
    exchange = ctx.exchange
    if exchange is None or exchange.era != "modern":
        return False
    http = exchange.http
    if http is not None:
        return http.status == 500 and not http.ours
    return operation.outcome == LOST and operation.t_end - exchange.t <= GRACE


def _answered(ctx: Context) -> list[Answer]:
    """The answers of the retry that the subject is the answer to, of kinds that are known."""
    exchange = ctx.exchange
    if exchange is None:
        return []
    return [a for a in answered(exchange.request, ctx) if kind_known(a.question.method)]


def _answers(ctx: Context) -> dict[str, Any]:
    found = ctx.exchange.answers if ctx.exchange is not None else None
    return found if type(found) is dict else {}


def _state_differs(ctx: Context) -> bool:
    """A refusal may be due to the state."""
    return ctx.link is None or any(d.what.startswith("state-") for d in ctx.link.differences)


def _all_sound(due: Due, ctx: Context) -> bool:
    """Every question has an answer of its kind."""
    sound = [a for a in _answered(ctx) if not faults_of(a) and not wrapped(a.value)]
    return due.whole and len(sound) == len(due.keys)


def _may_be_refused(answer: Answer) -> bool:
    """A form that was filled in, whose content its schema may refuse; or the user agreed to nothing."""
    if refused(answer.question.method, answer.value):
        return True
    form = answer.question.method == ELICITATION and elicitation_mode(answer.question.params) == "form"
    return form and answer.value.get("action") == "accept"


def _named(keys: list[str]) -> str:
    return ", ".join(repr(key) for key in keys[:5]) + (", …" if len(keys) > 5 else "")

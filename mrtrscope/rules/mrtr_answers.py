"""basic/patterns/mrtr: what an entry of `inputResponses` has to be."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.rules.answers import faults_of, kind_known, refused, wrapped
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import CAPABILITY, answered, pointer
from mrtrscope.rules.registry import ADVISORY, CLIENT, MUST, RETRY, rule
from mrtrscope.wire.events import Message

PAGE = "2026-07-28/basic/patterns/mrtr"
SCHEMA = "schema/2026-07-28/schema.ts "

FROM_CLIENT = ("c2s",)


@rule("mrtr/response-type-matches-request", facet="answer", level=MUST, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      source=PAGE + "#inputresponses")  # fmt: skip
def answer_of_another_kind(retry: Message, ctx: Context) -> Iterator[Finding]:
    """An answer does not have the shape that its question asks for.

    Why it matters: the server finds no action, no message or no roots where it looks for them.
    Cannot tell: extra members are tolerated. An answer that is wrapped in something is mrtr/answer-is-bare-result.
    The content of an elicitation is held to its schema elsewhere; its numbers may be fractional.
    """
    for answer in answered(retry, ctx):
        method = answer.question.method
        if not kind_known(method):
            continue
        ctx.tested()
        found = faults_of(answer)
        if found and not wrapped(answer.value):
            words = ", ".join(f"{member} {what}".strip() for member, what in found.items())
            yield ctx.finding(
                retry,
                saw=sorted(answer.value) if type(answer.value) is dict else answer.value,
                expected=f"the result of a {method}",
                also=[ctx.ask.key if ctx.ask is not None else None],
                path=answer.path,
                text=f"the answer for {answer.question.key!r} is none to a {method}: {words}",
            )


@rule("mrtr/answer-is-bare-result", facet="answer", level=MUST, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      source=SCHEMA + "InputResponse")  # fmt: skip
def answer_is_wrapped(retry: Message, ctx: Context) -> Iterator[Finding]:
    """An answer is wrapped in something, or is an error object.

    Why it matters: the server looks for the members of a result and finds an envelope; there is no error variant.
    Cannot tell: only the top level of the answer counts, since the content of a form may have any members.
    """
    for answer in answered(retry, ctx):
        if not kind_known(answer.question.method):
            continue
        ctx.tested()
        what = wrapped(answer.value)
        if what and faults_of(answer):
            yield ctx.finding(
                retry,
                saw=sorted(answer.value),
                expected=f"the bare result of a {answer.question.method}",
                also=[ctx.ask.key if ctx.ask is not None else None],
                path=answer.path,
                text=f"the answer for {answer.question.key!r} is {what}, not a bare result",
            )


@rule("mrtr/answer-carries-result-type", facet="answer", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      source=SCHEMA + "ElicitResult, ListRootsResult, CreateMessageResult")  # fmt: skip
def answer_with_a_result_type(retry: Message, ctx: Context) -> Iterator[Finding]:
    """An answer carries resultType.

    Why it matters: it belongs to the result of a request; here it does no harm, but shows that answers are written out
    as if they were messages.
    Cannot tell: nothing; it speaks whenever such a message is seen.
    """
    answers = retry.params.get("inputResponses")
    for key, value in answers.items() if type(answers) is dict else ():
        ctx.tested()
        if type(value) is dict and "resultType" in value:
            yield ctx.finding(
                retry, saw=value["resultType"], path=pointer("params", "inputResponses", key, "resultType")
            )


@rule("mrtr/answer-for-undeclared-capability", facet="answer", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      source="2026-07-28/client/elicitation#capabilities")  # fmt: skip
def answers_what_it_does_not_declare(retry: Message, ctx: Context) -> Iterator[Finding]:
    """The client answers a kind of question that the same request does not declare.

    Why it matters: capabilities count for one request; a server that needs to ask again has to refuse instead.
    Cannot tell: declining or dismissing an undeclared elicitation is prudent and not reported.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.capabilities is None:
        return
    for answer in answered(retry, ctx):
        needed = CAPABILITY.get(answer.question.method)
        if needed is None or refused(answer.question.method, answer.value):
            continue
        ctx.tested()
        if needed not in exchange.capabilities:
            before = ctx.ask is not None and needed in (ctx.ask.capabilities or {})
            when = "the request before it did declare it" if before else "nor did the request before it"
            if ctx.ask is None:
                when = "whichever request before it this one takes up"
            yield ctx.finding(
                retry,
                saw=sorted(exchange.capabilities),
                expected=needed,
                also=[ctx.ask.exchange if ctx.ask is not None else None],
                path=answer.path,
                text=f"{answer.question.key!r} is answered, but {needed} is not declared; {when}",
            )

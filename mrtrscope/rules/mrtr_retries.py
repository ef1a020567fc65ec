"""basic/patterns/mrtr: what a retry carries: id, state, keys, the request itself."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link import untyped
from mrtrscope.link.chains import question_digest
from mrtrscope.link.facts import EXACT, MRTR_METHODS, Difference
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import ROOTS, SAMPLING, SHOWN, asked_of, pointer, taken_up
from mrtrscope.rules.registry import ADVISORY, CLIENT, MUST, MUST_NOT, RETRY, SHOULD, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/basic/patterns/mrtr"
ITEM = PAGE + "#client-requirements-basic-workflow item "
SCHEMA = "schema/2026-07-28/schema.ts "

FROM_CLIENT = ("c2s",)


@rule("mrtr/state-echoed-verbatim", level=MUST, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=ITEM + "2")  # fmt: skip
def state_did_not_come_back(retry: Message, ctx: Context) -> Iterator[Finding]:
    """The requestState that was issued did not come back as it was.

    Why it matters: the state is all the server has to go on; a changed one is refused, a lost one begins anew, the
    one of an older round repeats a step.
    Cannot tell: which result is meant when several stand first, unless each of them had a state, and none came back
    or one that nobody issued.
    Other JSON escapes of the same string are equal. The retry that repeats an earlier one, after its answer was lost,
    rightly carries the state of that round. After a result without questions a retry that dropped the state looks like
    a fresh call.
    """
    ask, link = taken_up(ctx), ctx.link
    found = _differences(ctx, "state-changed", "state-dropped", "state-stale")
    if link is None or (ask is None and not found) or (ask is not None and ask.state is ABSENT):
        return
    ctx.tested()
    for difference in found:
        yield ctx.finding(
            retry,
            saw=difference.text,
            expected="the requestState of the answer, code point for code point",
            also=link.candidates[:SHOWN],
            path="/params/requestState",
            text=difference.text
            if difference.what == "state-dropped"
            else f"requestState did not come back as it was issued: {difference.text}",
        )


@rule("mrtr/state-not-invented", level=MUST_NOT, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=ITEM + "2")  # fmt: skip
def state_out_of_nowhere(retry: Message, ctx: Context) -> Iterator[Finding]:
    """The retry has a requestState although the result it answers had none.

    Why it matters: nearly always the state of an earlier round was carried on, and the server goes back to it.
    Cannot tell: a retry that answers that earlier round once more is a replay, not an invention.
    """
    ask, found = taken_up(ctx), _differences(ctx, "state-invented")
    if ctx.link is None or (ask is None and not found) or (ask is not None and ask.state is not ABSENT):
        return
    ctx.tested()
    for difference in found:
        yield ctx.finding(
            retry,
            saw=difference.text,
            expected="no requestState",
            also=ctx.link.candidates[:SHOWN],
            path="/params/requestState",
        )


@rule("mrtr/request-state-param-type", level=MUST, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT, methods=MRTR_METHODS,
      facet="round", source=SCHEMA + "InputResponseRequestParams")  # fmt: skip
def retry_fields_of_a_wrong_type(retry: Message, ctx: Context) -> Iterator[Finding]:
    """requestState is no string, or inputResponses is no object.

    Why it matters: null or an empty array is no way to say "none"; strict servers refuse the whole request.
    Cannot tell: a state that came so from the server; the client has to echo what it was given.
    """
    echoed = ctx.link is not None and "state" in ctx.link.evidence
    ctx.tested()
    for name, wanted, words in (("requestState", str, "a string"), ("inputResponses", dict, "an object")):
        if name == "requestState" and echoed:
            continue
        if name in retry.params and type(retry.params[name]) is not wanted:
            yield ctx.finding(
                retry,
                saw=retry.params[name],
                expected=words,
                path=f"/params/{name}",
                text=f"{name} is not {words}",
            )


@rule(
    "mrtr/new-request-id",
    level=MUST,
    fault=CLIENT,
    on=RETRY,
    dirs=FROM_CLIENT,
    facet="round",
    source=ITEM + "3",
)
def retry_under_an_old_id(retry: Message, ctx: Context) -> Iterator[Finding]:
    """The retry has the id of a request it retries.

    Why it matters: the retry is a request of its own; under an old id its answer cannot be told from the old one.
    Cannot tell: 1 and "1" are different ids. Other clients may use the same ones; only this chain counts, or all of
    those that it may belong to.
    """
    ask, link = taken_up(ctx), ctx.link
    common = link.common if link is not None else None
    if (ask is None and common is None) or link is None or retry.id_text is None:
        return
    ctx.tested()
    if retry.id_text in ask.chain.ids if ask is not None else common is not None and common.same_id:
        yield ctx.finding(
            retry,
            saw=retry.id,
            also=link.candidates[:SHOWN] if ask is None else [ask.exchange],
            path="/id",
            text=f"the retry has the id {retry.id_text} of a request that it retries",
        )


@rule(
    "mrtr/all-keys-answered",
    level=MUST,
    fault=CLIENT,
    on=RETRY,
    dirs=FROM_CLIENT,
    facet="round",
    source=ITEM + "1",
)
def question_left_unanswered(retry: Message, ctx: Context) -> Iterator[Finding]:
    """A question that was asked has no answer in the retry.

    Why it matters: the server asks again at best; refusing has a shape of its own for elicitations (decline, cancel),
    and for sampling and roots the way to refuse is not to retry.
    Cannot tell: each round is held to its own questions; not retrying at all is always allowed. Where a retry fits
    several results alike, only what each of them asks counts.
    """
    due = asked_of(ctx)
    answers = retry.params.get("inputResponses", {})
    if due is None or not due.keys or type(answers) is not dict:
        return
    ctx.tested()
    for key in due.keys:
        if key in answers:
            continue
        question = due.questions.get(key)
        method = question.get("method") if type(question) is dict else None
        hint = (
            "; a client that does not want to answer it does not retry" if method in (SAMPLING, ROOTS) else ""
        )
        yield ctx.finding(
            retry,
            saw=sorted(answers)[:SHOWN],
            expected=sorted(due.keys)[:SHOWN],
            also=due.also,
            path=pointer("params", "inputResponses", key),
            text=f"no answer for the key {key!r} ({method or 'no method'}){hint}",
        )


@rule("mrtr/unrequested-answer-key", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=PAGE + "#inputresponses")  # fmt: skip
def answer_nobody_asked_for(retry: Message, ctx: Context) -> Iterator[Finding]:
    """inputResponses has a key that nobody asked for.

    Why it matters: the server ignores it; usually the key is misspelt, or answers of earlier rounds pile up. Noted once
    for a key of an operation.
    Cannot tell: when it is not certain what the retry was asked; where several results may be meant, what one of them
    asks is asked.
    """
    ask, due = taken_up(ctx), asked_of(ctx)
    answers = retry.params.get("inputResponses")
    if due is None or type(answers) is not dict:
        return
    ctx.tested()
    for key in answers:
        if key not in due.asked and (ask is None or key not in ask.chain.unasked):
            earlier = ask is not None and key in ask.chain.asked
            yield ctx.finding(
                retry,
                saw=key,
                expected=sorted(due.asked)[:SHOWN],
                also=due.also,
                path=pointer("params", "inputResponses", key),
                text=f"the key {key!r} was asked in an earlier round"
                if earlier
                else f"nobody asked for {key!r}",
            )


@rule("mrtr/retry-params-unchanged", level=SHOULD, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=PAGE + "#multi-round-trip-requests")  # fmt: skip
def retry_of_something_else(retry: Message, ctx: Context) -> Iterator[Finding]:
    """The retry has other arguments than the request it repeats.

    Why it matters: the user agreed to one thing and another is done; servers that bind the state refuse it.
    Cannot tell: without an equal requestState the arguments are part of what makes it a retry. _meta may change
    freely. Another name or method is mrtr/state-not-on-unrelated-request.
    """
    ask, link, exchange = taken_up(ctx), ctx.link, ctx.exchange
    if ask is None or link is None or exchange is None or link.grade != EXACT or link.strength < 3:
        return
    ctx.tested()
    if question_digest(exchange.arguments) == ask.chain.arguments:
        return  # as in the first request: it was the round before this one that changed them
    for difference in _differences(ctx, "arguments-changed"):
        yield ctx.finding(
            retry,
            saw=exchange.arguments,
            expected=ask.arguments,
            also=[ask.exchange],
            path="/params/arguments",
            text=difference.text,
        )


@rule("mrtr/state-not-on-unrelated-request", level=MUST_NOT, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=ITEM + "4")  # fmt: skip
def state_on_another_request(retry: Message, ctx: Context) -> Iterator[Finding]:
    """A requestState, or answers, are used in another request than the one they belong to.

    Why it matters: what a user agreed to for one call is presented for another.
    Cannot tell: a state that was also issued for this target (servers hand out constants), keys that were ever asked
    for this target (two tools may both ask "confirm"). tasks/update carries answers of its own.
    """
    exchange, link = ctx.exchange, ctx.link
    if exchange is None:
        return
    here = f"{exchange.method} {exchange.target}".strip()
    if link is not None:
        ctx.tested()
        for difference in _differences(ctx, "state-moved"):
            yield ctx.finding(
                retry,
                saw=here,
                also=link.candidates[:SHOWN],
                path="/params/requestState",
                text=difference.text,
            )
    elif (owner := exchange.stranger) is not None and exchange.request_state is ABSENT:
        ctx.tested()
        theirs = f"{owner.method} {owner.target}".strip()
        yield ctx.finding(
            retry,
            saw=here,
            expected=theirs,
            also=[owner.key],
            path="/params/inputResponses",
            text=f"answers what only {theirs} was asked",
        )


@rule("mrtr/answers-on-unsupported-method", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=PAGE + "#supported-requests")  # fmt: skip
def retry_of_a_method_that_cannot_ask(request: Message, ctx: Context) -> Iterator[Finding]:
    """inputResponses or requestState on a method that cannot be answered with input_required.

    Why it matters: they can belong to no round trip; the client mixes up its requests.
    Cannot tell: a state that was issued for another request is mrtr/state-not-on-unrelated-request.
    """
    if request.method in MRTR_METHODS or request.method == "tasks/update" or ctx.link is not None:
        return
    if ctx.exchange is not None and ctx.exchange.stranger is not None:
        return
    ctx.tested()
    found = [name for name in ("inputResponses", "requestState") if name in request.params]
    yield ctx.finding(request, saw=found, text=f"{' and '.join(found)} on {request.method}")


@rule("mrtr/answers-without-question", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT, methods=MRTR_METHODS,
      facet="round", source=PAGE + "#basic-workflow")  # fmt: skip
def retry_of_nothing(request: Message, ctx: Context) -> Iterator[Finding]:
    """A request has answers or a state, but no recorded result asked for them.

    Why it matters: either the round trip began before the capture, or the client remembers answers across calls.
    Cannot tell: which of the two, so it is only noted. A result without resultType that asked is
    result/absent-result-type-means-complete.
    """
    ctx.tested()
    exchange = ctx.exchange
    if ctx.link is not None or exchange is None:
        return
    if exchange.stranger is None and untyped.taken_up(ctx.memory, exchange) is None:
        found = [name for name in ("inputResponses", "requestState") if name in request.params]
        whole = " although the recording has this process from its start" if request.peer.whole else ""
        yield ctx.finding(
            request, saw=found, text=f"{' and '.join(found)} without a question before it{whole}"
        )


@rule("mrtr/input-required-on-other-method-invalid", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=PAGE + "#supported-requests")  # fmt: skip
def took_up_a_question_that_must_not_be(retry: Message, ctx: Context) -> Iterator[Finding]:
    """The client took up input_required in answer to a method that must not ask.

    Why it matters: it hides the server's mistake; other clients show an error there.
    Cannot tell: when it is not certain which question the retry takes up.
    """
    ask = taken_up(ctx)
    if ask is None or ask.method in MRTR_METHODS:
        return
    ctx.tested()
    yield ctx.finding(retry, saw=retry.method, also=[ask.key])


def _differences(ctx: Context, *what: str) -> list[Difference]:
    return [d for d in ctx.link.differences if d.what in what] if ctx.link is not None else []

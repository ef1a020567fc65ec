"""basic/patterns/mrtr: how long a round trip gets, how fast it goes, and whether it comes to an end."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.link.facts import ABANDONED, CANCELLED, LOST, MRTR_METHODS, Operation
from mrtrscope.link.retries import in_doubt
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.facet_rounds import SHORT_CHAIN
from mrtrscope.rules.questions import CAPABILITY, ELICITATION, asked, elicitation_mode, taken_up
from mrtrscope.rules.registry import ADVISORY, ASKED, CLIENT, EITHER, PRESENT, RETRY, SERVER, SETTLED, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/basic/patterns/mrtr"
FROM_CLIENT, FROM_SERVER = ("c2s",), ("s2c",)

MANY, TOO_MANY = SHORT_CHAIN, 11  # rounds; widely used SDKs give up after 10
URL_REPEATS = 20  # a question by URL is accepted before its step is done, so it comes again
AT_ONCE = 20_000  # microseconds between a state-only result and its retry
TIGHT = 3  # so many in a row are a loop


@rule("mrtr/server-loop-without-progress", level=ADVISORY, fault=SERVER, on=ASKED, dirs=FROM_SERVER,
      facet="chain", source=PAGE + "#server-requirements-basic-workflow item 8")  # fmt: skip
def same_question_again(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The same questions come again although every one was answered.

    Why it matters: the server does not seem to read the answers; the user is asked the same thing for ever.
    Cannot tell: content that the server refused for its form. After decline or cancel asking again is expected; a
    question by URL may come again until its step is done.
    """
    if ctx.exchange is None or ctx.exchange.ask is None or ctx.ask is None:
        return
    ctx.tested()
    repeats = ctx.exchange.ask.chain.repeats
    url = any(q.method == ELICITATION and elicitation_mode(q.params) == "url" for q in asked(answer, ctx))
    if repeats == (URL_REPEATS + 1 if url else 1):
        yield ctx.finding(
            answer, saw=sorted(ctx.exchange.ask.questions), also=[ctx.ask.key, ctx.exchange.request]
        )


@rule("mrtr/round-count-exceeds-cap", level=ADVISORY, fault=EITHER, on=ASKED, dirs=FROM_SERVER, methods=MRTR_METHODS,
      facet="chain", source=PAGE + "#server-requirements-basic-workflow item 8")  # fmt: skip
def too_many_rounds(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The operation takes more rounds than common clients allow.

    Why it matters: widely used SDKs give up after 10 rounds; a client without a limit can be kept busy for ever.
    Cannot tell: wizards and sampling loops take many rounds for good reason, so it is only noted.
    """
    if ctx.exchange is None or ctx.exchange.ask is None:
        return
    ctx.tested()
    chain = ctx.exchange.ask.chain
    if chain.rounds in (MANY, TOO_MANY):
        yield ctx.finding(
            answer,
            saw=chain.rounds,
            also=[chain.first],
            text=f"input was required {chain.rounds} times for one {ctx.exchange.method}",
            fault="client" if chain.repeats >= chain.rounds - 2 else "server",
        )


@rule("mrtr/retry-repeats-capabilities", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source="2026-07-28/basic/index#meta")  # fmt: skip
def capability_gone_in_the_retry(retry: Message, ctx: Context) -> Iterator[Finding]:
    """The retry no longer declares a capability that an earlier round needed.

    Why it matters: capabilities count for one request; the server cannot ask again and may have to refuse.
    Cannot tell: a client may have lost it on purpose, so it is only noted.
    """
    ask, exchange = taken_up(ctx), ctx.exchange
    if ask is None or exchange is None or exchange.capabilities is None or ask.capabilities is None:
        return
    ctx.tested()
    needed = {CAPABILITY[kind] for kind in ask.chain.kinds if kind in CAPABILITY}
    gone = sorted(name for name in needed if name in ask.capabilities and name not in exchange.capabilities)
    if gone:
        yield ctx.finding(retry, saw=sorted(exchange.capabilities), expected=gone, also=[ask.exchange])


@rule("mrtr/state-only-retry-pacing", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=PAGE + "#client-requirements-basic-workflow item 1")  # fmt: skip
def retries_without_a_pause(retry: Message, ctx: Context) -> Iterator[Finding]:
    """State-only results are retried at once, again and again.

    Why it matters: a server sends them to spread its load; a tight loop makes it worse. SDKs wait 50 to 250 ms.
    Cannot tell: when it is not certain which result the retry takes up. Three within 20 ms in a row are needed.
    """
    ask, exchange = taken_up(ctx), ctx.exchange
    if ask is None or exchange is None or ask.questions or ask.state is ABSENT:
        return
    ctx.tested()
    if exchange.t - ask.t <= AT_ONCE and ask.chain.quick + 1 == TIGHT:
        yield ctx.finding(
            retry, saw=f"{(exchange.t - ask.t) / 1000:.1f} ms", expected="50 to 250 ms", also=[ask.key]
        )


@rule("mrtr/chain-abandoned", level=ADVISORY, fault=CLIENT, on=(SETTLED, PRESENT), facet="ended",
      source=PAGE + "#server-requirements-basic-workflow item 8")  # fmt: skip
def question_never_taken_up(operation: Operation, ctx: Context) -> Iterator[Finding]:
    """An input_required result was never followed by a retry.

    Why it matters: a client that does not understand resultType shows exactly this.
    Cannot tell: the user may have declined, the host closed, the capture ended; clients need not retry. Where a retry
    fits several results alike it may be the one that is missing here.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.ask is None or exchange.answer is None:
        return
    if operation.outcome in (CANCELLED, LOST) or in_doubt(ctx.memory, operation.channel, exchange.ask):
        return
    if ctx.lasting:
        ctx.tested()
    when = "" if operation.outcome == ABANDONED else " so far"
    yield ctx.finding(
        exchange.answer,
        saw=sorted(exchange.ask.questions),
        also=[exchange.request],
        text=f"nobody took up this question{when}",
    )


@rule("mrtr/same-answers-for-parallel-chains", level=ADVISORY, fault=CLIENT, on=RETRY, dirs=FROM_CLIENT,
      facet="round", source=PAGE + "#client-requirements-basic-workflow item 4")  # fmt: skip
def one_answer_for_two_questions(retry: Message, ctx: Context) -> Iterator[Finding]:
    """Two open calls of one target were answered with the very same form at the same moment.

    Why it matters: the user may have been asked once for two things.
    Cannot tell: a test client with fixed answers does the same. Models and roots are left out: they may well agree.
    """
    if ctx.exchange is None or taken_up(ctx) is None:
        return
    ctx.tested()
    if ctx.exchange.twin:
        yield ctx.finding(retry, also=[ctx.exchange.twin])

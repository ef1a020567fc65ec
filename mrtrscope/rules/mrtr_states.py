"""basic/patterns/mrtr: how a server guards its requestState, as far as its own answers show it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mrtrscope.link.explain import reencoded
from mrtrscope.link.facts import EXACT, INFERRED
from mrtrscope.rules import said
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.questions import taken_up
from mrtrscope.rules.registry import MUST, MUST_NOT, RETRY_ANSWERED, SERVER, SHOULD, rule
from mrtrscope.wire.events import ABSENT, Message

PAGE = "2026-07-28/basic/patterns/mrtr"
ITEM = PAGE + "#server-requirements-basic-workflow item "
FROM_SERVER = ("s2c",)

LIFETIME = 24 * 3600 * 1_000_000  # a state that is taken after so long; the specification names no number

_SESSION = re.compile(r"session|connection|unknown call|not (?:been )?initiali[sz]ed|initialize", re.I)


@rule(
    "mrtr/tampered-state-rejected",
    level=MUST,
    fault=SERVER,
    on=RETRY_ANSWERED,
    dirs=FROM_SERVER,
    facet="round answered",
    source=ITEM + "4",
)
def takes_a_changed_state(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A retry whose requestState was changed is carried out.

    Why it matters: whoever can change the state can claim what the server wrote into it: who asked, what was agreed.
    Cannot tell: whether anything depends on the state; without that no protection is asked for. A state that was only
    encoded in another way may be taken. That the client changed it is mrtr/state-echoed-verbatim.
    """
    exchange, ask = ctx.exchange, taken_up(ctx)
    if exchange is None or ask is None or ctx.link is None:
        return
    changed = [d for d in ctx.link.differences if d.what == "state-changed"]
    if not changed or reencoded(ask.state, exchange.request_state):
        return
    ctx.tested()
    if said.complete(answer):
        yield ctx.finding(
            answer,
            saw=changed[0].text,
            expected="a JSON-RPC error",
            also=[exchange.request, ask.key],
            text=f"probably does not verify requestState: the request was carried out with a changed one "
            f"({changed[0].text})",
        )


@rule("mrtr/state-bound-to-request", level=SHOULD, fault=SERVER, on=RETRY_ANSWERED, dirs=FROM_SERVER,
      facet="round answered", source=ITEM + "5")  # fmt: skip
def takes_the_state_of_another_request(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A requestState is accepted on a request that differs from the one it was issued for.

    Why it matters: what was agreed to for one call opens another.
    Cannot tell: which arguments matter is the server's choice, so other arguments alone are only noted.
    """
    link, exchange = ctx.link, ctx.exchange
    if link is None or link.ask is None or exchange is None or exchange.request_state is ABSENT:
        return
    ctx.tested()
    if not said.complete(answer):
        return
    for difference in link.differences:
        if difference.what not in ("state-moved", "arguments-changed"):
            continue
        moved = difference.what == "state-moved"
        yield ctx.finding(
            answer,
            saw=f"{exchange.method} {exchange.target}".strip(),
            expected=f"{link.ask.method} {link.ask.target}".strip(),
            also=[exchange.request, link.ask.key],
            path=difference.what,
            text=f"carried out, but {difference.text}"
            if moved
            else f"carried out with the state of a call with other arguments: {difference.text}",
            level=None if moved else "info",
        )


@rule("mrtr/state-bound-to-principal", level=SHOULD, fault=SERVER, on=RETRY_ANSWERED, dirs=FROM_SERVER,
      facet="round answered", source=ITEM + "5")  # fmt: skip
def takes_the_state_of_somebody_else(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A requestState that was issued to one principal is accepted from another.

    Why it matters: whoever gets hold of a state acts with what its owner agreed to.
    Cannot tell: whether two credentials are two principals, unless both are JWTs that name another subject; a token
    that was refreshed between the rounds is normal. So anything less is only noted.
    """
    exchange = ctx.exchange
    owner = exchange.stranger if exchange is not None else None
    if (
        exchange is None
        or owner is None
        or exchange.request_state is ABSENT
        or owner.state != exchange.request_state
    ):
        return
    mine, theirs = exchange.client.subject, owner.client.subject
    if mine and mine == theirs:
        return
    ctx.tested()
    if said.complete(answer):
        sure = bool(mine and theirs)
        yield ctx.finding(
            answer,
            saw="another subject" if sure else "another credential",
            expected="a JSON-RPC error",
            also=[exchange.request, owner.key],
            text=f"carried out for {'another subject' if sure else 'another credential'} than the state was issued to",
            level=None if sure else "info",
        )


@rule("mrtr/state-expires", level=SHOULD, fault=SERVER, on=RETRY_ANSWERED, dirs=FROM_SERVER,
      facet="round answered", source=ITEM + "5")  # fmt: skip
def takes_an_old_state(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A requestState is accepted more than a day after it was issued.

    Why it matters: a state that leaks stays good for as long as it lives.
    Cannot tell: how long is short; the specification names no number, so the age is printed.
    """
    ask, link, exchange = taken_up(ctx), ctx.link, ctx.exchange
    if ask is None or link is None or exchange is None or link.grade != EXACT or ask.state is ABSENT:
        return
    age = exchange.t - ask.t
    if age <= LIFETIME:
        return
    ctx.tested()
    if said.complete(answer):
        hours = age // 3_600_000_000
        yield ctx.finding(
            answer,
            saw=f"{hours} hours",
            expected="a JSON-RPC error",
            also=[exchange.request, ask.key],
            text=f"a requestState was accepted {hours} hours after it was issued",
        )


@rule("mrtr/retry-self-contained", level=MUST_NOT, fault=SERVER, on=RETRY_ANSWERED, dirs=FROM_SERVER,
      facet="round answered", source="2026-07-28/basic/index#statelessness")  # fmt: skip
def needs_to_have_seen_the_first_round(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A sound retry is refused for want of a session or connection.

    Why it matters: the retry may reach another instance, over another connection; it has to carry all that is needed.
    Cannot tell: what the server keeps; only an error that speaks of a session, a connection or initializing shows
    it. On stdio, where a process may have restarted, it is only noted.
    """
    exchange, link, ask = ctx.exchange, ctx.link, taken_up(ctx)
    if (
        exchange is None
        or link is None
        or ask is None
        or link.grade not in (EXACT, INFERRED)
        or link.differences
    ):
        return
    answers = exchange.answers if type(exchange.answers) is dict else {}
    if any(key not in answers for key in ask.questions):
        return
    ctx.tested()
    if (
        answer.kind != "error"
        or said.code(answer) in said.EXPLAINED_CODES
        or not _SESSION.search(said.words(answer))
    ):
        return
    yield ctx.finding(
        answer,
        saw=said.words(answer),
        expected="the retry judged by what it carries",
        also=[exchange.request, ask.key],
        text=f"probably needs to have seen the first round on the same connection: {said.words(answer)[:200]}",
        level=None if exchange.http is not None else "info",
    )

"""Notes on gateways, ours: what host and server cannot see of each other, where one capture holds both sides."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ADVISORY, BOTH, CLIENT, REMARKED, rule
from mrtrscope.wire.events import Message

SOURCE = "ours: gateways"


@rule("gateway/question-reached-nobody", level=ADVISORY, fault=CLIENT, on=REMARKED, eras=BOTH, source=SOURCE)
def question_reached_nobody(message: Message, ctx: Context) -> Iterator[Finding]:
    """A gateway answers a question that it asked nobody.

    Why it matters: the server takes a word for its user's that no user gave, and the host never learns of it.
    Cannot tell: unless the call is certainly made for one of a host whose traffic is in the same capture.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or message.dir != "c2s":
        return
    host = exchange.remarks.get("unasked")
    if host is None:
        return
    ctx.tested()
    yield ctx.finding(
        message, also=(host,), saw="an answer", expected="the host is asked first",
        text="the server's question is answered, and nobody downstream was asked",
    )  # fmt: skip


@rule("gateway/upstream-left-open", level=ADVISORY, fault=CLIENT, on=REMARKED, eras=BOTH, source=SOURCE)
def upstream_left_open(message: Message, ctx: Context) -> Iterator[Finding]:
    """A gateway's call goes on after its host's has ended.

    Why it matters: the server works on for nobody, and what it does then is done.
    Cannot tell: unless the call is certainly made for one of a host whose traffic is in the same capture.
    """
    exchange = ctx.exchange
    if exchange is None or exchange.remarks is None or message is not exchange.answer:
        return
    outlived = exchange.remarks.get("outlived")
    if outlived is None:
        return
    ctx.tested()
    yield ctx.finding(
        message, also=(exchange.request,), saw=f"{outlived / 1e6:.1f} s longer", expected="cancelled with it",
        text="the call that this was made for had ended long before",
    )  # fmt: skip

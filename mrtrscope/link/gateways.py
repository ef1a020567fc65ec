"""What is noticed about a gateway while its calls are joined to those of its host (see `link.hops`), for rules.

Remarks on exchanges of the gateway with its server:

    unasked     what the server asked is answered although the host was asked nothing meanwhile (a retry, or a question
                in the old way): key of the host's call
    outlived    µs that a call went on after the host's had ended
    timed_out   a call that was over while a question of its server waited, which the host was never asked: its key

and of the host with the gateway:

    fronts      True: a retry, or a call that was answered by questions, where a gateway is known to be
    unpassed    a call that was over while a result of the server asked for input, and the host was not: its key
    gave_up     the same after rounds that the gateway answered at once by itself: [how many, key of its call]
    too_late    a call that was answered as if nothing were amiss, when the question that its host had been asked
                waited for an answer no more: key of the question upstream

`Operation.more`: `session`, a digest of the session id that came with questions of a gateway; `hop.left`, when the
host's call was over, while the gateway's goes on.
"""

from __future__ import annotations

from collections import OrderedDict

from mrtrscope.link.facts import MODERN, Exchange
from mrtrscope.link.legacy import name_of
from mrtrscope.link.longs import facts
from mrtrscope.link.remarks import remark
from mrtrscope.link.shares import Share

KEPT = 1024  # operations of which it is known when they were asked something, and when they ended
CHANNELS, WAITING = 256, 64
GRACE = 5_000_000  # µs that a call may go on after its host's has ended; ours
INSTANT = 200_000  # nobody reads a question and answers it within so many µs; ours
TIMED = 1_000_000  # a question that waited for less was not meant to be waited for; ours


class Gateways:
    """Knows when each host's call was asked something and when it ended."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, int] = OrderedDict()  # operation -> when its client was asked last
        self._ended: OrderedDict[str, int] = OrderedDict()  # operation -> when it came to its end
        self._fronts: dict[str, bool] = {}  # channels on which hosts talk to a gateway

    def front(self, channel: str) -> None:
        """A call on this channel was certainly made upstream for its host: there is a gateway."""
        if len(self._fronts) < CHANNELS:
            self._fronts[channel] = True

    def is_over(self, operation: str) -> bool:
        """Whether an operation came to its end, as far as that is remembered."""
        return operation in self._ended

    # -- what the server asks, and what becomes of it

    def asked(self, question: Exchange, call: Exchange, share: Share | None) -> None:
        """A server's own request was asked in a call."""
        _note(self._asked, call.operation.key, question.t)
        if share is not None and len(share.waiting) < WAITING:
            share.waiting[question.key] = question.t

    def answered(self, question: Exchange, share: Share | None) -> None:
        """A server's own request was answered."""
        if share is None:
            return
        share.waiting.pop(question.key, None)
        if share.to and self._asked.get(share.to, 0) < question.t:
            remark(question, "unasked", share.to)

    def retried(self, exchange: Exchange, share: Share | None) -> None:
        """A result that asks for input was taken up."""
        if exchange.request.channel in self._fronts:
            remark(exchange, "fronts")
            self._ended.pop(exchange.operation.key, None)  # it had only been given up
        ask = exchange.link.ask if exchange.link is not None else None
        if share is None or ask is None:
            return
        share.ask = ""
        if not share.to or not ask.questions or self._asked.get(share.to, 0) >= ask.t:
            share.instant = 0
            return
        quick = exchange.t - ask.t <= INSTANT
        if not quick or not share.instant:  # the same over and over is said once, when it is over
            remark(exchange, "unasked", share.to)
        share.instant = share.instant + 1 if quick else 0

    # -- what ends

    def upstream(self, exchange: Exchange, share: Share) -> None:
        """A request of a gateway to its server was answered, or will not be."""
        answer = exchange.answer
        if answer is None:
            return
        if exchange.ask is not None or exchange.state == "asked":
            share.ask, share.asked = answer.key, answer.t
        if not share.over:
            return
        since = self._ended.get(share.to)
        if since is not None and answer.t - since > GRACE:
            remark(exchange, "outlived", answer.t - since)
        late = [key for key, t in share.waiting.items() if answer.t - t >= TIMED]
        if late and share.to:
            if self._asked.get(share.to, 0) < share.waiting[late[0]]:
                remark(exchange, "timed_out", late[0])
            else:
                share.late = late[0]

    def downstream(self, exchange: Exchange) -> None:
        """A request of a client was answered, or will not be: was it asked something?"""
        if exchange.ask is None and exchange.state != "asked":
            return
        _note(self._asked, exchange.operation.key, exchange.t_end or exchange.t)
        if exchange.request.channel in self._fronts and exchange.era == MODERN:
            remark(exchange, "fronts")
            session = exchange.http.response_header("mcp-session-id") if exchange.http is not None else None
            if session:
                facts(exchange.operation)["session"] = name_of(exchange.request.channel, session)

    def over(self, exchange: Exchange, shares: list[Share]) -> list[Exchange]:
        """The operation of a client's request came to its end with this; `shares`: its hops. Returns as `left` does."""
        host, answer = exchange.operation.key, exchange.answer
        for share in shares if answer is not None else ():
            if share.ask and not share.over:
                if share.instant > 1:
                    remark(exchange, "gave_up", [share.instant, share.operation.key])
                elif self._asked.get(host, 0) < share.asked:
                    remark(exchange, "unpassed", share.ask)
            if (
                share.late
                and answer is not None
                and answer.kind == "response"
                and not answer.result.get("isError")
            ):
                remark(exchange, "too_late", share.late)
        return self.left(host, exchange.t_end or exchange.t, shares)

    def left(self, host: str, t: int, shares: list[Share]) -> list[Exchange]:
        """An operation is over: what is still under way for it? Returns the first exchange of each such call."""
        _note(self._ended, host, t)
        going_on = [share for share in shares if not share.over and not share.ask]
        for share in going_on:
            facts(share.operation)["hop"]["left"] = t
        return [share.exchange for share in going_on]


def _note(times: OrderedDict[str, int], key: str, t: int) -> None:
    times[key] = t
    times.move_to_end(key)
    if len(times) > KEPT:
        times.popitem(last=False)

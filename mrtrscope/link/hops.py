"""Operations of one capture that are hops of one another: a host's call, and the call that a gateway made for it.

The upstream call begins while the host's is in flight on another channel. What it is joined by, strongest first:

    exact       both carry the same trace id and one call alone does; or the host's call brought back what only this
                upstream call had said before: the same state, or the same question (text and schema)
    inferred    one call in flight alone has the same method, arguments and target (or one that ends in it, as gateways
                put their own prefix before names), or the result that came back is only this one's
    ambiguous   several calls fit, or two upstream calls at once fit one: all are listed, none is chosen

What a gateway passes on it heard before: of the upstream calls that might belong to a host's call only those count
that had said the thing already. Two peers of the same name that call two servers with the same arguments are a host
with two servers as likely as a gateway that passes its client's name on, and who was seen to call of his own accord may
do so again: such a pair needs proof.

A message to an agent (A2A) for a tool call, or the reverse, has nothing in common with it but the trace id: where one
call alone in flight carries the same, it is inferred, else it is not joined.

The share is `Operation.more["hop"]`, in the form of `more["within"]` (see `link.nested`). What is noticed about the
gateway itself meanwhile is `link.gateways`.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mrtrscope.link import agents
from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import A2A, AMBIGUOUS, EXACT, INFERRED, MRTR_METHODS, Exchange, Operation
from mrtrscope.link.gateways import Gateways
from mrtrscope.link.longs import facts
from mrtrscope.link.memory import digest
from mrtrscope.link.shares import SHARES, Share, Shares
from mrtrscope.wire.events import ABSENT, Message

IN_FLIGHT = 512  # calls in flight that are looked at
MARKS, CANDIDATES = 64, 64
QUESTION, STATE, RESULT = "question", "state", "result"
PREFIX_ENDS = frozenset("_-./:")


class Hops:
    """Keeps the calls in flight, and the shares that may still change."""

    def __init__(self) -> None:
        self._flying: OrderedDict[str, Exchange] = OrderedDict()
        self._shares = Shares()
        self._channels: dict[str, bool] = {}
        self._hosts: OrderedDict[str, bool] = OrderedDict()  # who made calls that belong to nobody else's
        self._ways: dict[
            tuple[str, str], bool
        ] = {}  # channel of a host -> that of the gateway's server, as proved
        self.gateways = Gateways()

    # -- what happens

    def requested(self, exchange: Exchange) -> list[Exchange]:
        """A client's request was linked; returns the exchanges whose operations are told anew."""
        if exchange.method not in MRTR_METHODS and (
            exchange.era != A2A or exchange.method not in agents.SENDS
        ):
            return []
        channel = exchange.request.channel
        if channel not in self._channels and len(self._channels) < SHARES:
            self._channels[channel] = True
        found: list[Exchange] = []
        if exchange.operation.key == exchange.key:
            found = self._join(exchange) if len(self._channels) > 1 else []
            if not found:
                self._called_itself(exchange)
        if exchange.link is not None:
            self.gateways.retried(exchange, self._shares.get(exchange.operation.key))
        self._flying[exchange.key] = exchange
        if len(self._flying) > IN_FLIGHT:
            self._flying.popitem(last=False)
        return found

    def asked(self, question: Exchange, call: Exchange | None) -> list[Exchange]:
        """A server's own request was asked in a call; returns the exchanges whose operations are told anew."""
        if call is None:
            return []
        share = self._shares.get(call.operation.key)
        mark = (
            _of_question({"method": question.method, "params": question.request.params})
            if self._shares
            else ""
        )
        found = self._proved(call, [mark]) if mark else []
        self.gateways.asked(question, call, share)
        if share is not None:
            _mark(share, mark)
        return found

    def answered(self, question: Exchange, call: Exchange | None) -> Exchange | None:
        """A server's own request was answered, or will not be; returns the call that it was asked in."""
        if call is not None and question.answer is not None:
            self.gateways.answered(question, self._shares.get(call.operation.key))
        return call

    def ended(self, exchange: Exchange) -> list[Exchange]:
        """A client's request was answered, or will not be; returns the exchanges whose operations are told anew."""
        if self._flying.pop(exchange.key, None) is None and self._shares.get(exchange.operation.key) is None:
            return []
        answer, operation = exchange.answer, exchange.operation
        said = _said(answer) if answer is not None and self._shares else []
        share = self._shares.get(operation.key)
        if share is not None:
            for mark in said:
                _mark(share, mark)
            share.over = operation.outcome != "open"
            self.gateways.upstream(exchange, share)
            if share.over and self.gateways.is_over(share.to):
                self._shares.drop(share)
        found = self._proved(exchange, said) if self._shares else []
        self.gateways.downstream(exchange)
        if operation.outcome != "open":
            found += self.gateways.over(exchange, self._shares.of(operation.key))
            found += self._closed(operation.key)
        return found

    def given_up(self, operation: Operation, t: int) -> list[Exchange]:
        """Nobody goes on with an operation whose client was asked something; returns as `ended` does."""
        if operation.outcome == "open":
            return []
        return self.gateways.left(operation.key, t, self._shares.of(operation.key))

    # -- joining

    def _join(self, exchange: Exchange) -> list[Exchange]:
        channel, trace = exchange.request.channel, trace_of(exchange.request)
        others = [e for e in reversed(self._flying.values()) if e.request.channel != channel]
        traced = [e for e in others if trace and trace_of(e.request) == trace]
        # A host of a gateway does not call for the gateway's server in turn.
        before = (
            others
            if not self._ways
            else [e for e in others if (channel, e.request.channel) not in self._ways]
        )
        fits = [e for e in traced or before if _fits(exchange, e)]
        if not traced:
            fits = [e for e in fits if not trace or not trace_of(e.request)]
        calls = fits or traced
        if not calls:
            return []
        share = Share(exchange)
        share.candidates = list(dict.fromkeys(e.operation.key for e in calls))[:CANDIDATES]
        if traced:
            share.evidence.append("trace")
        if fits:
            same = all(e.target == exchange.target for e in fits)
            share.evidence += ["tool" if same else "tool-renamed", "arguments"]
        share.evidence.append("time")
        info = exchange.client.info
        named = bool(info) and any(e.client.info == info for e in calls)
        share.own = not traced and _who(exchange) in self._hosts
        share.proof = not traced and (named or share.own)
        self._shares.add(share)
        if len(share.candidates) == 1 and not share.proof:
            proven = traced and A2A not in (exchange.era, calls[0].era)
            share.to, share.grade = share.candidates[0], EXACT if proven else INFERRED
            if traced and len(self._ways) < SHARES:
                self.gateways.front(calls[0].request.channel)
                self._ways[calls[0].request.channel, channel] = True
        else:
            share.grade = AMBIGUOUS
        _tell(share)
        return [exchange, *self._contested(share)]

    def _called_itself(self, exchange: Exchange) -> None:
        who = _who(exchange)
        if who not in self._hosts:
            self._hosts[who] = True
            if len(self._hosts) > SHARES:
                self._hosts.popitem(last=False)

    def _contested(self, new: Share) -> list[Exchange]:
        """Two calls to one server at once, or of two peers, for one call of a host: unless a trace says so, it cannot
        be told whose either is."""
        if not new.to or new.grade == EXACT:
            return []
        channel, told, who = new.operation.channel, [], _who(new.exchange)
        for share in self._shares.of(new.to):
            if share is new or share.operation.channel != channel:
                continue
            another = _who(share.exchange) != who
            if share.grade == EXACT or RESULT in share.evidence:
                if another:
                    _doubt(new)
            elif another or not share.over:
                _doubt(share)
                _doubt(new)
                told.append(share.exchange)
        return told

    def _proved(self, exchange: Exchange, said: list[str]) -> list[Exchange]:
        """A host's call was told something: whose word was it?"""
        host, told = exchange.operation.key, []
        for mark in said:
            having = [s for s in self._shares.may_be_of(host) if mark in s.marks]
            if len(having) != 1:
                continue
            (share,) = having
            kind = mark.partition(":")[0]
            if kind in share.evidence or (share.to and share.to != host):
                continue
            if kind == RESULT and share.own:
                continue
            grade = INFERRED if kind == RESULT else EXACT
            if grade == EXACT and len(self._ways) < SHARES:
                self._ways[exchange.request.channel, share.operation.channel] = True
            share.to, share.evidence = host, [kind, *share.evidence]
            share.grade = EXACT if EXACT in (grade, share.grade) else INFERRED
            self.gateways.front(exchange.request.channel)
            _tell(share)
            told.append(share.exchange)
        return told

    def _closed(self, host: str) -> list[Exchange]:
        """A host's call came to its end: a call that still goes on is none of its hops."""
        told = []
        for share in self._shares.may_be_of(host):
            if share.to == host:
                if share.over:
                    self._shares.drop(share)
            elif not share.over and share.grade == AMBIGUOUS and len(share.candidates) > 1:
                self._shares.rule_out(share, host)
                if len(share.candidates) == 1 and not share.proof:
                    share.to, share.grade = share.candidates[0], INFERRED
                _tell(share)
                told.append(share.exchange)
            elif all(map(self.gateways.is_over, share.candidates)):
                self._shares.drop(share)
        return told


def _doubt(share: Share) -> None:
    share.to, share.grade, share.proof = "", AMBIGUOUS, True
    _tell(share)


def _who(exchange: Exchange) -> str:
    """What names a peer over its calls: its process, its name; over HTTP without one, its connection."""
    client = exchange.client
    return client.peer if exchange.http is None else client.info or client.peer


def _fits(up: Exchange, host: Exchange) -> bool:
    """Whether the call of a gateway might be made for that of a host, by method, target and arguments."""
    if up.method != host.method or up.era == A2A or not _renamed(up.target, host.target):
        return False
    mine, its = up.arguments, host.arguments
    return bool(mine == its) and canonical(mine) == canonical(its)


def _renamed(target: str, host: str) -> bool:
    """Whether a target is that of the host, or stands at the end of it: as a whole, or behind the scheme of a uri."""
    if target == host:
        return True
    scheme, is_uri, path = target.partition("://")
    if is_uri and path and host.startswith(f"{scheme}://"):
        target, host = path, host[len(scheme) + 3 :]
    ahead = len(host) - len(target)
    return bool(target) and ahead > 1 and host.endswith(target) and host[ahead - 1] in PREFIX_ENDS


def trace_of(request: Message) -> str:
    """The trace id that a request carries in its `_meta`, else in its head; "" when there is none."""
    value: Any = request.meta.get("traceparent")
    if value is None and request.http is not None:
        value = request.http.request_header("traceparent")
    parts = value.split("-") if type(value) is str and len(value) <= 256 else []
    return parts[1].lower() if len(parts) >= 4 and len(parts[1]) == 32 and parts[1].strip("0") else ""


def _said(answer: Message) -> list[str]:
    """What an answer says that its reader may pass on, as marks."""
    if answer.kind == "error":
        return [f"{RESULT}:{digest(canonical(answer.error.get('message'))).hex()}"]
    result = answer.result
    if result.get("resultType") == "input_required":
        asked = result.get("inputRequests")
        out = [_of_question(q) for q in list(asked.values())[:MARKS]] if type(asked) is dict else []
        state = result.get("requestState", ABSENT)
        if state is not ABSENT:
            out.append(f"{STATE}:{digest(canonical(state)).hex()}")
        return out
    content = result.get("content", result.get("contents", result.get("messages", ABSENT)))
    return [] if content in (ABSENT, []) else [f"{RESULT}:{digest(canonical(content)).hex()}"]


def _of_question(question: Any) -> str:
    """A question by its method, its text and its schema; the rest is the gateway's to change."""
    params = question.get("params") if type(question) is dict else None
    params = params if type(params) is dict else {}
    parts = [params.get(name) for name in ("message", "requestedSchema", "url", "messages", "systemPrompt")]
    return f"{QUESTION}:{digest(canonical([question.get('method') if type(question) is dict else '', parts])).hex()}"


def _mark(share: Share, mark: str) -> None:
    if mark not in share.marks and len(share.marks) < MARKS:
        share.marks.append(mark)


def _tell(share: Share) -> None:
    facts(share.operation).setdefault("hop", {}).update({
        "in": share.to, "grade": share.grade, "evidence": list(share.evidence), "candidates": list(share.candidates),
    })  # fmt: skip

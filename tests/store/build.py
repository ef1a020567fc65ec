"""Small batches as the pipeline would make them: real messages, exchanges and operations, put together by hand."""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link.facts import Client, Exchange, Link, Operation
from mrtrscope.link.session import Channel
from mrtrscope.pipeline import Batch
from mrtrscope.rules.context import Finding
from mrtrscope.wire.events import ABSENT, Event, Message, NonMessage, Peer, Signal

PEER = Peer("a.mrj:0", "stdio", whole=True)


def message(
    offset: int, t: int, body: Any, dir: str = "c2s", part: int = 0, journal: str = "a.mrj"
) -> Message:
    m = Message()
    _event(m, offset, t, dir, part, journal)
    m.body = body
    m.raw = json.dumps(body).encode()
    m.kind = _kind(body)
    m.id = body.get("id", ABSENT)
    m.id_text = None if m.id is ABSENT else json.dumps(m.id)
    m.method = body.get("method") if isinstance(body.get("method"), str) else None
    m.oddities = ()
    m.batch = None
    m.sse = None
    m.frames = (f"{journal}:{offset}",)
    return m


def _kind(body: dict[str, Any]) -> str:
    if "method" in body:
        return "request" if "id" in body else "notification"
    return "response" if "result" in body else "error" if "error" in body else "invalid"


def _event(event: Event, offset: int, t: int, dir: str, part: int, journal: str) -> None:
    event.journal, event.offset, event.part, event.t, event.dir = journal, offset, part, t, dir
    event.channel, event.lane, event.peer = "srv", "0i" if dir == "c2s" else "0o", PEER
    event.http = event.place = None
    event.cut = event.edited = False


def signal(offset: int, t: int, what: str, detail: dict[str, Any]) -> Signal:
    s = Signal()
    _event(s, offset, t, "s2c", 0, "a.mrj")
    s.what, s.detail = what, detail
    return s


def noise(offset: int, t: int, raw: bytes = b"noise") -> NonMessage:
    n = NonMessage()
    _event(n, offset, t, "s2c", 0, "a.mrj")
    n.raw, n.size, n.why, n.body, n.counts, n.sse = raw, len(raw), "not-json", ABSENT, True, None
    return n


def operation(request: Message) -> Operation:
    o = Operation()
    o.key, o.t, o.t_end, o.kind, o.channel = request.key, request.t, request.t, "single", request.channel
    o.method, o.target, o.last, o.count, o.open = (
        request.method or "",
        str(request.params.get("name", "")),
        None,
        1,
        1,
    )
    o.outcome, o.server, o.waiting, o.more = "open", 0, 0, None
    return o


def exchange(
    request: Message, op: Operation, answer: Message | None = None, link: Link | None = None
) -> Exchange:
    x = Exchange()
    x.key, x.t = request.key, request.t
    x.request, x.answer, x.operation, x.link = request, answer, op, link
    x.extra, x.notes, x.noted, x.dir, x.method, x.target = (
        [],
        [],
        0,
        request.dir,
        request.method or "",
        op.target,
    )
    x.era, x.version, x.capabilities, x.client = "modern", "2026-07-28", None, Client(PEER.id)
    x.part, x.peer, x.http, x.state, x.t_end, x.cancel, x.ask = "", PEER, None, "waiting", None, None, None
    if answer is not None:
        x.state, x.t_end = "answered", answer.t
        op.t_end, op.outcome, op.open = answer.t, "complete", 0
        op.server += answer.t - request.t
    op.last = x
    return x


def link(to: str | None, grade: str = "exact", candidates: tuple[str, ...] = ()) -> Link:
    found = Link()
    found.to, found.ask, found.among, found.grade = to, None, None, grade
    found.evidence = ("state", "arguments")
    found.candidates, found.total, found.differences, found.strength = candidates, len(candidates), (), 3
    return found


def finding(
    at: Event, op: Operation | None = None, level: str = "must", rule: str = "mrtr/id-differs"
) -> Finding:
    f = Finding()
    f.id, f.rule, f.level, f.keyword, f.party = f"{rule}@{at.key}", rule, level, level, "client"
    f.at, f.also, f.operation, f.channel, f.t = at.key, (), op.key if op else "", at.channel, at.t
    f.saw, f.expected, f.path, f.text, f.place = (
        {"id": 1},
        "another id",
        "",
        "the retry has the same id",
        at.place,
    )
    f.provisional, f.because = False, ""
    return f


def batch(*items: Any, **operations: Operation) -> Batch:
    """A batch of events, exchanges and findings; a message's exchange and operation are told from the exchanges."""
    b = Batch()
    for x in (i for i in items if isinstance(i, Exchange)):
        b.exchanges[x.key] = x
        b.operations[x.operation.key] = x.operation
    for item in items:
        if isinstance(item, Message):
            of = next((x for x in b.exchanges.values() if item is x.request or item is x.answer), None)
            b.messages.append((item, of.key if of else "", of.operation.key if of else ""))
            b.channels[item.channel] = Channel(item.channel, "stdio")
        elif isinstance(item, NonMessage | Signal):
            b.events.append(item)
        elif isinstance(item, Finding):
            b.findings.append(item)
    return b

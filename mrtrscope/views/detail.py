"""All that is known of one operation: rows of the store, and the messages themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mrtrscope.link.facts import A2A
from mrtrscope.store.bodies import fetch
from mrtrscope.store.reader import Store
from mrtrscope.views import parts
from mrtrscope.views.peers import Peers
from mrtrscope.views.scene import FindingDetail, LinkDetail, OperationDetail, RoundDetail, Said
from mrtrscope.wire.events import Event, Message

if TYPE_CHECKING:
    from mrtrscope import model

# Operations whose messages are fetched together, as one look at a journal serves all of them.
_BATCH = 32 << 20  # bytes of their messages
_MOST = 5000
_INNER, _HOPS = 64, 4  # how many questions or hops of one operation are drawn, and how many gateways deep


def detail(store: Store, op: str) -> OperationDetail | None:
    """The operation with this number; None when there is none."""
    operation = store.operation(op)
    return None if operation is None else next(details(store, [operation]))


load = detail


def details(store: Store, operations: Iterable[model.Operation]) -> Iterator[OperationDetail]:
    """Several operations in the order given; all of them with `details(store, store.operations())`."""
    return (found for found, _, _, _ in whole(store, operations))


type Whole = tuple[OperationDetail, model.Operation, dict[str, model.Message], dict[str, Event]]


def whole(store: Store, operations: Iterable[model.Operation]) -> Iterator[Whole]:
    """The same, each with its row, the rows of its messages, and the messages themselves, by number."""
    batch: list[_Family] = []
    size, peers = 0, Peers(store)
    for operation in operations:
        batch.append(_Family(store, operation))
        size += batch[-1].size
        if size > _BATCH or len(batch) >= _MOST:
            yield from _details(store, batch, peers)
            batch, size = [], 0
    yield from _details(store, batch, peers)


class _Family:
    """An operation with those that are drawn with it: questions nested in it, and its hops with theirs."""

    def __init__(self, store: Store, operation: model.Operation, depth: int = 0) -> None:
        self.operation = operation
        self.rows = {row.m: row for row in store.messages(operation.id)}
        self.nested = [_Family(store, found, depth) for found in _found(store, operation.nested)]
        hops = operation.hops if depth < _HOPS else []
        self.hops = [_Family(store, found, depth + 1) for found in _found(store, hops)]
        inner: int = sum(one.size for one in self.nested + self.hops)
        self.size: int = inner + sum(row.size for row in self.rows.values())

    def messages(self) -> Iterator[str]:
        """The numbers of all messages."""
        yield from self.rows
        for one in self.nested + self.hops:
            yield from one.messages()

    def all(self) -> Iterator[_Family]:
        """Itself, and all that is drawn with it."""
        yield self
        for one in self.nested + self.hops:
            yield from one.all()

    def findings(self, store: Store) -> Iterator[model.Finding]:
        """What is found in all that is drawn."""
        if self.operation.findings:
            yield from store.findings(self.operation.id)
        for one in self.nested + self.hops:
            yield from one.findings(store)


def _found(store: Store, names: list[str]) -> Iterator[model.Operation]:
    return (found for name in names[:_INNER] if (found := store.operation(name)) is not None)


def _details(store: Store, batch: list[_Family], peers: Peers) -> Iterator[Whole]:
    texts = fetch(store, (m for one in batch for m in one.messages()))
    peers.look(inner.operation for one in batch for inner in one.all())
    for one in batch:
        yield _detail(store, one, texts, peers), one.operation, one.rows, texts


def _detail(store: Store, family: _Family, texts: dict[str, Event], peers: Peers) -> OperationDetail:
    operation, rows = family.operation, family.rows
    said = {m: _said(row, texts.get(m)) for m, row in rows.items()}
    rounds = [_round(store, one, rows, said) for one in operation.rounds if one.request in said]
    client, server = peers.names(operation, texts)
    if operation.kind == A2A:
        parts.of_agent(rounds)
    inner, taken = _inner(family, said, rounds), set[str]()
    if operation.task is not None:
        taken = {row.exchange for row in rows.values() if row.exchange} - {
            one.request for one in operation.rounds
        }
    for one in family.nested:
        inner += _detail(store, one, texts, peers).rounds
    return OperationDetail(
        id=operation.id, kind=operation.kind, channel=operation.channel, method=operation.method,
        target=operation.target, outcome=operation.outcome, t=operation.t, server_time=operation.times.server,
        waiting=operation.times.waiting, total=operation.times.total, rounds=rounds,
        attached=[
            said[m] for m in operation.attached
            if m in said and not _on_a_stream(rows[m], operation) and rows[m].exchange not in taken
        ],
        findings=[_finding(found) for found in sorted(family.findings(store), key=_weight)],
        client=client, server=server, era=operation.rounds[0].era if operation.rounds else "",
        hops=[_detail(store, one, texts, peers) for one in family.hops], inner=inner, end=store.end(),
    )  # fmt: skip


def _inner(family: _Family, said: dict[str, Said], rounds: list[RoundDetail]) -> list[RoundDetail]:
    """The requests about a task, as rounds of their own kind."""
    if family.operation.task is None:
        return []
    rows, of = family.rows, {one.request for one in family.operation.rounds}
    requests = [m for m, row in rows.items() if row.exchange == m and m not in of]
    asked = []
    for m in requests:
        rest = [said[n] for n, row in rows.items() if row.exchange == m and n != m]
        answer = next((one for one in rest if one.kind in ("response", "error")), None)
        asked.append(RoundDetail(said[m], answer, [one for one in rest if one is not answer]))
    return parts.of_task(asked, rounds[-1] if rounds else None)


def _said(row: model.Message, event: Event | None) -> Said:
    body = event.body if isinstance(event, Message) else None
    return Said(row.m, row.t, row.dir, row.kind, body, row.status)


def _round(
    store: Store, one: model.Round, rows: dict[str, model.Message], said: dict[str, Said]
) -> RoundDetail:
    link = one.link
    return RoundDetail(
        said[one.request],
        said.get(one.answer or ""),
        [
            said[m]
            for m, row in rows.items()
            if row.exchange == one.request and m not in (one.request, one.answer)
        ],
        None
        if link is None
        else LinkDetail(link.to, link.grade, link.evidence, link.candidates, link.differences),
        one.state,
        store.http_status(one.request) if one.answer is None else None,
    )


def _on_a_stream(row: model.Message, operation: model.Operation) -> bool:
    """Whether the message already stands among the notes of a round."""
    return any(row.exchange == one.request for one in operation.rounds)


def _weight(found: model.Finding) -> tuple[int, float]:
    """The worst first, those in order of time."""
    return {"must": 0, "should": 1}.get(found.level, 2), found.t


def _finding(found: model.Finding) -> FindingDetail:
    return FindingDetail(
        found.rule, found.level, found.party, found.at, found.text, found.also, found.saw, found.expected,
        found.rule_source, found.keyword, found.path,
    )  # fmt: skip

"""The one writer: a batch of the pipeline, its checkpoint and how far the journals were read, in one transaction.

Rows are plain tuples handed to `executemany`; a million messages pass here, so nothing is looked up that is at hand.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlite_utils import Database

from mrtrscope.link.facts import Exchange, Operation
from mrtrscope.link.tried import story
from mrtrscope.pipeline import Batch, Present
from mrtrscope.rules.context import Finding
from mrtrscope.store import schema
from mrtrscope.store.memory import SqliteMemory
from mrtrscope.store.names import MessageIds, Names, split_key
from mrtrscope.store.ranks import Ranks
from mrtrscope.store.rows import (
    EDITED_MARK,
    event_row,
    exchange_row,
    finding_row,
    message_row,
    operation_row,
)
from mrtrscope.store.scout import Secrecy
from mrtrscope.store.text import plain, to_json
from mrtrscope.wire.events import Event, Message

MESSAGE = f"insert into messages values ({', '.join('?' * len(schema.TABLES['messages']))})"
EVENT = f"insert into events values ({', '.join('?' * len(schema.TABLES['events']))})"
EXCHANGE = f"insert or replace into exchanges values ({', '.join('?' * len(schema.TABLES['exchanges']))})"
FINDING = f"insert or replace into findings values ({', '.join('?' * len(schema.TABLES['findings']))})"
OPERATION = (
    f"insert into operations values ({', '.join('?' * len(schema.TABLES['operations']))}) on conflict(id) do update set"
    " kind = excluded.kind, outcome = excluded.outcome, t_end = excluded.t_end, server = excluded.server,"
    " waiting = excluded.waiting, count = excluded.count, within = excluded.within, hop = excluded.hop,"
    " more = excluded.more"
)
TESTED = "insert into tested values (?, ?, ?, 0) on conflict do update set n = n + excluded.n"
WAITING = 20_000  # values that the linker wants remembered, until they are written
CHANNEL = (
    "update channels set transport = ?, modern = ?, legacy = ?, initialized = ?, story = ?, known = ?"
    " where id = ?"
)


class Writer:
    """Writes batches into an open database whose tables are there."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.memory = SqliteMemory(db)
        self._journals = Names(db, "journals")
        self._channels = Names(db, "channels")
        self._clients = Names(db, "clients")
        self._ids = MessageIds(db, self._journals)
        self._secrecy = Secrecy(db.conn)
        self._wheres: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        self._ranks = {
            name: Ranks(db, name, column)
            for name, column in (("messages", "m"), ("events", "f"), ("operations", "op"))
        }

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is written, or nothing. IMMEDIATE: two writers never both read first and write then."""
        self.db.conn.execute("begin immediate")
        try:
            yield
            self.db.conn.execute("commit")
        except BaseException:
            self.db.rollback()
            self._forget()
            raise
        self._ids.turn()

    def _forget(self) -> None:
        """What is known of the tables is not so any more."""
        for names in (self._journals, self._channels, self._clients):
            names.forget()
        for ranks in self._ranks.values():
            ranks.forget()
        self.memory.forget()
        self._ids.forget()
        self._secrecy.forget()
        self._wheres.clear()

    def reset(self, meta: Mapping[str, str | bytes]) -> None:
        """Empty tables, for this code; the caller has begun a transaction."""
        schema.create(self.db)
        self._forget()
        self.memory.begin()
        self.set_meta({**schema.versions(), **meta})

    def set_meta(self, values: Mapping[str, str | bytes]) -> None:
        self.db.conn.executemany("insert or replace into meta values (?, ?)", list(values.items()))

    def write(self, batch: Batch) -> None:
        """All rows of a batch; inside a transaction."""
        self._write_events(batch.events)  # first: a connection's first event is rarely a message
        started = self._write_messages(batch.messages)
        self._secrecy.write(batch, started)
        execute = self.db.conn.executemany
        if batch.channels:
            execute(CHANNEL, [
                (c.transport, c.modern, c.legacy, c.initialized, to_json(story(c)), c.known,
                 self._channels(plain(name)))
                for name, c in batch.channels.items()
            ])  # fmt: skip
        if batch.exchanges:
            execute(EXCHANGE, list(self._exchanges(batch.exchanges)))
        if batch.operations:
            self._write_operations(batch.operations, started)
        if batch.findings:
            execute(FINDING, [self._finding(f) for f in batch.findings])
        for key, now in batch.edited.items():
            self._write_edited(key, now)
        if batch.tested:
            execute(TESTED, [(self._channels(plain(c)), rule, n) for (c, rule), n in batch.tested.items()])
        if self.memory.waiting >= WAITING:
            self.memory.flush()

    def _write_edited(self, key: str, now: list[Any] | None) -> None:
        """Mark a message that was changed on its way; nobody is blamed for it any more, see `rules.judge`."""
        execute, id = self.db.conn.execute, self._ids.get(key)
        if id is None or now is None:
            return
        kind, id_text, method, size = now
        (odd,) = execute("select oddities from messages where id = ?", (id,)).fetchone()
        if EDITED_MARK not in (odd or ""):
            odd = f"{odd[:-1]},{EDITED_MARK}]" if odd else f"[{EDITED_MARK}]"
        execute(
            "update messages set kind = ?, id_text = ?, method = ?, size = ?, oddities = ? where id = ?",
            (kind, id_text and plain(id_text), method and plain(method), size, odd, id),
        )
        journal, offset, part = split_key(key)
        at = (self._journals(plain(journal)), offset, part)
        execute("delete from findings where journal = ? and offset = ? and part = ?", at)
        execute(
            "delete from findings where operation = (select operation from messages where id = ?)"
            " and instr(also, ?)",
            (id, to_json(key)),
        )

    def save(self) -> str:
        """The rows and what the linker remembers belong to the checkpoint that the caller writes now, with these marks
        of how far they go."""
        self.db.conn.execute("update tested set saved = n")
        marks = {name: ranks.next_id() - 1 for name, ranks in self._ranks.items() if name != "operations"}
        return json.dumps(marks | {"remembered": self.memory.save()})

    def rewind(self) -> None:
        """Take back the rows that are ahead of the checkpoint.

        Rows of messages and events are only ever added. Those of exchanges, operations and findings that are older
        than the checkpoint may say what came after it: they will be told the same again, as it was the truth.
        """
        row = self.db.conn.execute("select value from meta where key = 'marks'").fetchone()
        marks = json.loads(row[0]) if row else {"messages": 0, "events": 0, "remembered": 0}
        if set(marks) != {"messages", "events", "remembered"} or not all(
            type(mark) is int and mark >= 0 for mark in marks.values()
        ):
            raise ValueError("no marks of a checkpoint")
        self._forget()
        self.memory.rewind(marks.pop("remembered", 0))
        for table, column in (("operations", "id"), ("exchanges", "request")):
            self._take_back(table, column, marks.get("messages", 0))
        self._secrecy.take_back(marks.get("messages", 0))
        for table, mark in marks.items():
            self._take_back(table, "id", mark)
        self.db.conn.execute("update tested set n = saved")

    def _take_back(self, table: str, column: str, mark: int) -> None:
        ranks = self._ranks.get(table)
        if ranks is not None:
            ranks.take_back(mark)
        self.db.conn.execute(f"delete from {table} where {column} > ?", (mark,))
        if ranks is not None:
            ranks.settle()

    def write_present(self, present: Present) -> None:
        """What is open and undecided now, in place of what was said last; inside a transaction."""
        self.db.conn.execute("delete from present")
        self.db.conn.execute("delete from findings where provisional")
        outcomes = [(id, outcome) for key, outcome in present.outcomes.items() if (id := self._ids.get(key))]
        self.db.conn.executemany("insert into present values (?, ?)", outcomes)
        self.db.conn.executemany(
            FINDING.replace("or replace", "or ignore"), [self._finding(f) for f in present.findings]
        )

    def _where(self, event: Event) -> tuple[int, int, int]:
        """Journal, channel and client of an event, as numbers."""
        key = (event.journal, event.channel, event.peer.id)
        found = self._wheres.get(key)
        if found is None:
            if len(self._wheres) > 10_000:
                self._wheres.clear()
            journal, channel = self._journals(plain(event.journal)), self._channels(plain(event.channel))
            found = self._wheres[key] = (journal, channel, self._client(event))
        return found

    def _client(self, event: Event) -> int:
        """The client as a number; a new one gets a row."""
        peer = event.peer
        known = self._clients.known(plain(peer.id))
        if known is not None:
            return known
        made = self._clients(plain(peer.id))
        self.db.conn.execute(
            "update clients set transport = ?, address = ?, first = ? where id = ?",
            (peer.transport, plain(peer.address), event.offset, made),
        )
        return made

    def _write_messages(self, messages: list[tuple[Message, str, str]]) -> int:
        """Returns the id that the first of them got."""
        ranks, ids = self._ranks["messages"], self._ids
        first = ranks.next_id()
        for id, (message, _, _) in enumerate(messages, first):
            ids.put(message.key, id)
        if messages:
            numbers = ranks.give([(message.order, first + i) for i, (message, _, _) in enumerate(messages)])
            get = ids.get
            rows = [
                message_row(message, id, number, get(exchange), get(operation), self._where(message))
                for id, (number, (message, exchange, operation)) in enumerate(
                    zip(numbers, messages, strict=True), first
                )
            ]
            self.db.conn.executemany(MESSAGE, rows)
            ranks.settle()
        return first

    def _write_events(self, events: list[Any]) -> None:
        if not events:
            return
        ranks = self._ranks["events"]
        first = ranks.next_id()
        numbers = ranks.give([(event.order, first + i) for i, event in enumerate(events)])
        rows = [
            event_row(event, id, number, self._where(event))
            for id, (number, event) in enumerate(zip(numbers, events, strict=True), first)
        ]
        self.db.conn.executemany(EVENT, rows)
        ranks.settle()

    def _exchanges(self, exchanges: dict[str, Exchange]) -> Iterator[tuple[Any, ...]]:
        for key, exchange in exchanges.items():
            request = self._ids.get(key)
            if request is not None:
                yield exchange_row(exchange, request, self._ids)

    def _write_operations(self, operations: dict[str, Operation], started: int) -> None:
        ranks, get = self._ranks["operations"], self._ids.get
        found = [(id, operation) for key, operation in operations.items() if (id := get(key)) is not None]
        new = [(_order(operation), id) for id, operation in found if id >= started]
        numbers = dict(zip((id for _, id in new), ranks.give(new), strict=True))
        rows = [
            operation_row(
                operation, id, numbers.get(id, 0), self._channels(plain(operation.channel)), self._ids
            )
            for id, operation in found
        ]
        self.db.conn.executemany(OPERATION, rows)
        ranks.settle()

    def _finding(self, finding: Finding) -> tuple[Any, ...]:
        journal, offset, part = split_key(finding.at)
        return finding_row(
            finding,
            (self._journals(plain(journal)), offset, part),
            self._ids.get(finding.operation),
            self._channels(plain(finding.channel)),
        )


def _order(operation: Operation) -> tuple[int, str, int, int]:
    """Operations are numbered as their first requests are."""
    return (operation.t, *split_key(operation.key))

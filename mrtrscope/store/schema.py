"""The tables of `scope.db`, and which database can be gone on with.

There are no migrations. Everything here is worked out from the journals; when the code that did it is another, the
tables are dropped and filled again. "Another" is told by a digest of that code's text, so nobody has to remember to
count up a version.

Ids are row numbers in order of arrival; what lasts is (journal, offset, part), the permanent key. `m`, `f` and `op` are
ranks in order of time, kept right by the writer in the same transaction. Names that repeat (channels, clients,
journals) are rows of their own; the views `message`, `operation` and `finding` spell them out for people who come
with SQL.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

TABLES: dict[str, dict[str, type]] = {
    # meta: versions, salt, the checkpoint of the pipeline, what was read
    "meta": {"key": str, "value": bytes},
    "journals": {"id": int, "name": str},
    # known: 0 for an address that carried nothing of ours
    "channels": {"id": int, "name": str, "transport": str, "modern": int, "legacy": int, "initialized": int,
                 "story": str, "known": int},
    # first: where the earliest of its events begins in the journal
    "clients": {"id": int, "name": str, "transport": str, "address": str, "first": int},
    # frames: offset of the one frame it was cut from, or several as text with blanks between
    # line, flow, event: place in a transcript
    "messages": {
        "id": int, "m": int, "journal": int, "offset": int, "part": int, "t": int, "channel": int, "client": int,
        "dir": str, "lane": str, "kind": str, "id_text": str, "method": str, "exchange": int, "operation": int,
        "frames": bytes, "size": int, "oddities": str, "line": int, "flow": int, "event": int, "http": int,
        "status": int,
    },
    # what: name of the signal, or "non-message"
    "events": {
        "id": int, "f": int, "journal": int, "offset": int, "part": int, "t": int, "channel": int, "client": int,
        "dir": str, "lane": str, "what": str, "detail": str, "counts": int, "size": int, "line": int, "flow": int,
        "event": int, "http": int,
    },
    # request: id of its message; that is also the id of the exchange; candidates: places, see `MessageIds.places`
    # tool_error: 1 where the answer is a final result that says isError, null elsewhere
    "exchanges": {
        "request": int, "operation": int, "answer": int, "cancel": int, "state": str, "t": int, "t_end": int,
        "dir": str, "method": str, "target": str, "era": str, "version": str, "asks": str, "grade": str,
        "link_to": int, "evidence": str, "candidates": str, "total": int, "differences": str, "part": str,
        "tool_error": int,
    },
    # id: that of its first request's message; within: the operation that it was asked in; hop: that it is a hop of
    # more: `Operation.more` as JSON
    "operations": {
        "id": int, "op": int, "channel": int, "kind": str, "method": str, "target": str, "outcome": str, "t": int,
        "t_end": int, "server": int, "waiting": int, "count": int, "within": int, "hop": int,
        "more": str,
    },
    # present: what the last `finish()` said of operations that are not settled
    "present": {"operation": int, "outcome": str},
    "findings": {
        "id": str, "rule": str, "level": str, "keyword": str, "party": str, "at": str, "journal": int, "offset": int,
        "part": int, "also": str, "operation": int, "channel": int, "t": int, "saw": str, "expected": str,
        "text": str, "path": str, "because": str, "provisional": int, "line": int, "flow": int, "event": int,
    },
    # saved: what n was at the checkpoint
    "tested": {"channel": int, "rule": str, "n": int, "saved": int},
    # memory: what the linker remembers for ever; `many` leads to all values of a key, `one` to the last
    "remembered": {"id": int, "value": str},
    "many": {"space": int, "key": bytes, "seq": int, "id": int},
    "one": {"space": int, "key": bytes, "id": int, "before": int},
    "spaces": {"id": int, "name": str},
    # what is secret by its name, see `secrecy`; back: how far its longest word, the anchor, is from its beginning
    "secrets": {"anchor": int, "digest": bytes, "back": int, "size": int, "why": str},
    # form fields whose schema says so; since: id of the message that did
    "secret_fields": {"name": str, "since": int},
}  # fmt: skip

KEYS: dict[str, str | tuple[str, ...]] = {
    "meta": "key", "findings": "id", "exchanges": "request", "present": "operation", "tested": ("channel", "rule"),
    "many": ("space", "key", "seq"), "one": ("space", "key"), "secrets": ("anchor", "digest"),
    "secret_fields": "name",
}  # fmt: skip

UNIQUE = (("journals", "name"), ("channels", "name"), ("clients", "name"), ("spaces", "name"))
INDEXES = (
    ("messages", "m"), ("messages", "operation"), ("events", "f"), ("operations", "op"), ("exchanges", "operation"),
    ("findings", "operation"),
)  # fmt: skip

VIEWS = {
    "message": """
        select 'm' || m.m as m, m.t / 1e6 as t, c.name as channel, k.name as client, m.dir, m.kind, m.id_text as id,
          m.method, 'op' || o.op as operation, 'm' || x.m as exchange, m.status, m.size, m.oddities,
          j.name || ':' || m.offset || iif(m.part, '.' || m.part, '') as key
        from messages m join channels c on c.id = m.channel join clients k on k.id = m.client
          join journals j on j.id = m.journal left join operations o on o.id = m.operation
          left join messages x on x.id = m.exchange order by m.m""",
    "operation": """
        select 'op' || o.op as operation, o.t / 1e6 as t, c.name as channel, o.kind, o.method, o.target,
          coalesce(p.outcome, o.outcome) as outcome, o.count as rounds, o.server / 1e6 as server,
          o.waiting / 1e6 as waiting, (o.t_end - o.t) / 1e6 as total,
          (select count(*) from findings f where f.operation = o.id) as findings
        from operations o join channels c on c.id = o.channel left join present p on p.operation = o.id
        order by o.op""",
    "finding": """
        select f.rule, f.level, f.party, coalesce('m' || m.m, 'f' || e.f) as at, 'op' || o.op as operation,
          c.name as channel, f.t / 1e6 as t, f.text, f.saw, f.expected
        from findings f join channels c on c.id = f.channel left join operations o on o.id = f.operation
          left join messages m on m.journal = f.journal and m.offset = f.offset and m.part = f.part
          left join events e on m.id is null and e.journal = f.journal and e.offset = f.offset and e.part = f.part
        order by f.t""",
}


def create(db: Database) -> None:
    """Drop whatever tables there are and make them anew, empty; the caller has begun a transaction."""
    drop(db)
    for name, columns in TABLES.items():
        key = KEYS.get(name, "id")
        parts = [f'"{column}" {_SQL[kind]}' for column, kind in columns.items()]
        if isinstance(key, tuple):
            parts.append(f"primary key ({', '.join(key)})")
        else:
            parts = [part + " primary key" if part.startswith(f'"{key}"') else part for part in parts]
        rowid = "" if columns.get(key if isinstance(key, str) else "") is int else " without rowid"
        db.execute(f'create table "{name}" ({", ".join(parts)}){rowid}')
    for name, column in UNIQUE:
        db.table(name).create_index([column], unique=True)
    db.table("messages").create_index(["journal", "offset", "part"], unique=True)
    db.table("events").create_index(["journal", "offset", "part"])
    for name, column in INDEXES:
        db.table(name).create_index([column])
    db.table("findings").create_index(["journal", "offset", "part"])
    for name in ("within", "hop"):  # of few operations
        db.execute(f"create index operations_{name} on operations({name}) where {name} is not null")
    db.execute("create index findings_provisional on findings(provisional) where provisional")
    db.execute("create index events_http on events(journal, http) where http is not null")
    for name, sql in VIEWS.items():
        db.create_view(name, sql)


_SQL = {int: "integer", str: "text", bytes: "blob"}


def drop(db: Database) -> None:
    """Remove every table and view, whoever made it."""
    for kind, names in (("view", db.view_names()), ("table", db.table_names())):
        for name in names:
            if not name.startswith("sqlite_"):
                db.execute(f'drop {kind} "{name.replace(chr(34), chr(34) * 2)}"')


PARTS = {
    "schema": ("store", "analyse.py", "analyser.py"),
    "linker": (
        "frames.py",
        "journal.py",
        "tail.py",
        "timeline.py",
        "marks.py",
        "sources",
        "wire",
        "link",
        "snapshot.py",
        "pipeline.py",
    ),
    "rules": ("rules",),
}


@functools.cache
def versions() -> dict[str, str]:
    """Part of the code -> digest of its text. A database made by another cannot be gone on with."""
    root = Path(__file__).resolve().parent.parent
    return {part: _digest(root, names) for part, names in PARTS.items()}


def _digest(root: Path, names: Iterable[str]) -> str:
    h = hashlib.blake2b(digest_size=8)
    for name in names:
        base = root / name
        for path in sorted(base.glob("*.[pj][ys]*")) if base.is_dir() else [base]:
            h.update(path.name.encode() + b"\0" + (path.read_bytes() if path.is_file() else b"") + b"\0")
    return h.hexdigest()

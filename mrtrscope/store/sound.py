"""Whether a database is one that this code wrote and can go on with.

A capture may come from somebody else, or from a disk that failed: versions alone prove nothing. Everything in
`scope.db` can be made anew, so whatever looks odd here is.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from typing import TYPE_CHECKING, Any

from mrtrscope.store import schema
from mrtrscope.store.names import split_key

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store

ODD = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError, RuntimeError, sqlite3.Error,
)  # fmt: skip
"""What code meets that takes a damaged database for a sound one."""

# Primary result codes of SQLite that speak of what is in the file; the others of disk, rights, locks, memory.
_CONTENT = frozenset({
    sqlite3.SQLITE_ERROR, sqlite3.SQLITE_INTERNAL, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_TOOBIG,
    sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_NOTADB,
})  # fmt: skip

_TEXT = ("seen", "trouble", "positions", "marks", "files", "sum", *schema.PARTS)
_BYTES = ("salt", "checkpoint")
_JSON: dict[str, type] = {"trouble": list, "positions": list, "marks": dict, "files": dict}
_SAVED = ("checkpoint", "positions", "marks", "files")
_KINDS: dict[type, tuple[str, ...]] = {
    int: ("integer",),
    str: ("text", "blob"),
    bytes: ("blob", "text", "integer"),
}


_NAMES = {"journal": "journals", "channel": "channels", "client": "clients"}  # column -> where its names are
_MAY_LACK = {
    "channels": ("transport", "modern", "legacy", "initialized", "story", "known"),
    "clients": ("transport", "address", "first"),
    "messages": ("id_text", "method", "exchange", "operation", "oddities", "line", "flow", "event", "http", "status"),
    "events": ("detail", "line", "flow", "event", "http"),
    "exchanges": (
        "operation", "answer", "cancel", "t_end", "asks", "grade", "link_to", "evidence", "candidates", "total",
        "differences", "part", "tool_error",
    ),
    "operations": ("t_end", "server", "waiting", "within", "hop", "more"),
    "findings": ("operation", "saw", "expected", "because", "line", "flow", "event"),
    "one": ("before",),
}  # fmt: skip


def of_content(error: BaseException) -> bool:
    """Whether it may come of what is in the database, and not of disk, rights or memory."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return code is None or code & 0xFF in _CONTENT
    return True


def meta(conn: sqlite3.Connection, *, checkpoint: bool = True) -> dict[str, Any]:
    """What the database says of itself; empty when it is not of this code's form, or damaged.

    Every value is of its type, and JSON where it should be. `checkpoint=False` leaves that out, unread.
    """
    if not has_form(conn):
        return {}
    chosen = "" if checkpoint else " where key <> 'checkpoint'"
    found = dict(conn.execute(f"select key, value from meta{chosen}").fetchall())
    if not all(type(found.get(name, "")) is str for name in _TEXT):
        return {}
    if not all(type(found.get(name, b"")) is bytes for name in _BYTES):
        return {}
    for name, kind in _JSON.items():
        if name in found and not isinstance(_parsed(found[name]), kind):
            return {}
    if not all(isinstance(line, str) for line in json.loads(found.get("trouble", "[]"))):
        return {}
    summed = checkpoint and found.keys() & {"checkpoint", "sum"}
    return {} if summed and found.get("sum") != total(found) else found


def total(meta: dict[str, Any]) -> str:
    """A sum over the checkpoint and what belongs to it: a disk's mistakes in it are not gone on with."""
    h = hashlib.blake2b(digest_size=16)
    for name in _SAVED:
        value = meta.get(name, "")
        data = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        h.update(b"%d:" % len(data))
        h.update(data)
    return h.hexdigest()


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def has_form(conn: sqlite3.Connection) -> bool:
    """Whether tables and views are those that this code makes."""
    found: dict[str, list[str]] = {}
    for kind, name, column in conn.execute(
        "select m.type, m.name, p.name from sqlite_master m, pragma_table_info(m.name) p"
        " where m.type in ('table', 'view') and m.name not like 'sqlite_%' order by m.name, p.cid"
    ):
        found.setdefault(f"{kind} {name}", []).append(column)
    wanted = {f"table {name}": list(columns) for name, columns in schema.TABLES.items()}
    extra = {name for name in found if name.startswith("table ")} - wanted.keys()
    return not extra and all(found.get(name) == columns for name, columns in wanted.items())


def damage(store: Store) -> str:
    """The first thing wrong with the rows, "" when they are sound: asked when something else failed over them."""
    conn = store.db.conn
    try:
        fault = conn.execute("pragma quick_check(1)").fetchone()
        if fault is not None and fault[0] != "ok":
            return str(fault[0]).splitlines()[0]
        for table, columns in schema.TABLES.items():
            for column, kind in columns.items():
                nothing = ("null",) if column in _MAY_LACK.get(table, ()) else ()
                allowed = ", ".join(f"'{name}'" for name in (*_KINDS[kind], *nothing))
                wrong = f'typeof("{column}") not in ({allowed})'
                if column in _NAMES:
                    wrong += f' or "{column}" not in (select id from {_NAMES[column]})'
                if conn.execute(f'select 1 from "{table}" where {wrong} limit 1').fetchone():
                    return f"{table}.{column} has values that make no sense"
        return _unreadable(store)
    except ODD as error:
        return f"{type(error).__name__}: {error}"


def _unreadable(store: Store) -> str:
    from mrtrscope.store.reader import Store as Full

    whole = Full(store.db, store.source)
    for message in whole.messages():
        for frame in message.frames:
            split_key(frame)
    for rows in (whole.operations(), whole.findings(), whole.channels()):
        for _ in rows:
            pass
    return ""

"""Captures made for tests: journals with times of their own, and what is in the rows, so that two can be compared."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.traffic import stdio
from mrtrscope.recorder import Journal
from mrtrscope.store.reader import Store

Line = tuple[int, str, bytes]


def journal(capture: Path, lines: Iterable[Line] = (), channel: str = "srv", how: str = "wrap") -> Journal:
    """A journal of one process in a capture folder, begun now, with lines of (microseconds since then, direction, text)
    in it; the caller may go on and has to close it."""
    made = Journal.create(str(capture), how, channel)
    made.append("0i", "open", made._mono, b"{}")
    append(made, lines)
    return made


def append(made: Journal, lines: Iterable[Line]) -> None:
    for t, dir, text in lines:
        made.append("0i" if dir == "c2s" else "0o", "data", made._mono + t * 1000, text + b"\n")


def recorded(capture: Path, requests: int = 40, seed: int = 7, channel: str = "srv") -> list[Line]:
    """A finished capture of a session; returns its lines."""
    lines = list(stdio(requests, seed))
    journal(capture, lines, channel).close()
    return lines


def now(made: Journal) -> int:
    """The microsecond of this journal's clock."""
    return (time.monotonic_ns() - made._mono) // 1000


def call(id: Any, text: str = "tools/call") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": text, "params": {"name": "x"}}).encode()


def content(store: Store) -> dict[str, Any]:
    """All that the rows say, by permanent keys and numbers; equal for equal captures, however they were read."""
    return {
        "messages": [m.model_dump() for m in store.messages()],
        "operations": [o.model_dump() for o in store.operations()],
        "findings": [f.model_dump() for f in store.findings()],
        "channels": [c.model_dump() for c in store.channels()],
        "tested": store.tested(),
        "counts": store.counts(),
        "events": store.db.conn.execute(
            "select e.f, j.name, e.offset, e.part, e.t, e.dir, e.lane, e.what, e.detail, e.counts, e.size, e.http"
            " from events e join journals j on j.id = e.journal order by e.f"
        ).fetchall(),
        "memory": [
            store.db.conn.execute(sql).fetchall()
            for sql in (
                "select s.name, k.key, k.seq, v.value from many k join remembered v on v.id = k.id"
                " join spaces s on s.id = k.space order by 1, 2, 3",
                "select s.name, k.key, v.value from one k join remembered v on v.id = k.id"
                " join spaces s on s.id = k.space order by 1, 2",
            )
        ],
    }

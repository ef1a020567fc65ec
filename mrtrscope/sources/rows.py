"""HTTP exchanges as transcripts, flow files and HARs tell of them, turned into frames in order of time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from mrtrscope.frames import DATA, END, GAP, HEAD, OPEN, Frame

Headers = list[tuple[str, str]]
Record = tuple[int, str, str, bytes]  # time, lane, kind, payload


class Records(Protocol):
    """Something of a file that gives frames of its own, in order of time; `flow` is what its place is called there."""

    flow: int

    def records(self) -> Iterator[Record]: ...


class Row:
    """One exchange. Times are microseconds; `None` where nothing is known.

    number    unique in its file; names the lanes           flow   what its place is called in the file
    conn      number of the TCP connection                  client   its address
    request   method, url, http, headers, body              answer   status, reason, http, headers, None without one
    chunks    of the answer, with their times               decoded  bodies have lost their content coding
    by        who ended it; "open": nobody did              error    what went wrong
    lost      of the answer's body nothing was kept, though there may have been one
    """

    __slots__ = (
        "answer", "body", "by", "chunks", "client", "conn", "decoded", "error", "flow", "flow_id",
        "headers", "http", "lost", "method", "number", "ours", "t", "t_answer", "t_end", "t_sent", "url",
    )  # fmt: skip

    def __init__(self, number: int, flow: int, t: int) -> None:
        self.number = number
        self.flow = flow
        self.flow_id = ""
        self.conn: int | None = None
        self.client = ""
        self.t = t
        self.t_sent: int | None = None
        self.method = ""
        self.url = ""
        self.http = ""
        self.headers: Headers = []
        self.body = b""
        self.decoded = False
        self.answer: tuple[int, str, str, Headers] | None = None
        self.t_answer: int | None = None
        self.chunks: list[tuple[int, bytes]] = []
        self.ours = False
        self.t_end: int | None = None
        self.by = "server"
        self.error = ""
        self.lost = False

    def records(self) -> Iterator[Record]:
        """Its frames, in order; no time is before the one in front of it."""
        now = self.t
        q, a = f"{self.number}q", f"{self.number}a"
        opened: dict[str, Any] = {"client": self.client} if self.client else {}
        if self.conn is not None:
            opened["conn"] = self.conn
        if self.flow_id:
            opened["flow"] = self.flow_id
        if opened:
            yield now, q, OPEN, _json(opened)
        head: dict[str, Any] = {
            "method": self.method,
            "url": self.url,
            "http": self.http,
            "headers": self.headers,
        }
        yield now, q, HEAD, _json(self._told(head))
        now = max(now, self.t if self.t_sent is None else self.t_sent)
        if self.body:
            yield now, q, DATA, self.body
        yield now, q, END, _json({"by": "client"})
        if self.answer is not None:
            first = self.chunks[0][0] if self.chunks else now
            now = max(
                now, first if self.t_answer is None else min(self.t_answer, first if self.chunks else 1 << 62)
            )
            status, reason, http, headers = self.answer
            told: dict[str, Any] = {"status": status, "reason": reason, "http": http, "headers": headers}
            if self.ours:
                told["ours"] = True
            yield now, a, HEAD, _json(self._told(told))
            for t, data in self.chunks:
                now = max(now, t)
                yield now, a, DATA, data
        if self.lost:
            yield now, a, GAP, _json({"bytes": 0, "frames": 1, "why": "the file has no body of this answer"})
        if self.by != "open":
            now = max(now, now if self.t_end is None else self.t_end)
            end = {"by": self.by}
            if self.error:
                end["error"] = self.error
            yield now, a, END, _json(end)

    def _told(self, head: dict[str, Any]) -> dict[str, Any]:
        if self.decoded:
            head["decoded"] = True
        return head


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def frames(rows: Iterable[Records], name: str) -> Iterator[Frame]:
    """Frames of exchanges that overlap, in order of time; what came at one time stays in the order of the file."""
    records: list[tuple[int, int, int, str, str, bytes, dict[str, int]]] = []
    for nth, row in enumerate(rows):
        place = {"flow": row.flow}
        for n, (t, lane, kind, data) in enumerate(row.records()):
            records.append((t, nth, n, lane, kind, data, place))
    records.sort(key=lambda record: record[:3])
    offset = 0
    for number, (t, _, _, lane, kind, data, place) in enumerate(records):
        yield Frame(name, offset, number, t, lane, kind, data, place)
        offset += len(data) + 1

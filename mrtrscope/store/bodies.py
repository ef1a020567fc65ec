"""Fetches what the rows do not hold: the messages themselves, read again from the journal or transcript.

Rows say where a message stands. The frames of its lanes are handed to `wire` once more, from a place where it can
begin: on stdio the frames the message was cut from, on HTTP the first of its connection or exchange. So what is shown
is what was judged, decompressed and put together by the same code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mrtrscope.frames import Frame
from mrtrscope.journal import Header, NotAJournal, Reader, read_header
from mrtrscope.store.reader import Store
from mrtrscope.store.rows import EDITED_MARK
from mrtrscope.store.values import number
from mrtrscope.wire import jsonrpc
from mrtrscope.wire.events import EDITED, Event, Signal
from mrtrscope.wire.reader import Reader as Wire

FEW = 200  # messages for which pydantic's parser is not worth loading


class Wanted:
    """One event to be found.

    t       on the capture's clock (read by itself, a journal knows its own only)
    start   offset of a frame at or before the first that matters
    edited  whether something else was passed on, which the journal says further down
    """

    __slots__ = ("edited", "journal", "key", "lane", "name", "start", "t")

    def __init__(self, name: str, key: str, journal: str, lane: str, t: int, start: int) -> None:
        self.name = name
        self.key = key
        self.journal = journal
        self.lane = lane
        self.t = t
        self.start = start
        self.edited = False


def fetch(store: Store, names: Iterable[str]) -> dict[str, Event]:
    """Messages ("m3") and other events ("f12") in full, by number. What is not in the files any more is left out."""
    wanted = [found for name in dict.fromkeys(names) if (found := _wanted(store, name)) is not None]
    if not wanted:
        return {}
    if store.source.is_dir():
        return _of_journals(store, wanted)
    from mrtrscope.sources import open_source

    with open_source(store.source) as source:
        return _pick(source.frames(), wanted, lambda frame: True, source.headers())


def _wanted(store: Store, name: str) -> Wanted | None:
    table, letter = ("messages", "m") if name.startswith("m") else ("events", "f")
    frames = "x.frames, x.oddities" if table == "messages" else "null, null"
    row = store.db.conn.execute(
        f"select x.journal, j.name, x.offset, x.part, x.lane, x.t, x.http, x.client, {frames} from {table} x"
        f" join journals j on j.id = x.journal where x.{letter} = ?",
        (number(name, letter),),
    ).fetchone()
    if row is None:
        return None
    journal, journal_name, offset, part, lane, t, http, client, places, oddities = row
    key = f"{journal_name}:{offset}.{part}" if part else f"{journal_name}:{offset}"
    offsets = [int(place) for place in str(places or "").split()]
    start = _start(store, journal, http, client, offset) if http is not None or not offsets else offsets[0]
    found = Wanted(name, key, journal_name, lane, t, start)
    found.edited = EDITED_MARK in (oddities or "")
    return found


def _start(store: Store, journal: int, http: int | None, client: int, offset: int) -> int:
    """Offset of a frame at or before everything that matters for an event of this connection or exchange."""
    first = store.db.conn.execute("select first from clients where id = ?", (client,)).fetchone()[0]
    before = store.db.conn.execute(
        "select frames from messages where journal = ? and offset < ? order by offset desc limit 1",
        (journal, min(offset, first if first is not None else 0)),
    ).fetchone()
    return int(str(before[0]).split()[0]) if before else 0


def _of_journals(store: Store, wanted: list[Wanted]) -> dict[str, Event]:
    found: dict[str, Event] = {}
    for journal in sorted({one.journal for one in wanted}):
        here = [one for one in wanted if one.journal == journal]
        lanes = {lane_number(one.lane) for one in here}
        parts = _parts(store.source, journal)
        if parts:
            frames = _frames(parts, min(one.start for one in here))
            fits = partial(_on_lanes, lanes)
            found |= _pick(frames, here, fits, {journal: parts[0].raw})
    return found


def _on_lanes(numbers: set[str], frame: Frame) -> bool:
    return lane_number(frame.lane) in numbers


def lane_number(lane: str) -> str:
    """What the lanes of one process, connection or exchange have in common."""
    return lane.rstrip("abcdefghijklmnopqrstuvwxyz")


def _parts(capture: Path, journal: str) -> list[Header]:
    """The files of a journal, in order."""
    stem = journal.removesuffix(".mrj")
    found = []
    for path in (capture / "journals").glob("*.mrj"):
        if path.name.startswith(stem):
            try:
                header = read_header(path)
            except (OSError, NotAJournal):
                continue
            if header.name == journal:
                found.append(header)
    return sorted(found, key=lambda header: header.base)


def _frames(parts: list[Header], start: int) -> Iterator[Frame]:
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        if after is not None and after.base <= start:
            continue
        reader = Reader(part, max(0, start - part.base))
        try:
            while (frames := reader.read(final=True)) is not None:
                yield from frames
        finally:
            reader.close()


def _pick(
    frames: Iterator[Frame],
    wanted: list[Wanted],
    fits: Callable[[Frame], bool],
    headers: dict[str, dict[str, Any]],
) -> dict[str, Event]:
    """Feed frames until everything that is wanted came out."""
    missing = {one.key: one for one in wanted}
    found: dict[str, Event] = {}
    wire = Wire()
    for name, header in headers.items():
        wire.source(name, header)
    with jsonrpc.few() if len(wanted) <= FEW else contextlib.nullcontext():
        _feed(wire, frames, fits, missing, found)
    return found


def _feed(
    wire: Wire, frames: Iterator[Frame], fits: Callable[[Frame], bool], missing: dict[str, Wanted],
    found: dict[str, Event],
) -> None:  # fmt: skip
    waiting: set[str] = set()
    for frame in frames:
        if fits(frame):
            for event in wire.feed(frame):
                one = missing.pop(event.key, None)
                if one is not None:
                    event.t = one.t
                    found[one.name] = event
                    if one.edited:
                        waiting.add(one.key)
                elif waiting and type(event) is Signal and event.what == EDITED:
                    waiting -= set(event.detail["keys"])
            if not missing and not waiting:
                break

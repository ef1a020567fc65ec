"""Helpers of the tests of `sources`: the small transcripts of the repository, and what is read of them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from mrtrscope.sources import Source, open_source
from mrtrscope.wire.events import SSE_UNDELIVERED, STDERR, Event, Message, NonMessage, Signal
from mrtrscope.wire.reader import Reader
from tests.conftest import ROOT

TRANSCRIPTS = ROOT / "tests" / "data" / "transcripts"
COUNTS = {  # messages, non-messages, undelivered, stderr
    "52-stream-lost-and-asked-anew.json": (11, 1, 1, 0),
    "67-noise-on-stdout.jsonl": (4, 15, 0, 3),
    "77-batches.json": (17, 1, 0, 0),
    "79-bom-cr-and-blank-lines.jsonl": (4, 0, 0, 0),
    "85-event-stream-line-ends.json": (18, 0, 0, 0),
    "90-priming-pings-and-heartbeats.json": (4, 1, 0, 0),
    "95-compressed-both-ways.json": (5, 0, 0, 0),
    "98-content-types.json": (15, 1, 0, 0),
}


def read(source: Source) -> list[Event]:
    reader = Reader()
    for name, header in source.headers().items():
        reader.source(name, header)
    frames = list(source.frames())
    assert [f.t for f in frames] == sorted(f.t for f in frames)
    for journal in {f.journal for f in frames}:
        of_one = [f for f in frames if f.journal == journal]
        assert [f.number for f in of_one] == list(range(len(of_one)))
        assert all(a.offset + len(a.data) < b.offset for a, b in itertools.pairwise(of_one))
    return [event for frame in frames for event in reader.feed(frame)]


def events_of(path: Path) -> list[Event]:
    with open_source(path) as source:
        return read(source)


def counts(events: list[Event]) -> tuple[int, int, int, int]:
    return (
        sum(type(e) is Message for e in events),
        sum(type(e) is NonMessage and e.counts for e in events),
        sum(type(e) is Signal and e.what == SSE_UNDELIVERED for e in events),
        sum(type(e) is Signal and e.what == STDERR for e in events),
    )


def contents(events: list[Event], places: bool = True) -> list[Any]:
    """Messages and what stands in their place, in order of time."""
    found = [e for e in events if type(e) in (Message, NonMessage)]
    return [(e.t, e.dir, e.raw, e.place if places else None) for e in sorted(found, key=lambda e: e.order)]

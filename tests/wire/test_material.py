"""The large material beside the repository: all of it is read, and counted as its labels count."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from mrtrscope.sources import open_source
from mrtrscope.wire.events import SSE_UNDELIVERED, STDERR, Event, Message, NonMessage, Signal
from mrtrscope.wire.reader import Reader
from tests.conftest import SHARED

pytestmark = pytest.mark.shared

CASES: dict[str, Any] = {}
FILES: list[Path] = []
if SHARED is not None:
    CASES = yaml.safe_load((SHARED / "cases" / "expected.yaml").read_text(encoding="utf-8"))["files"]
    corpus = SHARED / "corpus"
    FILES = sorted([*corpus.glob("captures/**/*.jsonl*"), *corpus.glob("mutants/*.jsonl.gz")])
FLOWS = sorted(path for path in FILES if path.with_name(path.name.replace(".jsonl", ".mitm")).exists())
SLICES = 8


def events_of(path: Path) -> list[Event]:
    with open_source(path) as source:
        reader = Reader()
        for name, header in source.headers().items():
            reader.source(name, header)
        events = [event for frame in source.frames() for event in reader.feed(frame)]
        assert source.trouble == []
    keys = [event.key for event in events]
    assert len(set(keys)) == len(keys)
    return events


@pytest.mark.parametrize("name", CASES or ["none"])
def test_cases_are_counted_as_expected(name: str) -> None:
    assert SHARED is not None
    events, want = events_of(SHARED / "cases" / "inputs" / name), CASES[name]
    assert {
        "messages": sum(type(e) is Message for e in events),
        "non_messages": sum(type(e) is NonMessage and e.counts for e in events),
        "undelivered": sum(type(e) is Signal and e.what == SSE_UNDELIVERED for e in events),
    } == {key: want.get(key, 0) for key in ("messages", "non_messages", "undelivered")}
    assert want.get("stderr", 0) == sum(type(e) is Signal and e.what == STDERR for e in events)


@pytest.fixture(scope="module")
def labels() -> ModuleType:
    """The corpus's own reader."""
    assert SHARED is not None
    spec = importlib.util.spec_from_file_location("corpus_wire", SHARED / "corpus" / "tools" / "wire.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What we read, and the corpus's reader does not: several objects in one body, bad UTF-8. And the other way round: text
# in a body that says it is something else is no message (as the cases want it).
KNOWN = {"conf-everything/2026-07-28__server-stateless", "stdio.invalid-utf8__1", "stdio.invalid-utf8__2"}
OTHERS = {"http.wrong-content-type__1", "http.wrong-content-type__2"}


@pytest.mark.parametrize("slice", range(SLICES))
def test_corpus_has_the_same_messages_at_the_same_places_in_the_same_order(
    slice: int, labels: ModuleType
) -> None:
    for path in FILES[slice::SLICES]:
        found = sorted((e for e in events_of(path) if type(e) is Message), key=lambda e: e.order)
        got = [
            (e.dir, tuple(sorted((e.place or {}).items())))
            for e in found
            if e.batch is None or e.batch[0] == 0
        ]
        want = [
            (m.dir, tuple(sorted(m.loc.items())))
            for m in labels.messages(labels.rows(path))
            if is_message(m.obj)
        ]
        name = str(path)
        if any(part in name for part in KNOWN):
            assert Counter(got) > Counter(want), path
        elif any(part in name for part in OTHERS):
            assert sum((Counter(want) - Counter(got)).values()) == 1, path
        else:
            assert got == want, path


def is_message(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(is_message, value))
    return isinstance(value, dict) and bool({"method", "result", "error"} & value.keys())


@pytest.mark.parametrize("slice", range(SLICES))
def test_flow_files_hold_the_same_messages_as_transcripts(slice: int) -> None:
    """But for exchanges that went wrong: mitmproxy keeps nothing of streams that broke off."""
    for path in FLOWS[slice::SLICES]:
        flows = path.with_name(path.name.replace(".jsonl", ".mitm"))
        texts = []
        for one in (path, flows):
            found = [e for e in events_of(one) if type(e) is Message and e.http is not None]
            texts.append(Counter((e.dir, e.channel, e.raw) for e in found if not e.http.error))
        assert texts[0] == texts[1], path

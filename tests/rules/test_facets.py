"""What the judge remembers of a facet changes nothing that it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules import judge, registry
from mrtrscope.sources import open_source
from tests.conftest import SAMPLES, SHARED

Said = tuple[list[tuple[object, ...]], dict[tuple[str, str], int]]


def said(path: Path, remember: bool) -> Said:
    """Findings and counts of a capture, with or without what is remembered of facets."""
    pipeline = Pipeline(DictMemory(), b"salt")
    assert pipeline.judge is not None
    with open_source(path) as source:
        for name, header in source.headers().items():
            pipeline.source(name, header)
        for frame in source.frames():
            pipeline.feed(frame)
            if not remember:
                pipeline.judge._sound.clear()
    batch = pipeline.drain()
    return [(f.id, f.level, f.at, f.saw, f.text) for f in batch.findings], batch.tested


def captures() -> Iterator[Path]:
    yield from sorted(SAMPLES.glob("sample-*"))
    if SHARED is not None:
        yield from sorted((SHARED / "corpus" / "mutants").glob("*elicitation*"))[:8]
        yield from sorted((SHARED / "corpus" / "mutants").glob("mrtr.response*"))[:6]
        yield SHARED / "corpus" / "captures" / "truth" / "http-100" / "capture.jsonl.gz"
        yield from sorted((SHARED / "corpus" / "captures" / "truth" / "stdio-100").glob("*.jsonl.gz"))
        yield from sorted((SHARED / "corpus" / "mutants").glob("mrtr.[ks]*"))[::4]


@pytest.mark.parametrize("path", list(captures()), ids=lambda path: path.name)
def test_findings_and_counts_are_the_same_with_and_without_memory(path: Path) -> None:
    assert said(path, remember=True) == said(path, remember=False)


def test_memory_of_looks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "SOUND", 2)
    path = SAMPLES / "sample-demo"
    assert said(path, remember=True) == said(path, remember=False)


def test_a_rule_of_a_facet_cannot_wait_for_others() -> None:
    entry = next(iter(registry.catalogue.ENTRIES.values()))
    with pytest.raises(registry.BadRule, match=r"registered twice|is no facet"):
        registry.rule(
            entry["id"], level=entry["level"], fault=entry["party"], on="request", source=entry["source"][0],
            facet="nothing",
        )  # fmt: skip

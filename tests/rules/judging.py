"""Runs a transcript through the whole road, frames to findings, with a judge that raises what a rule raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules.context import Finding
from mrtrscope.rules.judge import Judge
from tests.feeding import feed

Place = tuple[tuple[str, int], ...]


class Judged:
    """What a file amounts to: findings (provisional ones too), and which rules were exercised."""

    def __init__(self, findings: list[Finding], tested: set[str]) -> None:
        self.findings = findings
        self.tested = tested

    def at(self, place: Place) -> set[str]:
        """Rules raised at a place."""
        return {f.rule for f in self.findings if place_of(f) == place}


def judged(path: Path, monkeypatch: pytest.MonkeyPatch) -> Judged:
    """Read and judge a file."""
    monkeypatch.setattr(Judge, "strict", True)
    pipeline = Pipeline(DictMemory(), salt=b"salt")
    feed(pipeline, path)
    batch = pipeline.drain()
    assert pipeline.judge is not None
    return Judged(batch.findings + pipeline.finish().findings, {rule for _, rule in batch.tested})


def place_of(finding: Finding) -> Place:
    """Where a finding stands in the transcript, as `Case.transcript` writes places."""
    return tuple(sorted((finding.place or {}).items()))

"""Sessions that keep every sentence, drawn at random: nothing is found, and what belongs together is told exactly."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules.context import Finding
from mrtrscope.rules.judge import Judge
from tests.feeding import feed

from .rounds import Session

OFTEN = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
Told = Counter[tuple[tuple[str, ...], str]]


def read(path: Path, rows: list[dict[str, Any]]) -> tuple[list[Finding], Told]:
    """What is found in a transcript, and its operations: ids of their requests, and how they came out."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pipeline = Pipeline(DictMemory(), b"salt")
    assert not feed(pipeline, path)
    batch, present = pipeline.drain(), pipeline.finish()
    rounds: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for exchange in batch.exchanges.values():
        rounds[exchange.operation.key].append((exchange.t, exchange.request.id_text or ""))
    told: Told = Counter()
    for key, operation in batch.operations.items():
        told[tuple(id for _, id in sorted(rounds[key])), present.outcomes.get(key, operation.outcome)] += 1
    return batch.findings + present.findings, told


def broken(findings: list[Finding]) -> list[tuple[str, str, object]]:
    return [(f.rule, f.text, f.place) for f in findings if f.level != "info"]


@pytest.mark.parametrize("transport", ["stdio", "http"])
@OFTEN
@given(seed=st.integers(0, 2**32))
def test_a_sound_session_is_clean_and_its_operations_are_exact(
    transport: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judge, "strict", True)
    session = Session(Random(seed), transport)
    findings, told = read(tmp_path / "s.jsonl", session.lines())
    assert broken(findings) == []
    truth: Told = Counter((tuple(id for _, id in call.rounds), call.outcome) for call in session.calls)
    for (ids, outcome), n in list(told.items()):
        if outcome == "open" and truth[ids, "abandoned"] >= n:  # the session was over within a minute
            del told[ids, outcome]
            told[ids, "abandoned"] += n
    assert told == truth


@pytest.mark.parametrize("transport", ["stdio", "http"])
@OFTEN
@given(seed=st.integers(0, 2**32))
def test_calls_alike_are_never_accused_and_none_is_called_abandoned_that_went_on(
    transport: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Judge, "strict", True)
    session = Session(Random(seed), transport, twins=True)
    findings, told = read(tmp_path / "s.jsonl", session.lines())
    assert broken(findings) == []
    given_up = {id for call in session.calls if call.outcome == "abandoned" for _, id in call.rounds}
    wrongly = [ids for ids, outcome in told if outcome == "abandoned" and not given_up & set(ids)]
    assert wrongly == []

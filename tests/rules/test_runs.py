"""A process that comes after another one is judged as if it had come alone: it may be another server."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mrtrscope.rules import registry
from mrtrscope.rules.examples import Case, cases_of, rules_with_cases

from .judging import judged

RULES = registry.load()
# What a client knows of a server it may know from the process before.
OF_CLIENTS = frozenset({"version/stdio-probe-first"})


def _conforming() -> list[Case]:
    return [
        case
        for id in sorted(rules_with_cases())
        for case in cases_of(id)
        if not case.violates and "stdio" in case.transports(sorted(RULES[id].transports))
    ]


def _rows(case: Case) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in case.transcript("stdio")[0].split("\n") if line]
    return [row for row in rows if "t" in row]


def _after(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows of `second`, in other processes and later."""
    end = max((row["t"] for row in first), default=0) + 5
    used = max((row.get("process", 0) for row in first), default=0) + 1
    return [row | {"t": row["t"] + end, "process": row.get("process", 0) + used} for row in second]


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_held_against_the_process_after(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(rows: list[dict[str, Any]]) -> Counter[str]:
        file = tmp_path / "case.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return Counter(f.rule for f in judged(file, monkeypatch).findings if f.level != "info")

    cases = _conforming()
    for first, second in [Random(seed * 1000 + n).sample(cases, 2) for n in range(40)]:
        one, two = _rows(first), _rows(second)
        more = found(one + _after(one, two)) - found(one) - found(two)
        names = (f"{first.rule}/{first.name}", f"{second.rule}/{second.name}")
        assert not more.keys() - OF_CLIENTS, names

"""Every case raises its own rule where it says so and nothing else; every rule has cases of both kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrtrscope.rules import registry
from mrtrscope.rules.examples import Case, cases_of, rules_with_cases

from .judging import judged, place_of

RULES = registry.load()


def _runs() -> list[tuple[Case, str]]:
    return [
        (case, transport)
        for id in rules_with_cases()
        for case in cases_of(id)
        for transport in case.transports(sorted(RULES[id].transports))
    ]


def _name(value: object) -> str:
    return f"{value.rule}/{value.name}" if isinstance(value, Case) else str(value)


@pytest.mark.parametrize(("case", "transport"), _runs(), ids=_name)
def test_case_raises_its_own_rule_and_no_other(
    case: Case, transport: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = case.transcript(transport)
    file = tmp_path / "case.jsonl"
    file.write_text(text, encoding="utf-8")
    found = judged(file, monkeypatch)

    missing = [
        (place, rule) for place, rules in expected.items() for rule in rules if rule not in found.at(place)
    ]
    wrong = [
        f"{f.rule} ({f.level}) at {dict(place_of(f))}: {f.text}"
        for f in found.findings
        if f.rule not in expected.get(place_of(f), ())
        and (f.rule == case.rule or (f.level != "info" and f.rule not in case.also))
    ]
    assert not missing and not wrong
    assert not case.violates or any(case.rule in rules for rules in expected.values())
    assert case.violates or not any(case.rule in rules for rules in expected.values())


@pytest.mark.parametrize("id", sorted(RULES))
def test_every_rule_has_a_case_that_breaks_it_and_one_that_keeps_it(id: str) -> None:
    kinds = {case.violates for case in cases_of(id)}
    assert kinds == {True, False}


def test_every_folder_of_cases_belongs_to_a_rule() -> None:
    assert set(rules_with_cases()) <= set(RULES)


def test_a_case_names_only_rules_that_exist() -> None:
    from mrtrscope.rules.catalogue import ENTRIES

    for id in rules_with_cases():
        for case in cases_of(id):
            assert set(case.also) <= set(ENTRIES), case.name
            _, expected = case.transcript(case.transports(sorted(RULES[id].transports))[0])
            assert {rule for rules in expected.values() for rule in rules} <= set(ENTRIES), case.name

"""Catalogue, registry and the list of exclusions are one thing; the catalogue is the specification's, as far as it
lies beside the repository."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from mrtrscope.link.facts import A2A
from mrtrscope.rules import registry
from mrtrscope.rules.catalogue import AGENTS, EARLIER, ENTRIES, OURS, RANK, SEVERITY, said_at
from mrtrscope.rules.excluded import EXCLUDED, excluded
from tests.conftest import SHARED

RULES = registry.load()

# Areas that have no rules yet. This list only shrinks: take an area out when its rules come.
NOT_BUILT = {
    "cancel", "capability", "discover", "era", "error", "jsonrpc", "meta", "progress",
    "result", "stdio", "version",
}  # fmt: skip


def area(id: str) -> str:
    return id.split("/")[0]


def test_every_rule_that_a_recording_can_show_is_checked_or_excluded() -> None:
    wanted = {
        id for id, entry in ENTRIES.items() if entry["observable"] != "active" and area(id) not in NOT_BUILT
    }
    assert wanted - RULES.keys() - EXCLUDED.keys() == set()


def test_no_rule_is_both_checked_and_excluded() -> None:
    assert RULES.keys() & EXCLUDED.keys() == set()


def test_areas_not_built_are_areas() -> None:
    assert {area(id) for id in ENTRIES} >= NOT_BUILT


@pytest.mark.parametrize("id", sorted(RULES))
def test_metadata_of_the_rule_is_that_of_the_catalogue(id: str) -> None:
    rule, entry = RULES[id], ENTRIES[id]
    assert (rule.level, rule.fault) == (entry["level"], entry["party"])
    assert rule.source in entry["source"]
    assert rule.transports <= set(entry["transports"])
    assert rule.on and rule.eras
    eras = {"2026-07-28": registry.MODERN, "2025-11-25": registry.LEGACY, "A2A 1.0": A2A, "A2A 0.3": A2A}
    # An older era may be looked at for the sake of a note (a process that speaks both); a younger one may not.
    assert registry.MODERN not in rule.eras or "2026-07-28" in entry["revisions"]
    assert {eras[r] for r in entry["revisions"]} & rule.eras


@pytest.mark.parametrize("id", sorted(id for id, entry in ENTRIES.items() if "since" in entry))
def test_a_sentence_younger_than_some_revision_is_one_of_an_earlier_era(id: str) -> None:
    assert ENTRIES[id]["since"] in ("2025-03-26", "2025-06-18", "2025-11-25")
    assert id not in RULES or registry.LEGACY in RULES[id].eras


@pytest.mark.parametrize("id", sorted(EARLIER))
def test_a_rule_of_two_revisions_says_where_the_earlier_one_has_it(id: str) -> None:
    assert registry.LEGACY in RULES[id].eras
    assert EARLIER[id].startswith(("2025-11-25/", "schema/2025-11-25/schema.ts "))
    assert said_at(id, registry.LEGACY) == EARLIER[id]
    assert said_at(id, registry.MODERN) == ENTRIES[id]["source"][0] != EARLIER[id]


@pytest.mark.parametrize("id", sorted(RULES))
def test_the_docstring_says_what_is_wrong_and_why_it_matters(id: str) -> None:
    title, blank, *rest = RULES[id].doc.strip().splitlines()
    assert 15 <= len(title) <= 110 and title.endswith(".") and blank == ""
    paragraphs = [line.strip() for line in rest]
    assert paragraphs[0].startswith("Why it matters: ")
    assert any(line.startswith("Cannot tell: ") for line in paragraphs)  # also where there is nothing to it


def test_rules_of_the_other_protocol_never_meet_mcp_and_the_reverse() -> None:
    assert {id for id, rule in RULES.items() if A2A in rule.eras} == {id for id in RULES if area(id) == "a2a"}
    assert {rule.eras for id, rule in RULES.items() if area(id) == "a2a"} == {registry.A2A_ONLY}
    assert set(AGENTS) == {id for id in ENTRIES if area(id) == "a2a"}


def test_keywords_have_a_severity_and_a_rank() -> None:
    assert {entry["level"] for entry in ENTRIES.values()} == set(SEVERITY)
    assert set(SEVERITY.values()) == set(RANK)


@pytest.mark.parametrize(
    ("id", "why", "said"),
    [
        ("mrtr/no-such-rule", "a reason that is long enough", "not in the catalogue"),
        ("mrtr/client-iteration-cap", "a reason that is long enough", "excluded twice"),
        ("mrtr/new-request-id", "no", "say why"),
    ],
)
def test_an_exclusion_needs_a_rule_and_a_reason(id: str, why: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        excluded(id, why=why)


@pytest.mark.shared
def test_our_copy_says_what_the_catalogue_says() -> None:
    assert SHARED is not None
    theirs = yaml.safe_load((SHARED / "spec" / "rules.yaml").read_text(encoding="utf-8"))["rules"]
    assert [rule["id"] for rule in theirs] == [id for id in ENTRIES if id not in OURS | AGENTS]
    names = ("title", "level", "basis", "party", "transports", "revisions", "observable")
    for rule in theirs:
        entry = ENTRIES[rule["id"]]
        assert {name: entry[name] for name in names} == {name: rule[name] for name in names}
        assert entry["source"] == _listed(rule["source"])
        assert entry["conformance"] == [c for c in _listed(rule.get("conformance", [])) if c != "none"]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]

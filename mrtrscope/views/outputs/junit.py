"""Findings as JUnit XML: one test case for each rule that had occasion, failed where it was broken."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from mrtrscope.rules.registry import Rule
from mrtrscope.views.outputs.places import Places
from mrtrscope.views.outputs.select import Folded
from mrtrscope.views.templates import render

FAILS = {"must": ("must",), "should": ("must", "should"), "never": ()}


def junit(
    findings: Iterable[Folded],
    exercised: Mapping[str, int],
    rules: Mapping[str, Rule],
    fail_on: str,
    capture: str,
    places: Places,
) -> str:
    """The XML text.

    exercised   rule id -> how often the traffic tested it; such a rule without findings is a test that passed
    fail_on     lowest level that makes a test case fail; findings below it go into its output
    """
    broken: dict[str, list[Folded]] = defaultdict(list)
    for folded in findings:
        broken[folded.finding.rule].append(folded)
    suites: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for id in sorted({*exercised, *broken}):
        rule = rules.get(id)
        failing = [f for f in broken[id] if f.finding.level in FAILS[fail_on]]
        suites[id.partition("/")[0]].append({
            "name": id,
            "title": rule.title if rule is not None else id,
            "failing": [_lines(f, places) for f in failing],
            "noted": [_lines(f, places) for f in broken[id] if f not in failing],
            "file": places.path(broken[id][0].finding.source) if broken[id] else "",
            "kind": failing[0].finding.keyword if failing else "",
        })  # fmt: skip
    return render("junit.xml.j2", suites=dict(suites), capture=capture)


def _lines(folded: Folded, places: Places) -> str:
    finding = folded.finding
    place = finding.source
    where = (
        f"line {place.line}"
        if place.line is not None
        else f"flow {place.flow}"
        if place.flow is not None
        else ""
    )
    lines = [f"{finding.at} ({finding.party}, {finding.level}): {finding.text}"]
    if folded.count > 1:
        lines.append(f"  {folded.count} times, the first at {finding.at}")
    if finding.saw is not None:
        lines.append(f"  saw {finding.saw}")
    if finding.expected is not None:
        lines.append(f"  expected {finding.expected}")
    lines.append(f"  {finding.rule_source}; {places.path(place)} {where}".rstrip())
    return "\n".join(lines)

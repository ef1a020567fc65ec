"""Findings as GitHub's workflow commands, which a workflow run shows as annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mrtrscope.views.escape import visible
from mrtrscope.views.outputs.places import Places
from mrtrscope.views.outputs.select import Folded

COMMAND = {"must": "error", "should": "warning", "info": "notice"}


def github(findings: Iterable[Folded], places: Places) -> Iterator[str]:
    """One command a finding; GitHub shows the first ten of each kind of a step."""
    for folded in findings:
        finding = folded.finding
        times = f" ({folded.count} times)" if folded.count > 1 else ""
        place = f"file={_property(places.path(finding.source))}"
        if finding.source.line is not None:
            place += f",line={finding.source.line + 1}"
        title = _property(f"{finding.rule} ({finding.keyword}, {finding.party})")
        text = _data(f"{finding.at}: {finding.text}{times}\n{finding.rule_source}")
        yield f"::{COMMAND[finding.level]} {place},title={title}::{text}"


def _data(text: str) -> str:
    """The runner ends a command at a line end and decodes these."""
    return visible(text, "\n").replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

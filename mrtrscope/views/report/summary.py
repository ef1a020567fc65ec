"""What the report says before its operations: how much there is of what, who broke which rule, how long things took."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from mrtrscope import model
from mrtrscope.views.escape import visible
from mrtrscope.views.redact import Redactor
from mrtrscope.views.report.entry import finding
from mrtrscope.views.words import duration

OUTCOMES: Final = ("complete", "error", "open", "abandoned", "cancelled", "lost")
LEVELS: Final = ("must", "should", "info")
PLACES: Final = 40  # findings of one rule that are shown one by one


@dataclass(slots=True)
class Rule:
    """The findings of one rule."""

    id: str
    level: str
    party: str
    n: int = 0
    title: str = ""
    why: str = ""
    sources: list[str] = field(default_factory=list)
    places: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Summary:
    """Counts over the operations that are told of; `rules` in order of level, then of frequency."""

    operations: int = 0
    rounds: int = 0
    first: float | None = None
    last: float | None = None
    outcomes: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    levels: Counter[str] = field(default_factory=Counter)
    parties: Counter[tuple[str, str]] = field(default_factory=Counter)
    channels: dict[str, Counter[str]] = field(default_factory=dict)
    clients: dict[str, set[str]] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    waiting: list[float] = field(default_factory=list)
    total: list[float] = field(default_factory=list)

    def add(self, operation: model.Operation) -> None:
        self.operations += 1
        self.rounds += len(operation.rounds)
        self.first = operation.t if self.first is None else min(self.first, operation.t)
        end = operation.t + operation.times.total
        self.last = end if self.last is None else max(self.last, end)
        self.outcomes[operation.outcome] += 1
        self.methods[operation.method] += 1
        channel = self.channels.setdefault(operation.channel, Counter())
        channel["operations"] += 1
        channel[operation.outcome] += 1
        self.clients.setdefault(operation.channel, set()).update(
            one.client for one in operation.rounds if one.client
        )
        self.server.append(operation.times.server)
        if operation.times.waiting:
            self.waiting.append(operation.times.waiting)
        self.total.append(operation.times.total)

    def channel_rows(self, rows: Iterable[model.Channel]) -> list[model.Channel]:
        """The channels that were told of, with what was told of them; messages were counted by whoever read them."""
        return [
            row.model_copy(update={
                "operations": told["operations"], "messages": told["messages"], "findings": told["findings"],
                "clients": sorted(self.clients[row.name]),
            })
            for row in rows if (told := self.channels.get(row.name)) is not None
        ]  # fmt: skip

    def times(self) -> list[tuple[str, str, str, str, str]]:
        """(name, how many, middle, 95 of 100 are shorter, longest)."""
        rows = (("server", self.server), ("waiting for input", self.waiting), ("total", self.total))
        return [
            (
                name,
                f"{len(all):,}",
                duration(_at(all, 0.5)),
                duration(_at(all, 0.95)),
                duration(_at(all, 1.0)),
            )
            for name, all in rows
            if all
        ]


def _at(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def add_findings(summary: Summary, findings: Iterable[model.Finding], redact: Redactor) -> None:
    """Group the findings by rule."""
    from mrtrscope.rules import catalogue, registry

    known = registry.load()
    rules: dict[tuple[str, str], Rule] = {}
    for found in findings:
        summary.levels[found.level] += found.count
        summary.parties[found.party, found.level] += found.count
        if found.channel in summary.channels:
            summary.channels[found.channel]["findings"] += found.count
        key = (found.rule, found.level)
        if key not in rules:
            entry = catalogue.ENTRIES.get(found.rule, {})
            sources = entry.get("source", [])
            sources = (
                list(sources) if found.rule_source in sources else []
            )  # else those of an earlier revision
            rule = rules[key] = Rule(found.rule, found.level, found.party, sources=sources)
            code = known.get(found.rule)
            rule.title, rule.why = _explained(code.doc if code is not None else "", entry.get("title", ""))
        rule = rules[key]
        rule.n += found.count
        if found.rule_source and found.rule_source not in rule.sources:
            rule.sources.append(found.rule_source)
        if len(rule.places) < PLACES:
            rule.places.append({
                "op": found.operation or "", "channel": visible(found.channel),
                **finding(found.rule, found.level, found.party, found.at, found.text, found.also, found.saw,
                          found.expected, found.rule_source, redact),
            })  # fmt: skip
    summary.rules = sorted(rules.values(), key=lambda rule: (LEVELS.index(rule.level), -rule.n, rule.id))


# Where a docstring was folded for its width.
_FOLDED: Final = re.compile(r"(?<!\n)\n(?!\n|[-*] |[A-Z][a-z ]{2,30}: )")


def _explained(doc: str, title: str) -> tuple[str, str]:
    """What is wrong, and why it matters."""
    first, _, rest = inspect.cleandoc(doc).partition("\n")
    return first or title, _FOLDED.sub(" ", rest.strip())

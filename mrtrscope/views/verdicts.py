"""What the traffic of a channel says about each rule: broken, kept, or never put to the test.

Silence is no proof: a rule that had no occasion was not kept, and is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from mrtrscope import model
from mrtrscope.views.escape import visible

BROKEN, NOTED, KEPT, NO_OCCASION = "broken", "noted", "kept", "no-occasion"


def verdicts(
    channels: Iterable[str],
    tested: Mapping[tuple[str, str], int],
    broken: Mapping[tuple[str, str], int],
    noted: Mapping[tuple[str, str], int],
    rules: Iterable[str],
) -> Iterator[model.Verdict]:
    """One for each channel.

    tested   (channel, rule) -> how often its sentence applied and could be decided
    broken   (channel, rule) -> how many findings at must or should level        noted   the same, of notes
    rules    all rules there are
    """
    every = sorted(rules)
    for channel in channels:
        found: dict[str, list[model.RuleVerdict]] = {BROKEN: [], NOTED: [], KEPT: [], NO_OCCASION: []}
        for rule in every:
            place = (channel, rule)
            n, faults, notes = tested.get(place, 0), broken.get(place, 0), noted.get(place, 0)
            word = BROKEN if faults else NOTED if notes else KEPT if n else NO_OCCASION
            said = faults or notes
            found[word].append(model.RuleVerdict(rule=rule, tested=max(n, said), findings=said))
        yield model.Verdict(
            channel=channel, exercised=sum(len(found[word]) for word in (BROKEN, NOTED, KEPT)),
            broken=found[BROKEN], noted=found[NOTED], kept=found[KEPT],
            no_occasion=[row.rule for row in found[NO_OCCASION]],
        )  # fmt: skip


def lines(rows: Iterable[model.Verdict], whole: bool) -> Iterator[str]:
    """Text for people; `whole`: name the rules that had no occasion too."""
    for row in rows:
        yield f"{visible(row.channel)}: {summary(row)}"
        for rule in row.broken:
            yield f"  broken       {rule.rule}  {rule.findings} of {rule.tested}"
        for rule in row.noted:
            yield f"  noted        {rule.rule}  {rule.findings} of {rule.tested}"
        for rule in row.kept:
            yield f"  kept         {rule.rule}  {rule.tested}"
        if whole:
            for name in row.no_occasion:
                yield f"  no occasion  {name}"


def summary(row: model.Verdict) -> str:
    """ "142 rules exercised, 3 broken, 288 had no occasion"."""
    words = "rule" if row.exercised == 1 else "rules"
    return (
        f"{row.exercised} {words} exercised, {len(row.broken)} broken, {len(row.no_occasion)} had no occasion"
    )

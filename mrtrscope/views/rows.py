"""Operations, messages and findings as lines of text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mrtrscope import model
from mrtrscope.views.escape import visible
from mrtrscope.views.metrics import cells, cut
from mrtrscope.views.table import Cell, Column, paint, table
from mrtrscope.views.words import clock, count, duration, series, size, told, when

OUTCOMES = {"complete": "green", "error": "red", "open": "yellow", "abandoned": "magenta", "cancelled": "magenta",
            "lost": "magenta"}  # fmt: skip
LEVELS = {"must": "red", "should": "yellow", "info": "cyan"}
EACH = 20  # findings of one rule that are printed one by one
SHOWN = 160  # cells of what was seen that are printed


def operations(
    rows: Iterable[model.Operation], width: int | None, colours: bool, nothing: str = ""
) -> Iterator[str]:
    """One operation a line: when, channel, method, target, rounds, outcome, times, findings."""
    columns = [
        Column("id"), Column("when", spare=2), Column("channel", least=8, middle=True), Column("method", least=8),
        Column("target", least=8, middle=True), Column("kind", spare=5), Column("rounds", right=True),
        Column("outcome"), Column("server", right=True, spare=4), Column("waiting", right=True, spare=3),
        Column("total", right=True, spare=1), Column("findings", right=True),
    ]  # fmt: skip
    lines = table(columns, _by_day(rows, _operation), width, colours)
    return _or_nothing(lines, nothing or "No operations: nothing was asked in this capture.")


def ended(op: model.Operation) -> str:
    """Its outcome, and whether a result that came in good order says that the tool failed."""
    return f"{op.outcome}, isError" if op.tool_error else op.outcome


def tone(op: model.Operation) -> str:
    """The colour of that."""
    return OUTCOMES["error" if op.tool_error else op.outcome]


def _worst(op: model.Operation) -> str:
    """How many findings of the worst level, and how many others: "1 must +2"."""
    rest = op.findings - op.worst_count
    return f"{op.worst_count} {op.worst}{f' +{rest}' if rest else ''}" if op.worst else "-"


def _operation(op: model.Operation) -> list[Cell]:
    return [
        Cell(op.id, "bold"), Cell(clock(op.t)), Cell(op.channel), Cell(op.method), Cell(op.target or ""), Cell(op.kind),
        Cell(str(len(op.rounds))), Cell(ended(op), tone(op)), Cell(duration(op.times.server)),
        Cell(duration(op.times.waiting) if op.times.waiting else "-"), Cell(duration(op.times.total)),
        Cell(_worst(op), LEVELS.get(op.worst or "", "")),
    ]  # fmt: skip


def messages(
    rows: Iterable[model.Message], noise: Mapping[str, int], width: int | None, colours: bool
) -> Iterator[str]:
    """One message a line, and what was no message counted at the end."""
    columns = [
        Column("m"), Column("when", spare=2), Column("channel", least=8, middle=True, spare=1), Column(""),
        Column("kind"), Column("id", least=6), Column("method", least=8), Column("target", least=8, middle=True),
        Column("operation"), Column("status", right=True), Column("size", right=True, spare=3),
        Column("odd", least=8),
    ]  # fmt: skip
    yield from _or_nothing(table(columns, _by_day(rows, _message), width, colours), "No messages.")
    words = {
        "non_messages": "text that is no message",
        "undelivered": "events never ended",
        "gaps": "gaps in the recording",
    }
    if said := [f"{words[name]}: {n:,}" for name, n in noise.items() if n and name in words]:
        yield paint(f"({'; '.join(said)})", "dim", colours)


def _message(m: model.Message) -> list[Cell]:
    tone = {"error": "red", "invalid": "magenta", "notification": "dim"}.get(m.kind, "")
    return [
        Cell(m.m, "bold"), Cell(clock(m.t)), Cell(m.channel), Cell("→" if m.dir == "c2s" else "←"), Cell(m.kind, tone),
        Cell(m.id_text or ""), Cell(m.method or ""), Cell(m.target or ""), Cell(m.operation or ""),
        Cell("" if m.status is None else str(m.status)), Cell(size(m.size)), Cell(", ".join(m.oddities), "yellow"),
    ]  # fmt: skip


def findings(
    rows: Iterable[model.Finding],
    levels: Mapping[str, int],
    counts: Mapping[str, int],
    width: int | None,
    colours: bool,
    *,
    about: Callable[[str], str] = lambda at: "",
    each: int = EACH,
    named: bool = False,
    mask: Callable[[Iterator[model.Finding]], Iterable[model.Finding]] = iter,
) -> Iterator[str]:
    """Findings in order of time, then how many there are, in how much, and who broke something.

    about   what stands at a number: "m17" -> "answer to 3"
    each    how many of one rule are printed one by one; the rest is counted
    named   whether the channel is named, too
    mask    what those that are printed pass through
    """
    seen: Counter[str] = Counter()
    sides: Counter[tuple[str, str]] = Counter()
    shown: dict[str, str] = {}  # id -> rule and place, for those that follow from it

    def first() -> Iterator[model.Finding]:
        for found in rows:
            seen[found.rule] += 1
            sides[found.party, found.level] += 1
            if seen[found.rule] <= each:
                yield found

    for found in mask(first()):
        yield from finding(found, about, width, colours, shown.get(found.because or "", ""), named)
        shown[found.id] = f"{found.rule} at {found.at}"
    for rule, n in seen.items():
        if n > each:
            yield paint(f"… and {n - each:,} more of {rule} (--all prints them)", "dim", colours)
    judged = series([count(counts.get(f"{name}s", 0), name) for name in ("operation", "message")])
    yield f"{summary(levels, colours)} in {judged}{_by_side(sides)}."


def _by_side(sides: Mapping[tuple[str, str], int]) -> str:
    """ "; 2 must and 1 should by the client, 1 must by the server": breaches, not notes. "" where there are none."""
    parts = []
    for party in ("client", "server", "either"):
        broken = [f"{n:,} {level}" for level in ("must", "should") if (n := sides.get((party, level), 0))]
        if broken:
            parts.append(f"{series(broken)} by {'one of the two' if party == 'either' else f'the {party}'}")
    return f"; {', '.join(parts)}" if parts else ""


def finding(
    found: model.Finding,
    about: Callable[[str], str],
    width: int | None,
    colours: bool,
    cause: str = "",
    named: bool = False,
) -> Iterator[str]:
    """Who, where, what; below it the bytes that prove it and the sentence that says so.

    cause   the finding that this one follows from, in words
    named   whether the channel is named: "client of bakery"
    """
    at = visible(", ".join(filter(None, [found.at, about(found.at)])))
    head = f"{paint(found.rule, 'bold', colours)}  {paint(found.level, LEVELS[found.level], colours)}  {found.party}"
    head += f" of {visible(found.channel)}" if named else ""
    yield f"{head}  {at}: {visible(found.text)}"
    for word, value in (("saw", found.saw), ("expected", found.expected)):
        if value is not None and not told(value, found.text):
            yield f"    {word} {_value(value, width)}"
    if found.also:
        yield f"    see also {visible(series(found.also))}"
    notes = [f"operation {found.operation}"] if found.operation else []
    if found.because:
        notes.append(f"follows from {cause or 'an earlier finding'}")
    if found.provisional:
        notes.append("as it stands now; more traffic may settle it")
    yield paint(f"    {'; '.join([found.rule_source, *notes])}", "dim", colours)


def summary(levels: Mapping[str, int], colours: bool) -> str:
    """ "2 must, 1 should, 3 notes", or that there is nothing."""
    words = {"must": "must", "should": "should", "info": "note"}
    parts = [
        paint(count(n, word, "notes" if level == "info" else word), LEVELS[level], colours)
        for level, word in words.items() if (n := levels.get(level, 0))
    ]  # fmt: skip
    return series(parts) if parts else paint("No findings", "green", colours)


def _value(value: Any, width: int | None) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return cut(visible(text), SHOWN if width is None else max(40, width - 14), cells)


def _by_day[T: (model.Operation, model.Message)](
    rows: Iterable[T], make: Callable[[T], list[Cell]]
) -> Iterator[list[Cell] | str]:
    """Rows, with a line in front of each day."""
    last = ""
    for row in rows:
        if (today := _day(row.t)) != last:
            last = today
            yield today
        yield make(row)


def _day(t: float) -> str:
    """The date and zone that `clock` leaves out, "" where a transcript counts from its own beginning."""
    date, _, rest = when(t).partition(" ")
    return f"{date} UTC" if rest.endswith("UTC") else ""


def _or_nothing(lines: Iterator[str], nothing: str) -> Iterator[str]:
    first = next(lines, None)
    if first is None:
        yield nothing
    else:
        yield first
        yield from lines

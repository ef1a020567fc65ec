"""The report as Markdown, for pull requests: summary, findings, operations with Mermaid pictures."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from mrtrscope import model
from mrtrscope.files import write_file
from mrtrscope.store.reader import Store
from mrtrscope.views import detail, templates
from mrtrscope.views.ahead import redactor
from mrtrscope.views.escape import visible
from mrtrscope.views.redact import Redactor
from mrtrscope.views.report.choose import Choice
from mrtrscope.views.report.entry import Entry
from mrtrscope.views.report.summary import Rule, Summary, add_findings
from mrtrscope.views.rows import EACH, ended
from mrtrscope.views.words import count, duration, series, size, when
from mrtrscope.views.writers import mermaid

TABLE: Final = 300  # operations that have a line in the table
PICTURES: Final = 20  # operations that are told of in full: those with findings, else those of several rounds
ROOM: Final = (
    60_000  # characters after which no further operation is told of: forges refuse comments over 65,536
)


def write(store: Store, output: Path | None, choice: Choice | None = None, raw: bool = False) -> str:
    """Write the report to a file, or to standard output; returns why there is no operation in it, "" when there is."""
    text = io.StringIO()
    nothing = _write(text, store, choice or Choice(), raw)
    data = text.getvalue().encode()
    if output is not None:
        write_file(output, data, private=raw)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    return nothing


def _write(out: TextIO, store: Store, choice: Choice, raw: bool) -> str:
    redact = redactor(store, raw)
    summary = Summary()
    kept: list[model.Operation] = []
    full: list[model.Operation] = []
    chosen = set()
    for operation in choice.operations(store):
        summary.add(operation)
        chosen.add(operation.id)
        if len(kept) < TABLE:
            kept.append(operation)
        if operation.findings or len(operation.rounds) > 1:
            full.append(operation)
            if len(full) > 4 * PICTURES:
                full = _first(full)
    choice.kept()
    told = _first(full)
    sections, rest = _sections(store, told, redact)
    findings = (found for found in store.findings() if choice.everything or (found.operation or "") in chosen)
    add_findings(summary, findings, redact)
    nothing = "" if summary.operations else choice.nothing(store)
    text = templates.render(
        "report.md.j2",
        capture=visible(store.source.resolve().name), choice=visible(choice.told()), raw=raw, summary=summary,
        rules=[(rule, list(_places(rule))) for rule in summary.rules], sections=sections, rest=rest,
        operations=[_line(operation, redact) for operation in kept], more=summary.operations - len(kept),
        trouble=[visible(line) for line in store.trouble()], hidden=redact.count, count=count, series=series, when=when,
        verdict=verdict(summary), nothing=visible(nothing),
    )  # fmt: skip
    out.write(text)
    return nothing


def _first(operations: list[model.Operation]) -> list[model.Operation]:
    """Those that matter most, in order of time."""
    order = {"must": 0, "should": 1, "info": 2, None: 3}
    best = sorted(operations, key=lambda o: (order[o.worst], -len(o.rounds), int(o.id[2:])))[:PICTURES]
    return sorted(best, key=lambda o: int(o.id[2:]))


def verdict(summary: Summary) -> str:
    """ "6 breaches of a MUST by the client, 1 of a SHOULD by the server"."""
    words = {"must": "breach of a MUST", "should": "breach of a SHOULD"}
    many = {"must": "breaches of a MUST", "should": "breaches of a SHOULD"}
    parts = [
        count(n, words[level], many[level]) + (f" by the {party}" if party != "either" else "")
        for level in words
        for party in ("client", "server", "either")
        if (n := summary.parties[party, level])
    ]
    if notes := summary.levels["info"]:
        parts.append(count(notes, "note"))
    return series(parts) if parts else "No rule is broken"


def _line(operation: model.Operation, redact: Redactor) -> list[str]:
    levels = {"must": "must", "should": "should", "info": "note"}
    rest = operation.findings - operation.worst_count
    found = (
        f"{operation.worst_count} {levels[operation.worst]}{f' +{rest}' if rest else ''}"
        if operation.worst
        else "–"
    )
    return [
        operation.id, when(operation.t), visible(operation.channel),
        visible(redact.text(f"{operation.method} {operation.target or ''}".strip())), str(len(operation.rounds)),
        ended(operation), duration(operation.times.server),
        duration(operation.times.waiting) if operation.times.waiting else "–", duration(operation.times.total), found,
    ]  # fmt: skip


def _places(rule: Rule) -> Iterator[dict[str, Any]]:
    yield from rule.places[:EACH]


def _sections(
    store: Store, operations: Iterable[model.Operation], redact: Redactor
) -> tuple[list[dict[str, Any]], int]:
    """Operations in full while there is room; how many are left out."""
    made: list[dict[str, Any]] = []
    entries = Entry(redact)
    used = left = 0
    for whole in detail.whole(store, operations):
        entry, scene = entries.scene(whole)
        picture = mermaid.write(scene)
        room = len(picture) + sum(len(text) for one in entry["rounds"] for text in map(str, one.values()))
        if used + room > ROOM:
            left += 1
            continue
        used += room
        made.append(entry | {"picture": picture, "sizes": {m: size(row.size) for m, row in whole[2].items()}})
    return made, left

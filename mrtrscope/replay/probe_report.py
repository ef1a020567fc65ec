"""What a probe of a server came to: the table of attempts, JSON, and a picture of each breach."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mrtrscope.replay.probe import Tried
from mrtrscope.replay.probe_judge import BROKEN, KEPT, NOT_MADE, UNSURE
from mrtrscope.rules.catalogue import ENTRIES
from mrtrscope.views.redact import Redactor
from mrtrscope.views.table import Cell, Column, paint, table

COLOUR = {KEPT: "green", BROKEN: "red", UNSURE: "yellow", NOT_MADE: "dim"}
DRAWN = 8  # pictures at most


def text(
    tried: list[Tried], width: int | None = None, colours: bool = False, redactor: Redactor | None = None
) -> Iterator[str]:
    """One table for each operation."""
    redactor = redactor or Redactor()
    heads = [
        Column("attempt"), Column("verdict"), Column("the server", least=16), Column("should"),
        Column("rule", least=12, spare=1), Column("", least=10),
    ]  # fmt: skip
    for _, group in itertools.groupby(tried, key=lambda one: (one.op, one.name, one.round)):
        rows = list(group)
        yield paint(heading(rows[0].op, redactor.text(rows[0].name), rows[0].round), "bold", colours)
        yield from table(heads, (_row(one, redactor) for one in rows), width, colours)
        yield ""
    counted = Counter(one.verdict for one in tried)
    yield ", ".join(f"{counted[verdict]} {verdict}" for verdict in (KEPT, BROKEN, UNSURE, NOT_MADE)) + "."


def heading(op: str, name: str, round: int) -> str:
    """What an attempt is made on, in words."""
    return f"{op} {name}, round {round}" if round else name


def _row(one: Tried, redactor: Redactor) -> list[Cell]:
    why = redactor.text(one.why)
    return [
        Cell(one.attempt.name), Cell(one.verdict, COLOUR[one.verdict]), Cell(redactor.text(one.did) or "-"),
        Cell(one.attempt.want), Cell(f"{one.attempt.rule} ({level(one.attempt.rule)})"), Cell(why, "dim"),
    ]  # fmt: skip


def level(rule: str) -> str:
    """How strong the sentence of a rule is, as the catalogue has it."""
    entry = ENTRIES.get(rule)
    return str(entry["level"]) if entry is not None else "?"


def as_json(tried: list[Tried], redactor: Redactor | None = None) -> dict[str, Any]:
    redactor = redactor or Redactor()
    return {
        "attempts": [
            {
                "op": one.op, "name": redactor.text(one.name), "round": one.round, "attempt": one.attempt.name,
                "does": one.attempt.does,
                "should": one.attempt.want, "rule": one.attempt.rule, "level": level(one.attempt.rule),
                "did": redactor.text(one.did), "verdict": one.verdict, "why": redactor.text(one.why),
            }
            for one in tried
        ],
        "broken": sum(one.verdict == BROKEN for one in tried),
        "worked": worked(tried),
    }  # fmt: skip


def worked(tried: list[Tried]) -> bool:
    """Whether every operation went as it was recorded when nothing was wrong."""
    return all(one.verdict == KEPT for one in tried if one.attempt.name == "as-recorded")


def diagrams(broken: list[Tried], journal: Path, width: int | None = None) -> Iterator[str]:
    """The operation of each breach, drawn from what was recorded of it."""
    from mrtrscope import analyse
    from mrtrscope.views import ahead, detail
    from mrtrscope.views.diagram import Options, diagram

    if not broken:
        return
    capture = journal.parent.parent
    with analyse.bring_up_to_date(capture) as store:
        ops = {
            m.id: m.operation
            for m in store.messages()
            if m.kind == "request" and m.key.startswith(journal.stem)
        }
        for one in broken[:DRAWN]:
            found = detail.load(store, ops.get(one.id) or "")
            if found is None:
                continue
            yield f"{one.attempt.name}: {one.attempt.does}  ({found.id} of {capture})"
            for page in diagram(found, "text", Options(width=width), ahead.redactor(store)):
                yield from page.decode().rstrip("\n").split("\n")
            yield ""
    if len(broken) > DRAWN:
        yield f"{len(broken) - DRAWN} more are in {capture}; mrtrscope list shows them."

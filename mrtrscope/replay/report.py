"""What a drive or a probe came to, as lines of text, as JSON, as JUnit XML. Secrets are hidden, states shortened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.replay.compare import Difference
from mrtrscope.replay.drive import DIFFERS, FAILED, NOT_RUN, PASSED, SKIPPED, Driven
from mrtrscope.replay.recording import Recording
from mrtrscope.store.scout import Scout
from mrtrscope.store.secret import is_secret_name
from mrtrscope.views.redact import Redactor
from mrtrscope.views.table import Cell, Column, table
from mrtrscope.views.templates import render
from mrtrscope.wire.events import ABSENT

SHOWN = 160  # characters of a value
NAME = 60  # characters of the key of a question
KEYS = 4  # renamed keys that are told of one round
COLOUR = {PASSED: "green", DIFFERS: "red", FAILED: "red", NOT_RUN: "yellow", SKIPPED: "dim"}
JUNIT = {DIFFERS: "failure", FAILED: "error", NOT_RUN: "error", SKIPPED: "skipped"}


def ok(driven: Iterable[Driven]) -> bool:
    """Whether every operation that could be compared passed, and at least one did."""
    verdicts = {one.verdict for one in driven}
    return PASSED in verdicts and verdicts <= {PASSED, SKIPPED}


def redactor_of(recording: Recording) -> Redactor:
    """One that hides what any message of the recording names as a secret."""
    redactor = Redactor()
    scout = Scout(redactor.remember, redactor.fields)
    for step in recording.steps:
        for exchange in (step.exchange, *step.asked):
            for message in (exchange.request, exchange.answer):
                if message is not None:
                    scout.event(message)
        for note in step.notes:
            scout.event(note)
    return redactor


def text(
    driven: list[Driven], width: int | None = None, colours: bool = False, redactor: Redactor | None = None
) -> Iterator[str]:
    """A line an operation, what differs below it, and how many passed."""
    redactor = redactor or Redactor()
    columns = [Column("id"), Column("verdict"), Column("rounds", right=True), Column("operation", least=12)]

    def rows() -> Iterator[list[Cell] | str]:
        for one in driven:
            verdict = Cell(one.verdict, COLOUR[one.verdict])
            yield [Cell(one.op), verdict, Cell(str(len(one.rounds))), Cell(redactor.text(one.name))]
            yield from (f"      {line}" for line in words(one, redactor))

    yield from table(columns, rows(), width, colours)
    yield summary(driven)


def words(driven: Driven, redactor: Redactor) -> Iterator[str]:
    """What there is to say of an operation: what did not pass, and what was asked under another key."""
    for number, one in enumerate(driven.rounds, 1):
        before = f"round {number}: " if len(driven.rounds) > 1 else ""
        if one.renamed:
            yield f"{before}{_renamed(one.renamed, redactor)}"
        if one.why:
            yield f"{before}{redactor.text(one.why)}"
        for difference in one.differences:
            yield f"{before}{difference.path or '/'}: {_both(difference, redactor)}"


def _renamed(keys: dict[str, str], redactor: Redactor) -> str:
    shown = list(keys.items())[:KEYS]
    told = [
        f"{_key(then, redactor)} of the recording was asked as {_key(now, redactor)}" for then, now in shown
    ]
    more = f", and {len(keys) - KEYS} more were renamed" if len(keys) > KEYS else ""
    return f"{', '.join(told)}{more}; answered under the key of today"


def _key(key: str, redactor: Redactor) -> str:
    text = redactor.text(key)
    return repr(text if len(text) <= NAME else text[:NAME] + "…")


def _both(difference: Difference, redactor: Redactor) -> str:
    recorded, now = (value(v, difference.path, redactor) for v in (difference.recorded, difference.now))
    return f"recorded {recorded}, now {now}"


def value(found: Any, path: str, redactor: Redactor) -> str:
    """A value as it may be shown: short, without secrets; "nothing" for ABSENT."""
    if found is ABSENT:
        return "nothing"
    name = path.rpartition("/")[2]
    found = _state(found) if name == "requestState" else found
    shown = canonical(
        _short_states(redactor.named(name, found) if is_secret_name(name) else redactor.value(found))
    )
    return shown if len(shown) <= SHOWN else shown[:SHOWN] + "…"


def _short_states(found: Any) -> Any:
    if type(found) is dict:
        return {k: _state(v) if k == "requestState" else _short_states(v) for k, v in found.items()}
    return [_short_states(v) for v in found] if type(found) is list else found


def _state(state: Any) -> Any:
    return f"{state[:6]}…{state[-4:]}" if type(state) is str and len(state) > 16 else state


def summary(driven: list[Driven]) -> str:
    counted = Counter(one.verdict for one in driven)
    rest = ", ".join(
        f"{counted[v]} {'differ' if v == DIFFERS and counted[v] > 1 else v}"
        for v in (DIFFERS, FAILED, NOT_RUN, SKIPPED)
        if counted[v]
    )
    return f"{counted[PASSED]} of {len(driven)} operations passed" + (f"; {rest}." if rest else ".")


def as_json(driven: list[Driven], redactor: Redactor | None = None) -> dict[str, Any]:
    """The same for machines."""
    redactor = redactor or Redactor()
    return {
        "operations": [
            {
                "op": one.op, "name": redactor.text(one.name), "verdict": one.verdict, "seconds": round(one.took, 4),
                "rounds": [
                    {
                        "verdict": r.verdict, "why": redactor.text(r.why),
                        "renamed": {redactor.text(then): redactor.text(now) for then, now in r.renamed.items()},
                        "differences": [
                            {
                                "path": d.path,
                                "recorded": value(d.recorded, d.path, redactor),
                                "now": value(d.now, d.path, redactor),
                            }
                            for d in r.differences
                        ],
                    }
                    for r in one.rounds
                ],
            }
            for one in driven
        ],
        "passed": sum(one.verdict == PASSED for one in driven),
        "ok": ok(driven),
    }  # fmt: skip


def junit(driven: list[Driven], suite: str, redactor: Redactor | None = None) -> str:
    """A test case an operation; what was not run is an error, never a success."""
    redactor = redactor or Redactor()
    cases = [
        {
            "group": redactor.text(one.name), "name": f"{one.op} {redactor.text(one.name)}", "took": one.took,
            "verdict": one.verdict,
            "kind": JUNIT.get(one.verdict, ""), "text": "\n".join(words(one, redactor)),
        }
        for one in driven
    ]  # fmt: skip
    return render("replay.xml.j2", cases=cases, suite=suite)

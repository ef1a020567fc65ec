"""A list says which operations are retries whose question cannot be told."""

from __future__ import annotations

from mrtrscope import model
from mrtrscope.views.unsure import NAMED, Unsure
from tests.views.test_rows import operation


def unsure(id: str, grade: str = "ambiguous") -> model.Operation:
    link = model.Link(to=None, grade=grade, evidence=[], candidates=["m2", "m4"], total=2)
    return operation(id=id, rounds=[model.Round(request="m5", answer="m6", link=link)])


def told(*rows: model.Operation) -> list[str]:
    looking = Unsure()
    assert list(looking.seen(rows)) == list(rows)
    return list(looking.lines())


def test_nothing_is_said_where_nothing_is_unsure() -> None:
    assert told(operation(), unsure("op2", "exact")) == []


def test_each_is_named() -> None:
    assert told(operation(), unsure("op2")) == [
        "op2: a retry that fits several questions equally well; show op2 names them"
    ]
    assert told(unsure("op2"), unsure("op9"))[0].startswith("op2, op9: each a retry that fits")


def test_many_are_counted() -> None:
    (line,) = told(*(unsure(f"op{n}") for n in range(NAMED + 3)))
    assert " and 3 more: each a retry" in line

"""`Operation.more` of a row as the fields of `model.Operation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mrtrscope import model


def told(more: dict[str, Any], named: Callable[[str], str | None]) -> dict[str, Any]:
    """The fields; `named` makes the key of an operation its number."""
    from mrtrscope import model

    out: dict[str, Any] = {}
    if "task" in more:
        states = [model.State(t=t / 1e6, state=state) for t, state in more["states"]]
        out["task"] = model.Task(
            id=more["task"], polls=more["polls"], updates=more["updates"], states=states,
            declared="undeclared" not in more,
        )  # fmt: skip
    if "context" in more:
        out["context"] = more["context"]
    if "delivered" in more:
        at = more["acknowledged"]
        out["subscription"] = model.Subscription(
            acknowledged=None if at is None else at / 1e6, delivered=more["delivered"], ended=more["ended"],
            by=more["by"],
        )  # fmt: skip
    for name, field in (
        ("within", "within"),
        ("hop", "hop_of"),
        ("again", "again_of"),
        ("talk", "conversation"),
    ):
        if name in more:
            out[field] = _within(more[name], named)
    return out


def _within(found: dict[str, Any], named: Callable[[str], str | None]) -> model.Within:
    from mrtrscope import model

    candidates = [name for key in found["candidates"] if (name := named(key)) is not None]
    return model.Within(
        operation=named(found["in"]) if found["in"] else None, grade=found["grade"], evidence=found["evidence"],
        candidates=candidates,
    )  # fmt: skip

"""Which operations of a recording can be probed, and which are better left alone. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from mrtrscope.link.facts import EXACT, INFERRED, MRTR_METHODS
from mrtrscope.replay.compare import questions_of
from mrtrscope.replay.recording import Recording, Step


class Chosen:
    """An operation to probe: its first request, and a retry of it in which nothing is wrong."""

    __slots__ = ("first", "other", "retry")

    def __init__(self, retry: Step, other: tuple[str, dict[str, Any]] | None) -> None:
        assert retry.parent is not None
        self.first, self.retry, self.other = retry.parent, retry, other


def candidates(recording: Recording) -> Iterator[Step]:
    """Retries in which nothing is wrong, that take up the first question of their operation."""
    for step in recording.steps:
        link, parent = step.exchange.link, step.parent
        if link is None or parent is None or parent.parent is not None or link.grade not in (EXACT, INFERRED):
            continue
        answer = parent.exchange.answer
        if step.exchange.method not in MRTR_METHODS or answer is None or step.exchange.answer is None:
            continue
        given = step.exchange.answers
        asked = questions_of(answer.body).keys()
        if link.differences or asked - (given.keys() if type(given) is dict else set()):
            continue
        if step.exchange.request.id_text != parent.exchange.request.id_text:
            yield step


def destructive(step: Step) -> bool:
    """Whether the definition of its tool says that it destroys something."""
    tool = step.exchange.tool
    if tool is None or not tool.definition.text:
        return False
    hints = json.loads(tool.definition.text).get("annotations")
    return (
        type(hints) is dict and hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True
    )


def choose(recording: Recording, named: Iterable[str] = ()) -> tuple[list[Chosen], list[str]]:
    """One operation for each thing that was called, and what was left out, in words. What is named stays."""
    wanted = set(named)
    chosen: dict[str, Chosen] = {}
    left: list[str] = []
    for step in candidates(recording):
        if wanted and step.op not in wanted:
            continue
        if step.name in chosen and not wanted:
            continue
        if destructive(step) and step.op not in wanted:
            left.append(f"{step.op} {step.name} looks destructive; name it with --only {step.op} to probe it")
            continue
        chosen[step.op if wanted else step.name] = Chosen(step, _other_call(recording, step))
    return list(chosen.values()), list(dict.fromkeys(left))


def _other_call(recording: Recording, step: Step) -> tuple[str, dict[str, Any]] | None:
    """Another tool of this server that asks, too, and that was not said to be destructive."""
    for other in [*candidates(recording), *recording.firsts]:
        exchange = other.exchange
        calls = exchange.method == step.exchange.method == "tools/call"
        if calls and exchange.target != step.exchange.target and not destructive(other):
            return exchange.target, exchange.arguments if type(exchange.arguments) is dict else {}
    return None

"""Which operations of a recording can be probed, and which are better left alone. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from mrtrscope.link.facts import EXACT, INFERRED, MRTR_METHODS
from mrtrscope.replay.compare import questions_of
from mrtrscope.replay.recording import Recording, Step


class Chosen:
    """A retry to probe: `path` leads to it from the first request of its operation, with nothing wrong on the way.

    other   the end of the path of another tool, or a first request for one; None: none known
    """

    __slots__ = ("other", "path")

    def __init__(self, path: list[Step], other: Step | None) -> None:
        self.path, self.other = path, other

    @property
    def first(self) -> Step:
        return self.path[0]

    @property
    def retry(self) -> Step:
        return self.path[-1]

    @property
    def round(self) -> int:
        """Round of the operation that the retry is; the first request is round 1."""
        return len(self.path)


def is_right(step: Step) -> bool:
    """Whether nothing is wrong with a retry, and it was answered."""
    link, parent = step.exchange.link, step.parent
    if link is None or parent is None or link.grade not in (EXACT, INFERRED) or link.differences:
        return False
    answer = parent.exchange.answer
    if step.exchange.method not in MRTR_METHODS or answer is None or step.exchange.answer is None:
        return False
    given = step.exchange.answers
    asked = questions_of(answer.body).keys()
    if asked - (given.keys() if type(given) is dict else set()):
        return False
    return step.exchange.request.id_text != parent.exchange.request.id_text


def candidates(recording: Recording) -> Iterator[Step]:
    """Retries in which nothing is wrong, that take up the first question of their operation."""
    for step in recording.steps:
        if step.parent is not None and step.parent.parent is None and is_right(step):
            yield step


def path_of(step: Step) -> list[Step]:
    """From the first request to a retry."""
    path = [step]
    while (parent := path[0].parent) is not None:
        path.insert(0, parent)
    return path


def later(step: Step) -> Iterator[Step]:
    """A retry, and those that went on from it, one a round, as long as nothing is wrong with them."""
    found: Step | None = step
    while found is not None:
        yield found
        found = next((child for child in found.children if is_right(child)), None)


def last_of(step: Step) -> Step:
    """The retry with which the operation of this one ended."""
    return list(later(step))[-1]


def destructive(step: Step) -> bool:
    """Whether the definition of its tool says that it destroys something."""
    tool = step.exchange.tool
    if tool is None or not tool.definition.text:
        return False
    hints = json.loads(tool.definition.text).get("annotations")
    return (
        type(hints) is dict and hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True
    )


def choose(
    recording: Recording, named: Iterable[str] = (), round: int | None = None
) -> tuple[list[Chosen], list[str]]:
    """Every retry of one operation for each thing that was called, and what was left out, in words.

    named   operations that are taken in any case, and no others        round   only the retry that is this round
    """
    wanted = set(named)
    chosen: dict[str, Step] = {}
    left: list[str] = []
    for step in candidates(recording):
        if wanted and step.op not in wanted:
            continue
        if step.name in chosen and not wanted:
            continue
        if destructive(step) and step.op not in wanted:
            left.append(left_out(step))
            continue
        chosen.setdefault(step.op if wanted else step.name, step)
    found = [
        Chosen(path_of(retry), _other_call(recording, step))
        for step in chosen.values()
        for retry in later(step)
    ]
    return [one for one in found if round in (None, one.round)], list(dict.fromkeys(left))


def left_out(step: Step) -> str:
    """That an operation is left alone, and how to have it probed."""
    return f"{step.op} {step.name} looks destructive; name it with --only {step.op} to probe it"


def tasks(recording: Recording, named: Iterable[str] = ()) -> tuple[list[Step], list[str]]:
    """The first request that was answered with a task, if there is one; and what was left out, in words."""
    wanted = set(named)
    left: list[str] = []
    for step in recording.firsts:
        answer = step.exchange.answer
        if answer is None or answer.result.get("resultType") != "task" or (wanted and step.op not in wanted):
            continue
        if not destructive(step) or step.op in wanted:
            return [step], left
        left.append(left_out(step))
    return [], left


def _other_call(recording: Recording, step: Step) -> Step | None:
    """Another tool of this server that asks, too, else one that does not; not one that was said to be destructive."""
    for other in [*candidates(recording), *recording.firsts]:
        exchange = other.exchange
        calls = exchange.method == step.exchange.method == "tools/call"
        if calls and exchange.target != step.exchange.target and not destructive(other):
            return other
    return None

"""What an operation is beside its rounds, in lines: states of a task, a subscription, calls it belongs to."""

from __future__ import annotations

from collections.abc import Iterator

from mrtrscope import model
from mrtrscope.views.escape import visible
from mrtrscope.views.words import clock, count, duration, series

STATES = 24  # states of a task that are listed
EVIDENCE = {
    "stream": "it came on that call's stream", "task": "it names that call's task", "process": "of the same process",
    "session": "of the same session", "only-open": "no other call was open", "trace": "same trace",
    "tool": "same tool", "tool-renamed": "same tool but for a prefix", "arguments": "same arguments",
    "time": "while that call was in flight", "question": "the same question came back",
    "state": "the same state came back", "result": "the same result came back", "context": "the same contextId",
    "lost": "its answer broke off", "params": "same params", "client": "certainly the same client",
    "name": "all that is known of the client is the same", "soon": "within a minute",
}  # fmt: skip


def about(op: model.Operation) -> Iterator[str]:
    """The lines; none for an ordinary operation. They are ready to be shown."""
    if op.within is not None:
        yield _inside("asked in", op.within)
    if op.hop_of is not None:
        yield _inside("made by a gateway for", op.hop_of)
    if op.again_of is not None:
        yield _inside("asked anew after the loss of", op.again_of)
    if op.conversation is not None:
        yield _inside("of the conversation that began with", op.conversation)
    if op.nested:
        yield f"the server asked in it: {_listed(op.nested)}"
    if op.hops:
        yield f"a gateway made for it: {_listed(op.hops)} (show {op.id} --hops compares them)"
    if op.task is not None:
        yield from _task(op, op.task)
    if op.subscription is not None:
        yield _subscription(op, op.subscription)


def _inside(words: str, within: model.Within) -> str:
    evidence = series([EVIDENCE.get(word, word) for word in within.evidence])
    if within.operation is None:
        return visible(
            f"{words} one of {_listed(within.candidates)}: {within.grade}, none can be chosen ({evidence})"
        )
    return visible(f"{words} {within.operation}: {within.grade} ({evidence})")


def _task(op: model.Operation, task: model.Task) -> Iterator[str]:
    counts = [count(task.polls, "poll")] + [count(task.updates, "time") + " sent answers"] * bool(
        task.updates
    )
    yield visible(f"task {task.id}: {series(counts)}")
    if not task.declared:
        yield "    the client never declared the tasks extension: it may not know of this task"
    shown = task.states[:STATES]
    for state, after in zip(shown, [*shown[1:], None], strict=True):
        lasted = f"  for {duration(after.t - state.t)}" if after is not None else ""
        yield visible(f"    {clock(state.t)}  {state.state}{lasted}")
    if len(task.states) > len(shown):
        yield f"    … and {len(task.states) - len(shown)} more"


def _subscription(op: model.Operation, found: model.Subscription) -> str:
    told = [f"{n:,} {method}" for method, n in found.delivered.items()]
    parts = [
        "never acknowledged" if found.acknowledged is None
        else f"acknowledged after {duration(max(0.0, found.acknowledged - op.t))}",
        f"delivered {series(told)}" if told else "delivered nothing",
        f"{found.ended}{f' by the {found.by}' if found.by else ''}" if found.ended else "still open",
    ]  # fmt: skip
    return visible("; ".join(parts))


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"{', '.join(names[:12])}{more}"

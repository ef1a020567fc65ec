"""Rules of A2A on tasks: their states, their ends, their names and contexts.

The specification is that of 1.0.1 (a2a-protocol.org: `docs/specification.md`, `specification/a2a.proto`), and of 0.3.0
where the older form has the sentence too. What was known of a task before stands in `link.conversations`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link import agents
from mrtrscope.link.statuses import ENDS, STOPS
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    A2A_ONLY,
    ADVISORY,
    CLIENT,
    EXTRA,
    FAULT,
    MUST,
    MUST_NOT,
    REQUEST,
    RESULT,
    SERVER,
    rule,
)
from mrtrscope.wire.events import Message

SENDS_LATER = agents.SENDS & agents.LATER.keys()
RUNNING = frozenset({"submitted", "working"})


def met(ctx: Context) -> dict[str, Any]:
    """What `link.conversations` has to say about the exchange at hand, {} when nothing."""
    remarks = ctx.exchange.remarks if ctx.exchange is not None else None
    found = remarks.get("agent") if remarks is not None else None
    return found if found is not None else {}


def now(ctx: Context) -> dict[str, Any]:
    """What the answer or event at hand is, {} for none."""
    return met(ctx).get("now") or {}


@rule("a2a/terminal-is-final", level=MUST_NOT, fault=SERVER, on=(RESULT, EXTRA), eras=A2A_ONLY,
      source="A2A 1.0 §4.1.3 TaskState (a2a.proto)")  # fmt: skip
def goes_on_after_its_end(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A task that had come to its end is in another state.

    Why it matters: clients take its results, and stop looking, at the first state that ends it.
    Cannot tell: an answer to what was sent before the end was told may have been overtaken by it.
    """
    was, state = met(ctx).get("was"), now(ctx).get("state")
    if not was or not state:
        return
    ctx.tested()
    if state != was[0]:
        yield ctx.finding(
            answer,
            saw=state,
            expected=was[0],
            also=[was[1]],
            text=f"the task was {was[0]}, and now is {state}",
        )


@rule("a2a/message-to-finished-task", level=ADVISORY, fault=CLIENT, on=REQUEST, eras=A2A_ONLY,
      methods=agents.SENDS, source="A2A 1.0 §3.1.1 Send Message, errors")  # fmt: skip
def message_to_finished_task(request: Message, ctx: Context) -> Iterator[Finding]:
    """A message goes to a task that had come to its end.

    Why it matters: the agent has to refuse it; a refinement is a new task in the same context.
    Cannot tell: when the end of the task was not recorded.
    """
    if not agents.named(request):
        return
    ctx.tested()
    finished = met(ctx).get("finished")
    if finished:
        yield ctx.finding(
            request, saw=finished[0], expected="a task that goes on, or none", also=[finished[1]],
            text=f"a message to a task that was {finished[0]}",
        )  # fmt: skip


@rule("a2a/finished-task-refuses", level=MUST, fault=SERVER, on=(RESULT, FAULT), eras=A2A_ONLY,
      methods=agents.SENDS | {"SubscribeToTask"}, source="A2A 1.0 §3.1.1 Send Message, errors")  # fmt: skip
def finished_task_takes_a_message(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A message to a finished task, or a subscription to one, is not refused.

    Why it matters: a client believes that the task goes on, and waits for what cannot come.
    Cannot tell: whether the task is over, unless that was told before the request was sent.
    """
    finished = met(ctx).get("finished")
    if not finished or ctx.exchange is None:
        return
    ctx.tested()
    if answer.kind == "response":
        yield ctx.finding(
            answer, saw="a result", expected="an error", also=[ctx.exchange.request, finished[1]],
            text=f"{ctx.exchange.method} on a task that was {finished[0]} got a result",
        )  # fmt: skip


@rule("a2a/answers-the-task-named", level=MUST, fault=SERVER, on=(RESULT, EXTRA), eras=A2A_ONLY,
      methods=agents.SENDS | agents.ABOUT,
      source="A2A 1.0 §3.4.2 Task Identifier Semantics")  # fmt: skip
def answers_another_task(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An answer is about another task than the request names.

    Why it matters: what the client said of one task is done to another, or to one that nobody asked for.
    Cannot tell: an answer that is a message, and what a finished task is answered with, which has a rule of its own.
    """
    told, request = now(ctx), ctx.exchange.request if ctx.exchange is not None else None
    name = agents.named(request) if request is not None else ""
    if request is None or not name or not told.get("task") or told["what"] == agents.MESSAGE:
        return
    if met(ctx).get("finished") and ctx.exchange is not None and ctx.exchange.method in agents.SENDS:
        return
    ctx.tested()
    if told["task"] != name:
        yield ctx.finding(answer, saw=told["task"], expected=name, also=[request])


@rule("a2a/task-id-unique", level=MUST, fault=SERVER, on=RESULT, eras=A2A_ONLY, methods=agents.SENDS,
      source="A2A 1.0 §3.4.2 Task Identifier Semantics")  # fmt: skip
def task_id_again(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A new task has the id of an older one.

    Why it matters: whoever asks for one of them gets the other.
    Cannot tell: the same messageId again may be answered with its task; a message in the context of a task may be
    taken for one to it.
    """
    request = ctx.exchange.request if ctx.exchange is not None else None
    if request is None or now(ctx).get("what") != agents.TASK:
        return
    sent = agents.spoken(request)
    if sent.get("taskId") or sent.get("contextId"):
        return
    ctx.tested()
    again = met(ctx).get("again")
    if again:
        yield ctx.finding(
            answer, saw=now(ctx)["task"], expected="an id that no task had before", also=[again]
        )


@rule("a2a/blocking-waits", level=MUST, fault=SERVER, on=RESULT, eras=A2A_ONLY, methods={"SendMessage"},
      source="A2A 1.0 §3.2.2 SendMessageConfiguration")  # fmt: skip
def answers_too_early(answer: Message, ctx: Context) -> Iterator[Finding]:
    """SendMessage is answered while the task is still at work, although nobody said returnImmediately.

    Why it matters: a client that waits for the outcome takes the unfinished task for it, and never looks again.
    Cannot tell: an answer that is a message, or a task without a state.
    """
    told = now(ctx)
    if ctx.exchange is None or told.get("what") != agents.TASK or not told.get("state"):
        return
    wanted = ctx.exchange.request.params.get("configuration")
    if type(wanted) is dict and wanted.get("returnImmediately", False) is not False:
        return
    ctx.tested()
    if told["state"] in RUNNING:
        yield ctx.finding(answer, saw=told["state"], expected=sorted([*ENDS, *STOPS]))


@rule("a2a/context-matches-task", level=MUST, fault=CLIENT, on=REQUEST, eras=A2A_ONLY, methods=agents.SENDS,
      source="A2A 1.0 §4.1.4 Message (a2a.proto)")  # fmt: skip
def context_of_another_task(request: Message, ctx: Context) -> Iterator[Finding]:
    """A message names a task, and a context that the task is not in.

    Why it matters: the agent has to refuse it, since it cannot know which of the two is meant.
    Cannot tell: unless the task's context was told before.
    """
    pair = _contexts(request, ctx)
    if pair is None:
        return
    ctx.tested()
    if pair[0] != pair[1]:
        yield ctx.finding(request, saw=pair[0], expected=pair[1], path="/params/message/contextId")


@rule("a2a/mismatch-refused", level=MUST, fault=SERVER, on=(RESULT, FAULT), eras=A2A_ONLY, methods=SENDS_LATER,
      source="A2A 1.0 §3.4.3 Multi-Turn Conversation Patterns")  # fmt: skip
def mismatch_is_taken(answer: Message, ctx: Context) -> Iterator[Finding]:
    """A message whose task and context do not belong together is not refused.

    Why it matters: what was meant for one conversation ends up in another.
    Cannot tell: unless the task's context was told before.
    """
    pair = _contexts(ctx.exchange.request, ctx) if ctx.exchange is not None else None
    if pair is None or pair[0] == pair[1] or ctx.exchange is None:
        return
    ctx.tested()
    if answer.kind == "response":
        yield ctx.finding(answer, saw="a result", expected="an error", also=[ctx.exchange.request])


def _contexts(request: Message, ctx: Context) -> tuple[str, str] | None:
    """(the context that a message names, the one that its task is in); None when one of them is not known."""
    sent = agents.name_of(agents.spoken(request).get("contextId"))
    known = met(ctx).get("context")
    return (sent, known) if sent and known and agents.named(request) else None


@rule("a2a/context-kept", level=MUST_NOT, fault=SERVER, on=(RESULT, EXTRA), eras=A2A_ONLY,
      methods=SENDS_LATER | (agents.ABOUT & agents.LATER.keys()),
      source="A2A 1.0 §3.4.1 Context Identifier Semantics")  # fmt: skip
def context_is_another(answer: Message, ctx: Context) -> Iterator[Finding]:
    """An answer names another context than the message did, or than its task was in.

    Why it matters: the client loses the thread: its next message begins a conversation that knows nothing of this one.
    Cannot tell: when neither the message nor what was recorded of its task names a context.
    """
    told, facts = now(ctx), met(ctx)
    if not told.get("context") or ctx.exchange is None:
        return
    before = facts.get("before") or {}
    if before.get("context") == told["context"]:
        return  # said already
    named = agents.named(ctx.exchange.request)
    sent = "" if named else agents.name_of(agents.spoken(ctx.exchange.request).get("contextId"))
    expected = sent or facts.get("elsewhere") or (facts.get("context") if named == told["task"] else "")
    if not expected:
        return
    ctx.tested()
    if told["context"] != expected:
        yield ctx.finding(answer, saw=told["context"], expected=expected, also=[ctx.exchange.request])

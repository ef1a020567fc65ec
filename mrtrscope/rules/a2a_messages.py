"""Rules of A2A on the form of what is sent: what has to be there, whose it is, how it is spelled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mrtrscope.link import agents
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import (
    A2A_ONLY,
    EITHER,
    EXTRA,
    FAULT,
    MUST,
    REQUEST,
    RESULT,
    SERVER,
    rule,
)
from mrtrscope.wire.events import Message

# What must be there and say something; before 1.x only what every release of it had.
LATER: dict[str, tuple[str, ...]] = {
    agents.MESSAGE: ("messageId", "role", "parts"),
    agents.TASK: ("id", "status/state"),
    agents.STATUS: ("taskId", "contextId", "status/state"),
    agents.ARTIFACT: ("taskId", "contextId", "artifact/artifactId", "artifact/parts"),
}
EARLIER = {
    agents.MESSAGE: LATER[agents.MESSAGE],
    agents.TASK: LATER[agents.TASK],
    agents.STATUS: ("taskId", "status/state"),
    agents.ARTIFACT: ("taskId", "artifact/artifactId", "artifact/parts"),
}
USERS, AGENTS = ("ROLE_USER", "user"), ("ROLE_AGENT", "agent")
PREFIXES = {"role": "ROLE_", "state": "TASK_STATE_"}
DETAILS = 64

Place = tuple[str, str, dict[str, Any]]  # pointer, what, the thing


def _things(message: Message, ctx: Context) -> list[Place]:
    """What of A2A a request, answer or event holds: itself, and the message in its status."""
    if ctx.exchange is None:
        return []
    if message.kind == "request":
        return (
            [("/params/message", agents.MESSAGE, agents.spoken(message))]
            if message.method in agents.SENDS
            else []
        )
    found = agents.said(message.result)
    if found is None:
        return []
    what, value = found
    member = next((m for m in agents.MEMBERS if message.result.get(m) is value), "")
    at = f"/result/{member}" if member else "/result"
    out: list[Place] = [(at, what, value)]
    status = value.get("status") if what != agents.MESSAGE else None
    inner = status.get("message") if type(status) is dict else None
    if type(inner) is dict:
        out.append((f"{at}/status/message", agents.MESSAGE, inner))
    return out


@rule("a2a/required-fields", level=MUST, fault=EITHER, on=(REQUEST, RESULT, EXTRA), eras=A2A_ONLY,
      methods=agents.SENDS | agents.ABOUT, source="A2A 1.0 §5.7 Field Presence and Optionality")  # fmt: skip
def lacks_a_field(message: Message, ctx: Context) -> Iterator[Finding]:
    """A message, task or event lacks what it must have.

    Why it matters: without its ids nobody can say what it belongs to; without parts it says nothing.
    Cannot tell: of the releases before 1.0, members that came with one of them.
    """
    needed = LATER if ctx.exchange is not None and agents.later(ctx.exchange.method) else EARLIER
    for at, what, value in _things(message, ctx):
        ctx.tested()
        for path in needed[what]:
            if not _present(value, path):
                name = path.replace("/", ".")
                yield ctx.finding(
                    message, saw=sorted(value)[:16], expected=name, path=f"{at}/{path}", fault=_sender(message),
                    text=f"{_CALLED[what]} without {name}",
                )  # fmt: skip


@rule("a2a/role-of-sender", level=MUST, fault=EITHER, on=(REQUEST, RESULT, EXTRA), eras=A2A_ONLY,
      methods=agents.SENDS | agents.ABOUT, source="A2A 1.0 §4.1.5 Role (a2a.proto)")  # fmt: skip
def role_of_the_other(message: Message, ctx: Context) -> Iterator[Finding]:
    """A message bears the role of the other side.

    Why it matters: an agent that reads its own words as its user's, or the reverse, answers the wrong one.
    Cannot tell: a message without a role, or with one that neither side has, is passed over.
    """
    right, wrong = (USERS, AGENTS) if message.dir == "c2s" else (AGENTS, USERS)
    for at, what, value in _things(message, ctx):
        role = value.get("role")
        if what != agents.MESSAGE or role is None:
            continue
        ctx.tested()
        if role in wrong:
            yield ctx.finding(
                message,
                saw=role,
                expected=right[wrong.index(role)],
                path=f"{at}/role",
                fault=_sender(message),
            )


@rule("a2a/enum-names", level=MUST, fault=EITHER, on=(REQUEST, RESULT, EXTRA), eras=A2A_ONLY,
      methods=(agents.SENDS | agents.ABOUT) & agents.LATER.keys(),
      source="A2A 1.0 §5.5 JSON Field Naming Convention")  # fmt: skip
def enum_in_the_old_spelling(message: Message, ctx: Context) -> Iterator[Finding]:
    """A role or state of A2A 1.x is not spelled as its definition spells it.

    Why it matters: readers made from the definition refuse the whole message, or take the state for unspecified.
    Cannot tell: only the spelling is looked at: a value that begins as it should and does not exist passes. Methods of
    the forms before 1.0 spell otherwise.
    """
    for at, what, value in _things(message, ctx):
        status = value.get("status")
        places = (
            [("role", f"{at}/role", value.get("role"))] if what == agents.MESSAGE
            else [("state", f"{at}/status/state", status.get("state"))] if type(status) is dict
            else []
        )  # fmt: skip
        for name, path, said in places:
            if said is None:
                continue
            ctx.tested()
            if type(said) is not str or not said.startswith(PREFIXES[name]):
                yield ctx.finding(
                    message, saw=said, expected=f"{PREFIXES[name]}…", path=path, fault=_sender(message)
                )


@rule("a2a/error-details", level=MUST, fault=SERVER, on=FAULT, eras=A2A_ONLY, methods=agents.LATER,
      source="A2A 1.0 §9.5 Error Handling")  # fmt: skip
def untyped_details(answer: Message, ctx: Context) -> Iterator[Finding]:
    """The details of an error do not say of what type they are.

    Why it matters: clients look for the reason by its `@type`, and find none.
    Cannot tell: `data` that is no array is passed over; of an array the first 64 are looked at.
    """
    data = answer.error.get("data")
    if type(data) is not list:
        return
    ctx.tested()
    for n, detail in enumerate(data[:DETAILS]):
        if type(detail) is not dict or type(detail.get("@type")) is not str:
            yield ctx.finding(
                answer, saw=sorted(detail)[:16] if type(detail) is dict else detail, expected="@type",
                path=f"/error/data/{n}",
            )  # fmt: skip


_CALLED = {
    agents.MESSAGE: "a message", agents.TASK: "a task", agents.STATUS: "a change of status",
    agents.ARTIFACT: "a piece of work",
}  # fmt: skip


def _sender(message: Message) -> str:
    return "client" if message.dir == "c2s" else "server"


def _present(value: Any, path: str) -> bool:
    for name in path.split("/"):
        value = value.get(name) if type(value) is dict else None
    return value is not None and value not in ("", [])

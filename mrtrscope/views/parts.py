"""What an operation is drawn with beside its own rounds: questions nested in a call, polls and answers of a task.

A task's polls that told nothing new are one line before the one that did. An agent's messages (A2A) become rounds that
take each other up, so that a stop for input looks like any other question.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link import agents
from mrtrscope.link.agents import told as agent_told
from mrtrscope.link.agents import word
from mrtrscope.link.statuses import STOPS
from mrtrscope.views.scene import LinkDetail, RoundDetail, Said

POLLS = frozenset(name for name, what in agents.METHODS.items() if what == agents.GET)  # MCP's is among them
UPDATE, RESULT = "tasks/update", "tasks/result"
_LABELS = {
    "tasks/get": "poll", "tasks/update": "answers", "tasks/cancel": "cancels", "tasks/result": "fetches the result",
    "GetTask": "poll", "SubscribeToTask": "resubscribes", "tasks/resubscribe": "resubscribes",
    "CancelTask": "cancels",
}  # fmt: skip


def of_task(exchanges: list[RoundDetail], first: RoundDetail | None) -> list[RoundDetail]:
    """The requests about a task, in order: those that told something, each with how many before it did not."""
    out: list[RoundDetail] = []
    dull: list[RoundDetail] = []
    before = _shown(first.answer) if first is not None else None
    asking: RoundDetail | None = None
    for one in exchanges:
        one.label = _LABELS.get(one.request.method, one.request.method)
        now = _shown(one.answer)
        if one.request.method in POLLS and now == before and one.answer is not None:
            dull.append(one)
            continue
        _pass(one, dull)
        dull = []
        if one.request.method == UPDATE and asking is not None and asking.answer is not None:
            one.link = LinkDetail(asking.answer.m, "exact", ["task"])
        if state_of(one.answer) in STOPS:
            asking = one
        before = now if one.request.method in POLLS else None
        out.append(one)
    if dull:  # the last look at it, although it told nothing new
        _pass(dull[-1], dull[:-1])
        out.append(dull[-1])
    return out


def _pass(one: RoundDetail, before: list[RoundDetail]) -> None:
    """Have a round tell of those before it that are not drawn."""
    one.skipped = len(before)
    one.passed = [said for r in before for said in (r.request, r.answer) if said is not None]


def of_agent(rounds: list[RoundDetail]) -> None:
    """Have each round of an agent end with the last event that it streamed, and take up the stop before it."""
    stop: Said | None = None
    for one in rounds:
        if stop is not None:
            one.link = LinkDetail(stop.m, "exact", ["task"])
        events = [said for said in (one.answer, *one.notes) if said is not None]
        last = next((said for said in reversed(events) if state_of(said)), None)
        if last is not None and one.answer is not None and last is not one.answer:
            one.notes = [said for said in events if said is not last]
            one.answer = last
        stop = one.answer if one.answer is not None and state_of(one.answer) in STOPS else None


def state_of(said: Said | None) -> str:
    """The state of a task that an answer shows, "" when it shows none."""
    if said is None or said.kind != "response":
        return ""
    result = said.member("result")
    made = result.get("task")  # of 2025-11-25: the answer that makes a task has it inside
    status = result.get("status", made.get("status") if isinstance(made, dict) else None)
    if isinstance(status, str):
        return word(status)
    found = agent_told(result)
    return found[1] if found is not None else ""


def is_made(request: Said, answer: Said) -> bool:
    """Whether a question of 2025-11-25 that asked for a task was answered with one."""
    return "task" in request.member("params") and isinstance(answer.member("result").get("task"), dict)


def asked(said: Said) -> dict[str, Any]:
    """The questions that an answer about a task shows, as `inputRequests` has them."""
    result, state = said.member("result"), state_of(said)
    if state not in STOPS:
        return {}
    found = result.get("inputRequests")
    if isinstance(found, dict):
        return found
    text = agent_text(_status(result).get("message"))
    return (
        {"": {"method": f"a2a/{state}", "params": {"message": text}}}
        if agent_told(result) is not None
        else {}
    )


def given(request: Said) -> dict[str, Any]:
    """The answers that a message to an agent brings, as `inputResponses` has them."""
    message = request.member("params").get("message")
    if not isinstance(message, dict) or "parts" not in message:
        return {}
    return {"": {"text": agent_text(message)}}


def is_work(said: Said) -> bool:
    """Whether an event of an agent brings a piece of its work."""
    found = agents.said(said.member("result"))
    return found is not None and found[0] == agents.ARTIFACT


def agent_text(message: Any) -> str:
    """What a message of A2A says, as far as it is text."""
    parts = message.get("parts") if isinstance(message, dict) else None
    texts = (
        [part.get("text") for part in parts or [] if isinstance(part, dict)]
        if isinstance(parts, list)
        else []
    )
    return " ".join(text for text in texts if isinstance(text, str))


def _status(result: dict[str, Any]) -> dict[str, Any]:
    for value in (result.get("statusUpdate"), result.get("task"), result):
        status = value.get("status") if isinstance(value, dict) else None
        if isinstance(status, dict):
            return status
    return {}


def _shown(said: Said | None) -> Any:
    """What of an answer would be news: the state, and which questions it lists."""
    if said is None:
        return None
    asks = asked(said)
    return state_of(said), sorted(map(str, asks)), repr(asks)[:2000]

"""What stands over the arrow of a message, and under it."""

from __future__ import annotations

from typing import Any

from mrtrscope.views import fold, parts, questions
from mrtrscope.views.escape import visible
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import Line, RoundDetail, Said, Tone
from mrtrscope.views.words import count

Words = tuple[str, list[Line], Tone]
_LOOKED = 2000  # characters of a text that a glance at it is taken from
_KEYS = 4  # names listed before the rest is counted


def request(round_: RoundDetail, redact: Redactor, unfold: bool) -> Words:
    """A request: method, target, id; under it the arguments, or what a retry brings."""
    said, params = round_.request, round_.request.member("params")
    target = params.get("name", params.get("uri"))
    named = f" {questions.short(redact.value(target), 120)}" if target is not None else ""
    label = f"{visible(said.method) or said.kind}{named}  id {questions.short(redact.value(said.id), 40)}"
    if spoken := parts.given(said):  # a retry's words stand above it, where they were said
        lines = (
            []
            if round_.link is not None
            else [Line("text", questions.short(redact.text(spoken[""]["text"]), 160))]
        )
        return label, lines, "request"
    if round_.link is not None or "requestState" in params or "inputResponses" in params:
        return label, [_carried(params, redact)], "request"
    if said.method == "initialize" and isinstance(offered := params.get("protocolVersion"), str):
        return label, [Line("hint", f"offers {questions.short(offered, 40)}")], "request"
    arguments = params.get("arguments")
    return label, questions.members(arguments, redact, unfold) if arguments else [], "request"


def _carried(params: dict[str, Any], redact: Redactor) -> Line:
    """What a retry brings: in a hint, as the answers stand above it in full."""
    brings = []
    answers = params.get("inputResponses")
    if isinstance(answers, dict) and answers:
        brings.append(f"answers {listed(answers, redact)}")
    if "requestState" in params:
        brings.append("the state")
    return Line("hint", f"with {' and '.join(brings)}" if brings else "without answers or state")


def answer(said: Said, redact: Redactor, unfold: bool = False, spoken: bool = False) -> Words:
    """An answer: its kind; under it what it says, unless it was `spoken` just above."""
    error, result = said.member("error"), said.member("result")
    if said.kind == "error" or error:
        message = questions.short(redact.value(error.get("message", "")))
        return f"error {questions.short(error.get('code', '?'), 20)}", [Line("text", message)], "error"
    kind = result.get("resultType")
    if kind == "input_required":
        asks = result.get("inputRequests")
        told = f"asks {listed(asks, redact)}" if isinstance(asks, dict) and asks else "asks nothing"
        return "input_required", [Line("hint", told)], "asked"
    state = parts.state_of(said)
    if state:
        known = parts.asked(said)
        hint = [Line("hint", f"asks {listed(known, redact)}")] if known and "" not in known else []
        return questions.short(state, 40), hint or _content(_final(result), redact), _TONES.get(state, "note")
    label = questions.short(kind, 40) if kind is not None else "result"
    if result.get("isError") is True:
        return f"{label}, isError", _content(result, redact), "error"
    if isinstance(action := result.get("action"), str):  # what the user said to an old-style question
        lines = [] if spoken else questions.members(result.get("content"), redact, unfold, what="value")
        return f"{label}, {questions.short(action, 20)}", lines, "complete"
    return label, _content(result, redact), "complete"


_TONES: dict[str, Tone] = {
    "input_required": "asked", "auth_required": "asked", "completed": "complete", "failed": "error",
    "rejected": "error", "cancelled": "cancel",
}  # fmt: skip
_TOLD = ("notifications/tasks", "notifications/tasks/status")  # whose params are a task


def _final(result: dict[str, Any]) -> dict[str, Any]:
    """What a finished task brings, as a result."""
    inner = result.get("result")
    return inner if isinstance(inner, dict) else result


def _content(result: dict[str, Any], redact: Redactor) -> list[Line]:
    """What a final result brings, in a line or two."""
    content = result.get("content", result.get("messages", result.get("contents")))
    items = content if isinstance(content, list) else []
    lines = [] if content is not None else _listing(result, redact)
    for item in items[:1]:
        inner = item.get("content", item) if isinstance(item, dict) else item
        if isinstance(inner, dict) and isinstance(inner.get("text"), str):
            said = " ".join(redact.text(inner["text"])[:_LOOKED].split())  # a glance, not the text as it was
            lines.append(Line("text", questions.short(said, 160)))
        elif isinstance(inner, dict):
            kind = inner.get("type", inner.get("mimeType", "content"))
            lines.append(Line("hint", questions.short(kind, 60)))
    if len(items) > 1:
        lines.append(Line("more", f"and {count(len(items) - 1, 'more item')}"))
    return lines


_LISTS = {
    "tools": "tool", "resources": "resource", "resourceTemplates": "template", "prompts": "prompt", "roots": "root",
    "values": "value",
}  # fmt: skip


def _listing(result: dict[str, Any], redact: Redactor) -> list[Line]:
    """What a result lists: how many of what, and the first names; of a greeting the revisions."""
    revision = result.get("protocolVersion", result.get("supportedVersions"))
    if isinstance(revision, str):
        return [Line("hint", f"agrees on {questions.short(revision, 40)}")]
    if isinstance(revision, list) and revision:
        return [Line("hint", f"speaks {questions.short(', '.join(map(str, revision[:_KEYS])), 120)}")]
    completion = result.get("completion")
    for holder in (result, completion if isinstance(completion, dict) else {}):
        for key, one in _LISTS.items():
            items = holder.get(key)
            if isinstance(items, list):
                names = [
                    item.get("name", item.get("uri", "?")) if isinstance(item, dict) else item
                    for item in items
                ]
                told = [questions.short(redact.value(name), 60) for name in names[:_KEYS]]
                more = f" and {len(items) - _KEYS:,} more" if len(items) > _KEYS else ""
                return [
                    Line("hint", f"{count(len(items), one)}{': ' if told else ''}{', '.join(told)}{more}")
                ]
    return []


def note(said: Said, redact: Redactor) -> Words:
    """A notification, or another message on a stream."""
    if said.kind == "request":
        return f"{visible(said.method)}  id {questions.short(redact.value(said.id), 40)}", [], "request"
    if state := parts.state_of(said):
        return questions.short(state, 40), [], _TONES.get(state, "note")
    if parts.is_work(said):
        return "a piece of the work", [], "note"
    if said.kind != "notification":
        tone: Tone = "error" if said.kind == "error" else "note"
        return f"{said.kind}  id {questions.short(redact.value(said.id), 40)}", [], tone
    if said.method.endswith("/cancelled"):
        params = said.member("params")
        reason = params.get("reason")
        lines = [Line("hint", questions.short(redact.text(reason)))] if isinstance(reason, str) else []
        return f"cancelled  id {questions.short(params.get('requestId'), 40)}", lines, "cancel"
    label, lines = fold.label(said, redact)
    status = said.member("params").get("status") if said.method in _TOLD else None
    if isinstance(status, str):
        lines = [Line("hint", questions.short(status, 40)), *lines]
    return label, lines, "note"


def listed(keys: Any, redact: Redactor) -> str:
    """The first few names of a map, and how many more."""
    names = [visible(redact.text(str(key))) for key in list(keys)[:_KEYS]]
    more = len(keys) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")

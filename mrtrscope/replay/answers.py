"""Whether an answer fits the question it was given to. Pure; used by `--answers schema`, by drive and by probes."""

from __future__ import annotations

from typing import Any

from mrtrscope.link.canonical import canonical

ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
ACTIONS = ("accept", "decline", "cancel")


def misfit(question: Any, answer: Any) -> str:
    """What is wrong with an answer, in words; "" when it fits, or when that cannot be told."""
    if type(answer) is not dict:
        return "is no object"
    method = question.get("method") if type(question) is dict else None
    params = question.get("params") if type(question) is dict else None
    if method == ELICIT:
        return _elicited(params if type(params) is dict else {}, answer)
    if method == SAMPLE and not {"role", "content", "model"} <= answer.keys():
        return f"lacks {', '.join(sorted({'role', 'content', 'model'} - answer.keys()))}"
    if method == ROOTS and type(answer.get("roots")) is not list:
        return "has no list of roots"
    return ""


def _elicited(params: dict[str, Any], answer: dict[str, Any]) -> str:
    action = answer.get("action")
    if action not in ACTIONS:
        return "has no action accept, decline or cancel"
    schema = params.get("requestedSchema")
    if action != "accept" or params.get("mode", "form") != "form" or type(schema) is not dict:
        return ""
    content = answer.get("content", {})
    if type(content) is not dict:
        return "has a content that is no object"
    from mrtrscope.rules.json_schema import Schema

    faults = Schema(schema, formats_asserted=True).faults(content, len(canonical(content)))
    if not faults:
        return ""
    place = "/".join(map(str, ("content", *faults[0].path)))
    return f"{place} {faults[0].words()}"


def same_question(a: Any, b: Any) -> bool:
    """Whether two questions ask the same, whatever their keys."""
    return canonical(_asked(a)) == canonical(_asked(b))


def _asked(question: Any) -> Any:
    """A question less what is made freshly each time."""
    if type(question) is not dict or type(question.get("params")) is not dict:
        return question
    params = {k: v for k, v in question["params"].items() if k not in ("_meta", "elicitationId")}
    return {**question, "params": params}

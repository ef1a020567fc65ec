"""Whether a value is an answer of the kind that a question asks for, by the schema of the revision.

The shapes come from `mcp-types`, through its public `methods`. Importing it costs a third of a second, which only an
answer pays that is out of the ordinary (see `ordinary`). A union would take a roots list for an elicitation's answer,
so the kind is chosen by the question. Contents of an elicitation and details of content blocks have rules of their own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from mrtrscope.rules.ordinary_offers import TEXT, certain, list_of, members
from mrtrscope.rules.questions import CAPABILITY, ELICITATION, ROOTS, SAMPLING, Answer

# 2026-07-28 has no messages for these results; the objects inside inputResponses kept the older shape.
_SHAPES_OF = "2025-11-25"


def kind_known(method: str) -> bool:
    """Whether the specification says what an answer to this question looks like."""
    return method in CAPABILITY


def faults(method: str, value: Any) -> dict[str, str]:
    """What keeps the value from answering a question of this method: member -> words; "" for the whole."""
    if type(value) is not dict:
        return {"": "is no object"}
    if ordinary(method, value):
        return {}
    return faults_of_schema(method, value)


def faults_of_schema(method: str, value: dict[str, Any]) -> dict[str, str]:
    """As `faults`, by the schema in any case."""
    validate, invalid = _validator()
    try:
        validate(method, _SHAPES_OF, value)
    except invalid as error:
        return _by_member(
            method, value, error.errors(include_url=False, include_context=False, include_input=False)
        )
    return {}


def ordinary(method: str, value: dict[str, Any]) -> bool:
    """The quick yes: an answer with the usual members alone, all of them certainly as they should be."""
    usual = _USUAL.get(method)
    if usual is None or not usual(value):
        return False
    return method != ROOTS or all(_FOLDER.fullmatch(root["uri"]) for root in value["roots"])


_ELICITED = members({"action": {"enum": ["accept", "decline", "cancel"]}, "content": {}}, "action")
_SAMPLED = members({
    "role": {"enum": ["user", "assistant"]}, "model": TEXT, "stopReason": TEXT,
    "content": members({"type": {"enum": ["text"]}, "text": TEXT}, "type", "text"),
}, "role", "content", "model")  # fmt: skip
_ROOTED = members({"roots": list_of(members({"uri": TEXT, "name": TEXT}, "uri"))}, "roots")
_USUAL = {ELICITATION: certain(_ELICITED), SAMPLING: certain(_SAMPLED), ROOTS: certain(_ROOTED)}
_FOLDER = re.compile(r"file:///[A-Za-z0-9_./-]*")  # certainly an address


def faults_of(answer: Answer) -> dict[str, str]:
    """`faults` of an answer by its question, worked out once."""
    if answer.known is None:
        answer.known = faults(answer.question.method, answer.value)
    return answer.known


@cache
def _validator() -> tuple[Any, Any]:
    from mcp_types import methods
    from pydantic import ValidationError

    return methods.validate_client_result, ValidationError


def wrapped(value: Any) -> str:
    """What an answer is instead of a bare result: "a JSON-RPC response", "an error object", …; else "".

    Only the top level counts: the content of an elicitation may well have members of these names.
    """
    if type(value) is not dict:
        return ""
    if "result" in value and value.keys() & {"jsonrpc", "id"}:
        return "a JSON-RPC response"
    if "result" in value and "method" in value:
        return "a {method, result} pair"
    error = value.get("error")
    if type(error) is dict and error.keys() & {"code", "message"}:
        return "an error object"
    return ""


def refused(method: str, value: Any) -> bool:
    """An elicitation that the user declined or dismissed."""
    return method == ELICITATION and type(value) is dict and value.get("action") in ("decline", "cancel")


def accepted(method: str, value: Any) -> bool:
    """A sound answer that gives what was asked for."""
    return kind_known(method) and not refused(method, value) and not faults(method, value)


def _by_member(method: str, value: dict[str, Any], errors: list[Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for error in errors:
        member = str(error["loc"][0]) if error["loc"] else ""
        if method == ELICITATION and member == "content":
            continue
        if member not in value:
            found[member] = "is missing"
        elif len(error["loc"]) == 1:
            found[member] = error["msg"][:1].lower() + error["msg"][1:]
        else:
            found.setdefault(member, "has none of the shapes allowed here")
    return found

"""Questions of revision 2026-07-28 and answers that fit them, drawn at random from the text of the specification."""

from __future__ import annotations

from random import Random
from typing import Any

WORDS = [
    "ok",
    "Ja",
    "größer",
    "名前",
    "a/b~c",
    "x y",
    "-",
    "0",
    "ﬁ",
    "é",
    "e\u0301",
    "🎂",
    "tab\there",
    "input",
    "state",
]


def may_ask(question: dict[str, Any], caps: dict[str, Any]) -> bool:
    kind = question["method"].partition("/")[0]
    if kind not in caps:
        return False
    if question.get("params", {}).get("mode") == "url":
        return "url" in caps["elicitation"]
    return "tools" not in question.get("params", {}) or "tools" in caps["sampling"]


def question(r: Random, kind: str, caps: dict[str, Any]) -> dict[str, Any]:
    if kind == "roots":
        return r.choice([{"method": "roots/list"}, {"method": "roots/list", "params": {}}])
    if kind == "sampling":
        block = {"type": "text", "text": r.choice(WORDS)}
        params: dict[str, Any] = {"messages": [{"role": "user", "content": r.choice([block, [block, block]])}],
                                  "maxTokens": r.choice([100, 1000])}  # fmt: skip
        if r.random() < 0.4:
            wanted = {"hints": [{"name": "small"}], "costPriority": 0, "speedPriority": 1.0}
            params |= {"systemPrompt": "Be brief.", "temperature": 0.5, "stopSequences": ["\n\n"]}
            params["modelPreferences"] = wanted
        if "tools" in caps["sampling"] and r.random() < 0.3:
            tool = {"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}}
            params |= {"tools": [tool], "toolChoice": {"mode": r.choice(["auto", "none"])}}
        return {"method": "sampling/createMessage", "params": params}
    if "url" in caps["elicitation"] and r.random() < 0.3:
        return {"method": "elicitation/create", "params": {
            "mode": "url", "message": "Log in, please", "url": "https://login.example.com/start?x=1"}}  # fmt: skip
    names = ["size", "größe", "when", "why", "a b"]
    fields = {f"{r.choice(names)}{n}": field(r) for n in range(r.choice([0, 1, 1, 2, 4]))}
    schema: dict[str, Any] = {"type": "object", "properties": fields}
    if fields and r.random() < 0.7:
        schema["required"] = r.sample(sorted(fields), r.randint(1, len(fields)))
    if r.random() < 0.2:
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    params = {"message": f"Tell me {r.choice(WORDS)}", "requestedSchema": schema}
    if r.random() < 0.6:
        params["mode"] = "form"
    return {"method": "elicitation/create", "params": params}


def field(r: Random) -> dict[str, Any]:
    titled = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]
    made = dict(r.choice([
        {"type": "string"}, {"type": "string", "minLength": 2, "maxLength": 3}, {"type": "string", "format": "email"},
        {"type": "string", "format": "date"}, {"type": "string", "format": "date-time"},
        {"type": "string", "format": "uri"},
        {"type": "number", "minimum": 0, "maximum": 5}, {"type": "integer", "minimum": 1}, {"type": "boolean"},
        {"type": "string", "enum": ["a", "b"]}, {"type": "string", "oneOf": titled},
        {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
        {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
        {"type": "array", "items": {"anyOf": titled}},
    ]))  # fmt: skip
    if r.random() < 0.3:
        made |= {"title": r.choice(WORDS), "description": r.choice(WORDS)}
    return made


def value(r: Random, field: dict[str, Any]) -> Any:
    if field["type"] == "string":
        if "enum" in field or "oneOf" in field:
            return r.choice(["a", "b"])
        if "maxLength" in field:
            return r.choice(["🎂🎂🎂", "ab", "äöü"])
        moment = r.choice(["2026-02-28T23:59:59Z", "2026-02-28T23:59:59.123+01:00"])
        forms = {
            "email": "ann@example.com",
            "date": "2026-02-28",
            "date-time": moment,
            "uri": "https://example.com/a?b#c",
        }
        return forms.get(field.get("format", ""), r.choice(["", *WORDS]))
    if field["type"] == "number":
        return r.choice([0, 5, 2.5, 5.0, 1e-7])
    if field["type"] == "integer":
        return r.choice([1, 7, 2**40, 3.0])
    if field["type"] == "boolean":
        return r.choice([True, False])
    return r.choice([["a"], ["b"], ["a", "b"]])


def reply(r: Random, question: dict[str, Any]) -> dict[str, Any]:
    if question["method"] == "roots/list":
        two = [{"uri": "file:///a%20b", "name": "ü"}, {"uri": "file:///c"}]
        return {"roots": r.choice([[], [{"uri": "file:///home/ann"}], two])}
    params = question["params"]
    if question["method"] == "sampling/createMessage":
        block: Any = {"type": "text", "text": r.choice(["Paris", "名前"])}
        said: dict[str, Any] = {"role": "assistant", "model": "m-1", "content": block}
        if params.get("toolChoice", {}).get("mode") == "auto" and r.random() < 0.5:
            use = {"type": "tool_use", "id": "u1", "name": "add", "input": {"a": 1}}
            said |= {"content": [block, use], "stopReason": "toolUse"}
        elif r.random() < 0.8:
            said["stopReason"] = r.choice(["endTurn", "stopSequence", "maxTokens", "vendor"])
        return said
    action = r.choice(["accept", "accept", "accept", "decline", "cancel"])
    if action != "accept" or params.get("mode") == "url":
        return {"action": action}
    schema = params["requestedSchema"]
    needed = schema.get("required", [])
    content = {k: value(r, f) for k, f in schema["properties"].items() if k in needed or r.random() < 0.7}
    return {"action": "accept", "content": content}

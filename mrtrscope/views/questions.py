"""What a server asks through the client, and what came back: in lines for a card, by kind of question."""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.store.secret import is_secret_name
from mrtrscope.views.escape import visible
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import Line, Side
from mrtrscope.views.words import count, series

FIELDS = 8  # fields of a form, or members of an answer, shown before the rest is folded
_TEXT = 600  # characters of running text that a card may fold


AGENTS = {"a2a/input_required": "asks for input", "a2a/auth_required": "asks for authorization"}


def _spoken_text(value: Any, redact: Redactor) -> list[Line]:
    text = visible(redact.text(value)) if isinstance(value, str) else ""
    return [Line("text", text[:_TEXT])] if text else []


# What a server may say beside questions: it looks for its client, or after a task that its question became.
_NOT_ASKED = frozenset({"ping", "tasks/get", "tasks/list", "tasks/cancel", "tasks/result"})


def is_question(method: str) -> bool:
    """Whether a request of the server is for whoever is behind the client."""
    return method not in _NOT_ASKED


def side_of(method: str) -> Side:
    """Who answers this kind of question behind the client."""
    if method == "sampling/createMessage":
        return "model"
    return "files" if method == "roots/list" else "user"


def asked(key: str, request: Any, redact: Redactor, unfold: bool) -> tuple[Side, str, list[Line]]:
    """One member of `inputRequests` (or an old-style request): who is asked, what over the arrow, on the card."""
    method = request.get("method") if isinstance(request, dict) else None
    params = request.get("params") if isinstance(request, dict) else None
    params = params if isinstance(params, dict) else {}
    name = f" {quoted(redact.text(key))}" if key else ""
    if method == "elicitation/create":
        if params.get("mode") == "url" or "url" in params:
            return "user", f"open a page{name}", _page(params, redact)
        return "user", f"form{name}", _form(params, redact, unfold)
    if method == "sampling/createMessage":
        return "model", f"sampling{name}", _prompt(params, redact, unfold)
    if method == "roots/list":
        return "files", f"roots{name}", []
    if isinstance(method, str) and method in AGENTS:
        return "user", AGENTS[method], _spoken_text(params.get("message"), redact)
    told = f"{method}" if isinstance(method, str) else "no method"
    return (
        "user",
        visible(f"{told}{name}"),
        [Line("hint", "not a kind of question that the specification knows")],
    )


def answered(
    key: str, request: Any, response: Any, redact: Redactor, unfold: bool
) -> tuple[Side, str, list[Line]]:
    """One member of `inputResponses`: who answered, what over the arrow, what on the card."""
    method = request.get("method") if isinstance(request, dict) else None
    side = side_of(method if isinstance(method, str) else "")
    name = f" {quoted(redact.text(key))}" if key else ""
    if isinstance(method, str) and method in AGENTS and isinstance(response, dict):
        return "user", "answers", _spoken_text(response.get("text"), redact)
    if not isinstance(response, dict):
        return side, f"answer{name}", [Line("text", short(redact.value(response)))]
    if "action" in response:
        action = response["action"]
        said = visible(action) if isinstance(action, str) else short(action)
        return "user", f"{said}{name}", _members(response.get("content"), redact, unfold)
    if "roots" in response:
        roots = response["roots"] if isinstance(response["roots"], list) else []
        lines = [Line("item", _root(root, redact)) for root in roots[: None if unfold else FIELDS]]
        return "files", f"{count(len(roots), 'root')}{name}", lines + _more(len(roots) - len(lines), "root")
    if "role" in response or "model" in response:
        model = response.get("model")
        by = f" by {visible(model)}" if isinstance(model, str) else ""
        return "model", f"completion{by}{name}", [_spoken("", response.get("content"), redact)]
    return side, f"answer{name}", _members(response, redact, unfold)


def quoted(text: str) -> str:
    """A name of somebody else's choosing, in quotes."""
    return f"“{visible(text)}”"


def short(value: Any, limit: int = 200) -> str:
    """A JSON value in one line, cut; it is to be redacted already."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (ValueError, RecursionError):
            text = repr(type(value))
    return visible(text if len(text) <= limit else text[: limit - 1] + "…")


def _more(n: int, what: str) -> list[Line]:
    return [Line("more", f"and {count(n, f'more {what}')}")] if n > 0 else []


def _prose(value: Any, redact: Redactor) -> list[Line]:
    if not isinstance(value, str) or not value.strip():
        return []
    text = redact.text(value)
    return [Line("text", visible(text if len(text) <= _TEXT else text[:_TEXT] + "…", keep="\n"))]


def _page(params: dict[str, Any], redact: Redactor) -> list[Line]:
    url = params.get("url")
    lines = _prose(params.get("message"), redact)
    if isinstance(url, str):
        lines.append(Line("item", short(redact.text(url)), "url"))
        try:
            from urllib.parse import urlsplit

            host = urlsplit(url).hostname or ""
        except ValueError:
            host = ""
        if not host:
            lines.append(Line("hint", "no host in this address"))
    return lines


def _form(params: dict[str, Any], redact: Redactor, unfold: bool) -> list[Line]:
    lines = _prose(params.get("message"), redact)
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(fields, dict):
        return lines
    required = schema.get("required") if isinstance(schema, dict) else None
    needed = set(map(str, required)) if isinstance(required, list) else set()
    shown = list(fields.items())[: None if unfold else FIELDS]
    lines += [
        Line(
            "item",
            _field(redact.member(str(name), spec), redact),
            visible(redact.text(str(name))) + ("*" if name in needed else ""),
        )
        for name, spec in shown
    ]
    return lines + _more(len(fields) - len(shown), "field")


def _field(spec: Any, redact: Redactor) -> str:
    """A form field in a few words: kind, choices, limits, default."""
    if not isinstance(spec, dict):
        return short(redact.value(spec))
    words = [str(spec.get("type", ""))]
    if isinstance(spec.get("format"), str):
        words.append(spec["format"])
    items = spec.get("items")
    items = items if isinstance(items, dict) else {}
    choices = spec.get("enum") or spec.get("oneOf") or items.get("enum") or items.get("anyOf")
    if isinstance(choices, list):
        names = [str(c.get("title", c.get("const"))) if isinstance(c, dict) else str(c) for c in choices]
        kind = "some of" if items else "one of"
        words = [
            f"{kind} {series(names[:6], 'or')}" + (f" or {len(names) - 6} more" if len(names) > 6 else "")
        ]
    words += [limits for limits in (_limits(spec, "minimum", "maximum", ""), _limits(spec, "minLength", "maxLength",
              " characters"), _limits(spec, "minItems", "maxItems", " of them")) if limits]  # fmt: skip
    if "default" in spec:
        given = short(redact.value(spec["default"]), 40)
        words.append(f"default {given if given.strip() else repr(given)}")
    title = spec.get("title") or spec.get("description")
    if isinstance(title, str):
        words.append(redact.text(title))
    return short(", ".join(w for w in words if w))


def _limits(spec: dict[str, Any], least: str, most: str, unit: str) -> str:
    """What a value may be, from and to; "" when the schema does not say."""
    low, high = (short(spec[name], 20) if name in spec else "" for name in (least, most))
    if low and high:
        return f"{low} to {high}{unit}"
    return f"at least {low}{unit}" if low else f"at most {high}{unit}" if high else ""


def _prompt(params: dict[str, Any], redact: Redactor, unfold: bool) -> list[Line]:
    lines = []
    system = params.get("systemPrompt")
    if isinstance(system, str):
        lines.append(Line("item", short(redact.text(system)), "system"))
    messages = params.get("messages")
    messages = messages if isinstance(messages, list) else []
    shown = messages if unfold else messages[-3:]
    if len(shown) < len(messages):
        lines += [Line("more", f"{count(len(messages) - len(shown), 'earlier message')}")]
    for message in shown:
        role = message.get("role") if isinstance(message, dict) else None
        content = message.get("content") if isinstance(message, dict) else message
        lines.append(_spoken(str(role or ""), content, redact))
    if "maxTokens" in params:
        lines.append(Line("hint", f"at most {short(params['maxTokens'], 20)} tokens"))
    return lines


def _spoken(role: str, content: Any, redact: Redactor) -> Line:
    first = content[0] if isinstance(content, list) and content else content
    if isinstance(first, dict) and isinstance(first.get("text"), str):
        said = short(redact.text(first["text"]), 300)
    elif isinstance(first, dict):
        said = f"({short(first.get('type', 'content'), 40)})"
    else:
        said = short(redact.value(first), 300)
    return Line("item" if role else "text", said, visible(role))


def _root(root: Any, redact: Redactor) -> str:
    uri = root.get("uri") if isinstance(root, dict) else None
    return short(redact.text(uri)) if isinstance(uri, str) else short(redact.value(root))


def _members(content: Any, redact: Redactor, unfold: bool) -> list[Line]:
    if content is None:
        return []
    if not isinstance(content, dict):
        return [Line("text", short(redact.value(content)))]
    shown = list(content.items())[: None if unfold else FIELDS]
    lines = []
    for name, value in shown:
        value = redact.named(str(name), value)
        text = (
            json.dumps(value, ensure_ascii=False)
            if isinstance(value, str) and not is_secret_name(str(name))
            else value
        )
        lines.append(Line("item", short(text), visible(redact.text(str(name)))))
    return lines + _more(len(content) - len(shown), "value")


def members(
    content: Any, redact: Redactor, unfold: bool, limit: int = 4, what: str = "argument"
) -> list[Line]:
    """The members of an object (arguments of a call) in lines, the first few unless unfolded."""
    lines = _members(content, redact, True)
    return (
        lines if unfold or len(lines) <= limit else lines[: limit - 1] + _more(len(lines) - limit + 1, what)
    )

"""The text of a message as it was sent, with what must not be shown replaced in its place.

Blanks, order, repeated members, spellings of numbers and escapes stay what they were: only strings and numbers that
have to go are written anew. So a person sees the message itself, not what a parser made of it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from mrtrscope.store.secret import ANSWERED, ASKED, GIVEN_IN, KINDS, is_secret_name
from mrtrscope.views.redact import Redactor
from mrtrscope.views.ribbons import measured, shortened

STATE: Final = "requestState"
_KINDS: Final = frozenset(f'"{kind}"' for kind in KINDS)
_TOKEN: Final = re.compile(r'[{}\[\]:,]|"[^"\\]*(?:\\.[^"\\]*)*"|[^\s{}\[\]:,"]+|"', re.DOTALL)


class _Level:
    """An object or array that is open.

    hidden   everything in it is secret      opened   number of its first token
    within   name of the member that an object is the value of
    answer   what was answered to a question of a secret name: all but the action is secret
    name     the member that a value would belong to; None: a name is what comes next
    """

    __slots__ = ("answer", "hidden", "name", "object", "opened", "within")

    def __init__(
        self, object: bool, opened: int, hidden: bool, within: str = "", answer: bool = False
    ) -> None:
        self.within = within
        self.answer = answer
        self.object = object
        self.opened = opened
        self.hidden = hidden
        self.name: str | None = None if object else ""


def rewritten(text: str, redact: Redactor) -> str:
    """JSON text with secrets replaced by their stand-ins and states shortened; what is no JSON is treated as prose."""
    if redact.raw or (STATE not in text and redact.leaves(text)):
        return text
    tokens = [(match.start(), match.end(), match[0]) for match in _TOKEN.finditer(text)]
    schemas = _schemas(tokens)
    if schemas is None:
        return redact.prose(text)
    out: list[str] = []
    done = 0
    levels = [_Level(False, -1, False)]
    for n, (start, end, token) in enumerate(tokens):
        level = levels[-1]
        first = token[0]
        if first in "{[":
            name = level.name or ""
            secret = is_secret_name(name) and n not in schemas
            asked, answered = (
                first == "{" and level.within == ASKED,
                first == "{" and level.within == ANSWERED,
            )
            hidden = _hidden(level, redact) or (secret and not (asked or answered))
            levels.append(_Level(first == "{", n, hidden, name if level.object else "", secret and answered))
        elif first in "}]":
            levels.pop()
        elif first == ",":
            level.name = None if level.object else level.name
        elif first != ":":
            new = _name(token, level, redact) if level.name is None else _value(token, level, redact)
            if new is not None:
                out += [text[done:start], new]
                done = end
    return "".join([*out, text[done:]])


def _hidden(level: _Level, redact: Redactor) -> bool:
    """Whether a value that stands here is secret, whatever its name looks like."""
    return (
        level.hidden
        or (level.answer and level.name != "action")
        or (level.within in GIVEN_IN and level.name in redact.fields)
    )


def _name(token: str, level: _Level, redact: Redactor) -> str | None:
    name = level.name = token[1:-1] if "\\" not in token else str(json.loads(token, strict=False))
    shown = redact.text(name)
    return None if shown == name else json.dumps(shown, ensure_ascii=False)


def _value(token: str, level: _Level, redact: Redactor) -> str | None:
    """What is to be written in place of a value; None when it stays."""
    name = level.name or ""
    value: Any
    if token[0] == '"' and "\\" not in token:
        value = token[1:-1]
    else:
        try:
            value = json.loads(token, strict=False)
        except ValueError:
            value = token  # NaN spelled in some way, a number too wide
    if name == STATE and isinstance(value, str) and len(value) > 16:
        return json.dumps(f"{shortened(value)} ({measured(value)})", ensure_ascii=False)
    shown = redact.scalar(name, value, _hidden(level, redact))
    return None if shown == value else json.dumps(shown, ensure_ascii=False)


def _schemas(tokens: list[tuple[int, int, str]]) -> set[int] | None:
    """Numbers of the tokens that open a JSON schema (a form field is no secret, its value is); None: no JSON."""
    found: set[int] = set()
    opened: list[int] = []
    for n, (_, _, token) in enumerate(tokens):
        if token in "{[":
            opened.append(n)
        elif token in "}]":
            if not opened or tokens[opened.pop()][2] != ("{" if token == "}" else "["):
                return None
        elif token == '"' or (token[0] == '"' and "\\" in token and not _sound(token)):
            return None
        elif (
            token == '"type"' and opened and tokens[opened[-1]][2] == "{"
            and n + 2 < len(tokens) and tokens[n + 1][2] == ":" and tokens[n + 2][2] in _KINDS
        ):  # fmt: skip
            found.add(opened[-1])
        elif token == ":" and (n == 0 or tokens[n - 1][2][0] != '"' or not opened):
            return None
    return found if tokens and not opened else None


def _sound(token: str) -> bool:
    try:
        json.loads(token, strict=False)
    except ValueError:
        return False
    return True

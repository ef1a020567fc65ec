"""JSON Schema for hostile input: does a value fit a schema, is a schema valid, both within bounds.

The language itself is `jsonschema`'s. Around it: no reference is ever fetched; every step of an evaluation is counted,
and fewer steps are allowed the larger the value is, since each failed step prints it; a regular expression is tried
only where it cannot take long. What cannot be told within these bounds is `None`, and rules stay silent.

Values that fit an ordinary schema never get here: see `plain_schema`.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from mrtrscope.link.memory import digest
from mrtrscope.link.tools import walk
from mrtrscope.rules import formats
from mrtrscope.rules.plain_schema import Fits, certainly_valid, compiled

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

STEPS, WEIGHT = 20_000, 50_000_000  # steps of one evaluation; characters that failing steps may print in all
TRIES = 1_000_000  # how often the regular expressions of one evaluation may have to look at a character
FAULTS = 8
KEPT = 512
WIDE = 2000  # members of an object, entries of an array that is looked at for equal ones

DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS = {
    DEFAULT_DIALECT: "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
    "http://json-schema.org/draft-03/schema": "Draft3Validator",
}


class Fault:
    """One place that does not fit.

    path      from the root of the value      keyword   of the schema
    saw       what stands there               expected  what the keyword says
    """

    __slots__ = ("expected", "keyword", "path", "saw")

    def __init__(self, path: tuple[str | int, ...], keyword: str, saw: Any, expected: Any) -> None:
        self.path = path
        self.keyword = keyword
        self.saw = saw
        self.expected = expected

    def words(self) -> str:
        """What is wrong, behind the name of the place."""
        if self.keyword == "required":
            missing = [name for name in self.expected if name not in self.saw]
            return f"lacks {', '.join(map(repr, missing[:8]))}"
        if self.keyword in ("anyOf", "oneOf", "allOf", "not", "if"):
            return f"does not fit {self.keyword}"
        if self.keyword == "additionalProperties":
            return "has members that are not allowed"
        return f"does not fit {self.keyword} {self.expected!r:.80}"

    @property
    def coercible(self) -> bool:
        """A string that spells the number or boolean that was wanted, or a number in place of a string."""
        if self.keyword != "type":
            return False
        wanted = self.expected if type(self.expected) is list else [self.expected]
        if type(self.saw) is str:
            text = self.saw.strip()
            return (text in ("true", "false") and "boolean" in wanted) or (
                re.fullmatch(r"-?\d{1,40}(\.\d{1,40})?", text) is not None
                and not {"integer", "number"}.isdisjoint(wanted)
            )
        return type(self.saw) in (int, float, bool) and "string" in wanted


class Schema:
    """A schema made ready; `faults(value, size)` says what does not fit, None when that cannot be told."""

    def __init__(self, schema: Any, formats_asserted: bool = False) -> None:
        self._schema = schema
        self._asserted = formats_asserted
        plain = dialect_known(dialect(schema)) and not (formats_asserted and _names_format(schema))
        self._quick: Fits | None = compiled(schema) if plain else None
        self._full: Validator | None = None

    def faults(self, value: Any, size: int) -> list[Fault] | None:
        """The first places that do not fit; `size` is about how long the JSON text of the value is."""
        if self._quick is not None and self._quick(value):
            return []
        if self._full is None:
            self._full = _validator(self._schema, self._asserted)
        return None if self._full is None else _evaluate(self._full, value, size)


def _names_format(schema: Any) -> bool:
    """Whether a schema may assert a format anywhere: `compiled` knows none."""
    return any("format" in node for _, node in walk(schema))


_ready: OrderedDict[tuple[str, str], Schema] = OrderedDict()


def ready(schema: Any, digest: str, which: str, formats_asserted: bool = False) -> Schema:
    """The schema `which` of what `digest` stands for, made ready once."""
    key = (digest, which)
    found = _ready.get(key)
    if found is None:
        found = _ready[key] = Schema(schema, formats_asserted)
        if len(_ready) > KEPT:
            _ready.popitem(last=False)
    return found


def dialect(schema: Any) -> str | None:
    """The dialect that a schema names without its "#", the default when it names none; None when it is no string."""
    named = schema.get("$schema", DEFAULT_DIALECT) if type(schema) is dict else DEFAULT_DIALECT
    return named.rstrip("#") if type(named) is str else None


def dialect_known(named: str | None) -> bool:
    return named in _DIALECTS


_checked: OrderedDict[bytes, list[Fault] | None] = OrderedDict()


def schema_faults(schema: Any, text: Callable[[], str]) -> list[Fault] | None:
    """What makes a schema invalid in its dialect, as far as that is known; None when it cannot be told.

    `text` gives its JSON text, so that the same is not looked at again.
    """
    if certainly_valid(schema):
        return []
    words = text()
    key = digest(words)
    if key not in _checked:
        name = _DIALECTS.get(dialect(schema) or "")
        _checked[key] = None if name is None else _evaluate(_meta(name), schema, len(words))
        if len(_checked) > KEPT:
            _checked.popitem(last=False)
    return _checked[key]


# -- bounded evaluation


class _Unsure(Exception):
    """The bounds do not let it be told."""


class _Steps:
    left = 0
    tries = 0


def _evaluate(validator: Validator, value: Any, size: int) -> list[Fault] | None:
    from referencing.exceptions import Unresolvable

    _Steps.left, _Steps.tries = min(STEPS, WEIGHT // max(size, 1)), TRIES
    try:
        errors = list(islice(validator.iter_errors(value), FAULTS))
    except (_Unsure, RecursionError, Unresolvable, re.error):
        return None
    except Exception:  # a schema that is none: the library does not promise anything for it
        return None
    return [
        Fault(tuple(e.absolute_path), str(e.validator), e.instance, e.validator_value)
        for e in sorted(errors, key=lambda e: [str(step) for step in e.absolute_path])
    ]


def _counted(check: Any) -> Any:
    def step(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        _Steps.left -= 1
        if _Steps.left < 0:
            raise _Unsure
        yield from check(validator, value, instance, schema) or ()

    return step


_classes: dict[str, Any] = {}


def _bounded_class(name: str) -> Any:
    """The library's validator of a dialect, with our bounds in it; imported with the first that is needed."""
    if name not in _classes:
        import jsonschema
        from jsonschema import validators

        base = getattr(jsonschema, name)
        words = {word: _counted(check) for word, check in base.VALIDATORS.items()}
        for word, guard in _GUARDS.items():
            if word in words:
                words[word] = guard(words[word])
        _classes[name] = validators.extend(base, words)
    return _classes[name]


def _validator(schema: Any, formats_asserted: bool) -> Validator | None:
    from jsonschema_specifications import REGISTRY

    name = _DIALECTS.get(dialect(schema) or "")
    if name is None or type(schema) not in (dict, bool):
        return None
    checker = formats.checker() if formats_asserted else None
    made: Validator = _bounded_class(name)(schema, registry=REGISTRY, format_checker=checker)
    return made


def _meta(name: str) -> Validator:
    from jsonschema_specifications import REGISTRY

    cls = _bounded_class(name)
    made: Validator = cls(cls.META_SCHEMA, registry=REGISTRY)
    return made


def _not_here(check: Any) -> Any:
    """unevaluated*: the library looks for what was evaluated outside of our count."""

    def refuse(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        raise _Unsure

    return refuse


def _pattern(check: Any) -> Any:
    def guarded(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if type(instance) is str:
            _try_out(value, instance)
        yield from check(validator, value, instance, schema)

    return guarded


def _pattern_properties(check: Any) -> Any:
    def guarded(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if type(instance) is dict:
            longest = max(instance, key=len, default="")
            patterns = schema.get("patternProperties")
            for pattern in patterns if type(patterns) is dict else ():
                if len(instance) > WIDE:
                    raise _Unsure
                _try_out(pattern, longest, len(instance))
        yield from check(validator, value, instance, schema)

    return guarded


def _wide(check: Any) -> Any:
    def guarded(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if type(instance) in (dict, list) and len(instance) > WIDE:
            raise _Unsure
        yield from check(validator, value, instance, schema)

    return guarded


def _whole_number(check: Any) -> Any:
    """multipleOf with floats is a matter of rounding, and int(inf) raises."""

    def guarded(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if type(instance) is float and not math.isfinite(instance):
            raise _Unsure
        yield from check(validator, value, instance, schema)

    return guarded


_GUARDS: dict[str, Callable[[Any], Any]] = {
    "unevaluatedProperties": _not_here,
    "unevaluatedItems": _not_here,
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": lambda check: _pattern_properties(_wide(check)),
    "uniqueItems": _wide,
    "multipleOf": _whole_number,
}

_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?:|\(|\)|[*+?]\??|\{(\d*)(,?)(\d*)\}\??|.", re.S)


def _try_out(pattern: Any, subject: str, times: int = 1) -> None:
    """Take what searching for a pattern may cost from what an evaluation has left for it."""
    cost = _tries(pattern, subject)
    if cost is None or cost * times > _Steps.tries:
        raise _Unsure
    _Steps.tries -= cost * times


def _tries(pattern: Any, subject: str) -> int | None:
    """How often a search with this pattern may have to try, at most; None when that is not bounded.

    No look-around, no back-references, no repeated groups: what is left takes at most a polynomial number of tries,
    whose degree is the number of repetitions, times the ways in which options and alternatives can be combined.
    """
    if type(pattern) is not str or len(pattern) > 500 or subject.endswith("\n"):
        return None
    repeats, ways, before = 0, 1, ""
    branches = [1]  # of the open groups, the pattern itself first
    for found in _ATOM.finditer(pattern):
        atom = found.group()
        if atom[0] == "\\" and (atom[1:].isdigit() or atom[1:] in "kpPgbB"):
            return None
        if atom in ("(?", "(?:") and not pattern.startswith("(?:", found.start()):
            return None
        if atom == "(" and pattern.startswith("(?", found.start()):
            return None
        if atom[0] in "*+" or (atom[0] == "{" and found.group(2) is not None):
            if before == ")":
                return None
            once = atom[0] == "{" and not found.group(2)
            repeats += not once
        elif atom[0] == "?":
            ways *= 2
        elif atom in ("(", "(?:"):
            branches.append(1)
        elif atom == "|":
            branches[-1] += 1
        elif atom == ")" and len(branches) > 1:
            ways *= branches.pop()
        before = atom
    if not pattern.startswith("^") or branches[0] > 1:
        repeats += 1  # where it begins
    return int(max(len(subject), 2) ** repeats * ways * math.prod(branches))

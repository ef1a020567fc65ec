"""The quick yes: a value that certainly fits an ordinary JSON Schema, a schema that is certainly valid.

Nearly every call fits the schema of its tool, and nearly every schema is an object of strings and numbers. `compiled`
turns such a schema into one function that answers True only when the value certainly fits; anything else it leaves to
`json_schema`, which knows the whole language and costs a hundred times as much. The same goes for `certainly_valid`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mrtrscope.link.tools import walk

Fits = Callable[[Any], bool]

DEPTH = 16
_NOTES = frozenset({
    "$comment", "$schema", "default", "deprecated", "description", "examples", "format", "readOnly", "title",
    "writeOnly", "x-mcp-header",
})  # fmt: skip
_BOUNDS = frozenset({"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"})
_PLAIN = {"string": str, "boolean": bool, "null": type(None)}


def compiled(schema: Any, depth: int = 0) -> Fits | None:
    """A function that answers True only for what certainly fits; None when the schema is not of the plain kind."""
    if schema is True or schema == {}:
        return _anything
    if type(schema) is not dict or depth > DEPTH:
        return None
    words = schema.keys() - _NOTES
    if not words:
        return _anything
    kind = schema.get("type")
    if words == {"anyOf"}:
        return _any_of(schema["anyOf"], depth)
    if words == {"enum"} or (words == {"enum", "type"} and kind == "string"):
        return _enum(schema["enum"])
    if type(kind) is not str:
        return None
    words -= {"type"}
    if kind == "object":
        return _object(schema, words, depth)
    if kind == "array":
        return _array(schema, words, depth)
    if kind in _PLAIN and not words:
        return _of_type(_PLAIN[kind])
    if words <= _BOUNDS and all(type(schema[w]) in (int, float) for w in words):
        return _bounded(kind, schema)
    return None


def _anything(value: Any) -> bool:
    return True


def _of_type(kind: type) -> Fits:
    return lambda value: type(value) is kind


def _enum(values: Any) -> Fits | None:
    if type(values) is not list or not all(type(v) is str for v in values):
        return None
    known = frozenset(values)
    return lambda value: type(value) is str and value in known


def _bounded(kind: str, schema: dict[str, Any]) -> Fits | None:
    if kind == "string":
        if "minimum" in schema or "maximum" in schema:
            return None
        low, high = schema.get("minLength", 0), schema.get("maxLength", float("inf"))
        return lambda value: type(value) is str and low <= len(value) <= high
    if kind not in ("integer", "number"):
        return None
    low, high = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
    if kind == "integer":  # 1.0 is an integer too, but not certain enough for here
        return lambda value: type(value) is int and low <= value <= high
    return lambda value: type(value) in (int, float) and low <= value <= high


def _any_of(schemas: Any, depth: int) -> Fits | None:
    if type(schemas) is not list or len(schemas) > 8:
        return None
    checks = [compiled(schema, depth + 1) for schema in schemas]
    known = [check for check in checks if check is not None]
    return (lambda value: any(check(value) for check in known)) if known else None


def _array(schema: dict[str, Any], words: set[str], depth: int) -> Fits | None:
    if not words <= {"items", "minItems", "maxItems"}:
        return None
    of = compiled(schema.get("items", True), depth + 1)
    low, high = schema.get("minItems", 0), schema.get("maxItems", float("inf"))
    if of is None or type(low) is not int or type(high) not in (int, float):
        return None
    return lambda value: type(value) is list and low <= len(value) <= high and all(map(of, value))


def _object(schema: dict[str, Any], words: set[str], depth: int) -> Fits | None:
    if not words <= {"properties", "required", "additionalProperties"}:
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if type(properties) is not dict or type(required) is not list:
        return None
    if not all(type(name) is str for name in required):
        return None
    of = {name: compiled(sub, depth + 1) for name, sub in properties.items()}
    if not all(of.values()):
        return None
    needed = frozenset(required)
    more = schema.get("additionalProperties", True)
    rest = None if more is False else compiled(more, depth + 1)
    if rest is None and more is not False:
        return None

    def fits(value: Any) -> bool:
        if type(value) is not dict or not needed <= value.keys():
            return False
        for name, part in value.items():
            check = of.get(name, rest)
            if check is None or not check(part):
                return False
        return True

    return fits


# Keyword -> what makes it certainly valid in every dialect from draft-06 on.
def _texts(value: Any) -> bool:
    return type(value) is list and all(type(v) is str for v in value) and len(set(value)) == len(value)


def _count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _schema(value: Any) -> bool:
    return type(value) in (dict, bool)


def _schemas(value: Any) -> bool:
    return type(value) is dict and all(map(_schema, value.values()))


def _row(value: Any) -> bool:
    return type(value) is list and bool(value) and all(map(_schema, value))


_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_VALID: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("title", "description", "$comment", "format", "$schema"), lambda v: type(v) is str),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _count
    ),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), lambda v: type(v) in (int, float)
    ),
    **dict.fromkeys(("properties", "$defs"), _schemas),
    **dict.fromkeys(("items", "additionalProperties", "not", "propertyNames"), _schema),
    **dict.fromkeys(("anyOf", "allOf", "oneOf"), _row),
    "type": lambda v: type(v) is str and v in _TYPES,
    "required": _texts,
    "enum": lambda v: type(v) is list and bool(v),
    "const": _anything,
    "default": _anything,
    "examples": lambda v: type(v) is list,
    "uniqueItems": lambda v: type(v) is bool,
    "x-mcp-header": _anything,
    "$ref": lambda v: type(v) is str and v.startswith("#/$defs/") and v.replace("/", "").isascii(),
}


def certainly_valid(schema: Any) -> bool:
    """Whether a schema uses only common keywords, all of them as they are meant."""
    for _, node in walk(schema):
        for word, value in node.items():
            valid = _VALID.get(word)
            if valid is None or not valid(value):
                return False
    return type(schema) is dict

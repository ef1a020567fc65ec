"""Schemas and values within bounds: the quick yes never contradicts the library, and nothing hostile takes long."""

from __future__ import annotations

import socket
import time
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.rules.json_schema import Schema, ready, schema_faults
from mrtrscope.rules.plain_schema import certainly_valid, compiled

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["city"],
}
SECONDS = 20.0  # of computing, for one evaluation; unbounded ones take minutes

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "abc"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
_LEAVES = st.sampled_from([
    {"type": "string"}, {"type": "integer"}, {"type": "number", "minimum": 0}, {"type": "boolean"}, {"type": "null"},
    {"type": "string", "maxLength": 2}, {"enum": ["a", "b"]}, {"type": ["string", "null"]}, {"const": 1}, {}, True,
    {"type": "string", "pattern": "^a+$"}, {"type": "integer", "maximum": 1, "title": "n"},
])  # fmt: skip
SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(lambda i: {"type": "array", "items": i, "maxItems": 2}, inner),
        st.builds(lambda a: {"anyOf": a}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(
            lambda p, r, a: {"type": "object", "properties": p, "required": r, "additionalProperties": a},
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.lists(st.sampled_from("abc"), unique=True, max_size=2),
            st.booleans() | inner,
        ),
    ),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
def test_the_quick_yes_is_a_yes_of_the_library(schema: Any, value: Any) -> None:
    quick = compiled(schema)
    fits = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert quick is None or not quick(value) or fits
    faults = Schema(schema).faults(value, 100)
    assert faults is not None and (not faults) is fits


@given(st.recursive(SCHEMAS, lambda inner: st.dictionaries(st.sampled_from(["type", "items", "not"]), inner)))
def test_a_schema_called_valid_at_once_is_valid(schema: Any) -> None:
    if certainly_valid(schema):
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(
    ("value", "path", "words", "coercible"),
    [
        ({}, (), "lacks 'city'", False),
        ({"city": 7}, ("city",), "does not fit type 'string'", True),
        ({"city": "Oslo", "n": "3"}, ("n",), "does not fit type 'integer'", True),
        ({"city": "Oslo", "n": "three"}, ("n",), "does not fit type 'integer'", False),
        ({"city": None}, ("city",), "does not fit type 'string'", False),
        ([], (), "does not fit type 'object'", False),
    ],
)
def test_a_fault_says_where_and_what(value: Any, path: tuple[Any, ...], words: str, coercible: bool) -> None:
    (fault,) = Schema(CITY).faults(value, 10) or [None]
    assert fault is not None
    assert (fault.path, fault.words(), fault.coercible) == (path, words, coercible)


def test_an_integer_may_be_written_with_a_fraction_of_nothing() -> None:
    assert Schema(CITY).faults({"city": "Oslo", "n": 3.0}, 10) == []


@pytest.mark.parametrize("value", ["2026-07-28", "2024-02-29"])
def test_formats_are_asserted_only_where_asked(value: str) -> None:
    schema = {"type": "string", "format": "date"}
    assert Schema(schema, formats_asserted=True).faults(value, 10) == []
    assert Schema(schema, formats_asserted=True).faults("28.7.", 10) != []
    assert Schema(schema).faults("28.7.", 10) == []


def test_what_is_ready_is_made_once() -> None:
    assert ready(CITY, "digest", "in") is ready(CITY, "digest", "in")
    assert ready(CITY, "digest", "out") is not ready(CITY, "digest", "in")


EXPLOSION = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)} | {
    "d60": {"type": "string"}
}
MANY = {str(n): n for n in range(200_000)}


@pytest.mark.parametrize(
    ("schema", "value", "size"),
    [
        ({"$defs": EXPLOSION, "$ref": "#/$defs/d0"}, "x", 3),
        ({"$ref": "#"}, "x", 3),
        ({"pattern": "^(a+)+$"}, "a" * 40 + "!", 50),
        ({"pattern": "(a|a)*$"}, "a" * 40 + "!", 50),
        ({"pattern": "a*a*a*a*a*b"}, "a" * 5000, 5000),
        ({"pattern": "^" + "a?" * 60 + "a" * 60 + "$"}, "a" * 59 + "!", 60),
        ({"pattern": "^" + "(a|a)" * 60 + "$"}, "a" * 60 + "!", 60),
        ({"pattern": "^" + "(?:a?|b)" * 40 + "c"}, "a" * 40, 40),
        ({"pattern": "^z|a*a*b"}, "a" * 900, 900),
        ({"items": {"pattern": "^a*a*b"}}, ["a" * 900] * 2000, 1_800_000),
        ({"patternProperties": {"^a*a*b": {}}}, {"a" * n: n for n in range(900)}, 405_000),
        ({"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False}, {"a" * 40 + "!": 1}, 50),
        ({"anyOf": [{"type": "integer"}] * 100_000}, "x" * 1000, 1000),
        ({"type": "object", "additionalProperties": False}, MANY, 2_000_000),
        ({"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}] * 9}}, MANY, 2_000_000),
        ({"uniqueItems": True}, [[n] for n in range(20_000)], 200_000),
        (
            {"unevaluatedProperties": False, "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {}}},
            {"a": 1},
            10,
        ),
        ({"type": 3}, "x", 3),
        ({"properties": 7, "required": {}}, {"a": 1}, 10),
        (7, "x", 3),
        ({"$schema": 7}, "x", 3),
        ({"$schema": "urn:none"}, "x", 3),
        ({"$dynamicRef": "#x"}, "x", 3),
        ({"multipleOf": 1e-300}, float("inf"), 3),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_hostile_or_no_schema_ends_soon_and_is_not_told(schema: Any, value: Any, size: int) -> None:
    started = time.process_time()
    found = Schema(schema).faults(value, size)
    assert time.process_time() - started < SECONDS
    assert found is None


@pytest.mark.parametrize(
    ("pattern", "fits", "not_so"),
    [
        ("^(mon|tue|wed|thu|fri|sat|sun)(day)?$", "friday", "holiday"),
        ("^[A-Z]{2}[0-9]?$", "NO7", "no7"),
        (r"^[^@]+@[^@]+\.[a-z]+$", "a@b.no", "a at b"),
    ],
)
def test_an_ordinary_pattern_is_tried(pattern: str, fits: str, not_so: str) -> None:
    schema = Schema({"type": "array", "items": {"type": "string", "pattern": pattern}})
    assert schema.faults([fits] * 50, 800) == []
    assert [fault.saw for fault in schema.faults([fits, not_so], 20) or []] == [not_so]


def test_depth_is_no_exception() -> None:
    deep: Any = {}
    for _ in range(500):
        deep = {"a": deep}
    assert Schema({"properties": {"a": {"$ref": "#"}}, "minProperties": 0}).faults(deep, 4000) is None


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    schema = {"properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}
    assert Schema(schema).faults({"a": 1}, 10) is None
    assert schema_faults(schema, lambda: "text of the schema with a reference") == []


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "object", "properties": {"a": {"type": "strng"}}}, ("properties", "a", "type")),
        ({"type": "object", "required": "a"}, ("required",)),
        ({"minLength": -1}, ("minLength",)),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": 3}, ("items",)),
    ],
)
def test_an_invalid_schema_is_told_by_its_own_dialect(schema: Any, path: tuple[str, ...]) -> None:
    found = schema_faults(schema, lambda: str(schema))
    assert found and found[0].path == path


@pytest.mark.parametrize(
    "schema",
    [
        CITY,
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"a": {}},
            "$ref": "#/definitions/a",
        },
        {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A", "x-unit": 7}}},
        {"prefixItems": [True, {}], "dependentSchemas": {"a": {"minProperties": 1}}},
    ],
)
def test_a_valid_schema_is_valid(schema: Any) -> None:
    assert schema_faults(schema, lambda: str(schema)) == []


def test_an_unknown_dialect_cannot_be_told() -> None:
    assert schema_faults({"$schema": "urn:x", "type": 7}, lambda: "unknown dialect") is None

"""What keeps a message from fitting the schema of its revision, place by place.

The shapes are those of `mcp-types` (`methods`), imported with the first message that needs them, since that costs a
third of a second. They are generated from schema.json; where schema.ts, which the specification calls the source of
truth, or a page says otherwise (COVERAGE §7), that wins here:

- numbers that schema.json calls integers may be fractional;
- a result is held to the shape that its resultType chooses, not to any of a union;
- null is no value of an optional member, though the generated models take it;
- `_meta`, what belongs to rounds, what a result must have, and what stands in errors have rules of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

from mrtrscope.link.facts import LEGACY, MODERN, MODERN_SINCE
from mrtrscope.rules.questions import pointer

FAULTS = 8
# Members whose values are anybody's: a null in them is a value.
_OPEN = frozenset({
    "_meta", "arguments", "capabilities", "data", "default", "experimental", "extensions", "input",
    "inputSchema", "metadata", "outputSchema", "requestedSchema", "structuredContent",
})  # fmt: skip
# Places that rules of their own look after, whatever the method.
_ELSEWHERE = (
    ("params", "_meta"), ("params", "inputResponses"), ("params", "requestState"), ("result", "_meta"),
    ("result", "resultType"), ("result", "inputRequests"), ("result", "requestState"), ("result", "ttlMs"),
    ("result", "cacheScope"),
)  # fmt: skip

# What a result must have, and that it is an array or object, is result/required-fields-present.
_REQUIRED = frozenset({
    "content", "messages", "contents", "tools", "prompts", "resources", "resourceTemplates", "completion",
})  # fmt: skip

Path = tuple[str | int, ...]


class WireFault:
    """One place: `path` from the root of the message, what stands there (`missing`: nothing), what should."""

    __slots__ = ("expected", "missing", "path", "saw")

    def __init__(self, path: Path, saw: Any, expected: str, missing: bool) -> None:
        self.path = path
        self.saw = saw
        self.expected = expected
        self.missing = missing

    def words(self) -> str:
        where = pointer(*self.path)
        return f"{where} is missing" if self.missing else f"{where} {self.expected}"


def request_faults(
    body: dict[str, Any], dir: str, method: str, version: str, raw: bytes
) -> list[WireFault] | None:
    """Of a request; None when the revision knows no such method for this side."""
    return _faults("requests" if dir == "c2s" else "questions", body, "params", method, version, raw)


def notification_faults(
    body: dict[str, Any], dir: str, method: str, version: str, raw: bytes
) -> list[WireFault] | None:
    """Of a notification."""
    return _faults("said" if dir == "c2s" else "told", body, "params", method, version, raw)


def result_faults(
    body: dict[str, Any], dir: str, method: str, version: str, raw: bytes
) -> list[WireFault] | None:
    """Of a final result; `method` is that of the request."""
    return _faults("answers" if dir == "c2s" else "results", body, "result", method, version, raw)


def schema_version(era: str, version: str) -> str | None:
    """The revision whose schema holds; None for one that is not known here."""
    if era == MODERN:
        return MODERN_SINCE if version in ("", MODERN_SINCE) else None
    return version if era == LEGACY and version in _known_versions() else None


@cache
def _known_versions() -> frozenset[str]:
    from mcp_types.version import KNOWN_PROTOCOL_VERSIONS

    return frozenset(KNOWN_PROTOCOL_VERSIONS)


@cache
def _model(table: str, method: str, version: str) -> Any:
    """The model of a message, or of the arm of a result that is final; None when there is none."""
    from mcp_types import methods
    from pydantic import TypeAdapter

    tables: dict[str, Any] = {
        "requests": methods.CLIENT_REQUESTS,
        "questions": methods.SERVER_REQUESTS,
        "said": methods.CLIENT_NOTIFICATIONS,
        "told": methods.SERVER_NOTIFICATIONS,
        "results": methods.SERVER_RESULTS,
        "answers": methods.CLIENT_RESULTS,
    }
    found = tables[table].get((method, version))
    if found is None:
        return None
    arms = get_args(found) or (found,)
    final = [arm for arm in arms if "input_requests" not in getattr(arm, "model_fields", {})]
    return TypeAdapter(final[0] if len(final) == 1 else found)


def _faults(
    table: str, body: dict[str, Any], member: str, method: str, version: str, raw: bytes
) -> list[WireFault] | None:
    from pydantic import ValidationError

    model = _model(table, method, version)
    if model is None:
        return None
    part = body.get(member)
    if type(part) is not dict and member in body:
        return []  # JSON-RPC's own rules
    shown = _without_nulls(part or {}) if b"null" in raw else part or {}
    if member == "params":
        frame: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": method}
        if member in body:
            frame["params"] = shown
    else:
        frame = shown
    try:
        model.validate_python(frame, strict=True, by_name=False)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        return list(_places(body, member, errors))
    except RecursionError:
        return None
    return []


def _places(body: dict[str, Any], member: str, errors: list[Any]) -> Iterator[WireFault]:
    """One fault for each place; errors in the arms of a union are one, about the union."""
    seen: set[Path] = set()
    for error in errors:
        loc = error["loc"] if member == "params" else ("result", *error["loc"])
        path, rest, value = _follow(body, loc)
        if error["type"] in ("int_type", "int_from_float") and type(value) is float:
            continue
        missing = error["type"] == "missing" and len(rest) == 1
        union = bool(rest) and not missing
        where = (*path, rest[0]) if missing else path
        if where in seen or len(seen) >= FAULTS or _looked_after(where):
            continue
        seen.add(where)
        if union:
            yield WireFault(where, value, "has none of the shapes allowed here", False)
        else:
            yield WireFault(where, None if missing else value, _expected(error), missing)


def _follow(body: Any, loc: tuple[str | int, ...]) -> tuple[Path, tuple[str | int, ...], Any]:
    """How far the location leads in the message, what is left (a missing member, names of arms), what is there."""
    value: Any = body
    for n, step in enumerate(loc):
        known = (type(value) is dict and step in value) or (
            type(value) is list and type(step) is int and step < len(value)
        )
        if not known:
            return loc[:n], loc[n:], value
        value = value[step]
    return loc, (), value


def _looked_after(path: Path) -> bool:
    return path == ("params",) or path[:2] in _ELSEWHERE or (len(path) == 2 and path[1] in _REQUIRED)


def _expected(error: Any) -> str:
    words: str = error["msg"]
    return (
        words.replace("Input should be", "should be")
        .replace("dictionary", "object")
        .replace("a valid list", "a list")
    )


class _Null:
    """Stands for null where the schema has no null, so that the generated models do not take it for absent."""

    def __repr__(self) -> str:
        return "null"


_NULL = _Null()


def _without_nulls(value: Any) -> Any:
    if value is None:
        return _NULL
    if type(value) is dict:
        return {k: v if k in _OPEN else _without_nulls(v) for k, v in value.items()}
    return [_without_nulls(v) for v in value] if type(value) is list else value

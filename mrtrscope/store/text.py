"""Captured text on its way into a table: bounded, and nothing in it that SQLite cannot hold."""

from __future__ import annotations

import json
import math
from typing import Any

NAME_LIMIT = 2000  # characters of a method, target, id or channel name that a row keeps


def plain(text: str, limit: int = NAME_LIMIT) -> str:
    """The text, shortened, with lone surrogates spelled out (SQLite's text is UTF-8)."""
    if len(text) > limit:
        text = f"{text[:limit]}… ({len(text)} characters)"
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def to_json(value: Any) -> str:
    """JSON text of any value, in ASCII; numbers that JSON does not know become text."""
    try:
        return _encode(value)
    except (ValueError, RecursionError):
        try:
            return _encode(finite(value))
        except (ValueError, RecursionError):
            return json.dumps("(too deep or too long to be shown)")


_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=str).encode


def finite(value: Any) -> Any:
    """The value with NaN and infinities replaced by their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value

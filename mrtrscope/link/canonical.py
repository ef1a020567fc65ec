"""One spelling for equal JSON values, so that they can be compared and digested.

Member order is irrelevant and 1 equals 1.0 (`comparison` in the rule catalogue); True stays apart from 1.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from json import encoder
from typing import Any

from pydantic_core import PydanticSerializationError, to_json

from mrtrscope.wire.events import Message


def _encoder(sort: bool, string: Any) -> Callable[[Any], str]:
    """One encoder made once: `JSONEncoder.encode` makes one for every value, which costs thrice what encoding does."""
    plain = json.JSONEncoder(
        ensure_ascii=string is encoder.encode_basestring_ascii,
        sort_keys=sort,
        separators=(",", ":"),
        check_circular=False,
    )
    accelerator = getattr(encoder, "c_make_encoder", None)
    if accelerator is None:  # a Python without it
        return plain.encode
    make = accelerator(None, plain.default, string, None, ":", ",", sort, False, True)
    return lambda value: "".join(make(value, 0))


_encode = _encoder(True, encoder.encode_basestring)
compact = _encoder(False, encoder.encode_basestring_ascii)  # JSON text in ASCII, for what is kept
_LIKE_A_FLOAT = re.compile(r"[0-9](?:\.[0-9]|e[+-]?[0-9])").search  # also within texts


def canonical(value: Any) -> str:
    """JSON text that is equal exactly for values that are equal as JSON."""
    text = _encode(value)
    # Only a float can make the text differ for equal numbers; floats are rare, so look before paying for the walk.
    if _LIKE_A_FLOAT(text) is not None and _holds_float(value):
        text = _encode(_whole(value))
    return text


REPEATED, SHORT = 4096, 1 << 12  # values of which the spelling is at hand, and how long they may be
_spellings: dict[bytes, str] = {}
_stamps: dict[bytes, str] = {}


def spelling(value: Any) -> str:
    """As `canonical`, for values that come again and again: to tell that costs a third."""
    return _known(value, _spellings, canonical)


def stamp(value: Any) -> str:
    """16 digits that stand for a JSON value; equal for equal ones."""
    return _known(value, _stamps, _stamp)


def arguments_text(request: Message) -> str:
    """As `canonical` of the arguments of a call, {} where it has none; worked out once."""
    text = request.spelled
    if text is None:
        text = request.spelled = canonical(request.params.get("arguments", {}))
    return text


# Of `_meta`, another each time.
OF_EACH = frozenset({"progressToken", "traceparent", "tracestate", "baggage"})
LONG = 1 << 14  # bytes of a `_meta` that is worth the comparison


def declaration_text(request: Message) -> bytes | None:
    """JSON of what `_meta` says in all requests of a client alike, None where that is long or none can be made; worked
    out once."""
    text = request.declares
    if text is None and len(request.raw) <= LONG:
        meta = request.meta
        if not OF_EACH.isdisjoint(meta):
            meta = {name: value for name, value in meta.items() if name not in OF_EACH}
        try:
            text = request.declares = to_json(meta)
        except (PydanticSerializationError, ValueError):  # lone surrogates, numbers beyond measure
            pass
    return text


def _stamp(value: Any) -> str:
    return hashlib.blake2b(canonical(value).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _known(value: Any, known: dict[bytes, str], make: Callable[[Any], str]) -> str:
    try:
        text = to_json(value)
    except (PydanticSerializationError, ValueError):  # lone surrogates, numbers beyond measure
        return make(value)
    found = known.get(text)
    if found is None:
        found = make(value)
        if len(text) <= SHORT:
            if len(known) >= REPEATED:
                known.clear()
            known[text] = found
    return found


def _holds_float(value: Any) -> bool:
    if type(value) is float:
        return True
    if type(value) is dict:
        return any(map(_holds_float, value.values()))
    return type(value) is list and any(map(_holds_float, value))


def _whole(value: Any) -> Any:
    if type(value) is float:
        return int(value) if value.is_integer() else value
    if type(value) is dict:
        return {k: _whole(v) for k, v in value.items()}
    return [_whole(v) for v in value] if type(value) is list else value


def difference(a: Any, b: Any, path: str = "") -> str | None:
    """JSON pointer of the first place where two values differ, None when they are equal as JSON."""
    if type(a) is dict and type(b) is dict:
        for key in [*a, *(k for k in b if k not in a)]:
            step = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
            if key not in a or key not in b:
                return step
            if (found := difference(a[key], b[key], step)) is not None:
                return found
        return None
    if type(a) is list and type(b) is list:
        for n, (x, y) in enumerate(zip(a, b, strict=False)):
            if (found := difference(x, y, f"{path}/{n}")) is not None:
                return found
        return None if len(a) == len(b) else f"{path}/{min(len(a), len(b))}"
    return None if canonical(a) == canonical(b) else path

"""In what way a requestState that came back differs from the one that was issued, in words.

Nothing of the state's content is said: only what was done to it, positions and lengths.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

from mrtrscope.link.canonical import canonical

_SAME_MEANING = (
    "padding",
    "base64url turned",
    "base64 turned",
    "JSON text written anew",
    "white space",
    "another normal",
    "percent-",
)
LIMIT = 1 << 16  # longer states are compared by prefix, suffix and length only
_TYPES = {
    str: "string", bool: "boolean", int: "number", float: "number", dict: "object", list: "array", type(None): "null",
}  # fmt: skip


def explain(issued: Any, came: Any) -> str:
    """One phrase for how `came` differs from `issued`; "" when they are equal."""
    return _explain(issued, came)[0]


def alike(issued: Any, came: Any) -> bool:
    """Whether `came` is surely made from `issued`: equal, re-encoded, trimmed, cut, or changed in one place."""
    return _explain(issued, came)[1]


def reencoded(issued: Any, came: Any) -> bool:
    """Whether `came` says the same as `issued` in another encoding: whoever decodes it reads the same bytes."""
    if type(issued) is not str or type(came) is not str or max(len(issued), len(came)) > LIMIT:
        return False
    words, _ = _explain(issued, came)
    return words.startswith(_SAME_MEANING)


def _explain(issued: Any, came: Any) -> tuple[str, bool]:
    if type(issued) is not str or type(came) is not str:
        return _other_type(issued, came)
    if issued == came:
        return "", True
    if not came:
        return f"came back empty; {_size(issued)} were issued", False
    if not issued:
        return f"an empty string was issued, {_size(came)} came back", False
    if max(len(issued), len(came)) <= LIMIT:
        for words, made in _made_from(issued):
            if made == came:
                return words, True
        if "%" in came and _try(unquote, came) == issued:  # whichever characters were taken for unsafe
            return "percent-encoded", True
    return _by_position(issued, came)


def _other_type(issued: Any, came: Any) -> tuple[str, bool]:
    want, got = _TYPES.get(type(issued), "value"), _TYPES.get(type(came), "value")
    if type(issued) is str and type(came) is not str:
        try:
            if canonical(json.loads(issued)) == canonical(came):
                return f"the string came back as the JSON {got} it spells", True
        except (ValueError, RecursionError):
            pass
    if want != got:
        return f"JSON type {got} came back where {want} was issued", False
    return ("", True) if canonical(issued) == canonical(came) else (f"another JSON {got}", False)


def _made_from(s: str) -> Iterator[tuple[str, str | None]]:
    """(words, what `s` becomes) for everything that software is known to do to strings on the way."""
    bare = s.rstrip("=")
    yield "padding lost", bare
    yield "padding added", bare + "=" * (-len(bare) % 4)
    yield "base64url turned into base64", s.replace("-", "+").replace("_", "/")
    yield "base64 turned into base64url", s.replace("+", "-").replace("/", "_")
    yield "base64url turned into base64, padding lost", bare.replace("-", "+").replace("_", "/")
    yield "base64 turned into base64url, padding lost", bare.replace("+", "-").replace("/", "_")
    yield "percent-decoded", _try(unquote, s)
    yield "percent-decoded, with + taken for a space", _try(unquote_plus, s)
    yield "+ turned into a space", s.replace("+", " ")
    yield "percent-encoded", _try(lambda x: quote(x, safe=""), s)
    yield "percent-encoded, / left as it is", _try(quote, s)
    yield "form-encoded", _try(quote_plus, s)
    yield from _as_json(s)
    yield "white space around it trimmed", s.strip()
    yield "white space before it trimmed", s.lstrip()
    yield "white space behind it trimmed", s.rstrip()
    yield "white space within it removed", "".join(s.split())
    yield "runs of white space folded", " ".join(s.split())
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        yield f"another normal form (made {form})", unicodedata.normalize(form, s)
    yield "turned into lower case", s.lower()
    yield "turned into upper case", s.upper()
    yield "line ends changed to LF", s.replace("\r\n", "\n").replace("\r", "\n")
    yield "line ends changed to CRLF", s.replace("\r\n", "\n").replace("\n", "\r\n")
    yield "put into quotation marks", f'"{s}"'
    yield "JSON-encoded once more", json.dumps(s)
    yield "JSON-encoded once more", json.dumps(s, ensure_ascii=False)
    yield "quotation marks taken off", s[1:-1] if len(s) > 1 and s[0] == s[-1] == '"' else None
    yield "JSON-decoded once more", _try(_json_string, s)
    yield "HTML-escaped", html.escape(s)
    yield "HTML-escaped, quotation marks left", html.escape(s, quote=False)
    yield "HTML entities decoded", html.unescape(s)
    yield "a byte order mark put before it", "\ufeff" + s
    yield "a byte order mark taken off", s.removeprefix("\ufeff")
    yield "UTF-8 read as Latin-1", _try(lambda x: x.encode().decode("latin-1"), s)
    yield "UTF-8 read as Windows-1252", _try(lambda x: x.encode().decode("cp1252"), s)
    yield "characters outside ASCII dropped", s.encode("ascii", "ignore").decode()
    yield "characters outside ASCII replaced by ?", s.encode("ascii", "replace").decode()
    yield "lone surrogates replaced", s.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    yield "cut at the first NUL", s.split("\0", 1)[0] if "\0" in s else None
    yield "control characters removed", "".join(c for c in s if unicodedata.category(c) != "Cc")
    yield "base64-encoded", _try(lambda x: base64.b64encode(x.encode()).decode(), s)
    yield "base64url-encoded", _try(lambda x: base64.urlsafe_b64encode(x.encode()).decode(), s)
    yield (
        "base64url-encoded without padding",
        _try(lambda x: base64.urlsafe_b64encode(x.encode()).decode().rstrip("="), s),
    )
    yield "base64-decoded", _try(_unbase64, s)
    yield "reversed", s[::-1]
    yield "doubled", s + s


def _as_json(s: str) -> Iterator[tuple[str, str | None]]:
    if s[:1] not in ("{", "["):
        return
    try:
        value = json.loads(s)
    except (ValueError, RecursionError):
        return
    for separators in ((",", ":"), (", ", ": ")):
        for ascii_only in (False, True):
            for sort in (False, True):
                text = _try(
                    partial(json.dumps, separators=separators, ensure_ascii=ascii_only, sort_keys=sort), value
                )
                yield "JSON text written anew" + (" with its members sorted" if sort else ""), text


def _try(make: Callable[[Any], str], value: Any) -> str | None:
    try:
        return make(value)
    except (ValueError, UnicodeError, binascii.Error, RecursionError, TypeError):
        return None


def _unbase64(s: str) -> str:
    text = s.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode()


def _json_string(s: str) -> str:
    value = json.loads(f'"{s}"') if not s.startswith('"') else json.loads(s)
    return value if type(value) is str else ""


def _by_position(issued: str, came: str) -> tuple[str, bool]:
    head = _common(issued, came)
    tail = min(_common(issued[::-1], came[::-1]), min(len(issued), len(came)) - head)
    out, into = len(issued) - head - tail, len(came) - head - tail
    if head == len(came):
        return f"cut after {_bytes(came)} of {_size(issued)}", head >= 8
    if tail == len(came):
        return f"the first {_bytes(issued) - _bytes(came)} of {_size(issued)} cut off", tail >= 8
    if head == len(issued):
        return f"{_bytes(came) - _bytes(issued)} bytes added behind its {_size(issued)}", head >= 4
    if tail == len(issued):
        return f"{_bytes(came) - _bytes(issued)} bytes added before its {_size(issued)}", tail >= 4
    same = head + tail
    if out == into == 1:
        return f"one character changed, number {head + 1} of {len(issued)}", same >= 2
    if into == 0 and same >= 8:
        return f"{out} character{'s' * (out > 1)} missing from number {head + 1} of {len(issued)}", True
    if out == 0 and same >= 8:
        return f"{into} character{'s' * (into > 1)} put in at number {head + 1} of {len(issued)}", True
    if same * 2 >= max(len(issued), len(came)) and same >= 8:
        return f"changed from character {head + 1} to {head + out} of {len(issued)}", True
    return f"another string: {_size(issued)} issued, {_size(came)} came back", False


def _common(a: str, b: str) -> int:
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    low, high = 0, n  # the first `low` characters agree, the first `high` do not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle)
    return low


def _bytes(s: str) -> int:
    return len(s.encode("utf-8", "surrogatepass"))


def _size(s: str) -> str:
    n = _bytes(s)
    return f"{n} byte{'s' * (n != 1)}"

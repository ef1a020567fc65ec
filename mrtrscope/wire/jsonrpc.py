"""Reads JSON-RPC text leniently: what can be understood is understood, what was odd about it is said.

The usual message goes through pydantic's parser and back through its writer: when that gives the same bytes, or as many
colons, no key was given twice, and nothing else can have been odd. All others are read again by the standard library's
scanner, slower and with all eyes open. Pydantic's parser is loaded with the first text: it takes as long as some
hundred texts do.

What is a message is told by its members: a `method`, a `result` or an `error`, and `jsonrpc` besides. Where `jsonrpc`
is missing it still is one when it looks like nothing else (a method with id or params; a result or error with an id),
so that the missing member can be reported, while a log line ``{"error": "…"}`` and an OAuth error body stay text.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from json.encoder import encode_basestring_ascii
from typing import Any

from mrtrscope.wire.events import ABSENT, ERROR, NOTIFICATION, REQUEST, RESPONSE

MAX_SIZE = 1 << 26
MAX_DEPTH = 512
MAX_VALUES = 4_000_000  # brackets and commas of one text: beyond, its objects would fill the memory
MAX_DIGITS = 4000  # Python itself refuses to print integers of more than 4,300
_SAFE = 1 << 53  # integers beyond are rounded by readers that know only doubles
_LONG = 1 << 10

Oddities = tuple[tuple[str, str], ...]
Parsed = tuple[Any, Oddities, str, bytes]

_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.S)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NO_CHARACTER = re.compile("[\udc80-\udcff]")
_BEFORE = re.compile("[ \t\r\n]*+\ufeff?[ \t\r\n]*+")  # a value
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
WHITE = b" \t\r\n"


class WideNumber(float):
    """A number of more digits than Python would print again; `text` has them."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> WideNumber:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _load(text: bytes, **options: Any) -> Any:
    global _from_json, _to_json
    from pydantic_core import from_json, to_json

    _from_json, _to_json = from_json, to_json
    return from_json(text, **options)


def _do_without(text: bytes, **options: Any) -> Any:
    raise ValueError("few texts are read")


_from_json: Callable[..., Any] = _load
_to_json: Callable[[Any], bytes]


@contextmanager
def few() -> Iterator[None]:
    """While few texts are read, only to be shown, pydantic's parser is not loaded for them.

    The values are the same; the scanner finds something odd about more numbers.
    """
    global _from_json
    if _from_json is not _load or "pydantic_core" in sys.modules:
        yield
        return
    _from_json = _do_without
    try:
        yield
    finally:
        _from_json = _load


def parse(text: bytes) -> Parsed:
    """The first JSON value of `text`: (value, oddities, why there is none or "", text behind it)."""
    if len(text) > 1 << 20:
        if len(text) > MAX_SIZE:
            return ABSENT, (("too-long", str(len(text))),), "too-long", b""
        if text.count(b",") + text.count(b"[") + text.count(b"{") > MAX_VALUES:
            return ABSENT, (("too-long", "too many values"),), "too-long", b""
    try:
        value = _from_json(text, allow_inf_nan=False)
        again = _to_json(value)
        if again == text or (again.count(b":") == text.count(b":") and b"\\u00" not in text):
            return value, (), "", b""
    except ValueError:
        pass
    return _parse_slowly(text)


def sound(text: bytes) -> bool:
    """Whether this is one JSON value to its end, with nothing unusual about it."""
    if _from_json is _do_without:
        _, _, why, rest = _parse_slowly(text)
        return not why and not rest
    try:
        _from_json(text, allow_inf_nan=False)
    except ValueError:
        return False
    return True


def _parse_slowly(text: bytes) -> Parsed:
    oddities: list[tuple[str, str]] = []
    if text.startswith(b"\xef\xbb\xbf"):
        oddities.append(("bom", ""))
        text = text[3:]
    if depth(text) > MAX_DEPTH:
        return ABSENT, (*oddities, ("too-deep", "")), "too-deep", b""
    wrong = -1
    try:
        source = text.decode()
    except UnicodeDecodeError as error:
        # One character for each byte that is none, so that the text behind the value can be told as it was.
        wrong, kept = error.start, text.decode("utf-8", "surrogateescape")
        source = _NO_CHARACTER.sub("\ufffd", kept)
    notes = _Notes()
    decoder = json.JSONDecoder(
        object_pairs_hook=notes.pairs,
        parse_int=notes.integer,
        parse_float=notes.number,
        parse_constant=notes.constant,
    )
    try:
        value, end = decoder.raw_decode(source, len(source) - len(source.lstrip(" \t\r\n")))
    except (ValueError, RecursionError):
        if wrong >= 0:
            oddities.append(("invalid-utf8", f"byte {wrong}"))
        return ABSENT, tuple(oddities), "not-json", b""
    rest = (source if wrong < 0 else kept)[end:].lstrip(" \t\r\n").encode("utf-8", "surrogateescape")
    if 0 <= wrong < len(text) - len(rest):
        oddities.append(("invalid-utf8", f"byte {wrong}"))
    oddities += notes.oddities(value)
    if _SURROGATE.search(source):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            oddities.append(("lone-surrogate", ""))
        except (ValueError, RecursionError):
            pass
    return value, tuple(oddities), "", rest


class _Notes:
    """What the scanner comes across while it reads."""

    def __init__(self) -> None:
        self.repeated: list[tuple[dict[str, Any], str]] = []
        self.constants: list[str] = []
        self.wide = 0

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs) and len(self.repeated) < 16:
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen and len(self.repeated) < 16:
                    self.repeated.append((found, key))
                seen.add(key)
        return found

    def integer(self, text: str) -> int | float:
        if len(text) > MAX_DIGITS:
            return self.number(text)
        return int(text)

    def number(self, text: str) -> float:
        if len(text) > MAX_DIGITS:
            self.wide = max(self.wide, len(text))
            return WideNumber(text)
        return float(text)

    def constant(self, text: str) -> float:
        if text not in self.constants:
            self.constants.append(text)
        return float(text.replace("Infinity", "inf"))

    def oddities(self, value: Any) -> list[tuple[str, str]]:
        found = [("nan", text) for text in self.constants]
        if self.wide:
            found.append(("wide-number", f"{self.wide} digits"))
        if self.repeated:
            paths = _paths(value, {id(where) for where, _ in self.repeated})
            for where, key in self.repeated:
                detail = f"{paths.get(id(where), '/…')}/{_token(key)}"
                if ("duplicate-key", detail) not in found:
                    found.append(("duplicate-key", detail))
        return found


def _paths(value: Any, wanted: set[int]) -> dict[int, str]:
    """JSON pointers of the objects whose identity is in `wanted`."""
    found: dict[int, str] = {}
    rest: list[tuple[Any, str]] = [(value, "")]
    while rest and len(found) < len(wanted):
        node, path = rest.pop()
        if id(node) in wanted:
            found[id(node)] = path
        if type(node) is dict:
            rest += [
                (v, f"{path}/{_token(k)}") for k, v in node.items() if type(v) is dict or type(v) is list
            ]
        else:
            rest += [(v, f"{path}/{n}") for n, v in enumerate(node) if type(v) is dict or type(v) is list]
    return found


def _token(key: str) -> str:
    return key[:200].replace("~", "~0").replace("/", "~1")


def depth(text: bytes) -> int:
    """How deep arrays and objects are nested, strings aside; exact only above MAX_DEPTH."""
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return 0
    outside, begin = bytearray(), 0  # not `sub`: it would hold all the pieces at once, ten times the text
    for found in _STRING.finditer(text):
        outside += text[begin : found.start()]
        begin = found.end()
    outside += text[begin:]
    brackets = outside.translate(_STEPS, _NOT_BRACKETS)
    return max(accumulate(memoryview(brackets).cast("b")), default=0)


def kind_of(value: dict[str, Any], sure: bool = False) -> str:
    """The kind of message that an object is, "" when it is none. `sure`: a missing `jsonrpc` makes it none, as in an
    answer that HTTP says is an error, unless nothing else than a JSON-RPC error looks like that."""
    if "method" in value:
        kind = REQUEST if "id" in value else NOTIFICATION
    elif "result" in value:
        kind = RESPONSE
    elif "error" in value:
        kind = ERROR
    else:
        return ""
    if "jsonrpc" in value:
        return kind
    if kind is ERROR or kind is RESPONSE:
        if "id" not in value:
            return ""
        error = value.get("error")
        return kind if not sure or (type(error) is dict and type(error.get("code")) is int) else ""
    plain = type(value["method"]) is str and ("id" in value or type(value.get("params")) in (dict, list))
    return kind if plain and not sure else ""


def id_text(value: Any) -> str | None:
    """The id as JSON text, normalised so that equal ids have equal texts and different types never do."""
    kind = type(value)
    if kind is int:
        return int.__repr__(value)
    if kind is str:
        text = encode_basestring_ascii(value)
    elif value is ABSENT:
        return None
    elif value is None:
        return "null"
    elif kind is WideNumber:
        text = value.text
    else:
        try:
            text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        except (ValueError, RecursionError):  # an integer just below Python's limit
            text = repr(kind)
    if len(text) > _LONG:
        return f"{text[:64]}…{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"
    return text


def wide_id(value: Any) -> bool:
    """Whether a reader that knows only doubles would take this id for another one."""
    return type(value) is WideNumber or (type(value) is int and not -_SAFE <= value <= _SAFE)


def pieces(text: bytes, most: int) -> list[bytes]:
    """The text cut behind each of its JSON values, as far as it can be read; one more for what is behind `most`.

    Joined again they are the text. It is gone through once, however many values stand in it.
    """
    kept = text.decode("utf-8", "surrogateescape")
    source = _NO_CHARACTER.sub("\ufffd", kept)
    decoder = json.JSONDecoder(parse_int=len, parse_float=len)
    found: list[bytes] = []
    begin, size = 0, len(source.rstrip(" \t\r\n"))
    try:
        while len(found) < most and begin < size:
            before = _BEFORE.match(source, begin)
            _, end = decoder.raw_decode(source, before.end() if before is not None else begin)
            if end >= size:
                end = len(source)
            found.append(kept[begin:end].encode("utf-8", "surrogateescape"))
            begin = end
    except (ValueError, RecursionError):
        pass
    if begin < size:
        found.append(kept[begin:].encode("utf-8", "surrogateescape"))
    return found


def elements(text: bytes) -> list[bytes]:
    """The texts of the elements of a JSON array that was read before; [] when they cannot be told apart."""
    source = text.decode("utf-8", "surrogateescape").lstrip("\ufeff \t\r\n")
    decoder = json.JSONDecoder(parse_int=len, parse_float=len)
    found: list[bytes] = []
    at, size = 1, len(source)
    try:
        while True:
            while at < size and source[at] in " \t\r\n,":
                at += 1
            if at >= size or source[at] == "]":
                return found
            _, end = decoder.raw_decode(source, at)
            found.append(source[at:end].encode("utf-8", "surrogateescape"))
            at = end
    except (ValueError, RecursionError):
        return []

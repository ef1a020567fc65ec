"""Formats of strings: the four that a form may ask for, URIs, Base64, media types.

Lenient where the grammars are: a value is called wrong only when no reading of the standard makes it right.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema import FormatChecker

LIMIT = 8192

# RFC 3986: scheme, then anything of its characters; percent signs stand before two hex digits.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.A)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-](\d\d):(\d\d))", re.A)
_ISO = re.compile(
    r"\d{4}(-?\d\d(-?\d\d)?)?([Tt ]\d\d(:?\d\d(:?\d\d([.,]\d+)?)?)?([Zz]|[+-]\d\d(:?\d\d)?)?)?", re.A
)
_MEDIA = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+(\s*;.*)?", re.S)
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def uri_fault(text: str) -> str:
    """What keeps a string from being an RFC 3986 URI, in words; "" when nothing does."""
    if len(text) > LIMIT * 8:
        return ""
    if not _SCHEME.match(text):
        return "has no scheme"
    if _URI.fullmatch(text):
        if re.match(r"[A-Za-z]:/(?!/)", text):
            return "is a file path: one letter is no scheme"
        return ""
    if re.match(r"[A-Za-z]:\\", text):
        return "is a file path, not a URI"
    if any(c.isspace() for c in text):
        return "has white space"
    if not text.isascii():
        return "has characters outside ASCII"
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return "has a percent sign without two hex digits behind it"
    odd = next(c for c in text if not re.match(r"[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]", c))
    return f"has the character {odd!r}"


_OPERATORS = "+#./;?&"
_VARIABLE = re.compile(
    r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(?::[1-9]\d{0,3}|\*)?"
)


def template_fault(text: str) -> str:
    """What keeps a string from being an RFC 6570 template; "" when nothing does."""
    if len(text) > LIMIT * 8:
        return ""
    at = 0
    while at < len(text):
        if text[at] == "}":
            return "has a } without a { before it"
        if text[at] != "{":
            at += 1
            continue
        end = text.find("}", at)
        if end < 0:
            return "has a { without a } behind it"
        inside = text[at + 1 : end]
        if "{" in inside:
            return "has braces in braces"
        if inside[:1] and not inside[0].isalnum() and inside[0] not in "_%":
            if inside[0] not in _OPERATORS:
                return f"has the unknown operator {inside[0]!r}"
            inside = inside[1:]
        if not all(_VARIABLE.fullmatch(name) for name in inside.split(",")):
            return f"has the expression {{{inside:.40}}}, which names no variable"
        at = end + 1
    return ""


def is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    try:
        datetime.date(*map(int, found.groups()))
    except ValueError:
        return found[1] == "0000" and "01" <= found[2] <= "12"
    return True


def is_date_time(text: str) -> bool:
    """RFC 3339: letters in either case, a leap second, any offset."""
    date, mark, time = text[:10], text[10:11], text[11:]
    found = _TIME.fullmatch(time)
    if found is None or mark not in ("T", "t", " ") or not is_date(date):
        return False
    hour, minute, second = int(found[1]), int(found[2]), int(found[3])
    offset = (int(found[4]), int(found[5])) if found[4] else (0, 0)
    return hour <= 23 and minute <= 59 and second <= 60 and offset[0] <= 23 and offset[1] <= 59


def is_iso_8601(text: str) -> bool:
    """A date or a date and time in a form of ISO 8601; weeks and ordinal dates count as well."""
    return (
        _ISO.fullmatch(text) is not None
        or re.fullmatch(r"\d{4}-?(W\d\d(-?\d)?|\d{3})(T.*)?", text, re.A) is not None
    )


def is_email(text: str) -> bool:
    """Something, an @, and a host; quoted local parts and addresses in brackets are taken as they are."""
    local, at, host = text.rpartition("@")
    return bool(at and local and host) and len(text) <= 1000 and not any(c.isspace() for c in host)


def is_uri(text: str) -> bool:
    return not uri_fault(text)


def is_media_type(text: str) -> bool:
    """type/subtype, with parameters or without."""
    return len(text) <= LIMIT and _MEDIA.fullmatch(text) is not None


def base64_fault(text: str) -> str:
    """What keeps a string from being Base64: "line breaks" is what many decoders take; "" when nothing does."""
    if _BASE64.fullmatch(text):
        if len(text) % 4 == 0:
            return ""
        return (
            "length is no multiple of four"
            if text.endswith("=") or len(text) % 4 == 1
            else "padding is missing"
        )
    if text[:5].lower() == "data:":
        return "a data: URI, not bare Base64"
    bare = "".join(text.split())
    if bare != text and _BASE64.fullmatch(bare) and len(bare) % 4 == 0:
        return "line breaks"
    if re.fullmatch(r"[A-Za-z0-9_-]*={0,2}", text):
        return "base64url, not Base64"
    return "has characters that Base64 does not know"


def decoded(text: str) -> bytes:
    """What Base64 stands for, b"" when it is none."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return b""


@cache
def checker() -> FormatChecker:
    """The four formats of a form, for `jsonschema`."""
    from jsonschema import FormatChecker

    made = FormatChecker(formats=())
    for name, check in (("date", is_date), ("date-time", is_date_time), ("email", is_email), ("uri", is_uri)):
        made.checks(name)(_of_strings(check))
    return made


def _of_strings(check: Any) -> Any:
    return lambda value: type(value) is not str or check(value)

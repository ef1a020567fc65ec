"""Words that ask for a secret, and values that look like one. Nothing here ever hands out the value itself."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator
from typing import Any

LIMIT = 4096  # characters of a text that are looked at
STRINGS = 500  # of one result

_PHRASES = (
    "password", "passphrase", "passcode", "passwd", "pwd", "pin code", "pin number", "api key", "apikey", "secret key",
    "client secret", "access token", "refresh token", "bearer token", "auth token", "api token", "private key",
    "seed phrase", "recovery phrase", "one time code", "one time password", "otp", "card number", "cvv", "cvc",
)  # fmt: skip
_PERSONAL = ("email", "e mail", "phone", "ssn", "social security number")
# "API key name", "token limit": what stands behind the phrase says that something else is meant.
_BESIDE = (
    "age|count|description|duration|email|expires|expiry|expiration|field|format|hint|id|label|length|lifetime|limit|"
    "link|location|manager|name|names|note|option|path|policy|provider|reset|rotation|scope|status|store|type|url|vault"
)
_ASKED = re.compile(rf"\b({'|'.join(_PHRASES)})s?\b(?!\s+(?:{_BESIDE})\b)")
_PRIVATE = re.compile(rf"\b({'|'.join((*_PHRASES, *_PERSONAL))})s?\b(?!\s+(?:{_BESIDE})\b)")
# In running text a phrase alone says little; somebody is told to give it.
_TOLD = re.compile(
    r"\b(?:enter|provide|type|give|paste|input|supply|send|insert|tell)\b(?:\s+\w+){0,5}?\s+"
    + _ASKED.pattern[2:]
)
_DENIED = re.compile(r"\b(?:not|never|don t|without|no)\b")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER = re.compile(r"[^A-Za-z0-9]+")

_JWT = re.compile(r"\beyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{10,}")
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9_-])(?:sk-(?:proj-|ant-)?[A-Za-z0-9_-]{20,}|sk_live_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{30,}|"
    r"github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AKIA[A-Z0-9]{16}|"
    r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,})"
)
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_TOKEN_NAMES = frozenset({
    "access_token", "refresh_token", "id_token", "api_key", "apikey", "accesstoken", "refreshtoken", "client_secret",
})  # fmt: skip


def plain_words(text: str) -> str:
    """Lower-case words of an identifier or a text: `clientSecret`, `client_secret` and "Client secret" are one."""
    return _OTHER.sub(" ", _HUMP.sub(" ", text[:LIMIT])).strip().lower()


def asks_for_secret(name: str) -> str:
    """The phrase by which a name or title asks for a secret, "" when it does not."""
    found = _ASKED.search(plain_words(name))
    return found.group(1) if found else ""


def asks_for_private_data(name: str) -> str:
    """The phrase by which a name asks for a secret or for personal data, "" when it does not."""
    found = _PRIVATE.search(plain_words(name))
    return found.group(1) if found else ""


def tells_to_give_secret(text: str) -> str:
    """The phrase of a secret that a sentence tells the reader to give, "" when it does not."""
    for sentence in re.split(r"[.!?\n]+", text[:LIMIT]):
        said = plain_words(sentence)
        found = _TOLD.search(said)
        if found and not _DENIED.search(said):
            return found.group(1)
    return ""


def secret_kind(value: Any, cards: bool = True) -> str:
    """What kind of secret a string looks like, "" for none: well-known forms only."""
    if type(value) is not str or len(value) > LIMIT * 4:
        return ""
    if _PEM.search(value):
        return "a private key"
    if _PREFIXED.search(value):
        return "a key with a well-known prefix"
    found = _JWT.search(value)
    if found and jwt_claims(found.group()) is not None:
        return "a JWT"
    if cards and any(_luhn(number.group()) for number in _CARD.finditer(value)):
        return "a card number"
    return ""


def jwt_claims(text: str) -> dict[str, Any] | None:
    """The claims of a JWT, None when it is none. Nothing is verified."""
    parts = text.split(".")
    if len(parts) != 3 or len(parts[1]) > 16_384:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError, binascii.Error):
        return None
    return claims if type(claims) is dict else None


def high_entropy(value: Any) -> bool:
    """A string that nobody would type or read: long, of one word, of many different characters."""
    if type(value) is not str or not 16 <= len(value) <= LIMIT or any(c.isspace() for c in value):
        return False
    counts = [value.count(c) for c in set(value)]
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts)
    return bits >= 3 and any(c.isdigit() for c in value)


def credentials_in(
    value: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Places in a JSON value where a string looks like a credential, and what kind."""
    left: list[tuple[tuple[str | int, ...], str, Any]] = [(path, "", value)]
    seen = 0
    while left and seen < STRINGS:
        where, name, part = left.pop()
        if type(part) is str:
            seen += 1
            kind = secret_kind(part, cards=False)
            if not kind and name.lower() in _TOKEN_NAMES and high_entropy(part):
                kind = f"a value named {name}"
            if kind:
                yield where, kind
        elif type(part) is dict:
            left += [((*where, key), key, v) for key, v in list(part.items())[:STRINGS]]
        elif type(part) is list:
            left += [((*where, n), name, v) for n, v in enumerate(part[:STRINGS])]


def _luhn(text: str) -> bool:
    digits = [int(c) for c in text if c.isdigit()]
    if len(set(digits)) < 3:
        return False
    doubled = [d * 2 - 9 * (d > 4) if n % 2 else d for n, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0

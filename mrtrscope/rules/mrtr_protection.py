"""basic/patterns/mrtr: does a requestState look as if it could be forged?

Nothing of what is decoded leaves this module: findings say how it reads and name no value.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote

from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import ADVISORY, ASKED, SERVER, rule
from mrtrscope.wire.events import Message

LIMIT = 8192  # longer states are not looked into
LAYERS = 3

_TAG_NAMES = re.compile(r"^(?:h?mac|sig|signature|tag|seal|digest)$", re.I)
_TELLING = re.compile(
    r"user|sub(?:ject)?$|account|owner|tenant|role|admin|scope|perm|amount|price|total|approv|confirm|grant|allow"
    r"|path|file|url|uri|step|id$|token|secret|email|order",
    re.I,
)
_HARMLESS = re.compile(r"^(?:progress|page|step|text|offset|cursor|round|attempt|count|n|i)$", re.I)
_SEPARATORS = re.compile(r"[.:~]")


@rule("mrtr/state-looks-unprotected", level=ADVISORY, fault=SERVER, on=ASKED, dirs=("s2c",),
      source="2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow item 4")  # fmt: skip
def state_can_be_read_and_forged(answer: Message, ctx: Context) -> Iterator[Finding]:
    """requestState can be read, and nothing in it looks like a signature.

    Why it matters: the state passes through the client's hands; what is not signed can be written anew: another user,
    another amount, a yes that nobody said.
    Cannot tell: whether anything depends on it; a cursor that can only spoil the caller's own request needs no
    protection. An opaque key into a store of the server cannot be read, and is safe if it cannot be guessed. Said once
    for each method and target.
    """
    state = answer.result.get("requestState")
    if type(state) is not str or not state or len(state) > LIMIT:
        return
    ctx.tested()
    found = _readable(state)
    if found is None:
        return
    how, names = found
    exchange = ctx.exchange
    if not ctx.first(*(("", "") if exchange is None else (exchange.method, exchange.target))):
        return
    telling = sorted(name for name in names if _TELLING.search(name) and not _HARMLESS.match(name))
    yield ctx.finding(
        answer,
        saw={"reads as": how, "members": telling or sorted(names)[:10]},
        expected="a signature, or a value that cannot be guessed",
        path="/result/requestState",
        text=f"requestState reads as {how} and carries no signature"
        + (f"; it has {', '.join(telling[:5])}" if telling else "; its members look harmless"),
    )


def _readable(state: str) -> tuple[str, set[str]] | None:
    """(how it reads, names of its members) when the state is structured text without a signature; else None."""
    jwt = _unsigned_jwt(state)
    if jwt is not None:
        return jwt
    how, text = "", state
    for _ in range(LAYERS + 1):
        names = _names(text)
        if names is not None:
            return None if any(map(_TAG_NAMES.match, names)) else (f"{how}{_form(text)}", names)
        layer = _decoded(text)
        if layer is None:
            return None
        name, text = layer
        how += f"{name} of "
    return None


def _unsigned_jwt(state: str) -> tuple[str, set[str]] | None:
    parts = state.split(".")
    if len(parts) != 3:
        return None
    head, body = _base64(parts[0]), _base64(parts[1])
    header = _json(head) if head is not None else None
    if type(header) is not dict or str(header.get("alg")).lower() != "none":
        return None
    return "a JWT with alg none", (_names(body) if body is not None else None) or set()


def _names(text: str) -> set[str] | None:
    """Member names when the text is a JSON object or form data."""
    value = _json(text)
    if type(value) is dict:
        return set(value)
    if (
        value is None
        and "=" in text
        and re.fullmatch(r"[\w.\-\[\]]+=[^=&\s]*(?:&[\w.\-\[\]]+=[^=&\s]*)*", text)
    ):
        pairs = parse_qsl(text, keep_blank_values=True)
        # one pair alone is as likely to be base64 with its padding
        return {name for name, _ in pairs} if len(pairs) > 1 else None
    return None


def _form(text: str) -> str:
    return "a JSON object" if text.lstrip()[:1] == "{" else "form data"


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _decoded(text: str) -> tuple[str, str] | None:
    """(name of the encoding, what is inside) for one layer; a tail behind a separator may be a signature."""
    if _SEPARATORS.search(text) and text.lstrip()[:1] not in ("{", "["):
        return None
    if re.fullmatch(r"(?:[0-9a-fA-F]{2}){8,}", text):
        inside = _utf8(bytes.fromhex(text))
        if inside is not None:
            return "hex", inside
    inside = _base64(text)
    if inside is not None:
        return "base64", inside
    if "%" in text:
        plain = unquote(text)
        return ("percent-encoding", plain) if plain != text else None
    return None


def _base64(text: str) -> str | None:
    if not re.fullmatch(r"[A-Za-z0-9+/_-]{8,}={0,2}", text):
        return None
    try:
        plain = text.rstrip("=").replace("-", "+").replace("_", "/")
        return _utf8(base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def _utf8(data: bytes) -> str | None:
    """The text, when it is printable."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() or text.lstrip()[:1] in ("{", "[") else None

"""What authorization says in headers, addresses and documents, taken apart. Pure functions; nothing raises."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Any, NamedTuple

from mrtrscope.link.origins import Address, split
from mrtrscope.wire.events import HttpExchange

RESOURCE = "/.well-known/oauth-protected-resource"
OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
LIMIT = 16384  # characters of a header that are read
SCOPES = 256

_ITEM = re.compile(
    r"""[\s,]*+([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"=]+)(?=[\s,]|$)))?[^\S,]*"""
)
_BETWEEN = re.compile(r"[\s,]*")


class Challenge(NamedTuple):
    """One Bearer or DPoP challenge of a WWW-Authenticate header; None for what it does not say."""

    scheme: str
    metadata: str | None
    scopes: list[str] | None
    error: str | None


def challenge_of(http: HttpExchange) -> Challenge | None:
    """The first Bearer (or DPoP) challenge of an answer, None when there is none."""
    found = None
    for value in http.response_header_all("www-authenticate"):
        for scheme, fields in challenges(value):
            if scheme in ("bearer", "dpop") and (
                found is None or (found.scheme == "dpop" and scheme == "bearer")
            ):
                scope = fields.get("scope")
                found = Challenge(
                    scheme, fields.get("resource_metadata"), scopes(scope) if scope is not None else None,
                    fields.get("error"),
                )  # fmt: skip
    return found


def challenges(value: str) -> list[tuple[str, dict[str, str]]]:
    """The challenges of a WWW-Authenticate header: (scheme in lower case, parameters by lower-case name)."""
    found: list[tuple[str, dict[str, str]]] = []
    value, at = value[:LIMIT], 0
    while at < len(value):
        match = _ITEM.match(value, at)
        if match is None or match.end() == at:
            between = _BETWEEN.match(value, at)
            at = (between.end() if between is not None else at) + 1  # something that no challenge has
            continue
        at = match.end()
        name, quoted, plain = match.groups()
        if quoted is None and plain is None:
            found.append((name.lower(), {}))
        elif found:
            text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else plain
            found[-1][1].setdefault(name.lower(), text)
    return found


def scopes(value: Any) -> list[str]:
    """The scopes of a space-separated string or a list, each once, in order."""
    parts = (
        value.split()
        if type(value) is str
        else [v for v in value if type(v) is str]
        if type(value) is list
        else []
    )
    return list(dict.fromkeys(parts))[:SCOPES]


def resource_documents(channel: str) -> list[str]:
    """Where the metadata of an MCP endpoint may stand: with its path, then at the root."""
    address = split(channel)
    if address is None:
        return []
    path = address.path.rstrip("/")
    root = f"{address.origin}{RESOURCE}"
    return [f"{root}{path}", root] if path else [root]


def server_documents(issuer: str) -> list[str]:
    """Where the metadata of an authorization server may stand, in the order in which it has to be looked for."""
    address = split(issuer)
    if address is None or not address.host:
        return []
    path, origin = address.path.rstrip("/"), address.origin
    if path:
        return [f"{origin}{OAUTH}{path}", f"{origin}{OPENID}{path}", f"{origin}{path}{OPENID}"]
    return [f"{origin}{OAUTH}", f"{origin}{OPENID}"]


def plain_url(url: str) -> str:
    """A URL without query and fragment, in one spelling; "" when it is none."""
    address = split(url)
    return f"{address.origin}{address.path or '/'}" if address is not None and address.host else ""


def is_resource_document(address: Address) -> bool:
    return address.path == RESOURCE or address.path.startswith(f"{RESOURCE}/")


def is_server_document(address: Address) -> bool:
    path = address.path
    return path in (OAUTH, OPENID) or path.startswith((f"{OAUTH}/", f"{OPENID}/")) or path.endswith(OPENID)


def s256(verifier: str) -> str:
    """The code_challenge that a code_verifier stands for."""
    return (
        base64.urlsafe_b64encode(hashlib.sha256(verifier.encode("utf-8", "replace")).digest())
        .decode()
        .rstrip("=")
    )


def basic_user(authorization: str | None) -> str | None:
    """The client_id of HTTP Basic credentials, None when there are none."""
    scheme, _, rest = (authorization or "").partition(" ")
    if scheme.lower() != "basic" or len(rest) > LIMIT:
        return None
    try:
        return base64.b64decode(rest.strip(), validate=True).decode("utf-8", "replace").partition(":")[0]
    except (binascii.Error, ValueError):
        return None

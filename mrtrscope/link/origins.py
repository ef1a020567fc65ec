"""Addresses taken apart: origin, host, whether it is this machine. Nothing here raises on what a peer may send."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl

LIMIT = 16384  # characters of an address that is looked at
_URL = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*):"
    r"(?://(?:[^/?#@]*@)?(\[[^\]/?#]*\]|[^:/?#\[\]]*)(?::(\d{0,5}))?(/[^?#]*)?|(?!//)([^?#]*))"
    r"(\?[^#]*)?(#.*)?",
    re.S,
)
_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443"}
_PAIRS = 256  # parameters of one query that are looked at


class Address(NamedTuple):
    """A URL in pieces: scheme, host and port in one spelling, the rest as it stands. "" for what is missing."""

    scheme: str
    host: str
    port: str
    path: str
    query: str
    fragment: str

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}" if self.host else ""

    @property
    def authority(self) -> str:
        default = _PORTS.get(self.scheme) == self.port or not self.port
        return self.host if default else f"{self.host}:{self.port}"

    @property
    def has_fragment(self) -> bool:
        return self.fragment.startswith("#")


@lru_cache(1024)
def split(url: str) -> Address | None:
    """The pieces of a URL, None when it is none."""
    match = _URL.fullmatch(url) if len(url) <= LIMIT else None
    if match is None:
        return None
    scheme, host, port, path, bare, query, fragment = match.groups(default="")
    return Address(
        scheme.lower(), host.lower().rstrip("."), port, path or bare, query.removeprefix("?"), fragment
    )


def parameters(query: str) -> dict[str, str]:
    """The parameters of a query or form, each with its first value."""
    found: dict[str, str] = {}
    try:
        for name, value in parse_qsl(query, keep_blank_values=True, max_num_fields=_PAIRS):
            found.setdefault(name, value)
    except ValueError:
        return {}
    return found


def surely_loopback(host: str) -> bool:
    """Whether a host, as it stands in an address, is this machine whatever a resolver says: for what is listened on,
    and for whom secrets are sent to. `loopback` takes any name under "localhost" for what it is meant to be."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(1024)
def loopback(host: str) -> bool:
    """Whether a host is this machine by its name or number."""
    name = host.strip("[]").lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False

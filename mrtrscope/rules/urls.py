"""What an address is: does it parse, is it one of this machine or network, what does its query say."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

LIMIT = 8192
PARAMETERS = 200
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_BAD_HOST = re.compile(r"[\s<>\"\\^`{|}%/]")
_TEST_NAMES = (".test", ".example", ".invalid", ".localhost", ".local", ".internal", ".home.arpa", ".lan")


def split(url: str) -> SplitResult | None:
    """The parts of an absolute URL with a host, None when it is none; see `url_fault`."""
    return None if url_fault(url) else urlsplit(url)


def url_fault(url: str) -> str:
    """What keeps a string from being a URL with a host, in words; "" when nothing does.

    Lenient as the WHATWG standard is: characters that a browser encodes by itself are no fault.
    """
    if not url:
        return "is empty"
    if not _SCHEME.match(url):
        return "is relative: it has no scheme"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"does not parse: {error}"[:200]
    if not host:
        return "has no host"
    if _BAD_HOST.search(host):
        return "has a host that is none"
    return ""


def near(host: str) -> bool:
    """Loopback, a private range, or a name reserved for tests and local networks."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(_TEST_NAMES):
        return True
    try:
        address = ipaddress.ip_address(name.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_private or address.is_link_local


def parameters(parts: SplitResult) -> list[tuple[str, str]]:
    """Names and values in query and fragment."""
    found: list[tuple[str, str]] = []
    for text in (parts.query[:LIMIT], parts.fragment[:LIMIT]):
        try:
            found += parse_qsl(text, keep_blank_values=True, max_num_fields=PARAMETERS)
        except ValueError:
            continue
    return found

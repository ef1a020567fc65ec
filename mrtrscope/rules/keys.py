"""The names of `_meta` keys and extension identifiers (basic/index#meta, key name format)."""

from __future__ import annotations

import re

_PREFIX = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_NAME = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")

_TOP_LEVEL = frozenset({"com", "org", "net", "io", "dev", "ai"})
_OURS = "io.modelcontextprotocol"

# The reserved-key table of the page, and what official extensions define.
DEFINED = frozenset({
    f"{_OURS}/protocolVersion", f"{_OURS}/clientInfo", f"{_OURS}/clientCapabilities", f"{_OURS}/logLevel",
    f"{_OURS}/serverInfo", f"{_OURS}/subscriptionId", f"{_OURS}/related-task", f"{_OURS}/ui", f"{_OURS}/tasks",
    f"{_OURS}/oauth-client-credentials", f"{_OURS}/enterprise-managed-authorization", f"{_OURS}/skills",
})  # fmt: skip

PREFIX, NAME, ORDER, RESERVED, OFFICIAL = "prefix", "name", "order", "reserved", "official"


def faults(key: str) -> frozenset[str]:
    """What is wrong with a key.

    PREFIX    what stands before the first slash is no series of labels, or there is more than one slash
    NAME      what stands behind it does not begin and end alphanumeric, or holds something else than -_.
    ORDER     the prefix is a domain name the usual way round ("acme.com/")
    RESERVED  it lies under a prefix reserved for MCP that is not MCP's own; OFFICIAL: under MCP's own, but unknown
    """
    prefix, slash, name = key.partition("/")
    found = set()
    if slash and (not _PREFIX.fullmatch(prefix) or "/" in name):
        found.add(PREFIX)
    elif not _NAME.fullmatch(name if slash else key):
        found.add(NAME)
    if slash and PREFIX not in found:
        labels = prefix.lower().split(".")
        if len(labels) > 1 and labels[-1] in _TOP_LEVEL and labels[0] not in _TOP_LEVEL:
            found.add(ORDER)
        if len(labels) > 1 and labels[1] in ("modelcontextprotocol", "mcp") and key not in DEFINED:
            found.add(OFFICIAL if prefix == _OURS else RESERVED)
    return frozenset(found)

"""Facts about a channel that several rules need: era, server and client declarations, definitions seen.

Computed once here, read by rules. What has to be remembered for ever goes through `Memory`.
"""

from __future__ import annotations

from typing import Any


class Channel:
    """One server side.

    name        see DESIGN            transport   "stdio" or "http"
    modern, legacy   how many requests of each era were answered; `initialized` successful handshakes
    """

    __slots__ = ("facts", "initialized", "legacy", "modern", "name", "transport")

    def __init__(self, name: str, transport: str) -> None:
        self.name = name
        self.transport = transport
        self.modern = 0
        self.legacy = 0
        self.initialized = 0
        self.facts: dict[str, Any] = {}

"""What rules about authorization share: which step an exchange is, and whether a rule of an era applies to it.

OAuth traffic says nothing of MCP revisions. A flow has the era of the MCP request that was challenged; rules of both
revisions apply as well where that was not seen, as long as a document of an MCP server led there.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import LEGACY, MODERN
from mrtrscope.wire.events import Signal


def step_of(event: Signal, *names: str) -> dict[str, Any] | None:
    """The facts when the exchange is one of these steps; see `link.discovery`, `link.grants`."""
    facts: dict[str, Any] | None = event.http.facts.get("auth") if event.http is not None else None
    return facts if facts is not None and facts["step"] in names else None


def use_of(event: Signal) -> dict[str, Any]:
    """What is notable about the use of a token by an MCP request; see `link.auth`."""
    facts: dict[str, Any] = event.http.facts.get("auth", {}) if event.http is not None else {}
    found: dict[str, Any] = facts if facts.get("step") == "use" else facts.get("use") or {}
    return found


def of_mcp(step: dict[str, Any]) -> bool:
    """A rule of both revisions applies."""
    return step.get("era") in (MODERN, LEGACY) or not step.get("guessed", True)


def modern(step: dict[str, Any]) -> bool:
    """A rule of this revision applies."""
    return step.get("era") == MODERN

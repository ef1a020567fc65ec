"""Tasks, polled again: how far one has come depends on when it is asked, so only its end is compared. Pure.

A poll that found the task at work in the recording says nothing about today but that the server knows it. One that
found it at its end, or asking, is repeated until it is at work no longer.
"""

from __future__ import annotations

from typing import Any

POLL = "tasks/get"
WORKING = "working"
PAUSE = 1.0  # seconds between polls where the server names no interval
SHORTEST = 0.02

# Of an answer to a poll, what depends on how far the task has come.
ASIDE = (
    "/result/status", "/result/statusMessage", "/result/result", "/result/error", "/result/inputRequests",
    "/result/requestState",
)  # fmt: skip


def too_early(method: str, recorded: dict[str, Any], now: dict[str, Any]) -> float:
    """Seconds after which to poll once more; 0 when this answer can be compared."""
    if method != POLL or _status(now) != WORKING or _status(recorded) in (WORKING, ""):
        return 0.0
    pause = now["result"].get("pollIntervalMs")
    return max(SHORTEST, pause / 1000) if type(pause) in (int, float) else PAUSE


def aside(method: str, recorded: dict[str, Any], now: dict[str, Any]) -> tuple[str, ...]:
    """Paths that say nothing in this answer to a poll."""
    return ASIDE if method == POLL and _status(recorded) == WORKING and _status(now) else ()


def _status(message: dict[str, Any]) -> str:
    result = message.get("result")
    found = result.get("status") if type(result) is dict else None
    return found if type(found) is str else ""

"""The methods that each revision defines, and a few words about them."""

from __future__ import annotations

MODERN_REQUESTS = frozenset({
    "server/discover", "subscriptions/listen", "tools/list", "tools/call", "prompts/list", "prompts/get",
    "resources/list", "resources/templates/list", "resources/read", "completion/complete",
})  # fmt: skip
LEGACY_REQUESTS = frozenset({
    "initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
    "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe", "logging/setLevel",
    "completion/complete", "tasks/get", "tasks/result", "tasks/list", "tasks/cancel",
})  # fmt: skip

# Requests of earlier revisions that 2026-07-28 does not have any more.
REMOVED_REQUESTS = (
    "initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/result",
    "tasks/list",
)  # fmt: skip
LEGACY_CLIENT_NOTIFICATIONS = frozenset({
    "notifications/cancelled", "notifications/initialized", "notifications/progress",
    "notifications/roots/list_changed", "notifications/tasks/status",
})  # fmt: skip

TASKS = "io.modelcontextprotocol/tasks"
UI = "io.modelcontextprotocol/ui"

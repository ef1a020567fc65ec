"""A connection to a live server, as its client: over a child's pipes, or over Streamable HTTP. Everything is recorded.

Both forms offer the same: `request` sends one request and gives what came of it, `notify` sends a notification or a
response, `close` ends the connection and whatever was started for it.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mrtrscope.recorder import Journal

Note = Callable[[dict[str, Any]], Awaitable[None]]
Asked = Callable[[dict[str, Any]], Awaitable[dict[str, Any] | None]]


class Reply:
    """What came of a request.

    message   the response, None when there was none       status   of HTTP, None on stdio
    headers   of the HTTP answer, names in lower case      notes    notifications before the response, in order
    error     why there is no response, in words, else ""
    gone      whether that is because there is no server (any more)
    """

    __slots__ = ("error", "gone", "headers", "message", "notes", "status")

    def __init__(self) -> None:
        self.message: dict[str, Any] | None = None
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.notes: list[dict[str, Any]] = []
        self.error = ""
        self.gone = False


class Unreachable(Exception):
    """There is no server: it cannot be started or connected to, or is gone before it answered anything."""


class Connection(Protocol):
    """See the top of this module. `asked` answers a server's own request of 2025-11-25 and before.

    minted   headers by which the server tells this connection or session again: Mcp-Session-Id, Cookie
    """

    minted: dict[str, str]

    async def request(
        self, message: dict[str, Any], *, headers: dict[str, str] | None = None, note: Note | None = None,
        asked: Asked | None = None, timeout: float = 60,
    ) -> Reply:  # fmt: skip
        """Send a request; the reply when its response came, or it is certain that none will."""
        ...

    async def notify(self, message: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        """Send a message that gets no response."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...


async def connect(
    target: str | list[str], journal: Journal | None, headers: dict[str, str] | None = None, number: int = 0
) -> Connection:
    """A connection to a URL, or to a command that is started; OSError when it cannot be.

    `number` tells the connections of one journal apart.
    """
    if isinstance(target, str) and is_url(target):
        from mrtrscope.replay.client_http import HttpConnection

        return HttpConnection(target, journal, headers, number)
    from mrtrscope.replay.client_stdio import StdioConnection

    child = StdioConnection(shlex.split(target) if isinstance(target, str) else target, journal, number)
    await child.start()
    return child


def is_url(target: str) -> bool:
    return target.startswith(("http://", "https://"))

"""A subscription as one operation: when it was acknowledged, what it delivered, how it ended and by whom.

Stands in `Operation.more`: `acknowledged` (time, None while it is not), `delivered` (notifications by method), `ended`
("result", "error", "cancelled", "closed", "lost", "" while it is open), `by` ("client", "server", "" unknown).
`link.subscriptions` keeps what rules need to know of it.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import LEGACY, Exchange, Operation
from mrtrscope.link.processes import LISTEN
from mrtrscope.link.subscriptions import ACKNOWLEDGED
from mrtrscope.wire.events import Message

KIND = "subscription"
METHODS, NAME = 16, 128  # how many methods are counted by name, and how long one may be
OTHERS = "others"
CLIENT, SERVER = "client", "server"


def begun(exchange: Exchange) -> bool:
    """A request got its operation; True when that is a subscription."""
    if exchange.method != LISTEN or exchange.era == LEGACY or exchange.part:
        return False
    operation = exchange.operation
    if operation.kind == "single":
        operation.kind = KIND
        operation.more = {"acknowledged": None, "delivered": {}, "ended": "", "by": ""}
    return True


def told(message: Message, exchange: Exchange | None) -> bool:
    """A notification came on the stream of an exchange, or names it; True when that is a subscription."""
    if exchange is None or exchange.operation.kind != KIND or message.dir != "s2c":
        return False
    more = _facts(exchange.operation)
    if message.method == ACKNOWLEDGED:
        if more["acknowledged"] is None:
            more["acknowledged"] = message.t
        return True
    delivered, method = more["delivered"], (message.method or "")[:NAME]
    if method not in delivered and len(delivered) >= METHODS:
        method = OTHERS
    delivered[method] = delivered.get(method, 0) + 1
    return True


def ended(exchange: Exchange) -> None:
    """An exchange ended: say how, when it was a subscription."""
    operation = exchange.operation
    if operation.kind == KIND:
        more = _facts(operation)
        more["ended"], more["by"] = _how(exchange)


def _how(exchange: Exchange) -> tuple[str, str]:
    http, cancel = exchange.http, exchange.cancel
    if cancel is not None:
        return "cancelled", CLIENT if cancel.dir == "c2s" else SERVER
    if exchange.state == "cancelled":
        return "closed", CLIENT
    if exchange.answer is not None:
        return ("error" if exchange.answer.kind == "error" else "result"), SERVER
    if exchange.state == "failed":
        return "error", SERVER
    if http is not None and http.closed_by == SERVER and not http.error and not http.cut:
        return "closed", SERVER
    return "lost", ""


def _facts(operation: Operation) -> dict[str, Any]:
    assert operation.more is not None
    return operation.more

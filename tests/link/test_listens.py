"""A subscription is one operation: what it delivered, when it was acknowledged, how it ended and by whom."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link import listens
from mrtrscope.link.facts import Operation
from mrtrscope.wire import events as ev
from mrtrscope.wire.events import Signal

from .world import MODERN, World

META = {"io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {}}
ID = {"io.modelcontextprotocol/subscriptionId": 1}


def listen(w: World) -> Operation:
    params = {"notifications": {"toolsListChanged": True}, "_meta": META}
    return w.exchanges[w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}).key
                       ].operation  # fmt: skip


def note(w: World, method: str, **params: Any) -> None:
    w.say("s2c", {"jsonrpc": "2.0", "method": method, "params": {"_meta": ID, **params}})


def more(operation: Operation) -> dict[str, Any]:
    assert operation.more is not None
    return operation.more


def test_acknowledged_and_delivered() -> None:
    w = World()
    operation = listen(w)
    note(w, "notifications/subscriptions/acknowledged", notifications={"toolsListChanged": True})
    at = w.t
    for _ in range(3):
        note(w, "notifications/tools/list_changed")
    assert (operation.kind, operation.outcome) == ("subscription", "open")
    assert more(operation) == {"acknowledged": at, "delivered": {"notifications/tools/list_changed": 3},
                               "ended": "", "by": ""}  # fmt: skip
    assert [op for _, _, _, op in w.seen] == [operation.key] * 5


def test_what_names_no_subscription_is_not_delivered_by_it() -> None:
    w = World()
    operation = listen(w)
    w.say("s2c", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    assert more(operation)["delivered"] == {}


def signal(w: World, what: str, **detail: Any) -> None:
    s = Signal()
    s.journal, s.offset, s.part, s.t, s.channel, s.dir, s.lane = (
        "test",
        10**9,
        0,
        w.t + 1,
        "files",
        "s2c",
        "0o",
    )
    s.peer, s.http, s.place, s.cut, s.edited = w.peers["p"], None, None, False, False
    s.what, s.detail = what, detail
    w.linker.feed(s)


def ended_by(w: World, how: str) -> None:
    if how == "result":
        w.done(1)
    elif how == "error":
        w.say("s2c", {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "no"}})
    elif how == "lost":
        signal(w, ev.EXIT, code=0)
    elif how == "left":
        signal(w, ev.LANE_END, lane="i", by="client")
        signal(w, ev.LANE_END, lane="o", by="server")
    else:
        dir = "c2s" if how == "client" else "s2c"
        w.say(
            dir,
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": ID}},
        )


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("result", ("result", "server", "complete")),
        ("error", ("error", "server", "error")),
        ("client", ("cancelled", "client", "cancelled")),
        ("server", ("cancelled", "server", "cancelled")),
        ("lost", ("lost", "", "lost")),
        ("left", ("closed", "client", "cancelled")),  # closed stdin, and the process ended in good order
    ],
)
def test_how_it_ended_and_by_whom(how: str, told: tuple[str, str, str]) -> None:
    w = World()
    operation = listen(w)
    ended_by(w, how)
    assert (more(operation)["ended"], more(operation)["by"], operation.outcome) == told


def test_methods_are_counted_by_name_up_to_a_bound() -> None:
    w = World()
    operation = listen(w)
    for i in range(listens.METHODS + 5):
        note(w, f"notifications/x{i}")
    delivered = more(operation)["delivered"]
    assert len(delivered) == listens.METHODS + 1
    assert delivered[listens.OTHERS] == 5


def test_a_call_is_lost_also_when_its_client_left() -> None:
    """It is no subscription: the server could have answered it after the end of stdin."""
    w = World()
    params = {"name": "slow", "_meta": META}
    called = w.say("c2s", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    ended_by(w, "left")
    assert w.exchanges[called.key].operation.outcome == "lost"

"""What is known of stdio processes, and what that says of a cancellation or an answer without an id."""

from __future__ import annotations

from mrtrscope.link.processes import KEPT, Process, process_of
from mrtrscope.link.session import Channel
from mrtrscope.wire.events import EXIT, GAP, LANE_END, Peer, Signal

from .world import World


def signal(world: World, what: str, process: str = "p", **detail: object) -> Signal:
    event = Signal()
    event.journal, event.offset, event.part = "test", 10_000_000 + world.t, 0
    world.t += 1000
    event.t, event.channel, event.dir, event.lane = world.t, "files", "s2c", "0z"
    event.peer = world.peers.setdefault(process, Peer(f"files/{process}", "stdio", whole=True))
    event.http = event.place = None
    event.cut = event.edited = False
    event.what, event.detail = what, dict(detail)
    world.linker.feed(event)
    return event


def the(world: World, process: str = "p") -> Process:
    return world.linker.sessions.channels["files"].processes[f"files/{process}"]


def test_a_process_from_its_first_request_to_its_end() -> None:
    world = World()
    first = world.call(1)
    second = world.call(2)
    world.done(1)
    signal(world, LANE_END, lane="i", by="client")
    signal(world, EXIT, code=3)
    process = the(world)
    assert first.remarks is not None and first.remarks["first"] is True
    assert "first" not in (second.remarks or {})
    assert (process.first, process.calls, process.requests) == ("tools/call", 2, 2)
    assert process.eof is not None and process.exit is not None and process.eof < process.exit
    assert (process.code, process.signal, process.known) == (3, None, True)


def test_stdin_that_closes_after_the_end_is_no_end_of_stdin() -> None:
    world = World()
    world.call(1)
    signal(world, EXIT, signal=9)
    signal(world, LANE_END, lane="i", by="client")
    assert (the(world).eof, the(world).signal) == (None, 9)


def test_a_gap_takes_certainty_away() -> None:
    world = World()
    world.call(1)
    signal(world, GAP, bytes=3)
    assert not the(world).known


def test_subscriptions_are_open_until_answered_or_cancelled() -> None:
    world = World()
    for id in (1, 2, 3):
        world.call(id, method="subscriptions/listen")
    world.done(1)
    world.say("c2s", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
    assert list(the(world).listens) == ["3"]
    signal(world, EXIT, code=0)
    assert list(the(world).listens) == ["3"]


def test_a_subscription_that_the_next_process_is_not_asked_for() -> None:
    world = World()
    listen = world.call(1, method="subscriptions/listen")
    signal(world, EXIT, code=1)
    early = world.call(1, at=10, process="q")
    late = world.call(2, at=90, process="q")
    later = world.call(3, at=91, process="q")
    assert "unsubscribed" not in (early.remarks or {}) and "unsubscribed" not in (later.remarks or {})
    assert late.remarks is not None and late.remarks["unsubscribed"] == listen.key


def test_how_a_probe_went() -> None:
    for body, probe in (
        ({"error": {"code": -32000, "message": "no"}}, "refused"),
        ({"error": {"code": -32022, "message": "no"}}, "served"),
        ({"result": {"resultType": "complete"}}, "served"),
    ):
        world = World()
        world.call(1, method="server/discover")
        assert the(world).probe == "open"
        world.say("s2c", {"jsonrpc": "2.0", "id": 1, **body})
        assert the(world).probe == probe


def test_an_answer_without_an_id_stands_for_one_unreadable_text() -> None:
    world = World()
    world.call(1)
    world.done(1)
    process = the(world)
    error = {"jsonrpc": "2.0", "error": {"code": -32700, "message": "x"}}
    world.say("s2c", error)
    assert not process.excused
    world.say("c2s", {"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"})
    assert (process.said, process.unread) == ("unreadable", 1)
    world.say("s2c", error)
    assert (process.excused, process.unread) == (True, 0)
    world.say("s2c", error)
    assert not process.excused


def test_a_cancellation_in_vain() -> None:
    world = World()
    world.call(1)
    world.done(1)
    told = world.say(
        "c2s", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x"}}
    )
    process = the(world)
    assert (process.cancel, process.cancel_id, process.cancel_t) == (told.key, '"x"', told.t)
    assert (process.said, process.said_key) == ("notification", told.key)


def test_only_the_latest_processes_are_kept() -> None:
    channel = Channel("files", "stdio")
    for n in range(KEPT + 5):
        process_of(channel, Peer(str(n), "stdio"), n)
    assert len(channel.processes) == KEPT and "4" not in channel.processes
    assert process_of(channel, Peer("10", "stdio"), 99).t == 10

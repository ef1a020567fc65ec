"""Runs of a server: what one showed is not held against the next."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.link.runs import KEPT, NAMES, Run, named, run_of
from mrtrscope.link.session import Channel
from mrtrscope.wire.events import HttpExchange, Peer


class Event:
    """Where something was said."""

    def __init__(self, process: str, http: HttpExchange | None = None) -> None:
        self.peer = Peer(process, "stdio" if http is None else "http")
        self.http = http


def over_http(connection: str) -> Event:
    return Event(connection, HttpExchange.__new__(HttpExchange))


ONE, TWO = {"name": "files", "version": "1"}, {"name": "files", "version": "2"}
BEHIND = {"name": "disk", "version": "9"}


def test_each_process_is_a_run() -> None:
    channel = Channel("files", "stdio")
    first = run_of(channel, Event("p"))
    assert named(channel, Event("p"), ONE, 5, True) is first
    assert run_of(channel, Event("q")) is not first
    assert run_of(channel, Event("p")) is first and first.info == ["files", "1"]


def test_a_process_that_calls_itself_otherwise_is_the_same_run() -> None:
    channel = Channel("files", "stdio")
    first = named(channel, Event("p"), ONE, 5, True)
    assert named(channel, Event("p"), TWO, 6, True) is first
    assert (first.info, first.since) == (["files", "2"], 0)


@pytest.mark.parametrize("introduced", [True, False])
def test_over_http_another_version_is_another_run(introduced: bool) -> None:
    channel = Channel("files", "http")
    first = named(channel, over_http("a"), ONE, 5, introduced)
    first.modern, first.facts["typed"] = 3, True
    assert named(channel, over_http("b"), ONE, 6, introduced) is first is run_of(channel, over_http("c"))
    second = named(channel, over_http("b"), TWO, 7, introduced)
    assert second is not first and run_of(channel, over_http("a")) is second
    assert (second.facts, second.since, second.modern) == ({}, 7, 3)
    assert named(channel, over_http("b"), ONE, 8, introduced).since == 8  # it was put back


def test_what_happens_to_a_connection_makes_no_run() -> None:
    channel = Channel("files", "http")
    first = named(channel, over_http("a"), ONE, 5, True)
    for n in range(KEPT + 5):
        opened = Event(f"c{n}")
        opened.peer = Peer(f"c{n}", "http")
        assert run_of(channel, opened) is first
    assert list(channel.facts["runs"]) == [""]


def test_another_name_is_another_run_only_where_a_server_introduces_itself() -> None:
    channel = Channel("files", "http")
    first = named(channel, over_http("a"), ONE, 5, True)
    assert named(channel, over_http("a"), BEHIND, 6, False) is first
    assert named(channel, over_http("a"), ONE, 7, False) is first
    assert named(channel, over_http("a"), BEHIND, 8, True).since == 8


@pytest.mark.parametrize("info", [None, "files", {}, {"name": "files"}, {"name": "files", "version": 2}])
def test_no_name_says_nothing(info: Any) -> None:
    channel = Channel("files", "http")
    first = named(channel, over_http("a"), ONE, 5, True)
    assert named(channel, over_http("a"), info, 6, True) is first and first.info == ["files", "1"]


def test_no_more_is_kept_than_is_needed() -> None:
    channel = Channel("files", "stdio")
    for n in range(KEPT + 5):
        named(channel, Event(str(n)), ONE, n, True)
    runs: dict[str, Run] = channel.facts["runs"]
    assert len(runs) == KEPT and "4" not in runs and "5" in runs
    for n in range(NAMES + 5):
        last = named(channel, Event("5"), {"name": f"n{n}", "version": "1"}, n, False)
    assert len(last.names) == NAMES

"""The taps by themselves: nothing they meet reaches the traffic, and what they write reads back as it was."""

from __future__ import annotations

import itertools
import json
import os
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.frames import DATA, END, NOTE
from mrtrscope.journal import read_journal
from mrtrscope.recorder import Journal
from mrtrscope.tap import HttpTap, Tee
from mrtrscope.tap_records import (
    HELD,
    FlowIds,
    address,
    ended_by,
    field_value,
    is_event_stream,
    may_be_held,
    pairs,
    payload,
)
from mrtrscope.tap_stdio import StdioTap


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.create(str(tmp_path), "addon", "test")
    yield journal
    journal.close()


def written(journal: Journal) -> list[tuple[str, str, bytes]]:
    return [(f.lane, f.kind, f.data) for f in read_journal(journal.path)]


# the stream callback


@pytest.mark.parametrize("chunk", [b"data: 1\n\n", b"", b"\0" * 70_000])
def test_the_callback_returns_the_object_it_was_given(journal: Journal, chunk: bytes) -> None:
    assert Tee(journal.append, "1a", False)(chunk) is chunk
    assert written(journal) == ([("1a", DATA, chunk)] if chunk else [])


def test_the_callback_survives_whatever_append_does() -> None:
    def fails(lane: str, kind: str, t: int, data: bytes) -> None:
        raise MemoryError

    chunk = b"x"
    assert Tee(fails, "1a", True)(chunk) is chunk


def test_the_callback_of_another_addon_gets_what_the_peer_sent(journal: Journal) -> None:
    assert Tee(journal.append, "1a", lambda chunk: [chunk.upper(), b"more"])(b"x") == [b"X", b"more"]
    assert written(journal) == [("1a", DATA, b"x")]


# guards


def test_a_hook_that_fails_is_counted_and_noted(journal: Journal) -> None:
    tap = HttpTap(journal, itertools.count(1).__next__, FlowIds())
    stdio = StdioTap(journal, itertools.count(1).__next__, FlowIds())
    broken: Any = object()
    hooks = [
        tap.requestheaders,
        tap.request,
        tap.responseheaders,
        tap.response,
        tap.error,
        tap.client_disconnected,
    ]
    hooks += [stdio.tcp_start, stdio.tcp_message, stdio.tcp_end, stdio.tcp_error]
    for hook in hooks:
        hook(broken)
    assert tap.failures + stdio.failures == len(hooks)
    notes = [json.loads(data) for _, kind, data in written(journal) if kind == NOTE]
    assert notes[0] == {"failed": "requestheaders", "error": "AttributeError"}
    assert len(notes) == len(hooks)


def test_notes_are_bounded(journal: Journal) -> None:
    tap = HttpTap(journal, itertools.count(1).__next__, FlowIds())
    for _ in range(3000):
        tap.note({"said": "x"})
    assert len(written(journal)) == 1000


# several records at once


def test_many_records_are_written_as_one(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (writes.append(len(data)), write(fd, data))[1])
    records = [
        ("1q", "open", 1, b"{}"),
        ("1q", DATA, 2, b"\nbody\n"),
        ("1q", DATA, 3, b""),
        ("1q", END, 4, b"{}"),
    ]
    journal.append_many(records)
    journal.append_many([])
    assert len([size for size in writes if size]) == 1
    assert written(journal) == [(lane, kind, data) for lane, kind, _, data in records]


@pytest.mark.parametrize("limit", [300, 400, 500, 700])
def test_many_records_at_the_limit_of_size(tmp_path: Path, limit: int) -> None:
    journal = Journal.create(str(tmp_path), "addon", "test", max_size=limit)
    for n in range(40):
        journal.append_many([("1q", DATA, n, b"x" * 20), ("1q", END, n, b"{}")])
    journal.close()
    assert os.stat(journal.path).st_size <= limit + 200
    assert journal.lost_frames > 0
    assert [kind for _, kind, _ in written(journal)][-1] == "gap"


def test_many_records_into_a_closed_file_are_counted_and_told(journal: Journal) -> None:
    (fd,) = [int(fd) for fd in os.listdir("/proc/self/fd") if links(fd) == journal.path]
    os.close(fd)
    journal.append_many([("1q", DATA, 1, b"12"), ("1a", DATA, 1, b"345")])
    assert (journal.lost_frames, journal.lost_bytes) == (2, 5)
    journal.append_many([("2q", DATA, 2, b"6"), ("2q", END, 2, b"{}")])
    gaps = {lane: json.loads(data) for lane, kind, data in written(journal) if kind == "gap"}
    assert {lane: (gap["frames"], gap["bytes"]) for lane, gap in gaps.items()} == {"1q": (1, 2), "1a": (1, 3)}
    assert [x for x in written(journal) if x[1] != "gap"] == [("2q", DATA, b"6"), ("2q", END, b"{}")]


def links(fd: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return ""


def test_the_journal_lives_at_a_number_that_nobody_else_gets(journal: Journal) -> None:
    (fd,) = [int(fd) for fd in os.listdir("/proc/self/fd") if links(fd) == journal.path]
    assert fd >= 200


# words


@given(st.lists(st.tuples(st.binary(max_size=20), st.binary(max_size=40)), max_size=8))
def test_header_fields_come_back_byte_for_byte(fields: list[tuple[bytes, bytes]]) -> None:
    read = json.loads(payload({"headers": pairs(tuple(fields))}))["headers"]
    assert [(name.encode("latin-1"), value.encode("latin-1")) for name, value in read] == fields


@given(st.binary(max_size=12))
def test_a_length_is_held_only_when_it_is_one(length: bytes) -> None:
    held = may_be_held(length)
    assert held is False or 0 <= int(length) <= HELD


def test_lengths_at_the_edge() -> None:
    assert may_be_held(b"1048576")
    assert not may_be_held(b"1048577")
    assert not may_be_held(b"-1")
    assert not may_be_held(b"99999999999999999999")
    assert not may_be_held("٣".encode())


@pytest.mark.parametrize("value", [b"text/event-stream", b" Text/Event-Stream; charset=utf-8"])
def test_an_event_stream_is_known_however_it_is_spelt(value: bytes) -> None:
    assert is_event_stream(((b"X", b"y"), (b"CONTENT-type", value)))
    assert not is_event_stream(((b"Content-Type", b"application/json"),))
    assert field_value((), b"content-type") is None


def test_addresses() -> None:
    assert address(("127.0.0.1", 80)) == "127.0.0.1:80"
    assert address(("::1", 80, 0, 0)) == "[::1]:80"
    assert address(None) == ""


OPEN, SHUT = types.SimpleNamespace(value=3), types.SimpleNamespace(value=2)


def flow(error: str, client: Any = OPEN, server: Any = OPEN, alpn: tuple[bytes, bytes] = (b"", b"")) -> Any:
    return types.SimpleNamespace(
        error=types.SimpleNamespace(msg=error),
        client_conn=types.SimpleNamespace(state=client, alpn=alpn[0]),
        server_conn=types.SimpleNamespace(state=server, alpn=alpn[1]),
        request=types.SimpleNamespace(timestamp_end=1.0, stream=False),
    )


@pytest.mark.parametrize(
    ("who", "answered", "given"),
    [
        ("us", False, flow("Connection killed.", client=SHUT)),
        ("client", True, flow("Client disconnected.", client=SHUT)),
        ("client", True, flow("peer closed connection", client=SHUT)),
        ("server", True, flow("HTTP/1 protocol error: peer closed connection without …", server=SHUT)),
        ("server", False, flow("server closed connection", server=SHUT)),
        ("us", True, flow("HTTP/1 protocol error: illegal chunk header", server=SHUT)),
        ("us", False, flow("Cannot parse HTTP response: …", server=SHUT)),
        ("upstream", False, flow("[Errno 111] Connect call failed", server=SHUT)),
        ("us", True, flow("something new in mitmproxy")),
        ("client", True, flow("stream reset by client (CANCEL)", alpn=(b"h2", b"http/1.1"))),
        ("server", True, flow("stream reset by client (CANCEL)", alpn=(b"http/1.1", b"h2"))),
        ("client", True, flow("stream reset by client (CANCEL)", alpn=(b"h2", b"h2"))),
        ("open", True, flow("stream reset by client (INTERNAL_ERROR)", alpn=(b"h2", b"h2"))),
    ],
)
def test_who_ended_it(who: str, answered: bool, given: Any) -> None:
    assert ended_by(given, answered) == who


def test_flow_ids_are_bounded() -> None:
    ids = FlowIds(limit=3)
    for number in range(10):
        ids.add(number, f"flow{number}")
    assert [ids.of_lane(f"{n}q") for n in range(10)] == [None] * 7 + ["flow7", "flow8", "flow9"]
    assert ids.of_lane("9a") == "flow9"
    assert ids.of_lane("z") is None
    ids.wanted = False
    ids.add(11, "flow11")
    assert ids.of_lane("11q") is None

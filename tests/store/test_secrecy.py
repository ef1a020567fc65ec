"""Secrets by name: the scout learns what a view hides, and a text is searched for them by digests alone."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.analyse import bring_up_to_date
from mrtrscope.store import scout as scouting
from mrtrscope.store import secrecy
from mrtrscope.store.scout import Scout
from mrtrscope.views import ahead
from mrtrscope.views.redact import Redactor
from mrtrscope.wire.events import Message
from tests.captures import Line, journal

NAMES = (
    "password", "token", "code", "name", "type", "format", "writeOnly", "default", "arguments", "content", "properties",
    "inputRequests", "inputResponses", "action", "headers", "nick",
)  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=12),
    st.sampled_from(["string", "object", "password", "accept", "-32602", "hunter2hunter2"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(NAMES), inner, max_size=6)
    ),
    max_leaves=30,
)


@given(st.lists(VALUES, max_size=4))
def test_the_scout_learns_what_a_view_hides_by_name(values: list[Any]) -> None:
    learnt: dict[str, str] = {}
    scout, redact = Scout(lambda value, why: learnt.setdefault(value, why)), Redactor()
    for value in values:
        scout.value(value)
        redact.value(value)
    assert redact._told == learnt
    assert redact.fields == scout.fields


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6), max_size=6))
def test_a_message_is_passed_over_only_where_nothing_is_to_be_learnt(bodies: list[dict[str, Any]]) -> None:
    quick: dict[str, str] = {}
    slow: dict[str, str] = {}
    one = Scout(lambda value, why: quick.setdefault(value, why))
    other = Scout(lambda value, why: slow.setdefault(value, why))
    for body in bodies:
        message = Message()
        message.body, message.raw, message.http = body, b"", None
        one.event(message)
        other.value(body)
    assert (quick, one.fields) == (slow, other.fields)


Table = Callable[..., secrecy.Known]


@pytest.fixture
def table() -> Iterator[Table]:
    """Makes what knows the values that it is given."""
    with contextlib.closing(sqlite3.connect(":memory:")) as conn:
        for name, columns in (
            ("secrets", "anchor, digest, back, size, why, primary key (anchor, digest)"),
            ("secret_fields", "name, since"),
            ("meta", "key, value"),
        ):
            conn.execute(f"create table {name} ({columns})")
        conn.execute("insert into meta values ('salt', ?)", (b"pepper",))

        def known(*values: str) -> secrecy.Known:
            rows = [secrecy.row(b"pepper", value, "value of x") for value in values]
            conn.executemany("insert into secrets values (?, ?, ?, ?, ?)", [row for row in rows if row])
            return secrecy.Known(conn)

        yield known


@pytest.mark.parametrize("value", [
    "kq7XplanetS", "correct horse battery staple", "+49 170 1234567", "-abc-def-", "a.b.c.d", "秘密の言葉", "!!!!!",
    "(unbalanced", "$2b$12$abcdefghijklmnop", "_under_score", "e\u0301te\u0301te\u0301",
])  # fmt: skip
def test_a_value_is_found_wherever_it_stands_alone(value: str, table: Table) -> None:
    known = table("somethingElse", value)
    for text in (value, f"it is {value} then", f"({value})" if value != "!!!!!" else value, f"x\n{value}\nx"):
        assert (value, "value of x") in list(known.find(text)), text
    assert list(known.find(f"a{value[:-1]}")) == []
    assert Redactor(known=known).text(f"it is {value} then") == "it is ‹hidden 1› then"


def test_inside_a_longer_word_it_is_another_value(table: Table) -> None:
    known = table("secret1", "5-secret1-x")
    assert (
        Redactor(known=known).text("secret10, secret1_, 5-secret1-xy")
        == "secret10, secret1_, 5-‹hidden 1›-xy"
    )


def test_values_that_share_a_word_are_told_apart_and_their_places_bounded(table: Table) -> None:
    many = [f"shared{'-' * n}" for n in range(1, 200)]
    known = table(*many)
    assert len(known._led("shared")) == secrecy.SPELLINGS
    assert len(list(known.find("shared" + "-" * 300))) == secrecy.SPELLINGS


def test_what_is_made_to_take_long_does_not(table: Table) -> None:
    known = table(*("aaa" + "-" * (7_000 + n) for n in range(64)))
    began = time.process_time()
    assert list(known.find("aaa-" * 200_000)) == []
    assert time.process_time() - began < 60  # comparing all of it would take an hour


def test_addresses_in_a_long_text_are_found_in_one_pass() -> None:
    learnt: dict[str, str] = {}
    scout = Scout(lambda value, why: learnt.setdefault(value, why))
    text = "a" * 500_000 + " see https://kari:planetS7@h.example/?x=1&access_token=kq7XcometS and more"
    event = Message()
    event.body, event.raw, event.http = {}, text.encode(), None
    scout.event(event)
    assert learnt == {"planetS7": "password in an address", "kq7XcometS": "value of access_token"}


def test_only_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scouting, "MOST", 3)
    lines: list[Line] = []
    for n in range(1, 10):
        params = {"name": "x", "arguments": {"token": f"value{n}abc"}}
        call = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}
        lines.append((1000 * n, "c2s", json.dumps(call).encode()))
    journal(tmp_path, lines).close()
    with bring_up_to_date(tmp_path) as store:
        assert store.count("secrets") == 3
        assert ahead.redactor(store).text("value1abc value3abc") == "‹hidden 1› ‹hidden 2›"


def test_what_is_too_long_to_be_known_again_is_not_kept_in_memory() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as conn:
        conn.execute("create table secrets (anchor, digest, back, size, why)")
        conn.execute("create table secret_fields (name)")
        conn.execute("create table meta (key, value)")
        kept = scouting.Secrecy(conn)
        for n in range(1, 9):
            kept._learn(f"{n}" * (secrecy.LONGEST + n), "value of token")
        assert kept._known == set() == set(kept._found)
        known = secrecy.Known(conn)
        assert list(known.find("w" * (secrecy.LONGEST + 1) + " short")) == []
        assert known._nowhere == {"short"}


def test_a_field_that_a_form_calls_secret_is_known_everywhere(tmp_path: Path) -> None:
    field = {"type": "object", "properties": {"nick": {"type": "string", "format": "password"}}}
    asks = {"jsonrpc": "2.0", "id": 1, "method": "elicitation/create",
            "params": {"message": "?", "requestedSchema": field}}  # fmt: skip
    says = {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"nick": "blueWhale"}}}
    lines: list[Line] = [(1000, "s2c", json.dumps(asks).encode()), (2000, "c2s", json.dumps(says).encode())]
    journal(tmp_path, lines).close()
    with bring_up_to_date(tmp_path) as store:
        redact = ahead.redactor(store)
        assert redact.fields == {"nick"}
        assert redact.text("hello blueWhale") == "hello ‹hidden 1›"

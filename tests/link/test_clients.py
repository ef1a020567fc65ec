"""Signed keys, digests of several parts, and canonical numbers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link import clients
from mrtrscope.link.canonical import canonical
from mrtrscope.link.clients import Clients
from mrtrscope.link.facts import Ask, Chain, Client
from mrtrscope.link.memory import DictMemory, digest

PARTS = st.lists(st.text(alphabet="ab.:\0 1é\ud800", max_size=4), min_size=1, max_size=4)


def ask(key: str, client: Client) -> Ask:
    found = Ask()
    found.key, found.client, found.questions, found.chain = key, client, {}, Chain()
    found.chain.asked = {}
    return found


def fields(client: Client) -> list[str]:
    return clients.to_list(client)


def test_a_signed_key_tells_the_client_again_in_another_process() -> None:
    memory = DictMemory()
    one = Client("j:1", b"\1" * 16, '{"name":"x"}', "10.0.0.1", b"\2" * 16)
    two = Client("j:2")
    texts = [Clients(memory).signed(ask(f"j:{n}", client)) for n, client in enumerate((one, two, one))]
    read = Clients(memory).read
    assert [(found.key, fields(found.client)) for found in map(read, texts)] == [
        ("j:0", fields(one)),
        ("j:1", fields(two)),
        ("j:2", fields(one)),
    ]


def test_what_is_at_hand_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "AT_HAND", 2)
    known = Clients(DictMemory())
    texts = [known.signed(ask(f"j:{n}", Client(f"peer {n}"))) for n in range(5)]
    assert [known.read(text).client.peer for text in texts] == [f"peer {n}" for n in range(5)]
    assert len(known._names) <= 2
    assert len(known._known) <= 2


def test_many_are_read_as_each_of_them_and_what_is_at_hand_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients, "MANY_AT_HAND", 4)
    known = Clients(DictMemory())
    texts = [known.signed(ask(f"j:{n}", Client(f"peer {n % 2}"))) for n in range(6)]
    for some in ([], texts[:1], texts[:3], texts[:4], texts[2:6], texts):
        found = known.read_all(some)
        assert [(one.key, one.client.peer) for one in found] == [
            (f"j:{texts.index(text)}", f"peer {texts.index(text) % 2}") for text in some
        ]
        assert len(known._read) <= max(4, len(some))


@given(PARTS, PARTS)
def test_parts_cannot_run_into_each_other(a: list[str], b: list[str]) -> None:
    assert (digest(*a) == digest(*b)) is (a == b)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e16, "10000000000000000"),
        ([1e-7], "[1e-07]"),
        ({"a": -2.0}, '{"a":-2}'),
        ("v1.0e+5", '"v1.0e+5"'),
        (["1.0", 1.0], '["1.0",1]'),
        (1e300, str(int(1e300))),
    ],
)
def test_a_float_is_found_wherever_it_stands(value: Any, text: str) -> None:
    assert canonical(value) == text

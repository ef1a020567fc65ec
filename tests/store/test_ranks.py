"""Ranks are those of a sorted list, in whatever batches rows come."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.store.connect import open_database
from mrtrscope.store.reader import Store
from mrtrscope.store.writer import Writer
from tests.store.build import batch, exchange, message, noise, operation

ORDERS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["a.mrj", "b.mrj", "Z.mrj"])), min_size=1, max_size=25
)


@given(orders=ORDERS, cuts=st.sets(st.integers(0, 25)))
def test_ranks_of_rows_that_come_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, orders: list[tuple[int, str]], cuts: set[int]
) -> None:
    path = tmp_path_factory.mktemp("ranks") / "scope.db"
    writer = Writer(open_database(path, write=True))
    with writer.transaction():
        writer.reset({})
    arrivals = [
        message(offset, t, {"id": offset, "method": "ping"}, journal=journal)
        for offset, (t, journal) in enumerate(orders)
    ]
    edges = [0, *sorted(c for c in cuts if c < len(arrivals)), len(arrivals)]
    for start, end in itertools.pairwise(edges):
        part = arrivals[start:end]
        with writer.transaction():
            writer.write(
                batch(
                    *part, *(exchange(m, operation(m)) for m in part), *(noise(m.offset, m.t) for m in part)
                )
            )
    expected = [m.key for m in sorted(arrivals, key=lambda m: m.order)]
    with Store(open_database(path), path) as store:
        assert [(m.m, m.key, m.operation) for m in store.messages()] == [
            (f"m{n}", key, f"op{n}") for n, key in enumerate(expected, 1)
        ]
        assert [(op.id, op.key) for op in store.operations()] == [
            (f"op{n}", k) for n, k in enumerate(expected, 1)
        ]
        ranks = store.db.conn.execute("select f, t, offset from events order by f").fetchall()
        assert ranks == [(n, t, o) for n, (t, o) in enumerate(sorted((m.t, m.offset) for m in arrivals), 1)]
    writer.db.close()

"""SQLite remembers what a dict would, over flushes and over processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link.memory import DictMemory, digest
from mrtrscope.store import memory
from mrtrscope.store.connect import open_database
from mrtrscope.store.memory import SqliteMemory
from mrtrscope.store.writer import Writer


def opened(path: Path) -> Writer:
    writer = Writer(open_database(path, write=True))
    if "meta" not in writer.db.table_names():
        with writer.transaction():
            writer.reset({})
    return writer


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    writer = opened(tmp_path / "scope.db")
    yield writer
    writer.db.close()


KEYS = st.sampled_from([digest(name) for name in "abc"])
SPACES = st.sampled_from(["ask", "tool"])
VALUES = st.text(max_size=4) | st.just("\ud800")
STEPS = st.lists(
    st.tuples(st.just("add"), SPACES, KEYS, VALUES)
    | st.tuples(st.just("set"), SPACES, KEYS, VALUES)
    | st.tuples(st.just("flush"), SPACES, KEYS, VALUES)
    | st.tuples(st.just("reopen"), SPACES, KEYS, VALUES),
    max_size=30,
)


@given(steps=STEPS, limit=st.integers(1, 4), marks=st.sampled_from([memory.MARKS, 1]))
def test_it_answers_as_a_dict_does(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, bytes, str]], limit: int, marks: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "MARKS", marks)  # with one, all keys look as if they had been added
        for name, few in (("LAST", 3), ("MANY", 1), ("KEYS", 2)):  # what is kept for reading comes and goes
            patch.setattr(memory, name, few)
        answers_as_a_dict(tmp_path_factory.mktemp("memory") / "scope.db", steps, limit)


def answers_as_a_dict(path: Path, steps: list[tuple[str, str, bytes, str]], limit: int) -> None:
    writer, model = opened(path), DictMemory()
    for step, space, key, value in steps:
        if step in ("flush", "reopen"):
            with writer.transaction():
                writer.memory.flush()
        if step == "reopen":
            writer.db.close()
            writer = opened(path)
        if step == "add":
            writer.memory.add(space, key, value)
            model.add(space, key, value)
        if step == "set":
            writer.memory.set(f"one-{space}", key, value)
            model.set(f"one-{space}", key, value)
        assert writer.memory.find(space, key, limit) == model.find(space, key, limit)
        assert writer.memory.get(f"one-{space}", key) == model.get(f"one-{space}", key)
    writer.db.close()


def test_what_was_not_flushed_is_not_there_for_the_next(writer: Writer, tmp_path: Path) -> None:
    writer.memory.add("ask", b"k", "v")
    other = SqliteMemory(open_database(tmp_path / "scope.db"))
    assert other.find("ask", b"k", 9) == ([], 0)
    with writer.transaction():
        writer.memory.flush()
    assert other.find("ask", b"k", 9) == (["v"], 1)
    other._db.close()


@given(before=STEPS, after=STEPS)
def test_what_came_after_the_checkpoint_can_be_forgotten(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[str, str, bytes, str]],
    after: list[tuple[str, str, bytes, str]],
) -> None:
    writer, model = opened(tmp_path_factory.mktemp("memory") / "scope.db"), DictMemory()
    mark = 0
    for part in (before, after):
        for step, space, key, value in part:
            if step == "add":
                writer.memory.add(space, key, value)
            if step == "set":
                writer.memory.set(f"one-{space}", key, value)
            if step == "flush":
                with writer.transaction():
                    writer.memory.flush()
            if part is before and step in ("add", "set"):
                (model.add if step == "add" else model.set)(
                    space if step == "add" else f"one-{space}", key, value
                )
        with writer.transaction():
            if part is before:
                mark = writer.memory.save()
            else:
                writer.memory.rewind(mark)
    for space in ("ask", "tool"):
        for key in (digest(name) for name in "abc"):
            assert writer.memory.find(space, key, 9) == model.find(space, key, 9)
            assert writer.memory.get(f"one-{space}", key) == model.get(f"one-{space}", key)
    writer.db.close()


def test_the_cache_is_bounded(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrtrscope.store.memory.CACHED", 10)
    for n in range(100):
        writer.memory.set("id", digest(str(n)), str(n))
    with writer.transaction():
        writer.memory.flush()
    assert [writer.memory.get("id", digest(str(n))) for n in range(100)] == [str(n) for n in range(100)]
    assert sum(map(len, writer.memory._read.values())) <= 10

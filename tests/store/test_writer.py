"""Batches become rows, and rows the output that scripts rely on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.pipeline import Batch, Present
from mrtrscope.store.connect import open_database
from mrtrscope.store.reader import Store
from mrtrscope.store.writer import Writer
from tests.store.build import batch, exchange, finding, link, message, noise, operation, signal


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    db = open_database(tmp_path / "scope.db", write=True)
    writer = Writer(db)
    with writer.transaction():
        writer.reset({"salt": b"salt"})
    yield writer
    db.close()


def put(writer: Writer, *batches: Batch, present: Present | None = None) -> Store:
    for b in batches:
        with writer.transaction():
            writer.write(b)
            if present is not None:
                writer.write_present(present)
    path = Path(writer.db.conn.execute("pragma database_list").fetchone()[2])
    return Store(open_database(path), path)


def call(id: Any, name: str = "deploy") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}}


def result(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {}}


def two_rounds() -> tuple[list[Any], list[Any]]:
    """One operation in two rounds, and its parts in the order of their coming."""
    first, asked = message(10, 1_000_000, call(1)), message(20, 2_000_000, result(1), "s2c")
    again, done = message(30, 5_000_000, call(2)), message(40, 6_500_000, result(2), "s2c")
    op = operation(first)
    one = exchange(first, op, asked)
    two = exchange(again, op, done, link(asked.key, candidates=(asked.key,)))
    op.kind, op.count, op.waiting, op.t_end = "mrtr", 2, 3_000_000, 6_500_000
    return [first, asked, again, done], [one, two]


def test_a_chain_is_one_operation(writer: Writer) -> None:
    messages, exchanges = two_rounds()
    with put(writer, batch(*messages, *exchanges, finding(messages[2], exchanges[0].operation))) as store:
        (found,) = [op.model_dump(exclude={"key"}) for op in store.operations()]
        (fault,) = [f.model_dump() for f in store.findings()]
        assert [op.model_dump(exclude={"key"}) for op in [store.operation("op1")] if op] == [found]
    assert found == {
        "id": "op1", "t": 1.0, "kind": "mrtr", "channel": "srv", "method": "tools/call", "target": "deploy",
        "outcome": "complete", "attached": [], "findings": 1, "worst": "must", "worst_count": 1,
        "task": None, "subscription": None, "within": None, "nested": [], "hop_of": None, "hops": [], "context": None,
        "conversation": None, "again_of": None, "tool_error": False,
        "times": {"server": 2.5, "waiting": 3.0, "total": 5.5},
        "rounds": [
            {"request": "m1", "answer": "m2", "link": None, "state": "answered", "asks": [], "t": 1.0, "t_answer": 2.0,
             "era": "modern", "client": "a.mrj:0"},
            {"request": "m3", "answer": "m4", "state": "answered", "asks": [], "t": 5.0, "t_answer": 6.5,
             "era": "modern", "client": "a.mrj:0",
             "link": {"to": "m2", "grade": "exact", "evidence": ["state", "arguments"], "candidates": ["m2"],
                      "total": 1, "differences": []}},
        ],
    }  # fmt: skip
    assert fault == {
        "id": "mrtr/id-differs@a.mrj:30", "rule": "mrtr/id-differs", "level": "must", "keyword": "must",
        "party": "client", "at": "m3", "also": [], "operation": "op1", "channel": "srv", "t": 5.0, "saw": {"id": 1},
        "expected": "another id", "text": "the retry has the same id", "rule_source": fault["rule_source"],
        "source": {"file": "a.mrj", "line": None, "flow": None, "event": None, "offset": 30}, "provisional": False,
        "because": None, "count": 1, "path": "",
    }  # fmt: skip


def test_a_message_says_where_it_came_from(writer: Writer) -> None:
    messages, exchanges = two_rounds()
    lost = message(50, 7_000_000, {"jsonrpc": "2.0", "method": "notifications/message"}, "s2c")
    lost.place, lost.oddities = {"flow": 3, "event": 0}, (("duplicate-key", "params/a"), ("bom", ""))
    with put(
        writer, batch(*messages, *exchanges, lost, noise(60, 8_000_000), signal(70, 8_000_000, "exit", {}))
    ) as s:
        rows = [row.model_dump() for row in s.messages()]
        assert s.counts_of_noise() == {"non_messages": 1, "undelivered": 0, "gaps": 0}
        assert s.message("m1") is not None and s.message("m9") is None and s.message("op1") is None
    assert rows[0] == {
        "m": "m1", "key": "a.mrj:10", "t": 1.0, "channel": "srv", "client": "a.mrj:0", "dir": "c2s", "kind": "request",
        "id": 1, "id_text": "1", "method": "tools/call", "target": "deploy", "operation": "op1", "exchange": "m1",
        "frames": ["a.mrj:10"], "source": {"file": "a.mrj", "line": None, "flow": None, "event": None, "offset": 10},
        "size": len(messages[0].raw), "era": "modern", "oddities": [], "http": None, "status": None,
    }  # fmt: skip
    assert rows[3]["exchange"] == "m3" and rows[3]["target"] is None
    assert rows[4]["source"] == {"file": "scope.db", "line": None, "flow": 3, "event": 0, "offset": None}
    assert rows[4]["oddities"] == ["duplicate-key: params/a", "bom"]
    assert rows[4]["operation"] is None


def test_what_came_later_changes_the_row(writer: Writer) -> None:
    first, asked = message(10, 1, call(1)), message(20, 2, result(1), "s2c")
    op = operation(first)
    before = batch(first, exchange(first, op))
    with put(writer, before) as store:
        assert [(o.outcome, o.rounds[0].answer) for o in store.operations()] == [("open", None)]
    after = batch(exchange(first, op, asked))
    after.messages.append((asked, first.key, op.key))
    with put(writer, after) as store:
        assert [(o.outcome, o.rounds[0].answer) for o in store.operations()] == [("complete", "m2")]


def test_the_present_replaces_what_was_said_last(writer: Writer) -> None:
    first = message(10, 1, call(1))
    op = operation(first)
    now = Present()
    now.outcomes[op.key] = "abandoned"
    now.findings.append(finding(first, op))
    now.findings[0].provisional = True
    with put(writer, batch(first, exchange(first, op)), present=now) as store:
        assert [(o.outcome, o.findings) for o in store.operations()] == [("abandoned", 1)]
    with put(writer, Batch(), present=Present()) as store:
        assert [(o.outcome, o.findings) for o in store.operations()] == [("open", 0)]


@pytest.mark.parametrize("sizes", [(6,), (1,) * 6, (2, 4), (4, 2)])
def test_numbers_follow_time_whatever_came_first(writer: Writer, sizes: tuple[int, ...]) -> None:
    """A message known late (the end of its answer told that it is one) is numbered by its time."""
    arrivals = iter([message(t, t, call(t)) for t in (10, 20, 50, 60, 40, 30)])
    batches = []
    for size in sizes:
        part = list(itertools.islice(arrivals, size))
        batches.append(batch(*part, *(exchange(m, operation(m)) for m in part)))
    with put(writer, *batches) as store:
        assert [(m.m, m.id, m.operation) for m in store.messages()] == [
            (f"m{n}", id, f"op{n}") for n, id in enumerate((10, 20, 30, 40, 50, 60), 1)
        ]
        assert [op.key for op in store.operations()] == [f"a.mrj:{n}" for n in (10, 20, 30, 40, 50, 60)]


def test_a_message_attached_to_an_operation_is_no_round(writer: Writer) -> None:
    messages, exchanges = two_rounds()
    note = message(35, 5_500_000, {"jsonrpc": "2.0", "method": "notifications/progress"}, "s2c")
    b = batch(*messages[:3], *exchanges)
    b.messages += [(note, messages[2].key, messages[0].key), (messages[3], messages[2].key, messages[0].key)]
    with put(writer, b) as store:
        assert [op.attached for op in store.operations()] == [["m4"]]
        assert [m.m for m in store.messages("op1")] == ["m1", "m2", "m3", "m4", "m5"]


def test_a_finding_at_no_message_has_a_frame_number(writer: Writer) -> None:
    gone = signal(70, 9, "exit", {"code": 1})
    gone.place = {"line": 4}
    with put(writer, batch(noise(60, 8), gone, finding(gone, rule="lifecycle/x"))) as store:
        (found,) = store.findings()
    assert (found.at, found.operation, found.source.line) == ("f2", None, 4)


def test_a_failed_batch_leaves_nothing(writer: Writer) -> None:
    first = message(10, 1, call(1))
    with pytest.raises(RuntimeError, match="full"), writer.transaction():
        writer.write(batch(first, exchange(first, operation(first))))
        writer.memory.add("ask", b"k", "v")
        raise RuntimeError("full")
    assert writer.memory.find("ask", b"k", 9) == ([], 0)
    with put(writer, batch(first, exchange(first, operation(first)))) as store:
        assert [m.m for m in store.messages()] == ["m1"]


def test_hostile_text_is_kept_readable(writer: Writer) -> None:
    odd = message(10, 1, {"jsonrpc": "2.0", "id": "\ud800", "method": "a\udfffb" + "x" * 3000})
    wide = message(20, 2, {"jsonrpc": "2.0", "id": 1, "method": "ping\x00\x1b[2J"}, "s2c")
    wide.id_text = "1" + "0" * 5000
    with put(writer, batch(odd, wide)) as store:
        first, second = store.messages()
    assert first.id == "\ud800" and first.method is not None and first.method.startswith("a\\udfffbxxx")
    assert first.method.endswith("… (3003 characters)")
    assert second.method == "ping\x00\x1b[2J" and second.id == "1" + "0" * 1999 + "… (5001 characters)"


def test_candidates_are_numbered_as_they_are_now(writer: Writer) -> None:
    """Of several journals, elements of a batch among them; the numbers are those after what came late."""
    asked = [
        message(10, 1_000_000, result(1), "s2c"),
        message(10, 1_000_000, result(2), "s2c", part=1),
        message(30, 2_000_000, result(3), "s2c", journal="b.mrj"),
        message(40, 3_000_000, result(4), "s2c"),
    ]
    again = message(50, 4_000_000, call(5))
    op = operation(again)
    keys = tuple(one.key for one in asked)
    retry = exchange(again, op, None, link(None, "ambiguous", candidates=keys))
    late = message(5, 500_000, call(9))
    with put(writer, batch(*asked, again, retry), batch(late)) as store:
        (found,) = [op.rounds[0].link for op in store.operations()]
    assert found is not None
    assert found.candidates == ["m2", "m3", "m4", "m5"]

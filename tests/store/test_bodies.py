"""What is shown of a message is the message that was judged, wherever it stands."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench.traffic import relay_journal
from mrtrscope.analyse import bring_up_to_date
from mrtrscope.analyser import Pipeline
from mrtrscope.link.memory import DictMemory
from mrtrscope.recorder import Journal
from mrtrscope.store import bodies
from mrtrscope.store.bodies import fetch
from mrtrscope.store.values import join_key
from mrtrscope.wire.events import Event, Message
from tests.captures import append, call, journal, recorded
from tests.conftest import SAMPLES
from tests.feeding import feed


def every_event(path: Path) -> dict[str, Event]:
    """All messages and other events by permanent key, read from the beginning."""
    pipeline, found = Pipeline(DictMemory(), judge=False), {}
    feed(pipeline, path)
    batch = pipeline.drain()
    for event in [m for m, _, _ in batch.messages] + batch.events:
        found[event.key] = event
    return found


def same(one: Event, other: Event) -> bool:
    if isinstance(one, Message) and isinstance(other, Message):
        return one.raw == other.raw and one.t == other.t and one.channel == other.channel
    return type(one) is type(other) and (one.t, one.lane) == (other.t, other.lane)


def check_every_one(path: Path, alone: bool = True) -> int:
    """Each message and event, fetched by itself and together with all others; how many there are."""
    truth = every_event(path)
    with bring_up_to_date(path) as store:
        keys = {m.m: m.key for m in store.messages()}
        for n, name, offset, part in store.db.conn.execute(
            "select f, j.name, offset, part from events e join journals j on j.id = e.journal"
        ):
            keys[f"f{n}"] = join_key(name, offset, part)
        together = fetch(store, keys)
        assert together.keys() == keys.keys()
        for name, key in keys.items():
            assert same(together[name], truth[key]), name
            if alone:
                assert same(fetch(store, [name])[name], truth[key]), name
    return len(keys)


@pytest.mark.parametrize("name", ["sample-stdio", "sample-relay", "sample-demo"])
def test_everything_in_the_samples(tmp_path: Path, name: str) -> None:
    capture = shutil.copytree(
        SAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns("scope.db*", "*.lock")
    )
    assert check_every_one(capture) > 20


def test_on_connections_that_carry_many(tmp_path: Path) -> None:
    relay_journal(tmp_path, 60, connections=4)
    assert check_every_one(tmp_path) > 120


def test_lines_cut_anywhere_and_batches(tmp_path: Path) -> None:
    made = journal(tmp_path)
    batch = json.dumps([json.loads(call(n)) for n in range(3)]).encode()
    text = b"\n".join([call(10), batch, b"noise", call("x" * 5000), b""])
    for n, start in enumerate(range(0, len(text), 700)):
        made.append("0i", "data", made._mono + n * 1000, text[start : start + 700])
    made.close()
    assert check_every_one(tmp_path) >= 6


def test_journals_in_several_files(tmp_path: Path) -> None:
    made = Journal.create(str(tmp_path), "wrap", "srv", rotate=2000)
    append(made, [(n, "c2s", call(n)) for n in range(60)])
    made.close()
    assert len(list((tmp_path / "journals").iterdir())) > 2
    assert check_every_one(tmp_path) == 60


@pytest.mark.parametrize("packed", [False, True])
def test_transcripts(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"t": n / 10, "dir": "c2s", "line": call(n).decode()}) for n in range(5)]
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    assert check_every_one(path) == 5


def test_reading_starts_near_what_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(tmp_path, requests=300)
    starts: list[int] = []
    frames = bodies._frames

    def spy(parts: Any, start: int) -> Any:
        starts.append(start)
        return frames(parts, start)

    monkeypatch.setattr(bodies, "_frames", spy)
    with bring_up_to_date(tmp_path) as store:
        last = f"m{store.count('messages')}"
        assert fetch(store, [last]).keys() == {last}
        (size,) = (path.stat().st_size for path in (tmp_path / "journals").iterdir())
    assert starts[0] > 0.9 * size


def test_what_is_gone_is_left_out(tmp_path: Path) -> None:
    recorded(tmp_path, requests=5)
    with bring_up_to_date(tmp_path) as store:
        assert fetch(store, ["m1", "m99", "f99"]).keys() == {"m1"}
        for path in (tmp_path / "journals").iterdir():
            path.unlink()
        assert fetch(store, ["m1"]) == {}

"""Timelines: journals on one clock, in order, from anywhere, once or while they grow."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.frames import Frame
from mrtrscope.journal import follow, read_capture, read_header
from mrtrscope.recorder import Journal, boot_id
from mrtrscope.tail import WATERMARK, Tail
from mrtrscope.timeline import CLOCKS, Timeline
from tests.conftest import LIMIT, wait_until

WALL = 1_790_000_000_000_000_000
Times = list[int]


def write(
    capture: Path, name: str, times: Times, *, boot: str = "b", mono: int = 0, wall: int = WALL, **more: Any
) -> Path:
    """A journal with records at these microseconds since its start."""
    folder = capture / "journals"
    folder.mkdir(parents=True, exist_ok=True)
    header = {
        "mrj": 1,
        "boot": boot,
        "mono": mono,
        "wall": wall,
        "how": "wrap",
        "channel": name,
        "pid": 0,
        **more,
    }
    text = json.dumps(header) + "\n"
    text += "".join(f"0i data {t} {len(f'{name}{n}')}\n{name}{n}\n" for n, t in enumerate(times))
    path = folder / f"{name}.mrj"
    path.write_text(text, encoding="utf-8")
    return path


def texts(frames: Iterator[Frame]) -> list[str]:
    return [f.data.decode() for f in frames]


def test_journals_of_one_boot_are_merged_by_the_monotonic_clock(tmp_path: Path) -> None:
    """The wall clock was set back an hour between the two: that moves nothing."""
    write(tmp_path, "a", [0, 2_000_000, 4_000_000], mono=5_000_000_000, wall=WALL)
    write(tmp_path, "b", [0, 2_000_000], mono=6_000_000_000, wall=WALL - 3_600_000_000_000)
    frames = list(read_capture(tmp_path))
    assert texts(iter(frames)) == ["a0", "b0", "a1", "b1", "a2"]
    assert [f.t - WALL // 1000 for f in frames] == [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]
    with Timeline(tmp_path) as timeline:
        assert timeline.uncertainty("a.mrj", "b.mrj") == 0


def test_journals_of_other_boots_are_placed_by_the_wall_clock_and_uncertain(tmp_path: Path) -> None:
    write(tmp_path, "a", [0, 3_000_000], boot="one", mono=77)
    write(tmp_path, "b", [0], boot="two", mono=5, wall=WALL + 2_000_000_000)
    write(tmp_path, "c", [0], boot="", mono=5, wall=WALL + 4_000_000_000)
    write(tmp_path, "d", [0], boot="two", mono=1_000_000_005, wall=WALL + 4_000_000_000)
    with Timeline(tmp_path) as timeline:
        assert texts(timeline.read()) == ["a0", "b0", "a1", "d0", "c0"]
        assert timeline.uncertainty("a.mrj", "a.mrj") == timeline.uncertainty("b.mrj", "d.mrj") == 0
        assert timeline.uncertainty("a.mrj", "c.mrj") == CLOCKS
        # The wall clock of boot "two" moved by a second against its monotonic clock.
        assert timeline.uncertainty("a.mrj", "b.mrj") == CLOCKS + 1_000_000


def test_equal_times_are_ordered_by_journal_and_number(tmp_path: Path) -> None:
    write(tmp_path, "b", [1, 1, 1])
    write(tmp_path, "a", [1, 1])
    assert texts(read_capture(tmp_path)) == ["a0", "a1", "b0", "b1", "b2"]


STEPS = st.lists(st.integers(0, 400_000), max_size=15)
JITTER = st.lists(st.sampled_from([0, 0, 0, 100_000, 249_999]), min_size=15, max_size=15)


def journals(draw: st.DrawFn) -> dict[str, Times]:
    made = {}
    for name in draw(st.lists(st.sampled_from("abcd"), unique=True, min_size=1)):
        steps, jitter = draw(STEPS), draw(JITTER)
        made[name] = [max(0, t - j) for t, j in zip(itertools.accumulate(steps), jitter, strict=False)]
    return made


JOURNALS = st.composite(journals)()


@given(JOURNALS)
def test_records_a_little_out_of_order_come_out_in_order(
    tmp_path_factory: pytest.TempPathFactory, made: dict[str, Times]
) -> None:
    capture = tmp_path_factory.mktemp("capture")
    for name, times in made.items():
        write(capture, name, times)
    expected = sorted((t, f"{name}.mrj", n) for name, times in made.items() for n, t in enumerate(times))
    assert [(f.t - WALL // 1000, f.journal, f.number) for f in read_capture(capture)] == expected


@given(JOURNALS, st.data())
def test_another_goes_on_where_one_stood(
    tmp_path_factory: pytest.TempPathFactory, made: dict[str, Times], data: st.DataObject
) -> None:
    """From any number of stops; also when a frame given out stands behind one that was not."""
    capture = tmp_path_factory.mktemp("capture")
    for name, times in made.items():
        write(capture, name, times)
    whole = [(f.key, f.t, f.number) for f in read_capture(capture)]
    got: list[tuple[str, int, int]] = []
    positions: dict[str, Any] | None = None
    while len(got) < len(whole):
        count = data.draw(st.integers(1, len(whole) - len(got)))
        with Timeline(capture, positions) as timeline:
            got += [(f.key, f.t, f.number) for f in itertools.islice(timeline.read(), count)]
            positions = json.loads(json.dumps(timeline.positions()))
            assert timeline.late == ""
    assert got == whole
    with Timeline(capture, positions) as timeline:
        assert list(timeline.read()) == []


def test_what_is_added_between_two_readings_is_read_by_the_second(tmp_path: Path) -> None:
    path = write(tmp_path, "a", [0, 1])
    with Timeline(tmp_path) as timeline:
        assert texts(timeline.read()) == ["a0", "a1"]
        with path.open("ab") as file:
            file.write(b"0i data 2 3\nmo")
        assert texts(timeline.read()) == []
        assert timeline.torn == {"a.mrj": 14}
        with path.open("ab") as file:
            file.write(b"r\n")
        assert texts(timeline.read()) == ["mor"]
        assert timeline.torn == {}
        assert timeline.late == ""


def test_a_frame_that_comes_too_late_for_its_place_is_given_out_and_told(tmp_path: Path) -> None:
    write(tmp_path, "a", [0, 5_000_000])
    slow = write(tmp_path, "b", [1_000_000])
    with Timeline(tmp_path) as timeline:
        assert texts(timeline.read()) == ["a0", "b0", "a1"]
        with slow.open("ab") as file:
            file.write(b"0i data 4000000 4\nlate\n")
        assert texts(timeline.read()) == ["late"]
        assert "b.mrj" in timeline.late


def test_a_journal_that_began_earlier_changes_the_clock_and_is_told(tmp_path: Path) -> None:
    write(tmp_path, "b", [0], mono=2_000)
    with Timeline(tmp_path) as timeline:
        assert texts(timeline.read()) == ["b0"]
        positions = timeline.positions()
    write(tmp_path, "a", [0], mono=1_000, wall=WALL + 10**12)
    with Timeline(tmp_path, positions) as timeline:
        list(timeline.read())
        assert timeline.late


def test_parts_are_one_journal(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x", rotate=2_000)
    for n in range(100):
        journal.append("0i", "data", journal._mono + n * 1000, b"%d" % n + b"." * 50)
    journal.close()
    files = sorted((tmp_path / "journals").iterdir(), key=lambda p: read_header(p).base)
    assert len(files) > 3
    whole = list(read_capture(tmp_path))
    assert [f.number for f in whole] == list(range(100))
    assert len({f.key for f in whole}) == 100
    with Timeline(tmp_path) as timeline:
        list(itertools.islice(timeline.read(), 37))
        positions = timeline.positions()
    with Timeline(tmp_path, positions) as timeline:
        assert [f.key for f in timeline.read()] == [f.key for f in whole[37:]]
    for gone, left in ((files[0], range(100)), (files[2], range(100))):
        gone.rename(gone.with_suffix(".away"))
        frames = list(read_capture(tmp_path))
        gaps = [json.loads(f.data) for f in frames if f.kind == "gap"]
        assert [gap["why"] for gap in gaps] == ["a part of the journal is missing"]
        assert gaps[0]["bytes"] == gone.with_suffix(".away").stat().st_size - (gone != files[0]) * 0
        kept = {f.key: f.data for f in frames if f.kind == "data"}
        assert kept.items() <= {f.key: f.data for f in whole}.items()
        assert len(kept) == len(left) - sum(1 for f in whole if located(f, gone, files))
        gone.with_suffix(".away").rename(gone)


def located(frame: Frame, file: Path, files: list[Path]) -> bool:
    bases = [read_header(p if p.exists() else p.with_suffix(".away")).base for p in files]
    at = files.index(file)
    return bases[at] <= frame.offset < (bases[at + 1] if at + 1 < len(bases) else 1 << 60)


def test_what_is_no_journal_costs_itself_alone(tmp_path: Path) -> None:
    write(tmp_path, "a", [0])
    (tmp_path / "journals" / "b.mrj").write_text("garbage\n", encoding="utf-8")
    (tmp_path / "journals" / "empty.mrj").touch()
    (tmp_path / "journals" / "notes.txt").write_text("x", encoding="utf-8")
    with Timeline(tmp_path) as timeline:
        assert texts(timeline.read()) == ["a0"]
        assert list(timeline.problems) == [str(tmp_path / "journals" / "b.mrj")]


def test_a_folder_without_journals_is_empty(tmp_path: Path) -> None:
    assert list(read_capture(tmp_path / "missing")) == []


def test_damage_is_told(tmp_path: Path) -> None:
    path = write(tmp_path, "a", [0, 1, 2])
    path.write_bytes(path.read_bytes().replace(b"0i data 1 2", b"0i daXa 1 2"))
    with Timeline(tmp_path) as timeline:
        assert [f.kind for f in timeline.read()] == ["data", "gap", "data"]
        assert [(d.before, d.after) for d in timeline.damage] == [(1, 1)]


# while they grow


def mono() -> int:
    return time.monotonic_ns()


def test_following_gives_what_reading_gives(tmp_path: Path) -> None:
    """Two writers, journals that begin later, and parts; the order is that of a fresh reading.

    Unless a record came later than any is waited for, as where the machine has much else to do: that is told.
    """
    stop, frames, held = threading.Event(), [], [0]

    def write_one(name: str, journal: Journal, count: int) -> None:
        for n in range(count):
            at = mono()
            journal.append("0i", "data", at, f"{name}{n}".encode() + b"." * 30)
            held.append(mono() - at)
            if n % 50 == 0:
                time.sleep(0.02)
        journal.close()

    def create(name: str) -> Journal:
        return Journal.create(str(tmp_path), "wrap", name, rotate=8_000)

    def write_all() -> None:
        first = threading.Thread(target=write_one, args=("a", create("a"), 600))  # begins before all others
        first.start()
        for name in "bcd":
            write_one(name, create(name), 200)
        first.join(LIMIT)
        stop.set()

    writer = threading.Thread(target=write_all)
    writer.start()
    with Timeline(tmp_path) as timeline:
        frames.extend(
            (frame.key, frame.t) for frame in timeline.follow(stop.is_set, poll=0.01) if frame is not None
        )
        late = timeline.late
        positions = timeline.positions()
    writer.join(LIMIT)
    whole = [(f.key, f.t) for f in read_capture(tmp_path)]
    assert late == "" or max(held) >= WATERMARK * 1000
    assert (sorted(frames) if late else frames) == (sorted(whole) if late else whole)
    assert len(frames) == 1200
    with Timeline(tmp_path, positions) as timeline:
        assert list(timeline.read()) == []


def test_a_frame_is_given_out_once_others_had_time_to_come(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x")
    done = threading.Event()
    frames = follow(tmp_path, None, done.is_set)
    assert next(frames) is None
    written = mono()
    journal.append("0i", "data", written, b"x")
    while (frame := next(frames)) is None:
        assert mono() < written + LIMIT * 1e9
    assert frame.data == b"x"
    assert mono() - written >= WATERMARK * 1000
    done.set()
    assert list(frames) == []
    journal.close()


def test_an_idle_writer_does_not_hold_the_others_up(tmp_path: Path) -> None:
    """Two journals of living processes and one of a dead one: none is waited for beyond the watermark."""
    code = f"from mrtrscope.recorder import Journal; Journal.create({str(tmp_path)!r}, 'wrap', 'd')"
    subprocess.run([sys.executable, "-c", code], timeout=LIMIT, check=True)
    idle, busy = (Journal.create(str(tmp_path), "wrap", name) for name in ("idle", "busy"))
    stop, got = threading.Event(), []

    def read() -> None:
        for frame in follow(tmp_path, None, stop.is_set):
            if frame is not None:
                got.append(frame.data)  # noqa: PERF401 - one by one, as they come

    reader = threading.Thread(target=read)
    reader.start()
    for n in range(5):
        busy.append("0i", "data", mono(), b"%d" % n)
        wait_until(lambda: got[-1:] == [b"%d" % n])  # noqa: B023
    stop.set()
    reader.join(LIMIT)
    assert got == [b"%d" % n for n in range(5)]
    idle.close()
    busy.close()


def test_a_record_that_was_written_long_after_its_time_is_late(tmp_path: Path) -> None:
    a, b = (Journal.create(str(tmp_path), "wrap", name) for name in "ab")
    held = mono()
    stop = threading.Event()
    with Timeline(tmp_path) as timeline:
        frames = timeline.follow(stop.is_set, poll=0.01)
        a.append("0i", "data", mono(), b"in time")
        while (frame := next(frames)) is None:
            pass
        assert frame.data == b"in time"
        assert timeline.late == ""
        b.append("0i", "data", held, b"held back")
        while (frame := next(frames)) is None:
            pass
        assert frame.data == b"held back"
        assert os.path.basename(b.path) in timeline.late
        stop.set()
        assert list(frames) == []
    a.close()
    b.close()
    assert texts(read_capture(tmp_path)) == ["held back", "in time"]


def test_the_boot_of_this_machine_is_known(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x")
    journal.close()
    assert read_header(journal.path).boot == boot_id() != ""


def test_of_many_journals_only_those_with_something_in_hand_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(200):
        journal = Journal.create(str(tmp_path), "wrap", f"s{n}")
        journal.append("1i", "data", time.monotonic_ns(), b"x")
        journal.close()
    asked = []
    ready = Tail.ready

    def counting(tail: Tail, *rest: Any) -> Any:
        asked.append(tail)
        return ready(tail, *rest)

    monkeypatch.setattr(Tail, "ready", counting)
    with Timeline(tmp_path) as timeline:
        frames = list(timeline.read())
        assert len(frames) == 200
        assert timeline.header(frames[0].journal).name == frames[0].journal
    assert len(asked) < 200 * 200 / 2  # each block once asked all: 400 times 200

"""Journals: what is written is read again, and damage costs what it covers, whatever happens to disk or file."""

from __future__ import annotations

import json
import os
import resource
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.frames import KINDS, Frame
from mrtrscope.journal import Damage, NotAJournal, Reader, is_journal, read_header, read_journal
from mrtrscope.parts import to_json
from mrtrscope.recorder import Journal, safe_name
from mrtrscope.told import Notices

LANES = st.sampled_from(["0i", "0o", "0e", "12c", "12s", "4000000000q"])
DATA = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [b"", b"\n", b"{}\n", b"1\n1", b"0i data 5 3\nabc", b"x\n0o data 1 2\nab\n", b"0i data 9 99\n"]
    ),
)
RECORDS = st.lists(st.tuples(LANES, st.sampled_from(sorted(KINDS)), DATA), max_size=12)
Record = tuple[str, str, bytes]


def write(folder: Path, records: list[Record], **options: int) -> Path:
    journal = Journal.create(str(folder), "wrap", "server", rotate=options.get("rotate", 1 << 30))
    for n, (lane, kind, data) in enumerate(records):
        journal.append(lane, kind, journal._mono + (100 + n) * 1000, data)
    journal.close()
    return Path(journal.path)


def told(frames: Iterator[Frame]) -> list[Record]:
    return [(f.lane, f.kind, f.data) for f in frames]


def everything(path: Path) -> tuple[list[Frame], Reader]:
    reader, frames = Reader(read_header(path)), []
    while (more := reader.read(final=True)) is not None:
        frames += more
    reader.close()
    return frames, reader


@given(RECORDS)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record]
) -> None:
    path = write(tmp_path_factory.mktemp("capture"), records)
    frames = list(read_journal(path))
    assert told(iter(frames)) == records
    assert [f.number for f in frames] == list(range(len(records)))
    assert [f.t - read_header(path).wall // 1000 for f in frames] == [100 + n for n in range(len(records))]
    assert {f.journal for f in frames} <= {path.name}


@given(RECORDS, st.data())
def test_a_journal_cut_anywhere_gives_what_stands_before(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], data: st.DataObject
) -> None:
    path = write(tmp_path_factory.mktemp("capture"), records)
    whole = list(read_journal(path))
    size = path.stat().st_size
    cut = data.draw(st.integers(read_header(path).size, size))
    os.truncate(path, cut)
    frames, reader = everything(path)
    ends = [f.offset for f in whole[1:]] + [size]
    kept = sum(end <= cut for end in ends)
    assert told(iter(frames)) == told(iter(whole[:kept]))
    assert reader.torn == cut - ([read_header(path).size, *ends][kept] if whole else cut)
    assert reader.damage == []


@given(RECORDS, st.data())
def test_one_changed_byte_costs_the_records_it_is_in(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], data: st.DataObject
) -> None:
    """A byte in a payload cannot be seen; one in a header or behind a payload costs this record, and text in its
    payload may look like records. All others are as they were."""
    path = write(tmp_path_factory.mktemp("capture"), [*records, ("0i", "data", b"last")])
    whole = list(read_journal(path))
    raw = bytearray(path.read_bytes())
    at = data.draw(st.integers(read_header(path).size, len(raw) - 1))
    raw[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)
    frames, _ = everything(path)
    ends = [f.offset for f in whole[1:]] + [len(raw)]
    hit = next(n for n, end in enumerate(ends) if at < end)
    # A newline in place of a lane's first digit: was the length before it one too small? Nobody can say.
    first = hit - 1 if at == whole[hit].offset and raw[at] == 10 and hit else hit
    before = [f for f in frames if f.offset < whole[first].offset]
    assert told(iter(before)) == told(iter(whole[:first]))
    behind = {f.offset: (f.lane, f.kind, f.data) for f in whole[hit + 1 :]}
    for frame in frames:
        if frame.offset in behind and frame.kind != "gap":
            assert (frame.lane, frame.kind, frame.data) == behind[frame.offset]
    missing = [f for f in whole[hit + 1 :] if f.offset not in {frame.offset for frame in frames}]
    if missing:  # only where what is damaged seems to go on to the end of a later record
        swallows = [f for f in frames if whole[first].offset <= f.offset < ends[hit]][-1]
        # Or a digit in place of the newline behind a payload that ends in one: is it of the next one's lane?
        longer = swallows.offset == at == missing[0].offset - 1 and swallows.data == missing[0].data
        assert (longer and len(missing) == 1) or (
            swallows.offset + len(swallows.data) >= missing[-1].offset + len(missing[-1].data)
        )


@given(st.binary(max_size=300))
def test_any_bytes_behind_the_first_line_are_read_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes
) -> None:
    path = write(tmp_path_factory.mktemp("capture"), [("0i", "data", b"sound")])
    with path.open("ab") as file:
        file.write(junk)
    frames, reader = everything(path)
    assert frames[0].data == b"sound" or frames[0].kind == "gap"
    assert reader.offset + reader.torn == path.stat().st_size


@given(RECORDS, st.data())
def test_reading_while_it_grows_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], data: st.DataObject
) -> None:
    path = write(tmp_path_factory.mktemp("capture"), records)
    whole = told(read_journal(path))
    raw, at = path.read_bytes(), read_header(path).size
    os.truncate(path, at)
    reader, frames = Reader(read_header(path)), []
    with path.open("ab", buffering=0) as file:
        while at < len(raw):
            step = data.draw(st.integers(1, 50))
            file.write(raw[at : at + step])
            at += step
            while (more := reader.read()) is not None:
                frames += more
    assert told(iter(frames)) == whole
    assert (reader.torn, reader.damage) == (0, [])


def test_damage_is_told_with_what_is_sound_around_it(tmp_path: Path) -> None:
    path = write(tmp_path, [("0i", "data", b'{"n": %d}\n' % n) for n in range(10)])
    whole = list(read_journal(path))
    raw = bytearray(path.read_bytes())
    raw[whole[4].offset] = ord("X")
    path.write_bytes(raw)
    frames, reader = everything(path)
    assert told(iter(frames[:4] + frames[5:])) == told(iter(whole[:4] + whole[5:]))
    gap = frames[4]
    size = whole[5].offset - whole[4].offset
    assert (gap.lane, gap.kind, gap.offset, gap.t) == ("0z", "gap", whole[4].offset, whole[3].t)
    assert json.loads(gap.data) == {"bytes": size, "frames": 0, "why": "damaged record", "before": 4}
    (damage,) = reader.damage
    assert (damage.offset, damage.size, damage.before, damage.after) == (whole[4].offset, size, 4, 5)
    assert str(damage) == (
        f"{path}: damaged record at byte {whole[4].offset:,}.\n"
        "4 records before it and 5 after it are sound and were judged; the gap is marked."
    )


def test_a_header_damaged_behind_a_sound_record_does_not_cost_that_record(tmp_path: Path) -> None:
    path = write(tmp_path, [("0i", "data", b"one\n"), ("0o", "data", b"two\n"), ("0o", "data", b"three\n")])
    whole = list(read_journal(path))
    raw = bytearray(path.read_bytes())
    raw[whole[1].offset] = ord("?")
    path.write_bytes(raw)
    assert told(read_journal(path))[::2] == [("0i", "data", b"one\n"), ("0o", "data", b"three\n")]


@pytest.mark.parametrize("length", [b"2", b"210", b"9999999999", b"70000000"])
def test_a_wrong_length_costs_one_record(tmp_path: Path, length: bytes) -> None:
    path = write(tmp_path, [("0i", "data", b"a" * 30), ("0o", "data", b"b" * 30), ("0i", "data", b"c")])
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b" 30\naaa", b" " + length + b"\naaa"))
    frames, reader = everything(path)
    assert told(iter(frames))[1:] == [("0o", "data", b"b" * 30), ("0i", "data", b"c")]
    assert [d.before for d in reader.damage] == [0]


def test_long_damage_is_told_in_pieces_and_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path, [("0i", "data", b"first")])
    with path.open("ab") as file:
        file.write(b"\xff\n" * (3 << 20) + b"0o data 7 2\nok\n")
    frames, reader = everything(path)
    assert (frames[0].data, frames[-1].data) == (b"first", b"ok")
    assert sum(json.loads(f.data)["bytes"] for f in frames[1:-1]) == 6 << 20
    assert [(d.size, d.before, d.after) for d in reader.damage] == [(6 << 20, 1, 1)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "first line has no end"),
        (b"{}", "first line has no end"),
        (b"{}\n", 'has no "mrj"'),
        (b"[1]\n", 'has no "mrj"'),
        (b"no\n", "is no JSON"),
        (b"[" * 60_000 + b"\n", "is no JSON"),
        (b'{"mrj": 2}\n', "a newer mrtrscope"),
    ],
)
def test_what_is_no_journal_is_refused_with_a_reason(tmp_path: Path, text: bytes, says: str) -> None:
    path = tmp_path / "x.mrj"
    path.write_bytes(text)
    with pytest.raises(NotAJournal, match=says):
        list(read_journal(path))


def test_the_first_line_and_the_file(tmp_path: Path) -> None:
    before = (time.time_ns(), time.monotonic_ns())
    journal = Journal.create(str(tmp_path / "a" / "b"), "wrap", 'my "srv"/é\udcff', upstream="x")
    after = (time.time_ns(), time.monotonic_ns())
    path = Path(journal.path)
    header = read_header(path)
    assert (header.how, header.channel, header.pid) == ("wrap", 'my "srv"/é\udcff', os.getpid())
    assert before[0] <= header.wall <= after[0]
    assert before[1] <= header.mono <= after[1]
    assert (header.raw["upstream"], header.part, header.base, header.name) == ("x", 1, 0, path.name)
    assert path.name.endswith(f"Z-my__srv____-{os.getpid()}.mrj".replace("____-", "-"))
    assert [stat.S_IMODE(p.stat().st_mode) for p in (path, path.parent, path.parent.parent)] == [
        0o600,
        0o700,
        0o700,
    ]
    assert is_journal(path.read_bytes()[:100])
    assert not is_journal(b'{"other": 1}')
    second = Journal.create(str(tmp_path / "a" / "b"), "wrap", 'my "srv"/é\udcff')
    assert second.path != journal.path
    journal.close()
    second.close()


@pytest.mark.parametrize(
    ("channel", "name"),
    [
        ("echo", "echo"),
        ("../../etc/passwd", "etc_passwd"),
        ("", "unnamed"),
        ("...", "unnamed"),
        ("http://h:1", "http___h_1"),
    ],
)
def test_file_names_are_safe(channel: str, name: str) -> None:
    assert safe_name(channel) == name


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON)
def test_the_small_json_writer_writes_json(value: object) -> None:
    assert json.loads(to_json(value)) == value
    assert to_json(value).isascii()


# the disk


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [100, 1 << 16], ids=["small", "large"])
def test_a_full_disk_is_a_gap_and_no_hole(tmp_path: Path, size: int) -> None:
    """Records that the disk takes in part are taken back: otherwise they would swallow the one behind."""
    journal = Journal.create(str(tmp_path), "wrap", "x")
    data, t = b"d" * size, journal._mono
    with files_no_larger_than(os.path.getsize(journal.path) + 3 * (size + 30)):
        for n in range(10):
            journal.append("0i" if n % 2 else "0o", "data", t, data)
    lost = journal.lost_frames
    assert 6 <= lost <= 8
    assert journal.lost_bytes == lost * size
    journal.append("0i", "data", t, b"after")
    journal.close()
    frames, reader = everything(Path(journal.path))
    assert (reader.torn, reader.damage) == (0, [])
    gaps = [json.loads(f.data) | {"lane": f.lane} for f in frames if f.kind == "gap"]
    assert {gap["lane"] for gap in gaps} == {"0i", "0o"}
    assert sum(gap["frames"] for gap in gaps) == lost
    assert sum(gap["bytes"] for gap in gaps) == lost * size
    assert [f.data for f in frames if f.kind == "data"] == [data] * (10 - lost) + [b"after"]
    assert frames[-1].data == b"after"


def test_that_recording_stopped_and_goes_on_is_told_once_in_a_while(tmp_path: Path) -> None:
    journal, said = Journal.create(str(tmp_path), "wrap", "x"), []
    journal.told = Notices("us", said.append).recording
    t, full = journal._mono, os.path.getsize(journal.path) + 50
    for _ in range(3):
        with files_no_larger_than(full):
            for _ in range(5):
                journal.append("0i", "data", t, b"x" * 100)
        journal.append("0i", "data", t, b"after")
        full = os.path.getsize(journal.path)
    journal.close()
    why = next(json.loads(f.data)["why"] for f in everything(Path(journal.path))[0] if f.kind == "gap")
    assert said == [
        f"us: not recording: {why} ({tmp_path / 'journals'}); make room or give rights there."
        " Traffic goes on; recording does when it can again.",
        "us: recording goes on; a gap marks what is missing.",
    ]


def test_who_listens_to_a_journal_cannot_hurt_it(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x")
    journal.told = lambda folder, why: 1 / 0
    with files_no_larger_than(os.path.getsize(journal.path)):
        journal.append("0i", "data", journal._mono, b"lost")
    journal.append("0i", "data", journal._mono, b"after")
    journal.close()
    assert [f.data for f in everything(Path(journal.path))[0] if f.kind == "data"] == [b"after"]


def test_what_is_lost_at_the_end_is_written_down_when_it_is_closed(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x")
    with files_no_larger_than(os.path.getsize(journal.path) + 10):
        journal.append("0i", "data", journal._mono, b"lost")
    journal.close()
    journal.append("0i", "data", journal._mono, b"closed")
    (gap,) = read_journal(journal.path)
    assert (gap.lane, json.loads(gap.data)["bytes"]) == ("0i", 4)
    assert (journal.lost_frames, journal.lost_bytes) == (2, 10)


def test_a_file_closed_under_it_is_opened_again(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x")
    journal.append("0i", "data", journal._mono, b"before")
    os.close(journal._file.fd)
    for n in range(3):
        journal.append("0i", "data", journal._mono, b"%d" % n)
    journal.close()
    frames = list(read_journal(journal.path))
    assert [f.data for f in frames if f.kind == "data"] == [b"before", b"1", b"2"]
    assert [json.loads(f.data)["frames"] for f in frames if f.kind == "gap"] == [1]


def test_a_file_closed_under_it_and_gone_costs_the_recording_alone(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x")
    os.close(journal._file.fd)
    os.unlink(journal.path)
    for _ in range(5):
        journal.append("0i", "data", journal._mono, b"lost")
    journal.close()
    assert (journal.lost_frames, journal.lost_bytes) == (5, 20)


def test_nothing_that_append_is_given_makes_it_raise(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x")
    journal.append("0i", "data", None, b"x")  # type: ignore[arg-type]
    journal.append("0i", "data", journal._mono, "text")  # type: ignore[arg-type]
    journal.append("0i", "data", journal._mono - 10**9, memoryview(b"early"))  # type: ignore[arg-type]
    journal.close()
    assert journal.lost_frames == 2
    frames = list(read_journal(journal.path))
    assert [f.data for f in frames if f.kind == "data"] == [b"early"]


def test_max_size_stops_the_recording_and_says_so(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x", max_size=2000)
    for _ in range(50):
        journal.append("0i", "data", journal._mono, b"d" * 80)
    assert os.path.getsize(journal.path) < 2200
    at_once = list(read_journal(journal.path))[-1]
    assert (at_once.lane, at_once.kind) == ("0z", "gap")
    assert json.loads(at_once.data)["why"] == "recording stopped at --max-size 2000"
    journal.close()
    frames = list(read_journal(journal.path))
    kept = sum(f.kind == "data" for f in frames)
    assert json.loads(frames[-1].data)["frames"] == 50 - kept == journal.lost_frames
    assert frames[-1].lane == "0i"


def test_a_journal_goes_on_in_another_file(tmp_path: Path) -> None:
    path = write(tmp_path, [("0i", "data", b"%03d" % n + b"x" * 100) for n in range(60)], rotate=1500)
    files = sorted(path.parent.iterdir(), key=lambda p: read_header(p).base)
    headers = [read_header(p) for p in files]
    assert len(files) > 4
    assert {h.name for h in headers} == {files[0].name}
    assert [h.part for h in headers] == list(range(1, len(files) + 1))
    assert [h.raw.get("previous") for h in headers] == [None, *(f.name for f in files[:-1])]
    assert all(f.stat().st_size <= 1500 for f in files)
    frames = [f for p in files for f in read_journal(p)]
    assert [f.data[:3] for f in frames] == [b"%03d" % n for n in range(60)]
    assert [f.number for f in frames] == list(range(60))
    assert len({f.key for f in frames}) == 60
    assert {f.journal for f in frames} == {files[0].name}
    assert [h.mono for h in headers] == [headers[0].mono] * len(headers)


def test_a_journal_that_cannot_go_on_elsewhere_goes_on_where_it_is(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x", rotate=1000)
    blocked = Path(journal.path).with_suffix(".2.mrj")
    blocked.mkdir()
    for _ in range(30):
        journal.append("0i", "data", journal._mono, b"d" * 80)
    journal.close()
    assert journal.lost_frames == 0
    assert len(list(read_journal(journal.path))) == 30


def test_threads_may_share_a_journal(tmp_path: Path) -> None:
    journal = Journal.create(str(tmp_path), "wrap", "x", rotate=20_000)

    def fill(lane: str) -> None:
        for n in range(500):
            journal.append(lane, "data", journal._mono, b"%d" % n)

    threads = [threading.Thread(target=fill, args=(f"{n}i",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    journal.close()
    frames = [
        f
        for p in sorted(tmp_path.glob("journals/*"), key=lambda p: read_header(p).base)
        for f in read_journal(p)
    ]
    for lane in ("0i", "1i", "2i", "3i"):
        assert [f.data for f in frames if f.lane == lane] == [b"%d" % n for n in range(500)]


def test_reading_begins_where_one_says(tmp_path: Path) -> None:
    path = write(tmp_path, [("0i", "data", b"%d" % n) for n in range(5)])
    whole = list(read_journal(path))
    assert [f.data for f in read_journal(path, whole[3].offset)] == [b"3", b"4"]


def test_damage_can_be_kept_after_the_reader(tmp_path: Path) -> None:
    path = write(tmp_path, [("0i", "data", b"x")])
    reader = Reader(read_header(path))
    assert str(Damage(reader, 5, 7, 0)).startswith(f"{path}: damaged record at byte 5.\n0 records before it")


def emptied(path: Path) -> None:
    os.truncate(path, 0)


def halved(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def folder_removed(path: Path) -> None:
    shutil.rmtree(path.parent.parent)


def replaced(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"of somebody else\n")


@pytest.mark.parametrize("meddle", [Path.unlink, emptied, halved, folder_removed, replaced])
def test_a_journal_taken_away_is_begun_anew(meddle: Callable[[Path], object], tmp_path: Path) -> None:
    """Within a second of traffic; what was lost is told, and stands in the new one as a gap."""
    journal = Journal.create(str(tmp_path / "capture"), "wrap", "x")
    told: list[str] = []
    journal.told = lambda folder, why: told.append(why)
    t, old = journal._mono, Path(journal.path)
    for n in range(10):
        journal.append("0i", "data", t + n, b"before")
    size = old.stat().st_size
    meddle(old)
    left = old.stat().st_size if meddle in (emptied, halved) else 0
    second = t + 1_000_000_100
    journal.append("0i", "data", second, b"after")
    journal.append_many([("0o", "data", second, b"too")])
    journal.close()
    frames, _ = everything(Path(journal.path))
    why = "the journal was cut short" if meddle in (emptied, halved) else "the journal was removed"
    assert told == [why, ""]
    (gap,) = [json.loads(frame.data) for frame in frames if frame.kind == "gap"]
    assert (gap["bytes"], gap["why"]) == (size - left, why)
    assert gap["frames"] == journal.lost_frames == (1 if left or meddle is emptied else 10)
    assert [frame.data for frame in frames if frame.kind == "data"] == [b"after", b"too"]
    assert read_header(journal.path).part == 1
    if meddle is replaced:
        assert old.read_bytes() == b"of somebody else\n"


def test_a_journal_that_cannot_begin_anew_yet_does_when_it_can(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    journal = Journal.create(str(capture), "wrap", "x")
    shutil.rmtree(capture)
    capture.write_bytes(b"in the way")
    second = journal._mono + 1_000_000_100
    journal.append("0i", "data", second, b"lost")
    capture.unlink()
    journal.append("0i", "data", second + 1, b"kept")
    journal.close()
    frames, _ = everything(Path(journal.path))
    assert {frame.lane for frame in frames if frame.kind == "gap"} == {"0i", "0z"}
    assert [frame.data for frame in frames if frame.kind == "data"] == [b"kept"]

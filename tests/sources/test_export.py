"""What is exported or imported reads the same."""

from __future__ import annotations

import errno
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import analyse
from mrtrscope.frames import DATA, Frame
from mrtrscope.sources import Source, SourceError, open_source
from mrtrscope.sources.export import transcripts, write
from mrtrscope.sources.importing import import_source
from mrtrscope.wire.events import Event, Message
from tests.conftest import SAMPLES
from tests.sources.tools import COUNTS, TRANSCRIPTS, contents, counts, events_of
from tests.wire.tools import answer, post, result, rpc


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_exported_reads_the_same(name: str, tmp_path: Path) -> None:
    with open_source(TRANSCRIPTS / name) as source:
        (path,) = write(source, tmp_path / "out")
    before, after = events_of(TRANSCRIPTS / name), events_of(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert counts(after) == COUNTS[name]
    assert contents(after, name.endswith("l")) == contents(before, name.endswith("l"))


@pytest.mark.parametrize("name", COUNTS)
def test_what_is_imported_reads_the_same(name: str, tmp_path: Path) -> None:
    with open_source(TRANSCRIPTS / name) as source:
        (path,) = import_source(source, tmp_path / "capture")
    assert contents(events_of(tmp_path / "capture"), False) == contents(events_of(TRANSCRIPTS / name), False)
    assert path.parent == tmp_path / "capture" / "journals"


def test_relayed_connections_are_exported_as_exchanges() -> None:
    stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = [
        ("1c", "open", b'{"client":"h:1"}'),
        ("1c", DATA, post(rpc(1)) + post(b"\xff")),
        ("1s", DATA, answer(result(1))),
        ("1s", DATA, stream + b"3\r\n: x\r\n"),
        ("1s", DATA, b"2\r\n\n\n\r\n"),
        ("1s", "end", b'{"by":"client"}'),
        ("1c", "end", b"{}"),
        ("2c", DATA, post(rpc(3))),
        ("3i", DATA, b"a\nb"),
        ("3o", DATA, b"c"),
        ("3i", DATA, b"b\n"),
        ("3i", "end", b'{"by":"client"}'),
        ("3z", "exit", b'{"code": 3}'),
    ]
    frames = [
        Frame("j", n * 10_000, n, n * 1_000_000, lane, kind, data)
        for n, (lane, kind, data) in enumerate(sent)
    ]
    found = list(transcripts(frames, {"j": {"how": "relay", "channel": "http://up:9"}}))
    stdio = [(name, line) for name, line in found if name != "http"]
    assert stdio == [
        ("http___up_9-0", {"t": 8.0, "dir": "c2s", "line": "a", "channel": "http://up:9"}),
        ("http___up_9-0", {"t": 10.0, "dir": "c2s", "line": "bb"}),
        ("http___up_9-0", {"t": 11.0, "dir": "eof"}),
        ("http___up_9-0", {"t": 12.0, "dir": "exit", "code": 3}),
        ("http___up_9-0", {"t": 9.0, "dir": "s2c", "line": "c", "nonl": True}),
    ]
    first, second, third = (line for name, line in found if name == "http")
    assert first["request"]["body"] == rpc(1).decode() and second["request"]["body_b64"] == "/w=="
    assert (first["conn"], first["flow"], first["client"], first["t_end"]) == (1, 1, "h:1", 2.0)
    assert first["response"]["chunks"] == [{"t": 2.0, "data": result(1).decode()}]
    assert second["response"]["chunks"] == [{"t": 3.0, "data": ": x"}, {"t": 4.0, "data": "\n\n"}]
    assert (second["closed_by"], second["error"]) == ("client", "closed before the answer was complete")
    assert (third["closed_by"], third["response"], "t_end" in third) == ("open", None, False)


@pytest.mark.parametrize("capture", sorted(SAMPLES.glob("sample-*")), ids=lambda path: path.name)
def test_recorded_captures_are_exported_whole(capture: Path, tmp_path: Path) -> None:
    with open_source(capture) as source:
        paths = write(source, tmp_path / "out")
    before = events_of(capture)
    after = [event for path in paths for event in events_of(path)]
    assert messages_of(before) == messages_of(after)
    assert sum(counts(before)[:3]) == sum(counts(after)[:3])


@pytest.mark.parametrize("capture", sorted(SAMPLES.glob("sample-*")), ids=lambda path: path.name)
def test_what_went_out_as_text_comes_back_as_the_same_operations(capture: Path, tmp_path: Path) -> None:
    with open_source(capture) as source:
        paths = write(source, tmp_path / "out")
    for path in paths:
        with open_source(path) as source:
            import_source(source, tmp_path / "back")
    assert told_of(tmp_path / "back") == told_of(capture)


def told_of(capture: Path) -> list[tuple[object, ...]]:
    """Operations with their channel, processes and rounds, and what was found at them."""
    with analyse.bring_up_to_date(capture) as store:
        return [
            (op.channel, op.method, op.target, op.kind, op.outcome, op.findings,
             [(r.request, r.answer, r.link.grade if r.link else None) for r in op.rounds])
            for op in store.operations()
        ]  # fmt: skip


@pytest.mark.parametrize("name", [7, "", "x" * 500])
def test_what_is_no_name_of_a_channel_is_not_taken_for_one(name: object, tmp_path: Path) -> None:
    file = tmp_path / "tailor.jsonl"
    file.write_text(json.dumps({"t": 1.0, "dir": "c2s", "line": "{}", "channel": name}) + "\n")
    with open_source(file) as source:
        assert [header["channel"] for header in source.headers().values()] == [source.name]


def messages_of(events: list[Event]) -> Counter[tuple[str, bytes, int]]:
    return Counter((e.dir, e.raw, e.t) for e in events if type(e) is Message)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    for expected in (False, True):
        with open_source(TRANSCRIPTS / "77-batches.json") as source:
            if not expected:
                write(source, tmp_path)
            else:
                with pytest.raises(SourceError, match="is there already"):
                    write(source, tmp_path)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(errno.ENOSPC, "No space left on device")])
def test_what_was_stopped_leaves_nothing_that_looks_whole(
    error: BaseException | type[BaseException], tmp_path: Path
) -> None:
    class Stopped:
        """A source that is read halfway."""

        def __init__(self, source: Source) -> None:
            self.kind, self.name, self.path, self.headers = (
                source.kind, source.name, source.path, source.headers
            )  # fmt: skip
            self._frames = list(source.frames())

        def frames(self) -> Iterator[Frame]:
            yield from self._frames[: len(self._frames) // 2]
            raise error

    with open_source(TRANSCRIPTS / next(iter(COUNTS))) as source:
        stopped: Any = Stopped(source)
    for into in (write, import_source):
        with pytest.raises((KeyboardInterrupt, SourceError)):
            into(stopped, tmp_path / "into")
        left = [path for path in (tmp_path / "into").rglob("*") if path.is_file()]
        assert left == []


def test_half_of_a_surrogate_pair_is_exported_as_an_escape(tmp_path: Path) -> None:
    path = tmp_path / "lone.jsonl"
    path.write_text('{"t": 1, "dir": "c2s", "channel": "\\ud800x", "line": "{}"}\n', encoding="ascii")
    with open_source(path) as source:
        (made,) = write(source, tmp_path / "out")
    assert json.loads(made.read_text(encoding="utf-8"))["channel"] == "\ud800x"

"""What the addon asks the database for: every request once it is new, again when more is known, in bounded pieces."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from mrtrscope import analyse
from mrtrscope.store.flows import WINDOW, FlowNote, FlowNotes
from tests.captures import recorded


def analysed(capture: Path, requests: int) -> str:
    """A capture with rows; the name of its journal."""
    recorded(capture, requests)
    analyse.bring_up_to_date(capture).close()
    (path,) = (capture / "journals").glob("*.mrj")
    return path.name


def test_every_request_gets_a_note(tmp_path: Path) -> None:
    notes = FlowNotes(tmp_path / "scope.db", analysed(tmp_path, 60))
    found = notes.poll()
    assert len(found) == 60
    assert {note.lane for note in found} == {"0i"}
    rounds = Counter(note.operation for note in found)
    for note in found:
        assert 1 <= note.round <= note.rounds == rounds[note.operation]
    assert max(rounds.values()) > 1, "no chain among them"
    assert notes.poll() == [], "nobody has written meanwhile"
    notes.close()


def test_many_requests_come_in_pieces(tmp_path: Path) -> None:
    notes = FlowNotes(tmp_path / "scope.db", analysed(tmp_path, 3 * WINDOW))
    seen: set[tuple[int, int]] = set()
    polls = 0
    while found := notes.poll():
        assert len(found) <= 2 * WINDOW
        seen |= {(note.operation, note.round) for note in found}
        polls += 1
        assert polls < 100
    assert len(seen) == 3 * WINDOW
    notes.close()


def test_another_journal_is_none_of_ours(tmp_path: Path) -> None:
    analysed(tmp_path, 10)
    notes = FlowNotes(tmp_path / "scope.db", "other.mrj")
    assert notes.poll() == []
    notes.close()


def test_a_database_that_comes_late_goes_and_comes_again(tmp_path: Path) -> None:
    notes = FlowNotes(tmp_path / "scope.db", "x.mrj")
    assert notes.poll() == []
    notes = FlowNotes(tmp_path / "scope.db", analysed(tmp_path, 10))
    assert len(notes.poll()) == 10
    for path in tmp_path.glob("scope.db*"):
        path.unlink()
    assert notes.poll() == []
    analyse.bring_up_to_date(tmp_path).close()
    assert len(notes.poll()) == 10
    notes.close()


@pytest.mark.parametrize("content", [b"", b"no database" * 100])
def test_what_is_no_database_gives_no_notes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "scope.db").write_bytes(content)
    assert FlowNotes(tmp_path / "scope.db", "x.mrj").poll() == []


def test_it_never_waits_for_the_writer(tmp_path: Path) -> None:
    journal = analysed(tmp_path, 10)
    writer = sqlite3.connect(tmp_path / "scope.db", isolation_level=None)
    writer.execute("begin immediate")
    notes = FlowNotes(tmp_path / "scope.db", journal)
    assert len(notes.poll()) == 10
    notes.close()
    writer.close()


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (FlowNote("1q", 3, 2, 2, "complete", 1, "must"), "operation 3, round 2 of 2, 1 finding"),
        (FlowNote("1q", 1, 1, 1, "open", 0, ""), "operation 1, round 1 of 1"),
        (FlowNote("1q", 1, 2, 1, "lost", 2, "info"), "operation 1, round 2 of 2, lost, 2 findings"),
    ],
)
def test_notes_in_words(note: FlowNote, text: str) -> None:
    assert note.text() == text

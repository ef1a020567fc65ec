"""Where rows are kept, and who may write them."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.store.connect import open_database
from mrtrscope.store.place import DATABASE, Lock, Place, cache
from mrtrscope.where import captures_home


def test_a_folder_keeps_its_rows(tmp_path: Path) -> None:
    (tmp_path / "journals").mkdir()
    place = Place(tmp_path)
    assert (place.database, place.lock) == (tmp_path / "scope.db", tmp_path / "analysis.lock")


def test_a_folder_that_is_no_capture_is_left_as_it_is(tmp_path: Path, private_state: Path) -> None:
    assert Place(tmp_path).database.parent.parent == cache()


def test_beside_a_file_nothing_is_written(tmp_path: Path, private_state: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b"")
    place = Place(file)
    place.make()
    assert place.database.parent.parent == cache() == private_state / "cache" / "mrtrscope"
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700
    assert list(tmp_path.iterdir()) == [file]
    assert Place(tmp_path / "." / "a.jsonl").database == place.database
    assert Place(tmp_path / "b.jsonl").database != place.database


def test_a_folder_that_cannot_be_written_has_its_rows_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert Place(tmp_path).database.is_relative_to(cache())


@pytest.mark.parametrize("why", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_without_room_for_a_file_has_its_rows_in_the_cache(
    tmp_path: Path, private_state: Path, monkeypatch: pytest.MonkeyPatch, why: int
) -> None:
    (tmp_path / "journals").mkdir()
    really = os.open

    def full(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if Path(path).parent == tmp_path:
            raise OSError(why, os.strerror(why), path)
        return really(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", full)
    place = Place(tmp_path)
    place.make()
    assert place.folder == cache() / place.folder.name
    assert place.database.exists() and not (tmp_path / DATABASE).exists()


def test_rows_that_nobody_asked_for_lately_go(tmp_path: Path) -> None:
    old, other = Place(tmp_path / "old.jsonl"), cache() / "not-ours"
    old.make()
    other.mkdir()
    for folder in (old.folder, other):
        (folder / "scope.db").write_bytes(b"x")
        os.utime(folder, (1, 1))
    Place(tmp_path / "new.jsonl").make()
    assert not old.folder.exists() and (other / "scope.db").exists()


def test_a_database_is_for_its_owner_alone_and_never_behind_a_link(tmp_path: Path) -> None:
    path = tmp_path / "scope.db"
    db = open_database(path, write=True)
    db.execute("create table t(x)")
    assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()} == {0o600}
    db.close()
    (tmp_path / "link.db").symlink_to(path)
    with pytest.raises(OSError, match="link"):
        open_database(tmp_path / "link.db", write=True)


def test_one_holds_the_lock_and_says_how_far_it_is(tmp_path: Path) -> None:
    with Lock(tmp_path / "lock") as first, Lock(tmp_path / "lock") as second:
        assert second.holder() == (0, 0)
        assert first.take() and not second.take()
        first.tell(123_456_789_012_345)
        assert second.holder() == (os.getpid(), 123_456_789_012_345)
    with Lock(tmp_path / "lock") as third:
        assert third.take()
        assert third.holder() == (os.getpid(), 0)


def test_nobodys_home_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    assert cache() == Path("/.cache/mrtrscope")


def test_a_capture_is_never_in_a_folder_called_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert captures_home() == "/.local/state/mrtrscope/captures"

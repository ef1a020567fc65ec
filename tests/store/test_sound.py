"""A database that somebody damaged, or made up: made anew, or refused in one clear line; never a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import cli
from mrtrscope.analyse import Place, bring_up_to_date, is_current
from mrtrscope.store import schema, sound
from tests.captures import append, call, content, journal, now
from tests.conftest import SAMPLES

COMMANDS = (
    ("list",), ("check", "--fail-on", "never"), ("messages", "--format", "json"), ("show", "op3"), ("channels",),
    ("check", "--verdicts", "--fail-on", "never"), ("diagram", "op4", "--format", "text"),
)  # fmt: skip


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with its rows, all of them in the one file."""
    capture = tmp_path_factory.mktemp("sound") / "capture"
    (capture / "journals").mkdir(parents=True)
    for path in (SAMPLES / "sample-stdio" / "journals").iterdir():
        shutil.copy2(path, capture / "journals" / path.name)
    bring_up_to_date(capture).close()
    with contextlib.closing(sqlite3.connect(capture / "scope.db")) as db:
        db.execute("pragma journal_mode = delete")
    return capture


@pytest.fixture
def capture(analysed: Path, tmp_path: Path) -> Path:
    """A copy of its own, files and times."""
    return Path(shutil.copytree(analysed, tmp_path / "c"))


def rows(capture: Path, said: list[str] | None = None) -> dict[str, Any]:
    with bring_up_to_date(capture, say=(said if said is not None else []).append) as store:
        return content(store)


@contextlib.contextmanager
def database(capture: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(capture / "scope.db", isolation_level=None)) as db:
        yield db


def all_commands(capture: Path, capsys: pytest.CaptureFixture[str], first: int = len(COMMANDS)) -> None:
    """Run them, or the first few. One that raises fails the test."""
    for command, *rest in COMMANDS[:first]:
        code = cli.run([command, str(capture), *rest])
        told = capsys.readouterr().err
        assert code == 0 or (code in (2, 3) and told.startswith("Error: ")), (command, code, told)


def not_current(db: sqlite3.Connection) -> None:
    """Make it go on from its checkpoint, as if something had been added."""
    db.execute("update meta set value = '' where key = 'seen'")


def summed(db: sqlite3.Connection) -> None:
    """Somebody who makes up a checkpoint can reckon its sum as well."""
    meta = dict(db.execute("select key, value from meta").fetchall())
    with contextlib.suppress(AttributeError, TypeError):
        db.execute("update meta set value = ? where key = 'sum'", (sound.total(meta),))


JUNK: tuple[Any, ...] = (
    None,
    "junk",
    "{}",
    "[[1]]",
    b"\xff\x00",
    -1,
    1 << 62,
    1e300,
    '{"a": NaN}',
    "9" * 400,
)


@pytest.mark.parametrize(
    "key", ["seen", "trouble", "positions", "files", "marks", "checkpoint", "salt", "sum", "schema"]
)
def test_junk_in_what_it_says_of_itself(capture: Path, capsys: pytest.CaptureFixture[str], key: str) -> None:
    before = rows(capture)
    for junk in JUNK:
        with database(capture) as db:
            db.execute("insert or replace into meta values (?, ?)", (key, junk))
            if key not in ("seen", "trouble", "sum"):
                not_current(db)
                summed(db)
        all_commands(capture, capsys)
        assert rows(capture) == before


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        yield from paths(item, (*at, key))


def changed(value: Any, at: tuple[Any, ...], change: Callable[[Any, Any], None]) -> Any:
    copy = json.loads(json.dumps(value))
    inside = copy
    for key in at[:-1]:
        inside = inside[key]
    change(inside, at[-1])
    return copy


CHANGES: tuple[Callable[[Any, Any], Any], ...] = (
    lambda inside, key: inside.pop(key),
    lambda inside, key: inside.__setitem__(key, None),
    lambda inside, key: inside.__setitem__(key, "junk"),
    lambda inside, key: inside.__setitem__(key, -(1 << 70)),
    lambda inside, key: inside.__setitem__(key, ["o", 0]),
)


@pytest.mark.parametrize("key", ["checkpoint", "positions", "files", "marks"])
def test_a_checkpoint_with_one_field_gone_or_of_another_kind(capture: Path, key: str) -> None:
    """Whatever is in it, reading on ends with rows, and so does making them anew."""
    with database(capture) as db:
        sound_one = dict(db.execute("select key, value from meta").fetchall())
    value = json.loads(sound_one[key])
    places = list(paths(value))
    step = max(1, len(places) // 40)
    first = next((capture / "journals").iterdir())
    whole = first.read_bytes()
    line = b'{"jsonrpc":"2.0","id":77,"method":"tools/list"}\n'
    more = b"0i data 999999999 %d\n%b\n" % (len(line), line)
    first.write_bytes(whole + more)
    for n, at in enumerate(places[::step]):
        text = json.dumps(changed(value, at, CHANGES[n % len(CHANGES)]))
        with database(capture) as db:
            db.executemany("insert or replace into meta values (?, ?)", sound_one.items())
            stored = text.encode() if key == "checkpoint" else text
            db.execute("update meta set value = ? where key = ?", (stored, key))
            summed(db)
            not_current(db)
        rows(capture)
        (capture / "scope.db").unlink()
        with bring_up_to_date(capture) as store:
            assert store.count("messages") == 52


def test_a_disks_mistake_in_the_checkpoint_is_noticed(capture: Path) -> None:
    before, said = rows(capture), []
    with database(capture) as db:
        (text,) = db.execute("select value from meta where key = 'checkpoint'").fetchone()
        at = text.index(b"bakery")
        db.execute("update meta set value = ? where key = 'checkpoint'", (text[:at] + b"c" + text[at + 1 :],))
        not_current(db)
    assert rows(capture, said) == before
    assert said == [f"{capture / 'scope.db'}: damaged; everything is made anew."]


@pytest.mark.parametrize("table", schema.TABLES)
def test_a_table_or_a_column_is_gone(capture: Path, table: str) -> None:
    before = rows(capture)
    for command in (
        f'drop table "{table}"',
        f'alter table "{table}" rename to gone',
        f'alter table "{table}" rename column "{next(iter(schema.TABLES[table]))}" to gone',
        f'alter table "{table}" add column one_more',
    ):
        for fresh in (False, True):
            said: list[str] = []
            with database(capture) as db:
                for view in schema.VIEWS:
                    db.execute(f"drop view if exists {view}")
                db.execute(command)
                if fresh and table != "meta":
                    not_current(db)
            assert not is_current(Place(capture))
            assert rows(capture, said) == before
            assert len(said) == 1 and said[0].endswith("everything is made anew.")


@pytest.mark.parametrize(
    ("table", "column"), [(table, column) for table in schema.TABLES for column in schema.TABLES[table]]
)
def test_junk_in_a_column(capture: Path, capsys: pytest.CaptureFixture[str], table: str, column: str) -> None:
    """What it says may be wrong then, and where it makes no sense this is said; the next command has it right."""
    with database(capture) as db:
        sound_one = db.serialize()
    for junk in (None, "junk", -1):
        (capture / "scope.db").write_bytes(sound_one)
        with database(capture) as db:
            try:
                db.execute(f'update or replace "{table}" set "{column}" = ?', (junk,))
            except sqlite3.Error:
                continue  # no room for it in this column
        all_commands(capture, capsys)
        with database(capture) as db, contextlib.suppress(sqlite3.Error):
            not_current(db)
        all_commands(capture, capsys, 1)


@pytest.mark.parametrize("damage", ["garbage", "empty", "cut", "zeros", "headless"])
def test_a_file_that_is_no_database(capture: Path, damage: str) -> None:
    before, path = rows(capture), capture / "scope.db"
    data = path.read_bytes()
    path.write_bytes({
        "garbage": os.urandom(len(data)), "empty": b"", "cut": data[: len(data) // 2], "zeros": bytes(len(data)),
        "headless": data[:100] + os.urandom(4000) + data[4100:],
    }[damage])  # fmt: skip
    assert rows(capture) == before
    assert rows(capture) == before


def test_every_page_of_it_damaged_in_turn(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture / "scope.db"
    data = path.read_bytes()
    pages = range(0, len(data), 4096)
    for page in pages[:: max(1, len(pages) // 16)]:
        path.write_bytes(data[:page] + os.urandom(4096) + data[page + 4096 :])
        all_commands(capture, capsys, 3)


def made_fifo(path: Path) -> None:
    os.mkfifo(path)


def made_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.path.relpath(path))


def made_link(path: Path) -> None:
    path.symlink_to(path.parent / "precious")


@pytest.mark.parametrize(
    "name", ["scope.db", "scope.db-wal", "scope.db-shm", "scope.db-journal", "analysis.lock"]
)
@pytest.mark.parametrize("make", [made_fifo, made_socket, made_link])
def test_no_file_in_its_place_is_removed(capture: Path, name: str, make: Callable[[Path], None]) -> None:
    before, said = rows(capture), []
    precious = capture / "precious"
    precious.write_bytes(b"somebody's")
    (capture / name).unlink(missing_ok=True)
    make(capture / name)
    with database(capture) if name != "scope.db" else contextlib.nullcontext() as db:
        if db is not None and name == "analysis.lock":
            not_current(db)
    assert rows(capture, said) == before
    assert said == [f"{capture / name}: was no file, and was removed; it is made anew."]
    assert precious.read_bytes() == b"somebody's"


@pytest.mark.parametrize("name", ["scope.db", "scope.db-wal", "analysis.lock"])
def test_a_folder_in_its_place_is_left_alone(
    capture: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (capture / name).unlink(missing_ok=True)
    (capture / name).mkdir()
    assert cli.run(["list", str(capture)]) == 2
    said = capsys.readouterr().err
    assert said == f"Error: {capture / name}: a folder, where a file of mine belongs; move it away\n"


def test_our_own_mistakes_are_not_called_damage(capture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError("a mistake")

    monkeypatch.setattr("mrtrscope.views.rows.operations", fails)
    with pytest.raises(ValueError, match="a mistake"):
        cli.run(["list", str(capture)])
    assert is_current(Place(capture))


def test_what_was_made_up_is_not_gone_on_with_while_it_grows(tmp_path: Path) -> None:
    made, said = journal(tmp_path), []
    append(made, [(now(made), "c2s", call(1))])
    rows(tmp_path)
    with database(tmp_path) as db:
        meta = dict(db.execute("select key, value from meta").fetchall())
        text = meta["checkpoint"].replace(b'"mrtrscope.link', b'"mrtrscope.wire')
        db.execute("update meta set value = ? where key = 'checkpoint'", (text,))
        summed(db)
    append(made, [(now(made), "c2s", call(2))])
    made.close()
    found = rows(tmp_path, said)
    assert [m["id"] for m in found["messages"]] == [1, 2]
    assert len(said) == 1 and "cannot be gone on with" in said[0]

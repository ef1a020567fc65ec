"""Rows are the same however a capture came to be read: at once, bit by bit, live, or after an interruption."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import analyse, analyser, cli
from mrtrscope.analyse import Unreadable, bring_up_to_date
from mrtrscope.journal import NO_FILE
from mrtrscope.store.place import Lock, cache
from tests.captures import append, call, content, journal, now, recorded
from tests.conftest import LIMIT, mrtrscope, wait_until


def read(capture: Path, **options: Any) -> dict[str, Any]:
    with bring_up_to_date(capture, **options) as store:
        return content(store)


def afresh(capture: Path) -> dict[str, Any]:
    """What the rows say after the database was deleted."""
    for path in capture.glob("scope.db*"):
        path.unlink()
    return read(capture)


def test_reading_again_gives_the_same(tmp_path: Path) -> None:
    recorded(tmp_path)
    first = read(tmp_path)
    assert len(first["messages"]) == 80 and len(first["operations"]) > 10
    assert read(tmp_path) == first
    assert afresh(tmp_path) == first


def test_what_is_new_is_read_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(tmp_path, requests=20)
    read(tmp_path)
    fed: list[str] = []
    feed = analyser.Pipeline.feed
    monkeypatch.setattr(
        analyser.Pipeline, "feed", lambda self, frame: (fed.append(frame.key), feed(self, frame))
    )
    read(tmp_path)
    assert fed == []
    time.sleep(0.3)  # a second session is recorded later, beyond what may still be put in order
    recorded(tmp_path, requests=5, seed=8, channel="other")
    grown = read(tmp_path)
    assert {key.partition(":")[0] for key in fed} == {max(p.name for p in (tmp_path / "journals").iterdir())}
    monkeypatch.undo()
    assert afresh(tmp_path) == grown


@pytest.mark.parametrize("step", [1, 7, 100])
def test_batches_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    recorded(tmp_path)
    whole = read(tmp_path)
    monkeypatch.setattr(analyser, "BATCH", step)
    assert afresh(tmp_path) == whole


@pytest.mark.parametrize("pays", [0, 10**9])
def test_an_interrupted_analysis_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pays: int
) -> None:
    """Whether each batch had its checkpoint or only the first: rows that are ahead of it are taken back."""
    recorded(tmp_path)
    whole = read(tmp_path)
    for path in tmp_path.glob("scope.db*"):
        path.unlink()
    monkeypatch.setattr(analyser, "BATCH", 10)
    monkeypatch.setattr(analyser, "SELDOM", 0.0)
    monkeypatch.setattr(analyser, "PAYS", pays)
    monkeypatch.setattr("mrtrscope.store.writer.WAITING", 5)
    commit, commits = analyser.Analyser._commit, 0

    def interrupted(self: analyser.Analyser, *args: Any, **options: Any) -> None:
        nonlocal commits
        commit(self, *args, **options)
        commits += 1
        if commits % 4 == 0:
            raise InterruptedError("killed")

    monkeypatch.setattr(analyser.Analyser, "_commit", interrupted)
    for _ in range(100):
        try:
            again = read(tmp_path)
            break
        except Unreadable:
            monkeypatch.setattr(analyser, "PAYS", 0)
    assert commits > 4
    assert again == whole


def test_a_frame_too_late_for_its_place_makes_everything_anew(tmp_path: Path) -> None:
    early = journal(tmp_path, [(1, "c2s", call(1))], "early")
    late = journal(tmp_path, [(2_000_000, "c2s", call(2))], "late")
    late.close()
    assert [m["channel"] for m in read(tmp_path)["messages"]] == ["early", "late"]
    append(early, [(1_000_000, "s2c", b'{"jsonrpc":"2.0","id":1,"result":{}}')])
    early.close()
    found = read(tmp_path)
    assert [(m["channel"], m["m"]) for m in found["messages"]] == [
        ("early", "m1"),
        ("early", "m2"),
        ("late", "m3"),
    ]
    assert afresh(tmp_path) == found


def test_a_journal_that_changed_is_read_again(tmp_path: Path) -> None:
    recorded(tmp_path, requests=5)
    before = read(tmp_path)
    (path,) = (tmp_path / "journals").iterdir()
    path.write_bytes(path.read_bytes().replace(b"bench-client", b"other-client"))
    os.utime(path, ns=(1, 1))
    assert read(tmp_path) == before | {
        "memory": read(tmp_path)["memory"],
        "channels": read(tmp_path)["channels"],
    }
    path.unlink()
    with pytest.raises(Unreadable, match="no journal in"):
        read(tmp_path)


def test_other_code_makes_everything_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(tmp_path, requests=5)
    before = read(tmp_path)
    monkeypatch.setattr(
        "mrtrscope.store.schema.versions", lambda: dict.fromkeys(("schema", "linker", "rules"), "new")
    )
    assert not analyse.is_current(analyse.Place(tmp_path))
    assert read(tmp_path) == before
    assert analyse.is_current(analyse.Place(tmp_path))


def test_a_damaged_database_is_made_anew(tmp_path: Path) -> None:
    recorded(tmp_path, requests=5)
    before = read(tmp_path)
    for path in tmp_path.glob("scope.db-*"):
        path.unlink()
    (tmp_path / "scope.db").write_bytes(b"this is no database" * 1000)
    assert read(tmp_path) == before


def test_a_checkpoint_that_cannot_be_read_is_no_loss(tmp_path: Path) -> None:
    recorded(tmp_path, requests=5)
    before = read(tmp_path)
    with analyser.Analyser(analyse.Place(tmp_path)) as one:
        one._db.execute("update meta set value = 'nonsense' where key = 'checkpoint'")
        one._db.execute("delete from meta where key = 'seen'")
    assert read(tmp_path) == before


def test_without_update_nothing_is_read(tmp_path: Path) -> None:
    recorded(tmp_path, requests=5)
    with pytest.raises(Unreadable, match="not analysed yet"):
        read(tmp_path, update=False)
    before = read(tmp_path)
    time.sleep(0.01)
    recorded(tmp_path, requests=5, channel="other")
    assert read(tmp_path, update=False) == before
    assert read(tmp_path) != before


def test_beside_a_single_file_nothing_is_written(tmp_path: Path) -> None:
    recorded(tmp_path / "capture", requests=5)
    (path,) = (tmp_path / "capture" / "journals").iterdir()
    alone = tmp_path / "alone" / "x.bin"
    alone.parent.mkdir()
    path.rename(alone)
    with bring_up_to_date(alone) as store:
        assert store.count("messages") == 10
    assert list(alone.parent.iterdir()) == [alone]


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    line = {"t": 1.0, "dir": "c2s", "line": call(1).decode()}
    path.write_text(json.dumps(line) + "\n")
    assert [m["id"] for m in read(path)["messages"]] == [1]
    path.write_text(json.dumps(line) + "\n" + json.dumps(line | {"line": call(2).decode()}) + "\n")
    assert [m["id"] for m in read(path)["messages"]] == [1, 2]


def follower(capture: Path, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "mrtrscope", "analyse", str(capture), "--follow", *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def rows(capture: Path) -> int:
    try:
        with bring_up_to_date(capture, update=False) as store:
            return store.count("messages")
    except Unreadable:
        return -1


def holder(capture: Path) -> int:
    with Lock(capture / "analysis.lock") as lock:
        return lock.holder()[0]


@pytest.mark.live
def test_rows_come_while_it_grows_and_are_those_of_a_fresh_reading(tmp_path: Path) -> None:
    """Within a second, on a machine that has time; how long it took is no matter here."""
    made = journal(tmp_path)
    child = follower(tmp_path)
    wait_until(lambda: rows(tmp_path) == 0, LIMIT, "the follower has begun")
    for n in range(5):
        append(made, [(now(made), "c2s", call(n))])
        wait_until(lambda n=n: rows(tmp_path) == n + 1, LIMIT)
    made.close()
    child.send_signal(signal.SIGTERM)
    assert child.communicate(timeout=LIMIT)[1] == b"" and child.returncode == 0
    live = read(tmp_path, update=False)
    assert live == afresh(tmp_path)


@pytest.mark.live
def test_a_follower_ends_with_its_parent_and_reads_to_the_end(tmp_path: Path) -> None:
    made = journal(tmp_path)
    parent = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child = follower(tmp_path, "--parent-pid", str(parent.pid))
    wait_until(lambda: rows(tmp_path) == 0, LIMIT, "the follower has begun")
    append(made, [(now(made), "c2s", call(n)) for n in range(100)])
    parent.communicate(b"\n")
    assert child.wait(LIMIT) == 0 and child.communicate()[1] == b""
    made.close()
    assert rows(tmp_path) == 100


@pytest.mark.live
def test_a_command_beside_a_follower_waits_until_it_is_as_far(tmp_path: Path) -> None:
    made = journal(tmp_path)
    child = follower(tmp_path)
    wait_until(lambda: rows(tmp_path) == 0, LIMIT, "the follower has begun")
    for n in range(3):
        append(made, [(now(made), "c2s", call(n))])
        assert len(read(tmp_path)["messages"]) == n + 1
    made.close()
    child.terminate()
    assert child.communicate(timeout=LIMIT)[1] == b""


@pytest.mark.live
def test_a_follower_killed_at_any_moment_leaves_what_the_next_goes_on_from(tmp_path: Path) -> None:
    made = journal(tmp_path)
    lines = iter(recorded(tmp_path / "source", requests=400))
    written = 0
    for delay in (0.0, 0.02, 0.1, 0.25, 0.3, 0.4):
        child = follower(tmp_path)
        wait_until(lambda: holder(tmp_path) == child.pid, LIMIT)  # noqa: B023
        part = [(now(made) + i, dir, text) for i, (_, dir, text) in zip(range(120), lines, strict=False)]
        append(made, part)
        written += len(part)
        time.sleep(delay)
        child.kill()
        child.communicate()
        assert rows(tmp_path) <= written
    made.close()
    found = read(tmp_path)
    assert len(found["messages"]) == written
    assert afresh(tmp_path) == found


@pytest.mark.live
def test_two_readers_and_three_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    journals = [journal(tmp_path, channel=f"srv{n}") for n in range(3)]
    total, done = 300, threading.Event()

    def write(n: int) -> None:
        for id in range(total):
            append(journals[n], [(now(journals[n]), "c2s", call(id))])
            if id % 20 == 0:
                time.sleep(0.01)

    seen: list[list[int]] = [[], []]

    def look(n: int) -> None:
        while not done.is_set():
            with bring_up_to_date(tmp_path) as store:
                seen[n].append(store.count("messages"))

    writers = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    readers = [threading.Thread(target=look, args=(n,)) for n in range(2)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join(60)
    done.set()
    for thread in readers:
        thread.join(60)
    for one in journals:
        one.close()
    found = read(tmp_path)
    for n in range(3):
        assert [m["id"] for m in found["messages"] if m["channel"] == f"srv{n}"] == list(range(total))
    assert all(counts == sorted(counts) for counts in seen), "rows never go away"
    assert afresh(tmp_path) == found


# what is not as it was


def replaced(path: Path, text: bytes, by: bytes) -> None:
    """Another journal under the same name, larger than the one that was read."""
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes().replace(text, by) + b"0i data 999999999 3\n{}\n\n")
    other.replace(path)


def test_a_journal_replaced_by_a_larger_one_is_not_taken_for_grown(tmp_path: Path) -> None:
    """Another head, another end of what was read: each tells."""
    lines = [(n, "c2s", call(n)) for n in range(200)]
    journal(tmp_path, lines).close()
    (path,) = (tmp_path / "journals").iterdir()
    for text, by in ((b'"how": "wrap"', b'"how": "warp"'), (call(199), call(198))):
        read(tmp_path)
        replaced(path, text, by)
        said: list[str] = []
        found = read(tmp_path, say=said.append)
        assert said == [f"{tmp_path}: {path.name} is changed since it was read; everything is made anew."]
        assert found == afresh(tmp_path)


def test_a_journal_replaced_while_nobody_looked_is_noticed_by_a_follower(tmp_path: Path) -> None:
    journal(tmp_path, [(n, "c2s", call(n)) for n in range(9)]).close()
    (path,) = (tmp_path / "journals").iterdir()
    said: list[str] = []
    for _ in range(2):
        turns = iter([False])
        with analyser.Analyser(analyse.Place(tmp_path), said.append) as one:
            assert one.follow(lambda turns=turns: next(turns, True), lambda covered: None)
        replaced(path, b'"pid":', b'"pod":')
    assert said == [f"{tmp_path}: {path.name} is changed since it was read; everything is made anew."]
    assert rows(tmp_path) == 9


def test_a_copy_of_a_capture_is_gone_on_with(tmp_path: Path) -> None:
    recorded(tmp_path / "a", requests=5)
    before = read(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    said: list[str] = []
    assert read(tmp_path / "b", say=said.append) == before and said == []


def test_a_journal_that_is_gone_costs_only_itself(tmp_path: Path) -> None:
    journal(tmp_path, [(1, "c2s", call(1))], "one").close()
    journal(tmp_path, [(2, "c2s", call(2))], "two").close()
    assert len(read(tmp_path)["messages"]) == 2
    (gone,) = (tmp_path / "journals").glob("*-one-*")
    gone.unlink()
    said: list[str] = []
    assert [m["channel"] for m in read(tmp_path, say=said.append)["messages"]] == ["two"]
    assert said == [f"{tmp_path}: {gone.name} is gone since it was read; everything is made anew."]
    assert [m["channel"] for m in read(tmp_path, say=said.append)["messages"]] == ["two"] and len(said) == 1


def test_what_cannot_be_read_among_the_journals_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    journal(tmp_path, [(1, "c2s", call(1))]).close()
    folder = tmp_path / "journals"
    (folder / "link.mrj").symlink_to(tmp_path / "away.mrj")
    os.mkfifo(folder / "pipe.mrj")
    (folder / "sub.mrj").mkdir()
    for _ in range(2):
        said: list[str] = []
        assert len(read(tmp_path, say=said.append)["messages"]) == 1
        assert sorted(said) == [
            f"{folder / name}: {why}; what it holds is missing here"
            for name, why in (
                ("link.mrj", os.strerror(errno.ENOENT)),
                ("pipe.mrj", NO_FILE),
                ("sub.mrj", NO_FILE),
            )
        ]


@pytest.mark.parametrize("command", ["list", "check", "messages", "report", "export", "import"])
def test_what_is_no_file_is_refused_and_not_waited_for(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind("socket")
    for name in ("pipe", "socket", os.devnull):
        ended = mrtrscope(command, name)
        assert ended.returncode in (2, 3) if command == "import" else ended.returncode == 2
        assert ended.stdout == "" and len(ended.stderr.strip().splitlines()) <= 2, ended.stderr
        assert f"{name}: " in ended.stderr and "device" in ended.stderr


# where nothing can be written


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes a folder such as one on a file system that is mounted read-only."""
    real_open, real_access, real_mkdir = os.open, os.access, os.mkdir
    folders: list[str] = []

    def within(path: Any) -> bool:
        return any(os.fspath(path).startswith(folder) for folder in folders)

    def opens(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and within(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        return real_open(path, flags, *rest, **more)

    def makes(path: Any, *rest: Any, **more: Any) -> None:
        if within(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
        real_mkdir(path, *rest, **more)

    monkeypatch.setattr(os, "open", opens)
    monkeypatch.setattr(os, "mkdir", makes)
    monkeypatch.setattr(
        os, "access", lambda path, mode: not (mode & os.W_OK and within(path)) and real_access(path, mode)
    )
    return lambda folder: folders.append(str(folder))


@pytest.mark.parametrize("command", ["list", "check", "messages", "report", "diagram"])
def test_a_capture_that_cannot_be_written_to_has_its_rows_elsewhere(
    tmp_path: Path,
    read_only: Callable[[Path], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    capture = tmp_path / "capture"
    recorded(capture, requests=5)
    there = sorted(capture.rglob("*"))
    rest = (
        ["op1"] if command == "diagram" else ["-o", str(tmp_path / "r.html")] if command == "report" else []
    )
    read_only(capture)
    assert cli.run([command, str(capture), *rest]) in (0, 1)
    assert capsys.readouterr().err.count("\n") <= (command == "report")
    read_only(cache())
    shutil.rmtree(cache())
    assert cli.run([command, str(capture), *rest]) in (0, 1)
    said = capsys.readouterr().err
    assert said.count("is not kept for the next time.\n") == 1
    assert sorted(capture.rglob("*")) == there


def test_a_folder_that_only_seems_writable(tmp_path: Path, read_only: Callable[[Path], None],
                                           monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    """Rights say yes, the system says no."""
    recorded(tmp_path / "c", requests=5)
    before = read(tmp_path / "c")
    for path in (tmp_path / "c").glob("*.*"):
        path.unlink()
    read_only(tmp_path / "c")
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    said: list[str] = []
    assert read(tmp_path / "c", say=said.append) == before and said == []


def test_nowhere_to_write(tmp_path: Path, read_only: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch,
                          capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    recorded(tmp_path / "c", requests=5)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "c"))
    read_only(tmp_path / "c")
    read_only(cache())
    assert cli.run(["list", str(tmp_path / "c")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "set TMPDIR or XDG_CACHE_HOME" in said

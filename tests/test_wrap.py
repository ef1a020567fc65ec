"""`wrap`: the same bytes and ends as through a direct pipe, and all of it kept."""

from __future__ import annotations

import hashlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from mrtrscope.journal import read_capture, read_header
from tests.conftest import LIMIT, mrtrscope, wait_until
from tests.peers.wrapped import WRAP, Wrapped

pytestmark = pytest.mark.live

SPLIT = '{"é": "漢😀\u2028"}\r\n'.encode()
ECHO = ("cat",)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def lines_of_noise(size: int, seed: int) -> bytes:
    """Binary text with newlines of every kind in it."""
    rng = random.Random(seed)
    noise = bytearray(rng.randbytes(size))
    for _ in range(size // 200):
        noise[rng.randrange(size)] = 10
    return bytes(noise).replace(b"ab", b"\r\n")


# bytes


@pytest.mark.parametrize("step", [1000, 65536, 1 << 20])
def test_bytes_in_are_bytes_out_and_bytes_kept(tmp_path: Path, step: int) -> None:
    data = lines_of_noise(3 << 20, step)
    with Wrapped(tmp_path / "c", "tee", str(tmp_path / "seen")) as it:
        back = it.exchange(data, step=step)
        assert it.finish() == (0, b"", b"")
    assert sha(back) == sha(data) == sha((tmp_path / "seen").read_bytes())
    assert (sha(it.kept("0i")), sha(it.kept("0o"))) == (sha(data), sha(data))


@pytest.mark.parametrize("text", [SPLIT, b"\n", b"no newline", b"\x00\xff\n", b"\r\r\n\n"])
def test_byte_by_byte_nothing_is_held_back(tmp_path: Path, text: bytes) -> None:
    """Every byte comes back before the next is sent: no waiting for a line or for a whole character."""
    with Wrapped(tmp_path, *ECHO) as it:
        for byte in text:
            assert it.exchange(bytes([byte])) == bytes([byte])
        assert it.finish() == (0, b"", b"")
    assert it.kept("0i") == it.kept("0o") == text
    assert [f.data for f in it.frames() if f.lane == "0i" and f.kind == "data"] == [bytes([b]) for b in text]


@pytest.mark.timeout(300)
def test_a_line_of_64_mib(tmp_path: Path) -> None:
    line = b'{"x":"' + b"a" * (64 << 20) + b'"}\n'
    with Wrapped(tmp_path, *ECHO) as it:
        assert sha(it.exchange(line)) == sha(line)
        assert it.finish()[0] == 0
    assert sha(it.kept("0i")) == sha(it.kept("0o")) == sha(line)


def test_stderr_is_passed_on_and_kept(tmp_path: Path) -> None:
    with Wrapped(tmp_path, "sh", "-c", r"printf 'warn\377\n' >&2; cat") as it:
        assert it.finish(b"x") == (0, b"x", b"warn\xff\n")
    assert it.kept("0e") == b"warn\xff\n"


def test_what_a_session_leaves_behind(tmp_path: Path) -> None:
    with Wrapped(
        tmp_path, "sh", "-c", "cat; exit 3", "secret argument", options=("--name", "my server")
    ) as it:
        pid = it.child
        assert it.finish(b"hi\n") == (3, b"hi\n", b"")
    frames = it.frames()
    assert (frames[0].lane, frames[0].kind, json.loads(frames[0].data)) == ("0i", "open", {"pid": pid})
    assert sorted((f.lane, json.loads(f.data)["by"]) for f in frames if f.kind == "end") == [
        ("0e", "server"), ("0i", "client"), ("0o", "server"),
    ]  # fmt: skip
    assert (frames[-1].lane, frames[-1].kind, json.loads(frames[-1].data)) == ("0z", "exit", {"code": 3})
    (path,) = (tmp_path / "journals").iterdir()
    assert (read_header(path).how, read_header(path).channel) == ("wrap", "my server")
    assert b"secret" not in path.read_bytes()
    assert [p.stat().st_mode & 0o777 for p in (path, path.parent)] == [0o600, 0o700]


def test_no_answer_stands_before_its_request(tmp_path: Path) -> None:
    with Wrapped(tmp_path, *ECHO) as it:
        for n in range(3000):
            it.exchange(b'{"id":%d}\n' % n)
        it.finish()
    lanes = [f.lane for f in it.frames() if f.kind == "data"]
    assert lanes == ["0i", "0o"] * 3000
    times = [f.t for f in it.frames()]
    assert times == sorted(times)


def test_two_at_once_in_one_capture(tmp_path: Path) -> None:
    with Wrapped(tmp_path, *ECHO, options=("--name", "a")) as a, Wrapped(tmp_path, *ECHO) as b:
        for n in range(200):
            a.exchange(b"a%d\n" % n)
            b.exchange(b"b%d\n" % n)
        assert a.finish()[0] == b.finish()[0] == 0
    frames = list(read_capture(tmp_path))
    asked = [f.data for f in frames if f.kind == "data" and f.lane == "0i"]
    assert asked == [text for n in range(200) for text in (b"a%d\n" % n, b"b%d\n" % n)]


# ends


def test_the_end_of_input_is_passed_on_and_no_more(tmp_path: Path) -> None:
    """The child goes on talking after it."""
    with Wrapped(tmp_path, "sh", "-c", "cat >/dev/null; for i in 1 2 3; do echo $i; done; exit 4") as it:
        assert it.finish(b"x" * 100_000) == (4, b"1\n2\n3\n", b"")


def test_the_child_ends_while_its_input_is_open(tmp_path: Path) -> None:
    with Wrapped(tmp_path, "sh", "-c", "read x; echo bye; exit 3") as it:
        os.write(it.stdin, b"go\n")
        assert it.process.wait(LIMIT) == 3
        assert os.read(it.stdout, 100) == b"bye\n"


def test_a_large_last_word_is_not_lost(tmp_path: Path) -> None:
    """The child is long gone when the host begins to read."""
    code = "import os; os.write(1, b'z' * 60_000); os._exit(5)"
    with Wrapped(tmp_path, sys.executable, "-c", code) as it:
        wait_until(lambda: len(it.kept("0o")) == 60_000)
        assert it.finish() == (5, b"z" * 60_000, b"")


def test_a_grandchild_that_keeps_the_pipes_does_not_keep_us(tmp_path: Path) -> None:
    with Wrapped(tmp_path, "sh", "-c", "sleep 600 & echo $!; exit 6") as it:
        assert it.process.wait(LIMIT) == 6
        os.kill(int(os.read(it.stdout, 100)), signal.SIGKILL)


def test_the_host_closes_our_output(tmp_path: Path) -> None:
    """The child must learn it from its next write, as it would without us."""
    with Wrapped(tmp_path, "sh", "-c", "while echo x; do :; done 2>/dev/null; exit 9") as it:
        assert it.process.stdout
        os.read(it.stdout, 10)
        it.process.stdout.close()
        it.process.stdout = None
        assert it.process.wait(LIMIT) in (9, 128 + signal.SIGPIPE)


def test_the_child_closes_its_input(tmp_path: Path) -> None:
    with Wrapped(tmp_path, "sh", "-c", "exec <&-; echo closed; exec sleep 600") as it:
        assert os.read(it.stdout, 100) == b"closed\n"

        def refused() -> bool:
            try:
                os.write(it.stdin, b"x")
            except BrokenPipeError:
                return True
            return False

        wait_until(refused)
        it.end(signal.SIGTERM)


def test_a_slow_reader_holds_its_writer(tmp_path: Path) -> None:
    """As a pipe does: what nobody reads is not heaped up in memory."""
    code = "import os\nwhile True: os.write(1, b'y' * 65536)"
    with Wrapped(tmp_path, sys.executable, "-c", code) as it:
        its = psutil.Process(it.process.pid)
        size = wait_until(lambda: len(it.kept("0o")) >= 128 << 10 and len(it.kept("0o")))
        still = time.monotonic() + 0.5
        while time.monotonic() < still:
            assert len(it.kept("0o")) <= size + (256 << 10)
        assert its.memory_info().rss < 30 << 20
        for _ in range(200):
            assert set(os.read(it.stdout, 65536)) == {ord("y")}
        assert its.memory_info().rss < 30 << 20
        it.end(signal.SIGTERM)


def test_both_directions_full_do_not_block_each_other(tmp_path: Path) -> None:
    with Wrapped(tmp_path, *ECHO) as it:
        data = os.urandom(4 << 20)
        os.set_blocking(it.stdin, False)
        view, refused = memoryview(data), time.monotonic() + 0.3
        while time.monotonic() < refused:  # until nothing moves: every pipe is full, nobody reads
            try:
                view = view[os.write(it.stdin, view) :]
                refused = time.monotonic() + 0.3
            except BlockingIOError:
                select.select([], [], [], 0.02)
        sent = len(data) - len(view)
        assert sent < 1 << 20
        assert it.exchange(bytes(view), len(data)) == data


# where it records


def test_the_folder_is_printed_once_when_it_was_not_given(tmp_path: Path) -> None:
    done = mrtrscope("wrap", "--", "true", XDG_STATE_HOME=str(tmp_path))
    folder = tmp_path / "mrtrscope" / "captures" / time.strftime("%Y-%m-%d")
    assert done.stderr == f"mrtrscope: recording to {folder}\n"
    assert len(list((folder / "journals").iterdir())) == 1
    done = mrtrscope("wrap", "--", "true", MRTRSCOPE_CAPTURE=str(tmp_path / "given"))
    assert done.stderr == f"mrtrscope: recording to {tmp_path / 'given'}\n"


def test_a_folder_that_cannot_be_written_costs_the_recording_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with Wrapped(tmp_path / "file" / "c", *ECHO) as it:
        code, out, err = it.finish(b"still served\n")
    assert (code, out) == (0, b"still served\n")
    assert err.decode().startswith(
        f"mrtrscope wrap: cannot record to {tmp_path / 'file' / 'c'}: Not a directory; "
    )
    assert err.count(b"\n") == 1


def test_a_full_disk_costs_the_recording_alone(tmp_path: Path) -> None:
    data = lines_of_noise(2 << 20, 1)
    with Wrapped(tmp_path, *ECHO, ulimit="-f 512") as it:
        assert sha(it.exchange(data, step=10_000)) == sha(data)
        code, _, err = it.finish()
    assert code == 0
    assert b"could not be kept" in err
    frames = it.frames()
    assert data.startswith(b"".join(f.data for f in frames if f.lane == "0i" and f.kind == "data")[:100_000])
    kept = it.kept("0i") + it.kept("0o")
    (path,) = (tmp_path / "journals").iterdir()
    assert 200 << 10 < len(kept) < path.stat().st_size <= 512 << 10


CLOSED = """
import os, sys
from mrtrscope import pipes, wrap
ours = pipes.open_journal
def closed(*given):
    journal = ours(*given)
    os.close(journal._file.fd)
    {more}
    return journal
pipes.open_journal = closed
wrap.leave(wrap.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("more", ["pass", "os.unlink(journal.path)"], ids=["closed", "closed and gone"])
def test_a_journal_closed_under_it_costs_the_recording_alone(tmp_path: Path, more: str) -> None:
    data = lines_of_noise(1 << 20, 2)
    done = subprocess.run(
        [sys.executable, "-c", CLOSED.format(more=more), "--capture", str(tmp_path), "--", "cat"],
        input=data, capture_output=True, timeout=LIMIT,
    )  # fmt: skip
    assert (done.returncode, sha(done.stdout)) == (0, sha(data))
    assert b"could not be kept" in done.stderr
    frames = list(read_capture(tmp_path))
    assert [f.kind for f in frames if f.kind == "gap"] == (["gap"] if more == "pass" else [])


def test_max_size_stops_the_recording_not_the_traffic(tmp_path: Path) -> None:
    data = lines_of_noise(1 << 20, 3)
    with Wrapped(tmp_path, *ECHO, options=("--max-size", "200K")) as it:
        assert sha(it.exchange(data)) == sha(data)
        assert it.finish()[0] == 0
    assert "recording stopped at --max-size 204800" in [
        json.loads(f.data)["why"] for f in it.frames() if f.kind == "gap"
    ]


# what a host may hand us


def test_output_that_is_a_file_is_appended_to(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"before\n")
    with out.open("ab") as file, Wrapped(tmp_path / "c", *ECHO, stdout=file, stderr=file) as it:
        assert it.process.stdin
        it.process.stdin.write(b"after\n")
        it.process.stdin.close()
        it.process.stdin = None
        assert it.process.wait(LIMIT) == 0
    assert out.read_bytes() == b"before\nafter\n"


def test_sockets_for_pipes_as_node_has_them(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    with Wrapped(tmp_path, *ECHO, stdin=theirs, stdout=theirs) as it:
        theirs.close()
        data = os.urandom(1 << 20)
        got, view = bytearray(), memoryview(data)
        ours.setblocking(False)
        while len(got) < len(data):
            readable, writable, _ = select.select([ours], [ours] if view else [], [], LIMIT)
            assert readable or writable
            if writable:
                view = view[ours.send(view) :]
            if readable:
                got += ours.recv(1 << 16)
        ours.shutdown(socket.SHUT_WR)
        assert it.process.wait(LIMIT) == 0
        assert bytes(got) == data
        ours.close()


def test_a_non_blocking_pipe_and_the_same_for_output_and_errors(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.set_blocking(write, False)
    with Wrapped(tmp_path, "sh", "-c", "cat; echo e >&2", stdout=write, stderr=write) as it:
        assert not os.get_blocking(write)
        os.close(write)
        data = os.urandom(500_000)
        writer = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=it.process.stdin)
        assert it.process.stdin
        assert writer.stdin
        it.process.stdin.close()
        it.process.stdin = None
        got = bytearray()
        os.set_blocking(writer.stdin.fileno(), False)
        view = memoryview(data)
        while True:
            readable, writable, _ = select.select([read], [writer.stdin] if view else [], [], LIMIT)
            if writable:
                view = view[os.write(writer.stdin.fileno(), view) :]
                if not view:
                    writer.stdin.close()
            if readable:
                more = os.read(read, 1 << 16)
                if not more:
                    break
                got += more
        assert it.process.wait(LIMIT) == writer.wait(LIMIT) == 0
        # Output and errors are two streams to wrap: what was said last on one may overtake the end of the other.
        places = [at for at in range(len(got) - 1) if got[at : at + 2] == b"e\n"]
        assert any(bytes(got[:at] + got[at + 2 :]) == data for at in places)
        os.close(read)


def test_a_pipe_of_the_host_stays_as_it_was(tmp_path: Path) -> None:
    """Whether writing waits belongs to the open file, which the host may share: it must not change."""
    read, write = os.pipe()
    with Wrapped(tmp_path, *ECHO, stdout=write) as it:
        it.child  # noqa: B018 - it is carrying by now
        assert os.get_blocking(write)
        it.finish(b"x")
        assert os.get_blocking(write)
    assert os.read(read, 10) == b"x"
    os.close(read)
    os.close(write)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_the_host_closed(tmp_path: Path, closed: str) -> None:
    line = f"exec {' '.join(WRAP)} --capture {tmp_path} -- sh -c 'cat; exit 3' {closed}"
    done = subprocess.run(["sh", "-c", line], input=b"x", timeout=LIMIT, capture_output=True)
    assert done.returncode == 3
    assert [f.kind for f in read_capture(tmp_path)][-1] == "exit"


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_a_child_starts_with_the_signals_it_would_have(tmp_path: Path) -> None:
    """Python ignores SIGPIPE, and would hand that on."""
    command = ("sh", "-c", "grep -E '^Sig(Ign|Blk)' /proc/self/status")
    direct, wrapped = (
        subprocess.run([*prefix, *command], capture_output=True, timeout=LIMIT)
        for prefix in ((), (*WRAP, "--capture", str(tmp_path), "--"))
    )

    def ordinary(text: bytes) -> list[int]:
        return [int(line.split()[1], 16) & 0x7FFFFFFF for line in text.splitlines()]

    assert ordinary(wrapped.stdout) == ordinary(direct.stdout)


def repeat(times: int, action: Callable[[int], object]) -> None:
    for n in range(times):
        action(n)


def test_memory_stays_flat(tmp_path: Path) -> None:
    with Wrapped(tmp_path, *ECHO) as it:
        its = psutil.Process(it.process.pid)
        repeat(200, lambda n: it.exchange(b"x" * 200))
        before = its.memory_info().rss
        repeat(100, lambda n: it.exchange(b"y" * 100_000))
        repeat(3000, lambda n: it.exchange(b"x" * 200))
        assert its.memory_info().rss < before + (1 << 20)
        assert its.memory_info().rss < 20 << 20

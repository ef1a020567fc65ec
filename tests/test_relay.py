"""`relay`: the same bytes, ends and resets as without it, and all of it kept."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from mrtrscope.journal import read_capture, read_header
from mrtrscope.relay import UsageError, parse
from tests.conftest import LIMIT, free_port, mrtrscope, wait_until
from tests.peers.relayed import Relayed, Tcp, echo, read_all, reset

pytestmark = pytest.mark.live


def ends(it: Relayed, number: int = 1) -> dict[str, dict[str, str]]:
    """What is kept about the ends of a connection, once both are there."""

    def both() -> dict[str, dict[str, str]] | None:
        found = {
            f.lane: json.loads(f.data) for f in it.frames() if f.kind == "end" and f.lane[:-1] == str(number)
        }
        return found if len(found) == 2 else None

    return wait_until(both, LIMIT)


def exchange(connection: socket.socket, data: bytes) -> bytes:
    """Send everything while reading everything."""
    sender = threading.Thread(target=lambda: (connection.sendall(data), connection.shutdown(socket.SHUT_WR)))
    sender.start()
    got = read_all(connection)
    sender.join(LIMIT)
    return got


def until_reset(connection: socket.socket) -> None:
    try:
        echo(connection)
    except OSError:
        pass


# bytes


def test_bytes_in_are_bytes_out_and_bytes_kept(tmp_path: Path) -> None:
    """Eight connections at once, each its own binary text, in pieces of every size."""
    texts = [random.Random(n).randbytes(300_000) for n in range(8)]
    with Tcp(echo) as server, Relayed(tmp_path / "c", server.port) as it:
        got: dict[int, bytes] = {}

        def run(n: int) -> None:
            with it.client() as connection:
                got[n] = exchange(connection, texts[n])

        threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT)
        for n in range(1, 9):
            assert ends(it, n) == {f"{n}c": {"by": "client"}, f"{n}s": {"by": "server"}}
        assert it.stop() == 0
    assert [got[n] for n in range(8)] == texts
    assert sorted(it.kept(f"{n}c") for n in range(1, 9)) == sorted(texts)
    assert all(it.kept(f"{n}c") == it.kept(f"{n}s") for n in range(1, 9))


def test_a_line_of_64_mib(tmp_path: Path) -> None:
    line = b"POST / HTTP/1.1\r\n\r\n" + b"a" * (64 << 20)
    with Tcp(echo) as server, Relayed(tmp_path / "c", server.port) as it:
        before = psutil.Process(it.process.pid).memory_info().rss
        with it.client() as connection:
            assert exchange(connection, line) == line
        assert psutil.Process(it.process.pid).memory_info().rss < before + (4 << 20)
        ends(it)
    assert it.kept("1c") == it.kept("1s") == line


def test_byte_by_byte_nothing_is_held_back(tmp_path: Path) -> None:
    text = "é漢😀\r\n".encode()
    with Tcp(echo) as server, Relayed(tmp_path / "c", server.port) as it, it.client() as connection:
        for byte in text:
            connection.sendall(bytes([byte]))
            assert connection.recv(10) == bytes([byte])
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(10) == b""
        ends(it)
        frames = it.frames()
    assert [(f.lane, f.data) for f in frames if f.kind == "data"] == [
        (lane, bytes([byte])) for byte in text for lane in ("1c", "1s")
    ]
    times = [f.t for f in frames]
    assert times == sorted(times)


def test_what_a_connection_leaves_behind(tmp_path: Path) -> None:
    with Tcp(echo) as server, Relayed(tmp_path / "c", server.port) as it:
        with it.client() as connection:
            address = f"127.0.0.1:{connection.getsockname()[1]}"
            assert exchange(connection, b"x") == b"x"
        ends(it)
        first = it.frames()[0]
        assert (first.lane, first.kind) == ("1c", "open")
        assert json.loads(first.data) == {"client": address, "upstream": f"http://127.0.0.1:{server.port}"}
        (path,) = (tmp_path / "c" / "journals").iterdir()
        header = read_header(path)
        assert (header.how, header.channel) == ("relay", f"http://127.0.0.1:{server.port}")
        assert [p.stat().st_mode & 0o777 for p in (path, path.parent, path.parent.parent)] == [
            0o600,
            0o700,
            0o700,
        ]


# ends


def test_the_client_says_no_more_and_listens_on(tmp_path: Path) -> None:
    def serve(connection: socket.socket) -> None:
        asked = read_all(connection)
        for _ in range(5):
            connection.sendall(asked)

    with Tcp(serve) as server, Relayed(tmp_path / "c", server.port) as it, it.client() as connection:
        assert exchange(connection, b"half\n") == b"half\n" * 5
        assert ends(it) == {"1c": {"by": "client"}, "1s": {"by": "server"}}
        lanes = [f.lane for f in it.frames() if f.kind == "end"]
    assert lanes == ["1c", "1s"]


def test_the_server_says_no_more_and_listens_on(tmp_path: Path) -> None:
    heard = []

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"bye")
        connection.shutdown(socket.SHUT_WR)
        heard.append(read_all(connection))

    with Tcp(serve) as server, Relayed(tmp_path / "c", server.port) as it:
        with it.client() as connection:
            assert read_all(connection) == b"bye"
            connection.sendall(b"still here")
        ends(it)
    assert heard == [b"still here"]


def test_a_client_that_resets(tmp_path: Path) -> None:
    seen: list[object] = []

    def serve(connection: socket.socket) -> None:
        connection.sendall(b"x")
        try:
            seen.append(read_all(connection))
        except ConnectionResetError as e:
            seen.append(type(e))

    with Tcp(serve) as server, Relayed(tmp_path / "c", server.port) as it:
        connection = it.client()
        assert connection.recv(1) == b"x"
        reset(connection)
        error = {"by": "client", "error": "Connection reset by peer"}
        assert ends(it) == {"1c": error, "1s": error}
    assert seen == [ConnectionResetError]


def test_a_server_that_resets(tmp_path: Path) -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1)
        reset(connection)

    with Tcp(serve) as server, Relayed(tmp_path / "c", server.port) as it, it.client() as connection:
        connection.sendall(b"xyz")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
        error = {"by": "server", "error": "Connection reset by peer"}
        assert ends(it) == {"1c": error, "1s": error}
        assert it.kept("1c") == b"xyz"


def test_a_client_that_resets_after_its_last_word(tmp_path: Path) -> None:
    """It closed its side in good order, the server talks on: the server must be told."""
    told = threading.Event()

    def serve(connection: socket.socket) -> None:
        read_all(connection)
        try:
            while True:
                connection.sendall(b"tick")
                time.sleep(0.01)
        except (ConnectionResetError, BrokenPipeError):
            told.set()

    with Tcp(serve) as server, Relayed(tmp_path / "c", server.port) as it:
        connection = it.client()
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(4)
        reset(connection)
        assert told.wait(LIMIT)
        assert ends(it)["1c"] == {"by": "client"}
        assert ends(it)["1s"]["by"] == "client"


def test_a_server_that_answers_early_and_closes_is_still_heard(tmp_path: Path) -> None:
    """It does not want the rest of the request; what it said before must arrive as it would without us."""

    def serve(connection: socket.socket) -> None:
        connection.recv(1)
        connection.sendall(b"HTTP/1.1 413 Content Too Large\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):
            pass

    with Tcp(serve) as server, Relayed(tmp_path / "c", server.port) as it, it.client() as connection:
        connection.sendall(b"x" * 1_000_000)
        assert read_all(connection) == b"HTTP/1.1 413 Content Too Large\r\n\r\n"
        connection.shutdown(socket.SHUT_WR)
        ends(it)
        assert len(it.kept("1c")) == 1_000_000


def test_a_slow_reader_holds_its_writer(tmp_path: Path) -> None:
    sent = []

    def serve(connection: socket.socket) -> None:
        for _ in range(400):
            connection.sendall(b"y" * 65536)
            sent.append(1)

    with Tcp(serve) as server, Relayed(tmp_path / "c", server.port) as it, it.client() as connection:
        its = psutil.Process(it.process.pid)
        settled = [0, -1]
        while settled[-1] != settled[-2] or not sent:
            time.sleep(0.1)
            settled.append(len(sent))
        assert len(sent) < 400
        assert its.memory_info().rss < 30 << 20
        assert len(read_all(connection)) == 400 * 65536


# the target


def test_a_target_that_cannot_be_reached_and_then_can(tmp_path: Path) -> None:
    port = free_port()
    with Relayed(tmp_path / "c", port) as it:
        for n in (1, 2):
            with pytest.raises(OSError, match=r"reset|Broken"), it.client() as connection:
                connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
                connection.recv(1)
            text = f"cannot connect to 127.0.0.1:{port}: Connection refused"
            assert ends(it, n) == {f"{n}{side}": {"by": "us", "error": text} for side in "cs"}
        assert f"nobody listens at 127.0.0.1:{port} yet; clients are turned away" in it.log()
        assert f"{text}; a client was turned away. Start the server" in it.log()
        with socket.create_server(("127.0.0.1", port)) as listener, it.client() as connection:
            served, _ = listener.accept()
            served.sendall(b"here")
            assert connection.recv(4) == b"here"
            served.close()
        assert it.stop() == 0
        kept = sum(p.stat().st_size for p in (tmp_path / "c" / "journals").iterdir())
        assert it.log().splitlines()[-1] == (
            f"mrtrscope relay: 3 connections, 2 of them turned away; {kept:,} bytes recorded in {tmp_path / 'c'}"
        )


def test_a_target_that_answers_is_not_called_dead(tmp_path: Path) -> None:
    with Tcp(echo) as server, Relayed(tmp_path / "c", server.port) as it:
        with it.client() as connection:
            assert exchange(connection, b"x") == b"x"
        ends(it)
        assert it.stop() == 0
    started, ended = it.log().splitlines()
    assert "listening on" in started and "1 connection;" in ended


def test_many_streams_and_none_is_cut(tmp_path: Path) -> None:
    """200 at once, each with pauses; every one arrives whole."""
    rng = random.Random(1)

    def serve(connection: socket.socket) -> None:
        number = connection.recv(10)
        for n in range(20):
            connection.sendall(b"data: %s %d\n\n" % (number, n))
            time.sleep(rng.random() / 200)

    whole = 0
    with Tcp(serve) as server, Relayed(tmp_path / "c", server.port) as it:
        clients = [it.client() for _ in range(200)]
        for n, connection in enumerate(clients):
            connection.sendall(b"%d" % n)
        for n, connection in enumerate(clients):
            whole += read_all(connection) == b"".join(b"data: %d %d\n\n" % (n, i) for i in range(20))
            connection.close()
        assert whole == 200
        for n in (1, 77, 200):
            ends(it, n)
        assert sum(it.kept(f"{n}s").count(b"data: ") for n in range(1, 201)) == 4000


def test_more_connections_than_files(tmp_path: Path) -> None:
    """Those that are there go on, those that wait get their turn."""
    with Tcp(until_reset) as server, Relayed(tmp_path / "c", server.port, ulimit="-n 40") as it:
        clients = [it.client() for _ in range(30)]
        wait_until(lambda: "cannot take more connections now" in it.log())
        for connection in clients:
            connection.sendall(b"x")
        for connection in clients:
            assert connection.recv(1) == b"x"
            connection.close()


# what cannot start


def test_a_busy_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        where = f"127.0.0.1:{busy.getsockname()[1]}"
        done = mrtrscope("relay", "--target", "127.0.0.1:1", "--listen", where, "--capture", tmp_path / "c")
    assert done.returncode == 2
    assert (
        done.stderr
        == f"mrtrscope relay: {where} is in use; choose another with --listen, port 0 for a free one\n"
    )
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "--target is missing"),
        (["--target"], "--target wants a value"),
        (["--target", "9000"], "--target 9000: say HOST:PORT"),
        (["--target", "h:99999"], "--target h:99999: say HOST:PORT"),
        (["--target", "https://h/mcp"], "mrtrscope proxy can do https"),
        (["--target", "h:1", "--bogus"], "unknown option --bogus"),
        (["--target", "h:1", "--max-size", "x"], "--max-size x: not a size"),
    ],
)
def test_a_line_that_cannot_be_read(args: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        parse(args)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--target", "127.0.0.1:1", "--listen", "0.0.0.0:0"], "other machines could reach it"),
        (["--target", "no-such-host.invalid:1"], "--target no-such-host.invalid:1: "),
        (["--target", "127.0.0.1:{free}", "--listen", "127.0.0.1:{free}"], "where the relay itself listens"),
        (
            ["--target", "127.0.0.1:1", "--capture", "/dev/null/x"],
            "cannot record to /dev/null/x: Not a directory",
        ),
    ],
)
def test_what_cannot_be_carried_out(args: list[str], says: str) -> None:
    port = free_port()
    done = mrtrscope("relay", *(arg.replace("{free}", str(port)) for arg in args))
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9000", ("127.0.0.1", 9000)),
        ("http://localhost:9000/mcp", ("localhost", 9000)),
        ("http://localhost", ("localhost", 80)),
        ("[::1]:9000", ("::1", 9000)),
        ("http://[::1]/", ("::1", 80)),
    ],
)
def test_targets(text: str, address: tuple[str, int]) -> None:
    assert parse([f"--target={text}"]).target == address


def test_listening_for_others_when_that_is_meant(tmp_path: Path) -> None:
    with (
        Tcp(echo) as server,
        Relayed(tmp_path / "c", server.port, "--listen", "0.0.0.0:0", "--allow-remote") as it,
        it.client() as connection,
    ):
        assert exchange(connection, b"x") == b"x"


def test_help_names_every_option() -> None:
    done = mrtrscope("relay", "--help")
    assert done.returncode == 0
    assert all(
        f"--{name} " in done.stdout for name in ("target", "listen", "capture", "max-size", "allow-remote")
    )


# the recorder's troubles, and ends by force


def test_a_full_disk_costs_the_recording_alone(tmp_path: Path) -> None:
    data = random.Random(5).randbytes(1 << 20)
    with Tcp(echo) as server, Relayed(tmp_path / "c", server.port, ulimit="-f 512") as it:
        with it.client() as connection:
            assert exchange(connection, data) == data
        assert it.stop() == 0
        why = r"(disk full|File too large) \({}\); make room or give rights there"
        assert re.search("not recording: " + why.format(tmp_path / "c" / "journals"), it.log())
        assert re.search("could not be kept: " + why.format(tmp_path / "c"), it.log())
    assert data.startswith(it.kept("1c")[:100_000])
    assert it.kept("1c") + it.kept("1s")


def test_max_size_stops_the_recording_not_the_traffic(tmp_path: Path) -> None:
    data = os.urandom(1 << 20)
    with Tcp(echo) as server, Relayed(tmp_path / "c", server.port, "--max-size", "100K") as it:
        with it.client() as connection:
            assert exchange(connection, data) == data
        it.stop()
    assert it.log().count("recording stopped at --max-size 102400; traffic goes on, begin anew") == 2
    assert [f.kind for f in it.frames()].count("gap") >= 2
    assert sum(p.stat().st_size for p in (tmp_path / "c" / "journals").iterdir()) < 110_000


@pytest.mark.parametrize("calls", [1, 50])
def test_killed_at_any_moment_only_what_was_in_hand_is_missing(tmp_path: Path, calls: int) -> None:
    with (
        Tcp(until_reset) as server,
        Relayed(tmp_path / "c", server.port) as it,
        it.client() as connection,
    ):
        for n in range(calls):
            connection.sendall(b"%d\n" % n)
            assert connection.recv(100) == b"%d\n" % n
        it.stop(signal.SIGKILL)
    sent = b"".join(b"%d\n" % n for n in range(calls))
    assert it.kept("1c") == sent
    assert it.kept("1s") in (sent, b"".join(b"%d\n" % n for n in range(calls - 1)))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_is_stopped(tmp_path: Path, how: signal.Signals) -> None:
    with (
        Tcp(until_reset) as server,
        Relayed(tmp_path / "c", server.port) as it,
        it.client() as connection,
    ):
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
        assert it.stop(how) == 0
        error = {"by": "us", "error": "the relay was stopped"}
        assert ends(it) == {"1c": error, "1s": error}


def test_it_rests_when_there_is_nothing_to_do(tmp_path: Path) -> None:
    """A connection whose one end is broken while its other is full must not keep the loop awake."""

    def serve(connection: socket.socket) -> None:
        try:
            while True:
                connection.sendall(b"z" * 65536)
        except OSError:
            pass

    with (
        Tcp(serve) as server,
        Relayed(tmp_path / "c", server.port) as it,
        it.client() as full,
        it.client() as idle,
    ):
        assert idle.recv(1)
        assert full.recv(1)
        its, spent = psutil.Process(it.process.pid), [-1.0, -2.0]
        while spent[-1] != spent[-2]:
            time.sleep(0.3)
            spent.append(sum(its.cpu_times()[:2]))
        assert len(spent) < 30


@pytest.mark.skipif(sys.platform != "linux", reason="counts files in /proc")
def test_no_file_is_left_open(tmp_path: Path) -> None:
    with Tcp(until_reset) as server, Relayed(tmp_path / "c", server.port) as it:
        folder = Path(f"/proc/{it.process.pid}/fd")
        before = len(list(folder.iterdir()))
        for n in range(1, 31):
            with it.client() as connection:
                if n % 3:
                    assert exchange(connection, b"x") == b"x"
                else:
                    reset(connection)
        wait_until(lambda: len(list(folder.iterdir())) == before)
        wait_until(lambda: len([f for f in it.frames() if f.kind == "end"]) == 60)


def test_two_at_once_in_one_capture(tmp_path: Path) -> None:
    with (
        Tcp(until_reset) as server,
        Relayed(tmp_path / "c", server.port) as a,
        Relayed(tmp_path / "c", server.port) as b,
        a.client() as first,
        b.client() as second,
    ):
        for n in range(50):
            for connection in (first, second):
                connection.sendall(b"%d" % n)
                assert connection.recv(10) == b"%d" % n
    journals = {f.journal for f in read_capture(tmp_path / "c")}
    assert len(journals) == 2
    asked = [f.data for f in read_capture(tmp_path / "c") if f.lane == "1c" and f.kind == "data"]
    assert asked == [b"%d" % n for n in range(50) for _ in range(2)]

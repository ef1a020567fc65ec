"""`wrap --via`: a stdio session through a real mitmproxy, with the same bytes, ends and exit codes as without."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrtrscope import via
from tests.conftest import LIMIT, free_port, mrtrscope, wait_until
from tests.peers.mitm import Mitm
from tests.peers.wrapped import Wrapped, gone

pytestmark = pytest.mark.live

EAGER = ("--set", "connection_strategy=eager")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mitm]:
    with Mitm(tmp_path_factory.mktemp("mitm"), "--mode", "socks5", *EAGER, addon=None) as proxy:
        yield proxy


def through(proxy: Mitm, *command: str, folder: Path, **popen: int) -> Wrapped:
    return Wrapped(folder, *command, options=("--via", f"127.0.0.1:{proxy.port}", "--name", "a b.c"), **popen)


def test_bytes_in_are_bytes_out(proxy: Mitm, tmp_path: Path) -> None:
    data = b"{" + os.urandom(1 << 20) + b"\r\n"
    with through(proxy, "tee", str(tmp_path / "seen"), folder=tmp_path / "c") as it:
        assert it.exchange(data) == data
        assert it.finish() == (0, b"", b"")
    assert (tmp_path / "seen").read_bytes() == data
    assert not (tmp_path / "c").exists(), "only the addon records"


def test_round_trips_keep_their_order(proxy: Mitm, tmp_path: Path) -> None:
    with through(proxy, "cat", folder=tmp_path) as it:
        for n in range(300):
            assert it.exchange(b'{"id":%d}\n' % n) == b'{"id":%d}\n' % n
        assert it.finish() == (0, b"", b"")


@pytest.mark.parametrize(
    ("script", "sent", "expected"),
    [
        ("cat; exit 5", b"x\n", (5, b"x\n", b"")),
        ("cat; exit 5", b"", (5, b"", b"")),
        ("cat >/dev/null; echo late; echo e >&2; exit 6", b"x" * 100_000, (6, b"late\n", b"e\n")),
        ("cat >/dev/null; echo late; exit 6", b"", (6, b"late\n", b"")),
        ("echo first; cat", b"", (0, b"first\n", b"")),
        ("exit 7", b"", (7, b"", b"")),
        ("head -c 100000 /dev/zero; exit 8", b"", (8, bytes(100_000), b"")),
    ],
)
def test_ends_and_exit_codes(
    proxy: Mitm, tmp_path: Path, script: str, sent: bytes, expected: tuple[int, bytes, bytes]
) -> None:
    with through(proxy, "sh", "-c", script, folder=tmp_path) as it:
        assert it.finish(sent) == expected


def test_the_server_may_speak_first(proxy: Mitm, tmp_path: Path) -> None:
    with through(proxy, "sh", "-c", "echo hello; cat", folder=tmp_path) as it:
        assert os.read(it.stdout, 100) == b"hello\n"
        assert it.exchange(b"back\n") == b"back\n"
        assert it.finish()[0] == 0


def test_the_server_ends_while_its_input_is_open(proxy: Mitm, tmp_path: Path) -> None:
    with through(proxy, "sh", "-c", "read x; echo bye; exit 3", folder=tmp_path) as it:
        assert it.exchange(b"go\n", 4) == b"bye\n"
        assert it.process.wait(LIMIT) == 3


def test_signals(proxy: Mitm, tmp_path: Path) -> None:
    with through(proxy, "sh", "-c", "echo $$; exec sleep 600", folder=tmp_path) as it:
        child = int(os.read(it.stdout, 100))
        assert it.end(signal.SIGTERM) == -signal.SIGTERM
        wait_until(lambda: gone(child))


def test_a_proxy_that_connects_only_when_bytes_come(tmp_path: Path) -> None:
    """Not how `mrtrscope proxy --stdio` sets it up, but nothing must be lost."""
    with Mitm(tmp_path / "m", "--mode", "socks5", "--set", "connection_strategy=lazy") as proxy:
        with through(proxy, "cat", folder=tmp_path / "c") as it:
            assert it.exchange(b"x\n") == b"x\n"
            assert it.finish() == (0, b"", b"")
        with through(proxy, "sh", "-c", "echo unheard; exit 4", folder=tmp_path / "c") as it:
            assert it.finish() == (4, b"unheard\n", b"")


def test_a_proxy_that_dies(tmp_path: Path) -> None:
    """What was on its way is lost, so there is no going on without it: the server's input ends."""
    with (
        Mitm(tmp_path / "m", "--mode", "socks5", *EAGER, addon=None) as proxy,
        through(proxy, "cat", folder=tmp_path / "c") as it,
    ):
        assert it.exchange(b"x\n") == b"x\n"
        proxy.stop(signal.SIGKILL)
        assert it.process.wait(LIMIT) == 0
        assert it.process.stderr
        assert it.process.stderr.read() == b"mrtrscope wrap: the proxy closed the session\n"


def test_no_proxy() -> None:
    port = free_port()
    done = mrtrscope("wrap", "--via", f"127.0.0.1:{port}", "--", "touch", "/nonexistent/never")
    assert (done.returncode, done.stdout) == (126, "")
    assert done.stderr == (
        f"mrtrscope wrap: no proxy at 127.0.0.1:{port}: Connection refused "
        "(start one with mrtrscope proxy --stdio); nothing was started\n"
    )


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\x05\xff"])
def test_something_else_at_its_place(said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        done = mrtrscope("wrap", "--via", f"127.0.0.1:{listener.getsockname()[1]}", "--", "true")
        thread.join(LIMIT)
    assert done.returncode == 126
    assert "does not speak SOCKS5" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("address", ["8080", "host", "host:x", ":1"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(via.NoProxy, match="say HOST:PORT"):
        via.connect(address, "x", 1)


def test_a_command_that_cannot_start(proxy: Mitm) -> None:
    done = mrtrscope("wrap", "--via", f"127.0.0.1:{proxy.port}", "--", "no-such-command")
    assert done.returncode == 127
    assert done.stderr.startswith("mrtrscope wrap: no-such-command: command not found; nothing was started")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("echo", "echo"),
        ("my.srv x", "my%2Esrv%20x"),
        ("é", "%C3%A9"),
        ("a" * 300, "a" * 200),
        ("é" * 99, "%C3%A9" * 33),
    ],
)
def test_a_name_in_a_host_name(name: str, label: str) -> None:
    assert via.label(name) == label

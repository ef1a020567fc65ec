"""`replay serve --listen` as an HTTP server: what raw sockets may send, and what is recorded of it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import h11
import pytest

from mrtrscope.journal import read_capture
from mrtrscope.replay import Recording
from tests.conftest import LIMIT, wait_until
from tests.replay.world import Value, call, capture, request, said, served

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("world")
    long = "x" * 200_000
    recorded = capture(folder / "recorded", call(1, "a"), said(1, "answer of a"), call(2, "b"), said(2, long))
    with served(recorded, folder / "own", "--when-used-up", "repeat") as url:
        yield url, folder / "own"


def connected(url: str) -> socket.socket:
    where = urlsplit(url)
    return socket.create_connection((where.hostname, where.port), LIMIT)


def post(message: Value, *headers: str, version: str = "1.1") -> bytes:
    body = json.dumps(message).encode()
    lines = [f"POST /anywhere HTTP/{version}", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answers(sock: socket.socket, count: int) -> list[tuple[int, Value | None]]:
    """So many answers, read by h11; (status, body)."""
    got = []
    client = h11.Connection(h11.CLIENT)
    for _ in range(count):
        client.send(h11.Request(method="POST", target="/", headers=[("Host", "x"), ("Content-Length", "0")]))
        client.send(h11.EndOfMessage())
        status, body = 0, b""
        while True:
            event = client.next_event()
            if event is h11.NEED_DATA:
                client.receive_data(sock.recv(65536))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
        got.append((status, json.loads(body) if body else None))
        if client.their_state is h11.DONE and client.our_state is h11.DONE:
            client.start_next_cycle()
    return got


def text(answer: tuple[int, Value | None]) -> str:
    assert answer[1] is not None
    return str(answer[1]["result"]["content"][0]["text"])


def test_requests_sent_at_once_are_answered_in_order(world: tuple[str, Path]) -> None:
    with connected(world[0]) as sock:
        sock.sendall(b"".join(post(call(n, "ab"[n % 2])) for n in range(100)))
        got = answers(sock, 100)
    assert [one["id"] for _, one in got if one] == list(range(100))
    assert {len(text(one)) for one in got[::2]} == {11}
    assert {len(text(one)) for one in got[1::2]} == {200_000}


def test_a_request_may_come_byte_by_byte_and_in_chunks(world: tuple[str, Path]) -> None:
    whole = post(call(1, "a"))
    with connected(world[0]) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in whole:
            sock.sendall(bytes([byte]))
        assert text(answers(sock, 1)[0]) == "answer of a"
        body = json.dumps(call(2, "a")).encode()
        sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for part in (body[:7], body[7:]):
            sock.sendall(b"%x\r\n%b\r\n" % (len(part), part))
        sock.sendall(b"0\r\n\r\n")
        assert text(answers(sock, 1)[0]) == "answer of a"


@pytest.mark.parametrize(
    ("version", "header", "stays"),
    [("1.1", "X: y", True), ("1.1", "Connection: close", False), ("1.0", "X: y", False)],
)
def test_the_connection_ends_as_the_client_wants(
    world: tuple[str, Path], version: str, header: str, stays: bool
) -> None:
    with connected(world[0]) as sock:
        sock.sendall(post(call(1, "a"), header, version=version))
        assert text(answers(sock, 1)[0]) == "answer of a"
        if stays:
            sock.sendall(post(call(2, "a")))
            assert text(answers(sock, 1)[0]) == "answer of a"
        else:
            assert sock.recv(1) == b""


def test_who_waits_to_be_told_to_go_on_is_told(world: tuple[str, Path]) -> None:
    whole = post(call(1, "a"), "Expect: 100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    with connected(world[0]) as sock:
        sock.sendall(head + b"\r\n\r\n")
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(body)
        assert text(answers(sock, 1)[0]) == "answer of a"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 3000, b"400"),
        (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", b"501"),
        (b"GET /sse HTTP/1.1\r\nHost: x\r\n\r\n", b"405"),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", b"405"),
        (b"DELETE / HTTP/1.1\r\nHost: x\r\nMcp-Session-Id: none\r\n\r\n", b"404"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nnull", b"400"),
    ],
    ids=["tls", "connect", "get", "options", "delete", "no JSON-RPC"],
)
def test_what_is_not_served_is_refused(world: tuple[str, Path], sent: bytes, status: bytes) -> None:
    with connected(world[0]) as sock:
        sock.sendall(sent)
        assert sock.recv(1000).split()[1] == status
    with connected(world[0]) as sock:  # and nobody else notices
        sock.sendall(post(call(1, "a")))
        assert text(answers(sock, 1)[0]) == "answer of a"


def test_a_body_beyond_the_limit_is_not_kept(world: tuple[str, Path]) -> None:
    with connected(world[0]) as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n")
        got = b""
        try:
            while not got:
                sock.sendall(b" " * 1_000_000)
                sock.setblocking(False)
                try:
                    got = sock.recv(100)
                except BlockingIOError:
                    pass
                sock.setblocking(True)
        except OSError:
            got = got or b"reset"
    assert got.startswith((b"HTTP/1.1 413", b"reset"))


def test_a_client_that_reads_nothing_holds_up_nobody(world: tuple[str, Path]) -> None:
    with connected(world[0]) as slow, connected(world[0]) as sock:
        slow.sendall(b"".join(post(call(n, "b")) for n in range(60)))
        sock.sendall(post(call(1, "a")))
        assert text(answers(sock, 1)[0]) == "answer of a"
        assert [len(text(one)) for one in answers(slow, 60)] == [200_000] * 60


def test_ids_of_every_kind_come_back_as_they_were(world: tuple[str, Path]) -> None:
    ids = [0, -1, "", "7", 'a"b\\', 2**63, 1.5, "\u2028\U0001f600"]
    with connected(world[0]) as sock:
        sock.sendall(b"".join(post(call(n, "a")) for n in ids))
        assert [one["id"] for _, one in answers(sock, len(ids)) if one] == ids


def test_what_came_and_went_is_recorded_and_can_be_read(tmp_path: Path) -> None:
    recorded = capture(tmp_path / "recorded", call(1, "a"), said(1, "x"))
    with served(recorded, tmp_path / "own") as url:
        with connected(url) as sock:
            sock.sendall(post(call(7, "a")) + post(request(8, "nothing/known")))
            assert [status for status, _ in answers(sock, 2)] == [200, 404]
        wait_until(lambda: [f for f in read_capture(tmp_path / "own") if f.kind == "end"], why="it is closed")
    steps = Recording.load(tmp_path / "own").steps
    assert [s.exchange.method for s in steps] == ["tools/call", "nothing/known"]
    assert steps[0].exchange.request.channel == url.replace("/mcp", "/anywhere")
    assert [s.exchange.answer is not None for s in steps] == [True, True]
    assert [json.loads(f.data)["by"] for f in read_capture(tmp_path / "own") if f.kind == "end"] == [
        "client"
    ] * 2


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Origin: http://page.example", 403),
        ("Origin: null", 403),
        ("Origin: http://127.0.0.1.page.example", 403),
        ("Origin: http://localhost:6274", 200),
        ("Origin: http://127.0.0.1:6274", 200),
        ("Host: page.example", 403),
        ("Host: page.example:80", 403),
        ("Host: localhost.page.example", 403),
        ("Host: page.example.", 403),
        ("Host: LOCALHOST:80", 200),
        ("Host: [::1]:80", 200),
        ("Host: 127.0.0.2", 200),
        ("Host: app.localhost", 200),
        ("Host: host.docker.internal:80", 200),
        ("Host: server", 200),
    ],
)
def test_no_web_page_of_elsewhere_reads_a_recording(
    world: tuple[str, Path], header: str, status: int
) -> None:
    with connected(world[0]) as sock:
        sent = post(call(1, "a"), header)
        sock.sendall(sent.replace(b"Host: x\r\n", b"", 1) if header.startswith("Host") else sent)
        (answer,) = answers(sock, 1)
    assert answer[0] == status
    assert (
        (text(answer) == "answer of a")
        if status == 200
        else (answer[1] is not None and answer[1]["id"] is None)
    )


@pytest.mark.parametrize("id", ["1e400", "-1e400", "9" * 5000])
def test_an_id_that_cannot_be_said_again_is_refused(world: tuple[str, Path], id: str) -> None:
    body = json.dumps(call(1, "a")).replace('"id": 1', f'"id": {id}').encode()
    with connected(world[0]) as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        ((status, answer),) = answers(sock, 1)
    assert (status, answer and answer["id"]) == (400, None)

"""The addon in a real mitmdump between real peers: what passes is untouched, what is kept is what passed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import signal
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import brotli
import psutil
import pytest

from tests.conftest import LIMIT, free_port, wait_until
from tests.peers.mitm import Mitm
from tests.peers.raw_http import (
    STREAM,
    Client,
    Connection,
    Request,
    Server,
    chunk,
    fixed,
    raw,
    request,
)

pytestmark = pytest.mark.live

JSON = b"Content-Type: application/json"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


@pytest.fixture(scope="module")
def mitm(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mitm]:
    """One mitmdump in reverse mode for all tests that leave it running."""
    mode = f"reverse:http://127.0.0.1:{server.port}"
    with Mitm(tmp_path_factory.mktemp("mitm"), "--mode", mode, "--set", "mrtrscope_analyse=false") as mitm:
        yield mitm


def noise(size: int, seed: int = 7) -> bytes:
    return random.Random(seed).randbytes(size)


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# what passes in good order


def test_a_held_exchange_is_kept_whole(server: Server, mitm: Mitm) -> None:
    question, answer = b'{"jsonrpc": "2.0",  "id":1}', b'{"result":{}}\n'
    server.answers[b"/held?x=1"] = fixed(answer, JSON, b"X-Odd:  two  spaces ", b"x-odd: again")
    with Client(mitm.port) as client:
        _, body = client.ask(request("/held?x=1", question, JSON, b"Mcp-Name:", b"mCP-x: caf\xe9"))
    assert body == answer
    assert server.asked(b"/held?x=1").body == question
    kept = mitm.exchange("/held?x=1")
    assert kept.kinds("q") == ["open", "head", "data", "end"]
    assert kept.kinds("a") == ["head", "data", "end"]
    assert (kept.body("q"), kept.body("a")) == (question, answer)
    assert kept.json("q", "end") == {"by": "client"}
    assert kept.json("a", "end") == {"by": "server"}
    opened = kept.json("q", "open")
    assert opened["upstream"] == f"http://127.0.0.1:{server.port}"
    assert opened["client"].startswith("127.0.0.1:")
    assert opened["host"] == "rewritten"
    asked = kept.json("q", "head")
    assert (asked["method"], asked["http"]) == ("POST", "HTTP/1.1")
    assert asked["url"] == f"http://127.0.0.1:{server.port}/held?x=1"
    assert [
        [n.decode("latin-1"), v.decode("latin-1")] for n, v in server.asked(b"/held?x=1").headers()
    ] == asked["headers"]
    assert ["mCP-x", "café"] in asked["headers"]
    assert ["Mcp-Name", ""] in asked["headers"]
    told = kept.json("a", "head")
    assert (told["status"], told["reason"], told["http"]) == (200, "OK", "HTTP/1.1")
    assert [value for name, value in told["headers"] if name.lower() == "x-odd"] == ["two  spaces", "again"]
    assert "ours" not in told


def test_the_connection_and_the_exchange_have_numbers_of_their_own(server: Server, mitm: Mitm) -> None:
    server.answers[b"/one"] = server.answers[b"/two"] = fixed(b"{}")
    with Client(mitm.port) as client:
        client.ask(request("/one", b"1"))
        client.ask(request("/two", b"2"))
    one, two = mitm.exchange("/one"), mitm.exchange("/two")
    assert one.json("q", "open")["conn"] == two.json("q", "open")["conn"]
    numbers = {one.frames[0].lane[:-1], two.frames[0].lane[:-1], str(one.json("q", "open")["conn"])}
    assert len(numbers) == 3


def test_an_event_passes_while_the_stream_is_open(server: Server, mitm: Mitm) -> None:
    go_on = threading.Event()

    def stream(connection: Connection, request: Request) -> None:
        connection.sock.sendall(STREAM + chunk(b"data: 1\n\n"))
        assert go_on.wait(LIMIT)
        connection.sock.sendall(chunk(b"data: 2\n\n") + b"0\r\n\r\n")

    server.answers[b"/open"] = stream
    with Client(mitm.port) as client:
        client.sock.sendall(request("/open", b"{}"))
        client.until(b"data: 1\n\n")  # only now does the server go on
        wait_until(
            lambda: any(f.data == b"data: 1\n\n" for f in mitm.frames()), why="the event is not on disk"
        )
        go_on.set()
        client.until(b"data: 2\n\n\r\n0\r\n\r\n")
    kept = mitm.exchange("/open")
    assert kept.kinds("a") == ["head", "data", "data", "end"]
    assert [f.t for f in kept.frames] == sorted(f.t for f in kept.frames)


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (1 << 20) + 1, 3 << 20])
def test_bodies_of_any_length_pass_untouched(server: Server, mitm: Mitm, size: int) -> None:
    path, question, answer = f"/size{size}", noise(size), noise(size, 8)
    server.answers[path.encode()] = fixed(answer)
    with Client(mitm.port) as client:
        _, body = client.ask(request(path, question))
    kept = mitm.exchange(path)
    assert sha(body) == sha(answer) == sha(kept.body("a"))
    assert sha(server.asked(path.encode()).body) == sha(question) == sha(kept.body("q"))
    if 0 < size <= 1 << 20:
        assert kept.kinds("q").count("data") == kept.kinds("a").count("data") == 1


def test_a_chunked_request_is_not_held_back(server: Server, mitm: Mitm) -> None:
    arrived = threading.Event()

    def answer(connection: Connection, request: Request) -> None:
        fixed(b"{}")(connection, request)

    server.answers[b"/chunked"] = answer
    with Client(mitm.port) as client:
        client.sock.sendall(
            b"POST /chunked HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"ab")
        )
        wait_until(
            lambda: any(f.lane.endswith("q") and f.data == b"ab" for f in mitm.frames()), why="held back"
        )
        assert not arrived.is_set()
        client.sock.sendall(chunk(b"c") + b"0\r\n\r\n")
        client.until(b"{}")
    assert server.asked(b"/chunked").body == b"abc"
    kept = mitm.exchange("/chunked")
    assert kept.kinds("q") == ["open", "head", "data", "data", "end"]
    assert kept.body("q") == b"abc"


def test_an_answer_that_ends_with_its_connection(server: Server, mitm: Mitm) -> None:
    server.answers[b"/close"] = raw(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nup to the end", close=True)
    with Client(mitm.port) as client:
        _, body = client.ask(request("/close", b"{}"))
    assert body == b"up to the end"
    kept = mitm.exchange("/close")
    assert kept.body("a") == b"up to the end"
    assert kept.json("a", "end") == {"by": "server"}


TEXT = b'{"jsonrpc":"2.0","id":1,"result":{}}' * 20


def deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


# zstd: one frame, one raw block, so that the test needs no encoder
ZSTD = b"\x28\xb5\x2f\xfd\x60" + (len(TEXT) - 256).to_bytes(2, "little")
ZSTD += (len(TEXT) << 3 | 1).to_bytes(3, "little") + TEXT


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", gzip.compress(TEXT, mtime=0)),
        ("br", brotli.compress(TEXT)),
        ("deflate", deflated(TEXT)),
        ("zstd", ZSTD),
    ],
    ids=["gzip", "br", "deflate", "zstd"],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_coded_bodies_pass_as_they_are(
    server: Server, mitm: Mitm, coding: str, body: bytes, streamed: bool
) -> None:
    path = f"/{coding}-{streamed}"
    header = f"Content-Encoding: {coding}".encode()
    if streamed:
        server.answers[path.encode()] = raw(STREAM[:-2] + header + b"\r\n\r\n" + chunk(body) + b"0\r\n\r\n")
    else:
        server.answers[path.encode()] = fixed(body, JSON, header)
    with Client(mitm.port) as client:
        _, got = client.ask(request(path, body, header))
    assert got == body == server.asked(path.encode()).body
    kept = mitm.exchange(path)
    assert kept.body("a") == kept.body("q") == body


@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", b"200 OK"), ("GET", b"204 No Content"), ("GET", b"304 Not Modified")]
)
def test_answers_without_a_body(server: Server, mitm: Mitm, method: str, status: bytes) -> None:
    path = f"/none-{method}-{status[:3].decode()}"
    server.answers[path.encode()] = raw(
        b"HTTP/1.1 " + status + b"\r\nContent-Type: text/event-stream\r\n\r\n"
    )
    with Client(mitm.port) as client:
        client.sock.sendall(request(path, method=method))
        client.until(b"\r\n\r\n")
    kept = mitm.exchange(path)
    assert kept.kinds("q") == ["open", "head", "end"]
    assert kept.kinds("a") == ["head", "end"]
    assert kept.json("a", "end") == {"by": "server"}


# what does not


def test_a_client_that_leaves_the_stream(server: Server, mitm: Mitm) -> None:
    gone = threading.Event()

    def stream(connection: Connection, request: Request) -> None:
        connection.sock.sendall(STREAM + chunk(b"data: 1\n\n"))
        connection.rest()
        gone.set()

    server.answers[b"/left"] = stream
    with Client(mitm.port) as client:
        client.sock.sendall(request("/left", b"{}"))
        client.until(b"data: 1\n\n")
    assert gone.wait(LIMIT)
    kept = mitm.exchange("/left")
    assert kept.kinds("a") == ["head", "data", "end"]
    assert kept.json("a", "end")["by"] == "client"
    assert kept.json("q", "end") == {"by": "client"}


@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_server_that_cuts_the_stream(server: Server, mitm: Mitm, how: str) -> None:
    def stream(connection: Connection, request: Request) -> None:
        connection.sock.sendall(STREAM + chunk(b"data: 1\n\n"))
        seen.wait(LIMIT)
        connection.reset() if how == "reset" else connection.sock.close()

    seen = threading.Event()
    path = f"/cut-{how}"
    server.answers[path.encode()] = stream
    with Client(mitm.port) as client:
        client.sock.sendall(request(path, b"{}"))
        client.until(b"data: 1\n\n")
        seen.set()
        client.rest()
    kept = mitm.exchange(path)
    assert kept.kinds("a") == ["head", "data", "end"]
    assert kept.json("a", "end")["by"] == "server"


def test_a_server_that_cuts_a_held_answer(server: Server, mitm: Mitm) -> None:
    server.answers[b"/half"] = raw(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", close=True)
    with Client(mitm.port) as client:
        head, _ = client.ask(request("/half", b"{}"))
    assert head.startswith(b"HTTP/1.1 502 ")
    kept = mitm.exchange("/half")
    assert kept.kinds("a") == ["head", "gap", "end"]
    assert kept.json("a", "head")["status"] == 200
    end = kept.json("a", "end")
    assert (end["by"], end["answered"]) == ("server", 502)


def test_a_server_that_closes_without_an_answer(server: Server, mitm: Mitm) -> None:
    server.answers[b"/silent"] = lambda connection, request: connection.sock.close()
    with Client(mitm.port) as client:
        head, _ = client.ask(request("/silent", b"{}"))
    assert head.startswith(b"HTTP/1.1 502 ")
    kept = mitm.exchange("/silent")
    assert kept.json("a", "head") == {"status": 502, "reason": "", "http": "", "headers": [], "ours": True}
    assert kept.json("a", "end")["by"] == "server"


def test_a_client_that_leaves_before_its_request_is_complete(server: Server, mitm: Mitm) -> None:
    with Client(mitm.port) as client:
        client.sock.sendall(b"POST /unfinished HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
    kept = mitm.exchange("/unfinished")
    assert kept.kinds("q") == ["open", "head", "gap", "end"]
    assert kept.kinds("a") == ["end"]
    assert kept.json("q", "end")["by"] == kept.json("a", "end")["by"] == "client"


# what mitmproxy says by itself


def test_a_1xx_taken_for_the_answer_is_ours(server: Server, mitm: Mitm) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    server.answers[b"/early"] = raw(early + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    with Client(mitm.port) as client:
        client.sock.sendall(request("/early", b"{}"))
        client.until(b"\r\n\r\n")
        kept = mitm.exchange("/early")
    head = kept.json("a", "head")
    assert (head["status"], head["ours"]) == (103, True)
    assert kept.json("a", "end") == {"by": "us", "error": "mitmproxy took a 1xx answer for the final one"}


def said(mitm: Mitm, word: str) -> list[str]:
    notes = [json.loads(f.data) for f in mitm.frames() if f.kind == "note"]
    return [note["said"] for note in notes if note.get("ours") and word in note.get("said", "")]


def test_a_request_head_that_mitmproxy_cannot_read_is_noted(mitm: Mitm) -> None:
    with Client(mitm.port) as client:
        head, _ = client.ask(b"what is this\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert wait_until(lambda: said(mitm, "what is this"))


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/two-lengths", b"Content-Length: 1\r\nContent-Length: 2\r\n"),
        ("/length-and-chunked", b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
        ("/odd-name", b"b@d name: 1\r\nContent-Length: 0\r\n"),
    ],
)
def test_a_request_head_that_mitmproxy_refuses_is_ours(mitm: Mitm, path: str, headers: bytes) -> None:
    with Client(mitm.port) as client:
        head, _ = client.ask(f"POST {path} HTTP/1.1\r\nHost: x\r\n".encode() + headers + b"\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    kept = mitm.exchange(path)
    assert kept.json("a", "head")["ours"] is True
    assert kept.json("a", "head")["status"] == 400
    assert kept.json("a", "end")["by"] == kept.json("q", "end")["by"] == "us"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/no-head", b"what is this\r\n\r\n"),
        ("/bad-name", b"HTTP/1.1 200 OK\r\nb@d name: 1\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_an_answer_head_that_mitmproxy_refuses_is_ours(
    server: Server, mitm: Mitm, path: str, answer: bytes
) -> None:
    server.answers[path.encode()] = raw(answer)
    with Client(mitm.port) as client:
        head, _ = client.ask(request(path, b"{}"))
    assert head.startswith(b"HTTP/1.1 502 ")
    kept = mitm.exchange(path)
    assert kept.json("a", "head")["ours"] is True
    assert kept.json("a", "end")["by"] == "us"


def test_an_upstream_that_cannot_be_reached(tmp_path: Path) -> None:
    with (
        Mitm(tmp_path, "--mode", f"reverse:http://127.0.0.1:{free_port()}") as mitm,
        Client(mitm.port) as client,
    ):
        head, _ = client.ask(request("/nobody", b"{}"))
        assert head.startswith(b"HTTP/1.1 502 ")
        kept = mitm.exchange("/nobody")
    assert kept.body("q") == b"{}"
    assert kept.json("a", "head")["ours"] is True
    assert kept.json("a", "end")["by"] == "upstream"


# the recorder in trouble


BREAK = """
import os, resource
def request(flow):
    if flow.request.path == "/break":
        for fd in os.listdir("/proc/self/fd"):
            try:
                name = os.readlink(f"/proc/self/fd/{fd}")
            except OSError:
                continue
            if name.endswith(".mrj"):
                if %r == "close":
                    os.close(int(fd))
                else:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat(name).st_size + 100, resource.RLIM_INFINITY))
    if flow.request.path == "/mend":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


@pytest.mark.parametrize("how", ["close", "full"])
def test_traffic_passes_while_the_recorder_fails(server: Server, tmp_path: Path, how: str) -> None:
    script = tmp_path / "breaks.py"
    script.write_text(BREAK % how, encoding="utf-8")
    events = [b"data: %d\n\n" % n for n in range(200)]

    def stream(connection: Connection, request: Request) -> None:
        connection.sock.sendall(STREAM + b"".join(map(chunk, events)) + b"0\r\n\r\n")

    body = noise(4000)
    server.answers |= {
        b"/stream": stream,
        b"/body": fixed(body),
        b"/break": fixed(b"{}"),
        b"/mend": fixed(b"{}"),
    }
    mode = f"reverse:http://127.0.0.1:{server.port}"
    quiet = ["--set", "flow_detail=0", "--set", "termlog_verbosity=error"]  # the limit holds for its log, too
    with Mitm(tmp_path, "--mode", mode, "-s", str(script), *quiet) as mitm:
        with Client(mitm.port) as client:
            client.ask(request("/break", b"{}"))
            assert client.ask(request("/body", body))[1] == body
            assert server.asked(b"/body").body == body
            assert client.ask(request("/stream", b"{}"))[1] == b"".join(events)
            client.ask(request("/mend", b"{}"))
            client.ask(request("/body", body))
        kept = mitm.exchange("/body")
        assert kept.body("a") == kept.body("q") == body
        assert mitm.stop() == 0
        lost = [json.loads(f.data) for f in mitm.frames() if f.kind == "gap"]
        assert sum(gap["frames"] for gap in lost) > 0
        assert all(gap["why"] for gap in lost)


def test_a_capture_folder_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "capture").write_text("no folder", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"mrtrscope cannot record into .*name another folder"):
        Mitm(tmp_path, "--mode", "regular")


def test_sigkill_leaves_a_journal_that_reads(server: Server, tmp_path: Path) -> None:
    server.answers[b"/n"] = fixed(b"{}", JSON)
    with Mitm(tmp_path, "--mode", f"reverse:http://127.0.0.1:{server.port}") as mitm:
        (analyser,) = wait_until(lambda: psutil.Process(mitm.process.pid).children())
        with Client(mitm.port) as client:
            for _ in range(50):
                client.ask(request("/n", b"{}"))
            mitm.stop(signal.SIGKILL)
        ends = [f.lane for f in mitm.frames() if f.kind == "end"]
        assert len([lane for lane in ends if lane.endswith("q")]) == 50
        assert len([lane for lane in ends if lane.endswith("a")]) >= 49
        wait_until(
            lambda: not analyser.is_running() or analyser.status() == psutil.STATUS_ZOMBIE, why="orphaned"
        )


def test_the_analyser_is_a_nice_child_that_ends_in_time(tmp_path: Path) -> None:
    with Mitm(tmp_path, "--mode", "regular") as mitm:
        (analyser,) = wait_until(lambda: psutil.Process(mitm.process.pid).children())
        wait_until(lambda: "analyse" in analyser.cmdline())
        wait_until(lambda: analyser.nice() == 10, why="as important as the traffic")
        assert os.getpgid(analyser.pid) == analyser.pid
        assert os.getsid(analyser.pid) == os.getsid(mitm.process.pid)
        assert mitm.stop() == 0
        assert not analyser.is_running()


def test_what_is_under_way_ends_with_mitmproxy(server: Server, tmp_path: Path) -> None:
    release = threading.Event()

    def stream(connection: Connection, request: Request) -> None:
        connection.sock.sendall(STREAM + chunk(b"data: 1\n\n"))
        release.wait(LIMIT)

    server.answers[b"/running"] = stream
    with (
        Mitm(tmp_path, "--mode", f"reverse:http://127.0.0.1:{server.port}") as mitm,
        Client(mitm.port) as client,
    ):
        client.sock.sendall(request("/running", b"{}"))
        client.until(b"data: 1\n\n")
        assert mitm.stop(signal.SIGTERM) == 0
        release.set()
        end = mitm.exchange("/running").json("a", "end")
    assert end["by"] == "us"


# others at the same flow


EDIT = """
def request(flow):
    flow.request.content = flow.request.content.replace(b"a", b"b")
    flow.request.headers["x-more"] = "1"
def response(flow):
    if flow.response.content:
        flow.response.content = b"other"
"""


def test_both_sides_of_an_edit_are_kept(server: Server, tmp_path: Path) -> None:
    script = tmp_path / "edits.py"
    script.write_text(EDIT, encoding="utf-8")
    server.answers[b"/edited"] = fixed(b"answer")
    mode = f"reverse:http://127.0.0.1:{server.port}"
    with Mitm(tmp_path, "--mode", mode, "-s", str(script)) as mitm, Client(mitm.port) as client:
        assert client.ask(request("/edited", b"aaa"))[1] == b"other"
        assert server.asked(b"/edited").body == b"bbb"
        kept = wait_until(lambda: (e := mitm.exchange("/edited")) and "sent" in e.kinds("a") and e)
    assert (kept.body("q"), kept.body("q", "sent")) == (b"aaa", b"bbb")
    assert (kept.body("a"), kept.body("a", "sent")) == (b"answer", b"other")
    assert ["x-more", "1"] in kept.json("q", "note")["edited"]["headers"]


def test_bodies_that_the_user_wants_streamed(server: Server, tmp_path: Path) -> None:
    question, answer = noise(5000), noise(6000)
    server.answers[b"/small"] = fixed(answer)
    mode = ["--mode", f"reverse:http://127.0.0.1:{server.port}", "--set", "stream_large_bodies=1k"]
    with Mitm(tmp_path, *mode) as mitm, Client(mitm.port) as client:
        assert client.ask(request("/small", question))[1] == answer
        kept = mitm.exchange("/small")
    assert (kept.body("q"), kept.body("a")) == (question, answer)
    assert "gap" not in kept.kinds("q") + kept.kinds("a")


KILL = """
def request(flow):
    if flow.request.path == "/killed-request":
        flow.kill()
def response(flow):
    if flow.request.path == "/killed-answer":
        flow.kill()
"""


@pytest.mark.parametrize("what", ["request", "answer"])
def test_a_killed_flow_is_ours(server: Server, tmp_path: Path, what: str) -> None:
    script = tmp_path / "kills.py"
    script.write_text(KILL, encoding="utf-8")
    path = f"/killed-{what}"
    server.answers[path.encode()] = fixed(b"answer")
    mode = f"reverse:http://127.0.0.1:{server.port}"
    with Mitm(tmp_path, "--mode", mode, "-s", str(script)) as mitm:
        with Client(mitm.port) as client:
            client.sock.sendall(request(path, b"{}"))
            assert client.rest() == b""
        if what == "request":
            kept = mitm.exchange(path)
            assert kept.kinds("a") == ["end"]
            assert kept.json("a", "end") == {"by": "us", "error": "Connection killed."}
        else:  # the server answered; what the client got instead is nothing
            kept = wait_until(lambda: (e := mitm.exchange(path)) and "sent" in e.kinds("a") and e)
            assert (kept.body("a"), kept.body("a", "sent")) == (b"answer", b"")


OTHER_STREAM = """
def responseheaders(flow):
    flow.response.stream = lambda chunk: chunk.upper()
"""


@pytest.mark.parametrize("first", [True, False])
def test_another_addon_that_streams_too(server: Server, tmp_path: Path, first: bool) -> None:
    """Before us: we see what the server sent, it changes it as it likes. Behind us: we see nothing, and say so."""
    script = tmp_path / "streams.py"
    script.write_text(OTHER_STREAM, encoding="utf-8")
    server.answers[b"/both"] = raw(STREAM + chunk(b"abc") + b"0\r\n\r\n")
    before = ["-s", str(script)] if first else []
    after = [] if first else ["-s", str(script)]
    mode = ["--mode", f"reverse:http://127.0.0.1:{server.port}"]
    from tests.peers.mitm import ADDON

    capture = tmp_path / "m" / "capture"
    ours = ["-s", str(ADDON), "--set", f"mrtrscope_capture={capture}", "--set", "mrtrscope_analyse=false"]
    with Mitm(tmp_path / "m", *before, *ours, *after, *mode, addon=None) as mitm, Client(mitm.port) as client:
        client.sock.sendall(request("/both", b"{}"))
        client.until(b"ABC\r\n0\r\n\r\n")
        kept = mitm.exchange("/both")
    assert kept.body("a") == (b"abc" if first else b"")
    assert ("gap" in kept.kinds("a")) is not first


def test_an_answer_that_mitmproxy_makes_is_ours(tmp_path: Path) -> None:
    (tmp_path / "local.json").write_text('{"local":1}', encoding="utf-8")
    local = f"|/local|{tmp_path / 'local.json'}"
    mode = f"reverse:http://127.0.0.1:{free_port()}"
    with Mitm(tmp_path, "--mode", mode, "--map-local", local) as mitm, Client(mitm.port) as client:
        assert client.ask(request("/local", b"{}"))[1] == b'{"local":1}'
        kept = mitm.exchange("/local")
    assert kept.json("a", "head")["ours"] is True
    assert kept.json("a", "end") == {"by": "us"}

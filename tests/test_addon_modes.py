"""The addon in mitmproxy's modes: regular with TLS, upstream, HTTP/2, SOCKS5 for stdio sessions, local."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrtrscope import via
from mrtrscope.tap_stdio import VIA_SUFFIX, channel_of
from tests.conftest import LIMIT, wait_until
from tests.peers import h2_peer
from tests.peers.mitm import ADDON, Mitm
from tests.peers.raw_http import STREAM, Client, Server, chunk, fixed, raw, request

pytestmark = pytest.mark.live

QUESTION, ANSWER = b'{"jsonrpc":"2.0","id":1,"method":"x"}', b'{"jsonrpc":"2.0","id":1,"result":{}}'
EVENTS = [b"data: 1\n\n", b"data: 2\n\n"]


@pytest.fixture(scope="module")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ca")


@pytest.fixture(scope="module")
def tls(ca: Path) -> Iterator[Server]:
    with Server(h2_peer.server_context(ca)) as server:
        server.answers[b"/mcp"] = fixed(ANSWER, b"Content-Type: application/json")
        server.answers[b"/stream"] = raw(STREAM + b"".join(map(chunk, EVENTS)) + b"0\r\n\r\n")
        yield server


def trusting(ca: Path) -> list[str]:
    return ["--set", f"ssl_verify_upstream_trusted_ca={ca / 'mitmproxy-ca-cert.pem'}"]


def tunnel(mitm: Mitm, port: int, trust: ssl.SSLContext) -> Client:
    """Through CONNECT, then TLS with whoever answers as localhost."""
    sock = socket.create_connection(("127.0.0.1", mitm.port), LIMIT)
    sock.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += sock.recv(1)
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    client = Client.__new__(Client)
    super(Client, client).__init__(trust.wrap_socket(sock, server_hostname="localhost"))
    return client


@pytest.mark.parametrize("via", [False, True], ids=["regular", "upstream"])
def test_tls_through_connect(tls: Server, ca: Path, tmp_path: Path, via: bool) -> None:
    with Mitm(tmp_path / "last", "--mode", "regular", *trusting(ca)) as last:
        mode = f"upstream:http://127.0.0.1:{last.port}" if via else "regular"
        ours = (tmp_path / "last" if via else tmp_path / "first") / "conf" / "mitmproxy-ca-cert.pem"
        options = [
            "--mode",
            mode,
            *(["--set", f"ssl_verify_upstream_trusted_ca={ours}"] if via else trusting(ca)),
        ]
        with Mitm(tmp_path / "first", *options) as mitm:
            trust = h2_peer.client_context(tmp_path / "first" / "conf")
            with tunnel(mitm, tls.port, trust) as client:
                assert client.ask(request("/mcp", QUESTION))[1] == ANSWER
                assert client.ask(request("/stream", QUESTION))[1] == b"".join(EVENTS)
            kept = mitm.exchange("/mcp")
            streamed = mitm.exchange("/stream")
            if via:
                assert last.exchange("/mcp").body("a") == ANSWER
    assert (kept.body("q"), kept.body("a")) == (QUESTION, ANSWER)
    opened = kept.json("q", "open")
    assert opened["upstream"] == f"https://localhost:{tls.port}"
    assert opened.get("via") == (f"http://127.0.0.1:{last.port}" if via else None)
    assert "host" not in opened
    assert kept.json("q", "head")["url"] == f"https://localhost:{tls.port}/mcp"
    assert streamed.body("a") == b"".join(EVENTS)


def test_plain_http_in_regular_mode(tmp_path: Path) -> None:
    with Server() as server, Mitm(tmp_path, "--mode", "regular") as mitm, Client(mitm.port) as client:
        server.answers[b"/mcp?q=1"] = fixed(ANSWER)
        url = f"http://127.0.0.1:{server.port}/mcp?q=1"
        assert client.ask(request(url, QUESTION, host=f"127.0.0.1:{server.port}"))[1] == ANSWER
        kept = mitm.exchange("/mcp?q=1")
        assert kept.json("q", "head")["url"] == url
        assert ["Host", f"127.0.0.1:{server.port}"] in kept.json("q", "head")["headers"]


HTTP2 = [(b":status", b"200"), (b"content-type", b"application/json"), (b"x-odd", b"caf\xe9")]
HTTP2_STREAM = [(b":status", b"200"), (b"content-type", b"text/event-stream")]


def asking(path: bytes) -> h2_peer.Headers:
    return [
        (b":method", b"POST"), (b":scheme", b"https"), (b":authority", b"localhost"), (b":path", path),
        (b"content-type", b"application/json"), (b"mcp-name", b"x"),
    ]  # fmt: skip


def test_http2_on_both_sides(ca: Path, tmp_path: Path) -> None:
    with h2_peer.Server(h2_peer.server_context(ca, "h2")) as server:
        server.answers[b"/mcp"] = (HTTP2, [ANSWER])
        server.answers[b"/stream"] = (HTTP2_STREAM, [EVENTS[0], None, EVENTS[1]])
        server.answers[b"/left"] = (HTTP2_STREAM, [EVENTS[0], None])
        mode = f"reverse:https://localhost:{server.port}"
        with Mitm(tmp_path, "--mode", mode, *trusting(ca)) as mitm:
            sock = socket.create_connection(("127.0.0.1", mitm.port), LIMIT)
            trust = h2_peer.client_context(tmp_path / "conf", "h2")
            with h2_peer.Client(trust.wrap_socket(sock, server_hostname="localhost")) as client:
                headers, body = client.until(client.send(asking(b"/mcp"), QUESTION))
                assert (dict(headers)[b":status"], dict(headers)[b"x-odd"], body) == (
                    b"200",
                    b"caf\xe9",
                    ANSWER,
                )
                stream = client.send(asking(b"/stream"), QUESTION)
                client.until(stream, EVENTS[0])
                server.go_on.set()
                client.until(stream)
                server.go_on.clear()
                left = client.send(asking(b"/left"), QUESTION)
                client.until(left, EVENTS[0])
                client.cancel(left)
                kept, streamed, gone = mitm.exchange("/mcp"), mitm.exchange("/stream"), mitm.exchange("/left")
                server.go_on.set()
        assert server.asked[b"/mcp"][1] == QUESTION
    assert (kept.body("q"), kept.body("a")) == (QUESTION, ANSWER)
    asked = kept.json("q", "head")
    assert (asked["method"], asked["http"]) == ("POST", "HTTP/2.0")
    assert ["mcp-name", "x"] in asked["headers"]
    told = kept.json("a", "head")
    assert (told["status"], told["http"]) == (200, "HTTP/2.0")
    assert ["x-odd", "café"] in told["headers"]
    assert streamed.body("a") == b"".join(EVENTS)
    assert streamed.json("a", "end") == {"by": "server"}
    assert gone.body("a") == EVENTS[0]
    assert gone.json("a", "end")["by"] == "client"


def test_http2_in_front_of_http1(tls: Server, ca: Path, tmp_path: Path) -> None:
    with Mitm(tmp_path, "--mode", f"reverse:https://localhost:{tls.port}", *trusting(ca)) as mitm:
        sock = socket.create_connection(("127.0.0.1", mitm.port), LIMIT)
        trust = h2_peer.client_context(tmp_path / "conf", "h2")
        with h2_peer.Client(trust.wrap_socket(sock, server_hostname="localhost")) as client:
            assert client.until(client.send(asking(b"/mcp"), QUESTION))[1] == ANSWER
        kept = mitm.exchange("/mcp")
    assert kept.json("q", "head")["http"] == "HTTP/2.0"
    assert kept.json("a", "head")["http"] == "HTTP/1.1"


def test_a_certificate_that_nobody_trusts_is_no_fault_of_the_server(tls: Server, tmp_path: Path) -> None:
    with (
        Mitm(tmp_path, "--mode", f"reverse:https://localhost:{tls.port}") as mitm,
        Client(mitm.port) as client,
    ):
        assert client.ask(request("/mcp", QUESTION))[0].startswith(b"HTTP/1.1 502 ")
        kept = mitm.exchange("/mcp")
    assert kept.json("a", "head")["ours"] is True
    assert kept.json("a", "end")["by"] == "upstream"
    assert "ertificate" in kept.json("a", "end")["error"]


# stdio sessions


def socks(port: int, target: int) -> socket.socket:
    """Connected through SOCKS5 to a port of this machine."""
    sock = socket.create_connection(("127.0.0.1", port), LIMIT)
    sock.settimeout(LIMIT)
    sock.sendall(b"\x05\x01\x00")
    assert sock.recv(2) == b"\x05\x00"
    sock.sendall(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + target.to_bytes(2, "big"))
    answer = b""
    while len(answer) < 10:
        answer += sock.recv(10 - len(answer))
    assert answer[:2] == b"\x05\x00"
    return sock


def everything(sock: socket.socket) -> bytes:
    data = b""
    while more := sock.recv(65536):
        data += more
    return data


STDIO = ["--mode", "socks5", "--set", "mrtrscope_stdio=true", "--set", "connection_strategy=eager"]


@pytest.mark.parametrize("first", [b'{"jsonrpc"', b"POST / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02", b"\n"])
def test_a_stdio_session_is_bytes(tmp_path: Path, first: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, Mitm(tmp_path, *STDIO) as mitm:
        with socks(mitm.port, listener.getsockname()[1]) as host:
            child, _ = listener.accept()
            child.settimeout(LIMIT)
            host.sendall(first)
            assert child.recv(len(first), socket.MSG_WAITALL) == first
            host.shutdown(socket.SHUT_WR)  # the host closes stdin; the child still has something to say
            assert child.recv(1) == b""
            child.sendall(b"one\xff")
            child.sendall(b"two")
            child.close()
            assert everything(host) == b"one\xfftwo"
        frames = wait_until(lambda: (f := mitm.frames()) and sum(x.kind == "end" for x in f) == 2 and f)
    assert [f.kind for f in frames if f.lane.endswith("i")] == ["open", "data", "end"]
    assert b"".join(f.data for f in frames if f.lane.endswith("i") and f.kind == "data") == first
    assert b"".join(f.data for f in frames if f.lane.endswith("o") and f.kind == "data") == b"one\xfftwo"
    assert {f.data for f in frames if f.kind == "end"} == {b'{"by":"client"}', b'{"by":"server"}'}


@pytest.mark.parametrize("name", ["files", "a server.é%", "x" * 100])
@pytest.mark.parametrize("strategy", ["eager", "lazy"])
def test_wrap_tells_the_channel(tmp_path: Path, name: str, strategy: str) -> None:
    """As a user would: the wrapped server behind a mitmproxy that a person looks at."""
    with Mitm(tmp_path, "--mode", "socks5", "--set", f"connection_strategy={strategy}") as mitm:
        command = [
            sys.executable,
            "-m",
            "mrtrscope",
            "wrap",
            "--via",
            f"127.0.0.1:{mitm.port}",
            "--name",
            name,
        ]
        echo = "import sys; [print(line, end='', flush=True) for line in sys.stdin]; sys.exit(7)"
        done = subprocess.run(
            [*command, "--", sys.executable, "-c", echo],
            input=QUESTION + b"\nnoise\n",
            capture_output=True,
            timeout=240,
        )
        assert done.stdout == QUESTION + b"\nnoise\n", done.stderr
        assert done.returncode == 7
        frames = wait_until(lambda: (f := mitm.frames()) and sum(x.kind == "end" for x in f) == 2 and f)
    (opened,) = [json.loads(f.data) for f in frames if f.kind == "open"]
    assert opened["channel"] == name
    for role in "io":
        assert b"".join(f.data for f in frames if f.lane.endswith(role) and f.kind == "data") == done.stdout


def test_the_name_is_spelt_as_wrap_spells_it() -> None:
    assert VIA_SUFFIX == via.SUFFIX
    assert channel_of("a%20b%2Ec" + via.SUFFIX) == "a b.c"
    assert channel_of("example.com") is None


EDIT_TCP = """
def tcp_message(flow):
    message = flow.messages[-1]
    message.content = message.content.replace(b"secret", b"public")
"""


def test_both_sides_of_an_edit_of_a_stdio_session_are_kept(tmp_path: Path) -> None:
    script = tmp_path / "edit.py"
    script.write_text(EDIT_TCP, encoding="utf-8")
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        Mitm(tmp_path, *STDIO, "-s", str(script)) as mitm,
    ):
        with socks(mitm.port, listener.getsockname()[1]) as host:
            child, _ = listener.accept()
            child.settimeout(LIMIT)
            with child:
                for line in (b"a secret\n", b"nothing\n"):
                    host.sendall(line)
                    want = line.replace(b"secret", b"public")
                    assert child.recv(len(want), socket.MSG_WAITALL) == want
                child.sendall(b"the secret\n")
                assert host.recv(11, socket.MSG_WAITALL) == b"the public\n"
        frames = wait_until(lambda: (f := mitm.frames()) and sum(x.kind == "end" for x in f) == 2 and f)
    lanes = {role: [(f.kind, f.data) for f in frames if f.lane.endswith(role)][:-1] for role in "io"}
    assert lanes["i"][1:] == [("data", b"a secret\n"), ("sent", b"a public\n"), ("data", b"nothing\n")]
    assert lanes["o"] == [("data", b"the secret\n"), ("sent", b"the public\n")]


def test_other_tcp_is_not_taken_for_a_stdio_session(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        mode = f"reverse:tcp://127.0.0.1:{listener.getsockname()[1]}"
        with (
            Mitm(tmp_path, "--mode", mode) as mitm,
            socket.create_connection(("127.0.0.1", mitm.port), LIMIT) as host,
        ):
            host.sendall(b"x\n")
            child, _ = listener.accept()
            assert child.recv(2) == b"x\n"
            child.close()
            assert everything(host) == b""
        assert mitm.frames() == []


# local mode needs root and a kernel that lets it; that our addon loads with it needs neither


@pytest.mark.parametrize(("mode", "code"), [("local:curl,!4711", 0), ("locale:curl", 1)])
def test_local_mode_loads(tmp_path: Path, mode: str, code: int) -> None:
    """--options loads scripts and checks modes, and asks the system for nothing."""
    done = subprocess.run(
        [Path(sys.executable).with_name("mitmdump"), "-s", ADDON, "--mode", mode, "--options",
         "--set", f"confdir={tmp_path}", "--set", f"mrtrscope_capture={tmp_path / 'capture'}"],
        capture_output=True, text=True, timeout=240, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert ("mrtrscope_capture" in done.stdout) is (code == 0)
    assert not (tmp_path / "capture").exists()

"""`mrtrscope proxy`: what it says when it cannot start, what it sets up, how it ends."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from mrtrscope.cli.proxy import Address, CannotStart, addon_path, listen_address, target_url
from tests.conftest import LIMIT, ROOT, free_port, mrtrscope, wait_until
from tests.peers.mitm import Mitm
from tests.peers.raw_http import STREAM, Client, Server, chunk, fixed, raw, request

HEADERS = (
    b"Content-Type: application/json",
    b"Accept: application/json, text/event-stream",
    b"MCP-Protocol-Version: 2026-07-28",
    b"Mcp-Method: tools/list",
)


def call(ident: int, method: str = "tools/list") -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": {"_meta": meta}}).encode()


def result(ident: int) -> bytes:
    return json.dumps(
        {
            "jsonrpc": "2.0",
            "id": ident,
            "result": {"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"},
        }
    ).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        server.answers[b"/mcp"] = fixed(result(1), b"Content-Type: application/json")
        yield server


# what it is told


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:80", Address("127.0.0.1", 80)),
        ("8080", Address("127.0.0.1", 8080)),
        (":8080", Address("127.0.0.1", 8080)),
        ("[::1]:8080", Address("::1", 8080)),
        ("localhost:0", Address("localhost", 0)),
    ],
)
def test_listen_addresses(text: str, address: Address) -> None:
    assert listen_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "x", "127.0.0.1", "127.0.0.1:http", "127.0.0.1:65536", "::1:8080", "a:-1"]
)
def test_what_is_no_listen_address(text: str) -> None:
    with pytest.raises(CannotStart, match="--listen"):
        listen_address(text)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/mcp?x=1", "https://example.com", "http://[::1]:80"])
def test_targets(url: str) -> None:
    assert target_url(url).geturl() == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:9000",
        "ftp://x",
        "http://",
        "http://x:0",
        "http://x:99999",
        "http://[::1",
        "http://a:b@x/",
    ],
)
def test_what_is_no_target(url: str) -> None:
    with pytest.raises(CannotStart, match="--target"):
        target_url(url)


def test_addresses_print_as_they_are_written() -> None:
    assert str(Address("::1", 1)) == "[::1]:1"
    assert str(Address("localhost", 1)) == "localhost:1"


# what it cannot do: one line, and exit code 2


def refused(*args: str) -> str:
    done = mrtrscope("proxy", *args)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


def test_a_busy_port(tmp_path: Path, server: Server) -> None:
    line = refused("--capture", str(tmp_path), "--listen", f"127.0.0.1:{server.port}")
    assert line == (
        f"Error: cannot listen at 127.0.0.1:{server.port}: Address already in use; choose another with --listen."
    )


def test_a_target_that_nobody_serves(tmp_path: Path) -> None:
    port = free_port()
    line = refused("--capture", str(tmp_path), "--listen", "0", "--target", f"http://127.0.0.1:{port}/mcp")
    assert line == (
        f"Error: cannot reach 127.0.0.1:{port}: Connection refused; "
        "start the server, or say --no-check when it comes later."
    )


def test_a_name_that_nobody_has(tmp_path: Path) -> None:
    line = refused("--capture", str(tmp_path), "--listen", "0", "--target", "http://nobody.invalid:1")
    assert line.startswith("Error: cannot reach nobody.invalid:1: ")


def test_a_target_that_is_none(tmp_path: Path) -> None:
    line = refused("--capture", str(tmp_path), "--target", "127.0.0.1:9000")
    assert line == (
        "Error: --target 127.0.0.1:9000 is no http or https URL; say a URL such as http://127.0.0.1:9000/mcp."
    )


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "example.com:80"])
def test_a_port_that_other_machines_could_reach(tmp_path: Path, listen: str) -> None:
    line = refused("--capture", str(tmp_path), "--listen", listen)
    assert line == f"Error: other machines could connect to {listen}; say --allow-remote if they may."


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = refused("--capture", str(tmp_path / "file" / "x"), "--listen", "0")
    assert line.startswith(f"Error: cannot record into {tmp_path / 'file' / 'x'}: ")
    assert line.endswith("; choose another --capture.")


def test_stdio_with_a_target_is_a_usage_error() -> None:
    done = mrtrscope("proxy", "--stdio", "--target", "http://127.0.0.1:1")
    assert done.returncode == 2
    assert "leave --target out" in done.stderr


def test_a_mode_that_mitmproxy_does_not_know(tmp_path: Path) -> None:
    done = mrtrscope("proxy", "--capture", str(tmp_path), "--listen", "0", "--", "--mode", "sideways")
    assert done.returncode == 2
    assert "sideways" in done.stdout + done.stderr


TELL = """
import json
from mitmproxy import ctx
def running():
    with open({path!r}, "w", encoding="utf-8") as file:
        json.dump({{name: getattr(ctx.options, name) for name in ctx.options.keys()}}, file)
    ctx.master.shutdown()
"""


def options(folder: Path, *args: str, given: tuple[str, ...] = ()) -> dict[str, Any]:
    """The options that mitmproxy runs with."""
    told, script = folder / "options.json", folder / "tell.py"
    script.write_text(TELL.format(path=str(told)), encoding="utf-8")
    ours = ["--capture", str(folder / "capture"), "--listen", "0", *args]
    confdir = ("--set", f"confdir={folder / 'conf'}")
    done = mrtrscope("proxy", *ours, "--", "-s", str(script), *confdir, *given)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))
    return found


@pytest.mark.live
def test_what_it_sets_up(tmp_path: Path) -> None:
    http = options(tmp_path)
    assert http["connection_strategy"] == "lazy"
    assert http["tcp_timeout"] > 86400
    assert http["store_streamed_bodies"] is False
    assert http["mrtrscope_capture"] == str(tmp_path / "capture")
    assert http["listen_host"] == "127.0.0.1"


@pytest.mark.live
def test_what_it_sets_up_for_the_browser(tmp_path: Path) -> None:
    port = free_port()
    web = options(tmp_path, "--web", given=("--no-web-open-browser", "--set", f"web_port={port}"))
    assert web["store_streamed_bodies"] is True


@pytest.mark.live
def test_what_it_sets_up_for_stdio(tmp_path: Path) -> None:
    stdio = options(tmp_path, "--stdio")
    assert (stdio["mode"], stdio["connection_strategy"], stdio["mrtrscope_stdio"]) == (
        ["socks5"],
        "eager",
        True,
    )


@pytest.mark.live
def test_the_user_has_the_last_word(tmp_path: Path) -> None:
    own = options(tmp_path, given=("--set", "connection_strategy=eager", "--set=tcp_timeout=5"))
    assert (own["connection_strategy"], own["tcp_timeout"]) == ("eager", 5)


# running


def listed(capture: Path) -> list[dict[str, Any]]:
    done = mrtrscope("list", capture, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["operations"]
    return found


@pytest.mark.live
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_records_and_ends_cleanly(server: Server, tmp_path: Path, how: signal.Signals) -> None:
    with Mitm.proxy(tmp_path, "--target", f"http://127.0.0.1:{server.port}/mcp") as proxy:
        children = wait_until(lambda: psutil.Process(proxy.process.pid).children())
        with Client(proxy.port) as client:
            assert client.ask(request("/mcp", call(1), *HEADERS))[1] == result(1)
        assert proxy.stop(how) == 0
        assert [child for child in children if child.is_running()] == []
        assert "recording to" in proxy.log()
        assert "Traceback" not in proxy.log()
    (operation,) = listed(tmp_path / "capture")
    assert operation["channel"] == f"http://127.0.0.1:{server.port}/mcp"
    assert (operation["method"], operation["outcome"]) == ("tools/list", "complete")


@pytest.mark.live
def test_an_unreachable_upstream_is_seen_and_blamed_on_nobody(tmp_path: Path) -> None:
    target = f"http://127.0.0.1:{free_port()}/mcp"
    with Mitm.proxy(tmp_path, "--no-check", "--target", target) as proxy:
        with Client(proxy.port) as client:
            assert client.ask(request("/mcp", call(1), *HEADERS))[0].startswith(b"HTTP/1.1 502 ")
        assert proxy.exchange("/mcp").json("a", "end")["by"] == "upstream"
        assert proxy.stop() == 0
    assert len(listed(tmp_path / "capture")) == 1
    done = mrtrscope("check", tmp_path / "capture", "--format", "json")
    assert [f for f in json.loads(done.stdout)["findings"] if f["party"] != "client"] == []


@pytest.mark.live
def test_interrupted_while_a_stream_is_open(server: Server, tmp_path: Path) -> None:
    server.answers[b"/mcp"] = raw(STREAM + chunk(b": wait\n\n"))
    with (
        Mitm.proxy(tmp_path, "--target", f"http://127.0.0.1:{server.port}") as proxy,
        Client(proxy.port) as client,
    ):
        client.sock.sendall(request("/mcp", call(1), *HEADERS))
        client.until(b": wait\n\n")
        assert proxy.stop() == 0
        client.rest()
    assert proxy.exchange("/mcp").json("a", "end")["by"] == "us"


class Web:
    """mitmweb's own interface."""

    def __init__(self, port: int, password: str) -> None:
        self._port = port
        self._headers = {
            "Authorization": f"Bearer {password}",
            "X-XSRFToken": "x",
            "Cookie": "_xsrf=x; _mitmproxy_xsrf=x",
        }

    def _ask(self, method: str, path: str, body: Any = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LIMIT)
        headers = self._headers | {"Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        assert answer.status < 300, data
        return data

    def get(self, path: str) -> Any:
        return json.loads(self._ask("GET", path))

    def flow(self, path: str) -> dict[str, Any] | None:
        found: list[dict[str, Any]] = [f for f in self.get("/flows") if f["request"]["path"] == path]
        return found[-1] if found else None

    def held(self, path: str, part: str) -> str:
        """The id of a flow that waits for a person, at its request or its response."""

        def waiting() -> str | None:
            flow = self.flow(path)
            if flow is None or not flow["intercepted"] or ("response" in flow) is not (part == "response"):
                return None
            return str(flow["id"])

        return wait_until(waiting, why=f"{path} is not held at its {part}") or ""

    def edit(self, ident: str, part: str, content: str) -> None:
        """Change what waits, and let it go."""
        self._ask("PUT", f"/flows/{ident}", {part: {"content": content}})
        self._ask("POST", f"/flows/{ident}/resume", {})


@pytest.mark.live
def test_what_a_person_edits_is_kept_and_blamed_on_nobody(server: Server, tmp_path: Path) -> None:
    port = free_port()
    more = ("--no-web-open-browser", "--set", f"web_port={port}", "--set", "web_password=secret")
    target = f"http://127.0.0.1:{server.port}"
    with Mitm.proxy(
        tmp_path, "--web", "--target", target, options=(*more, "--set", "intercept=~all")
    ) as proxy:
        web = Web(port, "secret")
        asked, told = call(1).replace(b'"c"', b'"another"'), result(1).replace(b"[]", b'[{"name": "x"}]')
        with Client(proxy.port) as client:
            client.sock.sendall(request("/mcp", call(1), *HEADERS))
            web.edit(web.held("/mcp", "request"), "request", asked.decode())
            web.edit(web.held("/mcp", "response"), "response", told.decode())
            client.until(told)
        kept = wait_until(lambda: (e := proxy.exchange("/mcp")) and "sent" in e.kinds("a") and e)
        assert proxy.stop() == 0
    assert server.asked(b"/mcp").body == asked
    assert (kept.body("q"), kept.body("q", "sent")) == (call(1), asked)
    assert (kept.body("a"), kept.body("a", "sent")) == (result(1), told)
    found = json.loads(mrtrscope("check", tmp_path / "capture", "--format", "json").stdout)["findings"]
    assert [f for f in found if f["level"] == "must"] == []


@pytest.mark.live
def test_what_the_analyser_finds_is_said_on_the_flows(server: Server, tmp_path: Path) -> None:
    events = chunk(b"event: message\ndata: " + result(2) + b"\n\n")
    server.answers[b"/sse"] = raw(STREAM + events + b"0\r\n\r\n")
    server.answers[b"/bad"] = fixed(
        b'{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required"}}', HEADERS[0]
    )
    port = free_port()
    more = ("--no-web-open-browser", "--set", f"web_port={port}", "--set", "web_password=secret")
    target = f"http://127.0.0.1:{server.port}"
    with Mitm.proxy(tmp_path, "--web", "--target", target, options=more) as proxy:
        web = Web(port, "secret")
        with Client(proxy.port) as client:
            client.ask(request("/mcp", call(1), *HEADERS))
            client.ask(request("/sse", call(2), *HEADERS))
            client.ask(request("/bad", call(3, "tools/call"), *HEADERS))
        good = wait_until(lambda: (f := web.flow("/mcp")) and f["comment"] and f)
        assert good["comment"].startswith("operation 1, round 1 of 1")
        bad = wait_until(lambda: (f := web.flow("/bad")) and "finding" in f["comment"] and f)
        assert bad["comment"].startswith("operation 3, round 1 of 1")
        assert bad["marked"] == "❌"
        sse = web.flow("/sse")
        assert sse is not None
        shown = web.get(f"/flows/{sse['id']}/response/content/MCP.json")
        assert "# event 1\n# event: message\n# answer to 2\n{" in shown["text"]
        assert proxy.stop() == 0


@pytest.mark.live
def test_stdio_sessions_pass_through(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, Mitm.proxy(tmp_path, "--stdio") as proxy:
        sock = socket.create_connection(("127.0.0.1", proxy.port), LIMIT)
        with sock:
            sock.settimeout(LIMIT)
            sock.sendall(b"\x05\x01\x00")
            assert sock.recv(2) == b"\x05\x00"
            sock.sendall(b"\x05\x01\x00\x01\x7f\x00\x00\x01" + listener.getsockname()[1].to_bytes(2, "big"))
            assert sock.recv(10, socket.MSG_WAITALL)[:2] == b"\x05\x00"
            child, _ = listener.accept()
            with child:
                child.sendall(b"the server speaks first\n")
                assert sock.recv(24, socket.MSG_WAITALL) == b"the server speaks first\n"
        assert proxy.stop() == 0


# where the addon is


@pytest.mark.live
def test_the_addon_of_an_installed_wheel(server: Server, tmp_path: Path) -> None:
    """The wheel carries the folder `addons` as `mrtrscope/_addons`; nothing of a checkout is near."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "mrtrscope", site / "mrtrscope", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "addons", site / "mrtrscope" / "_addons", ignore=shutil.ignore_patterns("__pycache__")
    )
    done = subprocess.run(
        [sys.executable, "-c", "from mrtrscope.cli.proxy import addon_path; print(addon_path())"],
        env={"PYTHONPATH": str(site)}, cwd=tmp_path, capture_output=True, text=True, check=True, encoding="utf-8",
    )  # fmt: skip
    addon = Path(done.stdout.strip())
    assert addon == (site / "mrtrscope" / "_addons" / "mrtrscope_addon.py").resolve()
    mode = f"reverse:http://127.0.0.1:{server.port}"
    with (
        Mitm(tmp_path, "--mode", mode, addon=addon, PYTHONPATH=str(site)) as mitm,
        Client(mitm.port) as client,
    ):
        client.ask(request("/mcp", call(1), *HEADERS))
        assert mitm.exchange("/mcp").body("q") == call(1)


@pytest.mark.live
def test_the_addon_of_a_checkout_that_is_not_installed(server: Server, tmp_path: Path) -> None:
    mode = f"reverse:http://127.0.0.1:{server.port}"
    with Mitm(tmp_path, "--mode", mode, PYTHONPATH="") as mitm, Client(mitm.port) as client:
        client.ask(request("/mcp", call(1), *HEADERS))
        assert mitm.exchange("/mcp").body("q") == call(1)
        wait_until(lambda: (tmp_path / "capture" / "scope.db").exists(), why="the analyser does not run")


def test_addon_path() -> None:
    assert addon_path() == ROOT / "addons" / "mrtrscope_addon.py"

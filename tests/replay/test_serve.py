"""`replay serve` before real clients: the official SDK on both transports, whatever the recording's was."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.journal import read_capture
from tests.conftest import LIMIT, ROOT, SAMPLES, mrtrscope, wait_until
from tests.replay.world import FORM, META, PYTHON, bakery, call, capture, request, said, serve_command, served

pytestmark = pytest.mark.live

GOT = {
    "tools": ["bake", "book_table", "order_cake"],
    "table": "A table for 4 on Friday.",
    "cake": "A large plum cake for 2027-03-01, and on it: For Åsa, 40 today",
    "invitation": "Write to Åsa and invite them to our spring fair.",
    "menu": "spring: plum cake, walnut bread, milk buns (left out: nuts)",
    "bread": "5 loaves, still warm.",
    "progress": 5,
    "tables": ["A table for 4 on Saturday.", "No table for Sunday."],
    "protocol": "2026-07-28",
}


@pytest.mark.parametrize("sample", ["sample-stdio", "sample-relay"])
def test_a_recording_of_either_transport_is_played_on_stdio(tmp_path: Path, sample: str) -> None:
    assert bakery(*serve_command(SAMPLES / sample, tmp_path, "--stdio")) == GOT
    listed = json.loads(mrtrscope("list", tmp_path, "--format", "json").stdout)["operations"]
    assert [op["channel"] for op in listed] == ["replay"] * len(listed)
    assert sum(len(op["rounds"]) for op in listed) == 16
    assert {op["outcome"] for op in listed} == {"complete"}
    assert mrtrscope("check", tmp_path).returncode == 0


@pytest.mark.parametrize("sample", ["sample-stdio", "sample-relay"])
def test_a_recording_of_either_transport_is_played_over_http(tmp_path: Path, sample: str) -> None:
    with served(SAMPLES / sample, tmp_path) as url:
        assert bakery(url) == GOT
    listed = json.loads(mrtrscope("list", tmp_path, "--format", "json").stdout)["operations"]
    assert sum(len(op["rounds"]) for op in listed) == 16
    assert mrtrscope("check", tmp_path).returncode == 0


def post(url: str, message: Any, **headers: str) -> tuple[int, Any]:
    body = json.dumps(message).encode()
    asked = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked, timeout=LIMIT) as answer:
            text = answer.read().decode()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def test_refusals_and_misses_over_http(tmp_path: Path) -> None:
    with served(SAMPLES / "sample-stdio", tmp_path) as url:
        status, answer = post(url, call(1, "book_table", {"day": "Monday"}))
        assert status == 200
        state = answer["result"]["requestState"]
        retry = call(
            2, "book_table", {"day": "Monday"}, inputResponses={"people": {"action": "cancel"}},
            requestState=state[:-1] + "!",
        )  # fmt: skip
        status, answer = post(url, retry)
        assert answer["error"]["code"] == -32602
        assert "not as it was issued" in answer["error"]["message"]
        status, answer = post(url, call(3, "book_table", {"day": "Never"}))
        assert answer["error"]["message"] == (
            "No recorded answer fits tools/call book_table. The closest recorded call differs at /arguments/day."
        )
        assert post(url, request(4, "logging/setLevel", level="info"))[0] == 404
        assert post(url, [])[0] == 400
        assert post(url, {"jsonrpc": "2.0", "method": "notifications/x"}) == (202, None)
        batch = [request(5, "tools/list"), request(6, "tools/list")]
        assert [one["id"] for one in post(url, batch)[1]] == [5, 6]


def test_many_clients_with_many_operations_at_once_get_their_own_answers(tmp_path: Path) -> None:
    """Ten calls that differ by one argument, each asked and answered by thirty clients at the same time."""
    import asyncio

    from mrtrscope.replay.client_http import HttpConnection
    from tests.replay.world import YES, asks

    messages = []
    for n in range(10):
        messages += [
            call(2 * n, "a", {"n": n}),
            asks(2 * n, f"state-{n % 3}"),
        ]  # states are no names: some are equal
        retry = call(2 * n + 1, "a", {"n": n}, inputResponses={"q": YES}, requestState=f"state-{n % 3}")
        messages += [retry, said(2 * n + 1, f"answer {n}")]
    recorded = capture(tmp_path / "recorded", *messages)

    async def client(url: str, k: int) -> list[str]:
        connection = HttpConnection(url, None, number=k)
        got = []
        for n in [(k + i) % 10 for i in range(10)]:
            asked = (await connection.request(call(2 * n, "a", {"n": n}))).message
            assert asked is not None
            state = asked["result"]["requestState"]
            retry = call(2 * n + 1, "a", {"n": n}, inputResponses={"q": YES}, requestState=state)
            reply = (await connection.request(retry)).message
            assert reply is not None
            if (text := reply["result"]["content"][0]["text"]) != f"answer {n}":
                got.append(f"{text} to {n}")
        await connection.close()
        return got

    async def everybody(url: str) -> list[list[str]]:
        return await asyncio.gather(*(client(url, k) for k in range(30)))

    with served(recorded, tmp_path / "own", "--when-used-up", "repeat") as url:
        assert asyncio.run(everybody(url)) == [[]] * 30


def legacy(folder: Path) -> Path:
    """A server of 2025-11-25 that asks its client while it works on a call."""
    hello = {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "c", "version": "1"},
    }  # fmt: skip
    welcome = {
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }  # fmt: skip
    return capture(
        folder,
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 0, "result": welcome},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask", "arguments": {}}},
        {"jsonrpc": "2.0", "id": 9, "_s2c": True, **FORM},
        {"jsonrpc": "2.0", "id": 9, "_s2c": False, "result": {"action": "accept", "content": {"n": 3}}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "three"}]}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "result": {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]},
        },
    )


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_question_of_an_older_revision_is_asked_within_its_call(tmp_path: Path, transport: str) -> None:
    from mcp.types import ElicitResult

    from tests.replay.world import stdio, talk

    recorded, into = legacy(tmp_path / "recorded"), tmp_path / "own"
    asked = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"n": 3})

    async def ask(client: Any) -> str:
        return str((await client.call_tool("ask", {})).content[0].text)

    if transport == "stdio":
        got = talk(
            stdio(*serve_command(recorded, into, "--stdio")), ask, mode="legacy", elicitation_callback=answer
        )
    else:
        with served(recorded, into) as url:
            got = talk(url, ask, mode="legacy", elicitation_callback=answer)
    assert (got, asked) == ("three", ["?"])


def start(*command: str) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_whatever_ends_it_the_record_is_readable(tmp_path: Path, how: signal.Signals) -> None:
    recorded = capture(tmp_path / "recorded", call(1, "a"), said(1, "x"))
    process = start(*serve_command(recorded, tmp_path / "own", "--stdio"))
    with process:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(call(7, "a")).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 7
        process.send_signal(how)
        assert process.wait(LIMIT) == (-how if how == signal.SIGKILL else 0)
    assert json.loads(mrtrscope("list", tmp_path / "own", "--format", "json").stdout)["operations"][0][
        "outcome"
    ] == ("complete")


def test_a_client_that_goes_away_in_the_middle_of_a_stream_ends_only_itself(tmp_path: Path) -> None:
    import socket
    from urllib.parse import urlsplit

    with served(SAMPLES / "sample-relay", tmp_path, "--speed", "0.05", "--when-used-up", "repeat") as url:
        body = json.dumps(
            request(1, "tools/call", {**META, "progressToken": 1}, name="bake", arguments={"loaves": 5})
        ).encode()
        where = urlsplit(url)
        with socket.create_connection((where.hostname, where.port), LIMIT) as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert client.recv(15) == b"HTTP/1.1 200 OK"
        assert post(url, request(2, "tools/list"))[0] == 200
        wait_until(
            lambda: any(
                f.kind == "end" and f.lane == "1c" and b'"client"' in f.data for f in read_capture(tmp_path)
            ),
            why="the record says who ended the stream",
        )


def test_what_a_recording_lacks_is_asked_of_the_real_server_once(tmp_path: Path) -> None:
    recorded = capture(tmp_path / "recorded", call(1, "a"), said(1, "x"))
    real = f"{PYTHON} -m mrtrscope.demo.server"
    first = bakery(*serve_command(recorded, tmp_path / "own", "--stdio", "--record-missing", real))
    assert first == GOT
    assert bakery(*serve_command(recorded, tmp_path / "own", "--stdio")) == GOT


MISTAKES = [
    ([], "Error: say either --stdio or --listen HOST:PORT. See"),
    (["--stdio", "--listen", "127.0.0.1:0"], "Error: say either --stdio or --listen HOST:PORT. See"),
    (["--listen", "here"], "Error: --listen here: HOST:PORT is wanted, say 127.0.0.1:8000. See"),
    (["--listen", "0.0.0.0:0"], "Error: cannot serve on 0.0.0.0:0: only loopback addresses are listened on"),
    (["--listen", "example.org:80"], "Error: cannot serve on example.org:80: only loopback addresses"),
]


@pytest.mark.parametrize(("options", "says"), MISTAKES, ids=[" ".join(o) for o, _ in MISTAKES])
def test_a_mistake_is_one_line(tmp_path: Path, options: list[str], says: str) -> None:
    done = mrtrscope("replay", "serve", SAMPLES / "sample-stdio", *options, "--capture", tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(says)
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with served(SAMPLES / "sample-stdio", tmp_path) as url:
        address = url.removeprefix("http://").partition("/")[0]
        done = mrtrscope(
            "replay", "serve", SAMPLES / "sample-stdio", "--listen", address, "--capture", tmp_path
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"Error: cannot serve on {address}: Address already in use")


def test_what_holds_nothing_to_play_is_unreadable(tmp_path: Path) -> None:
    empty = capture(tmp_path / "empty")
    done = mrtrscope("replay", "serve", empty, "--stdio", "--capture", tmp_path)
    assert done.returncode == 3
    assert done.stderr == f"Error: {empty}: no request in it, so there is nothing to play.\n"

"""Whatever is killed, whenever: the capture is readable, and nothing stays behind (tests marked `live` look for it)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from mrtrscope.journal import read_capture
from mrtrscope.replay.client_stdio import StdioConnection
from mrtrscope.replay.lanes import Lanes
from tests.conftest import LIMIT, ROOT, SAMPLES, mrtrscope, wait_until
from tests.replay.world import META, PYTHON, YES, asks, call, capture, recording, request, said, serve_command

pytestmark = pytest.mark.live

# Says its process id in its first answer, then answers nothing; ends with its input.
SILENT = """
import json, os, sys
for n, line in enumerate(sys.stdin):
    m = json.loads(line)
    if n == 0:
        r = {"resultType": "complete", "content": [{"type": "text", "text": str(os.getpid())}]}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def playing(verb: list[str], recorded: Path, own: Path, server: str) -> subprocess.Popen[str]:
    """A command that plays a recording to a server given as code, and records into `own`."""
    argv = [
        sys.executable,
        "-m",
        "mrtrscope",
        *verb,
        str(recorded),
        "--capture",
        str(own),
        "--format",
        "json",
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*argv, "--", PYTHON, "-c", server], cwd=ROOT, stdout=pipe, stderr=pipe, text=True
    )


def driving(folder: Path) -> subprocess.Popen[str]:
    recorded = capture(folder / "recorded", call(1, "a"), said(1, "x"), call(2, "b"), said(2, "y"))
    return playing(["replay", "drive"], recorded, folder / "own", SILENT)


def server_pid(own: Path) -> int:
    """Of the live server, once the second request is on its way."""

    def asked() -> int:
        frames = list(read_capture(own)) if own.is_dir() else []
        sent = [f for f in frames if f.lane == "0i" and f.kind == "data"]
        came = [f for f in frames if f.lane == "0o" and f.kind == "data"]
        if len(sent) < 2 or not came:
            return 0
        return int(json.loads(came[0].data)["result"]["content"][0]["text"])

    return wait_until(asked, why="the second request is sent")


def rows(own: Path) -> list[dict[str, Any]]:
    done = mrtrscope("list", own, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["operations"]
    return found


def test_a_server_killed_under_a_drive(tmp_path: Path) -> None:
    with driving(tmp_path) as process:
        os.kill(server_pid(tmp_path / "own"), signal.SIGKILL)
        out, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    verdicts = [(one["verdict"], one["rounds"][0]["why"]) for one in json.loads(out)["operations"]]
    assert verdicts == [("differs", ""), ("failed", "the server was ended by signal 9")]
    assert [op["outcome"] for op in rows(tmp_path / "own")] == ["complete", "lost"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_drive_killed_in_the_middle(tmp_path: Path, how: signal.Signals) -> None:
    with driving(tmp_path) as process:
        server_pid(tmp_path / "own")
        process.send_signal(how)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    assert "Traceback" not in err
    assert [op["method"] for op in rows(tmp_path / "own")] == ["tools/call", "tools/call"]


# Asks once, says its process id in the question, and answers no retry; ends with its input.
ASKING = """
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "inputResponses" in m["params"]:
        continue
    form = {"mode": "form", "message": str(os.getpid()), "requestedSchema": {"type": "object", "properties": {}}}
    ask = {"q": {"method": "elicitation/create", "params": form}}
    r = {"resultType": "input_required", "inputRequests": ask, "requestState": "s"}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"""


def probing(folder: Path) -> subprocess.Popen[str]:
    recorded = capture(
        folder / "recorded", call(1, "a", {"x": 1}), asks(1, "s"),
        call(2, "a", {"x": 1}, inputResponses={"q": YES}, requestState="s"), said(2, "x"),
    )  # fmt: skip
    return playing(["probe", "server"], recorded, folder / "own", ASKING)


def asking_pid(own: Path) -> int:
    """Of the live server, once the retry is on its way."""

    def retried() -> int:
        frames = list(read_capture(own)) if own.is_dir() else []
        sent = b"".join(f.data for f in frames if f.lane == "0i" and f.kind == "data")
        came = b"".join(f.data for f in frames if f.lane == "0o" and f.kind == "data")
        if b"inputResponses" not in sent or not came:
            return 0
        asked = json.loads(came.splitlines()[0])["result"]["inputRequests"]["q"]
        return int(asked["params"]["message"])

    return wait_until(retried, why="the retry is sent")


def test_a_server_killed_under_a_probe(tmp_path: Path) -> None:
    with probing(tmp_path) as process:
        os.kill(asking_pid(tmp_path / "own"), signal.SIGKILL)
        out, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 1
    assert "Traceback" not in err
    right = json.loads(out)["attempts"][0]
    assert (right["attempt"], right["verdict"]) == ("as-recorded", "cannot tell")
    assert right["did"] == "the server was ended by signal 9"
    assert [op["outcome"] for op in rows(tmp_path / "own")][:1] == ["lost"]


# Says its process id on stderr, answers nothing, and minds neither the end of its input nor SIGTERM.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), file=sys.stderr, flush=True)
while True:
    time.sleep(1)
"""


def test_a_server_that_will_not_end_ends_when_its_end_is_broken_off() -> None:
    async def ended() -> tuple[int, int | None]:
        connection = StdioConnection([PYTHON, "-c", STUBBORN], None)
        await connection.start()
        async with asyncio.timeout(LIMIT):
            while not connection.said.endswith(b"\n"):
                await asyncio.sleep(0)
        closing = asyncio.ensure_future(connection.close())
        await asyncio.sleep(0)  # it has begun
        closing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await closing
        assert connection._child is not None
        return int(connection.said), connection._child.returncode

    pid, code = asyncio.run(ended())
    assert code == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_connections_whose_user_was_stopped_are_closed_with_all(tmp_path: Path) -> None:
    async def ended() -> int | None:
        recorded = recording(tmp_path / "recorded", call(1, "a"), said(1, "x"))
        lanes = Lanes(recorded, [PYTHON, "-c", STUBBORN], None, {})
        connection = await lanes.another(recorded.steps[0])
        closing = asyncio.ensure_future(lanes.close())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        closing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await closing
        assert isinstance(connection, StdioConnection) and connection._child is not None
        return connection._child.returncode

    assert asyncio.run(ended()) == -signal.SIGKILL


def test_connections_that_are_over_are_not_kept(tmp_path: Path) -> None:
    async def kept() -> int:
        recorded = recording(tmp_path / "recorded", call(1, "a"), said(1, "x"))
        lanes = Lanes(recorded, "http://127.0.0.1:9/mcp", None, {})
        for _ in range(50):
            await lanes.end(await lanes.another(recorded.steps[0]))
        left = len(lanes._every)
        await lanes.close()
        return left

    assert asyncio.run(kept()) == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_probe_killed_in_the_middle(tmp_path: Path, how: signal.Signals) -> None:
    with probing(tmp_path) as process:
        asking_pid(tmp_path / "own")
        process.send_signal(how)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode != 0
    assert "Traceback" not in err
    (op,) = rows(tmp_path / "own")
    assert (op["method"], op["outcome"], len(op["rounds"])) == (
        "tools/call",
        "open" if how == 9 else "lost",
        2,
    )


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_client_that_is_tried_ends_with_its_probe(tmp_path: Path, how: signal.Signals) -> None:
    """It would sleep for an hour, and hears no SIGTERM; `live` looks for what is left."""
    code = (
        "import json, signal, sys, time, urllib.request as u\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'tools/call', 'params': {'name': 'x'}}).encode()\n"
        "r = u.Request(sys.argv[1], body, {'Content-Type': 'application/json'})\n"
        "u.build_opener(u.ProxyHandler({})).open(r).read()\n"
        "time.sleep(3600)\n"
    )
    argv = [
        sys.executable,
        "-m",
        "mrtrscope",
        "probe",
        "client",
        "--capture",
        str(tmp_path),
        "--",
        PYTHON,
        "-c",
        code,
    ]
    with subprocess.Popen([*argv, "{url}"], cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: any(b'"x"' in f.data for f in read_capture(tmp_path)), why="the client calls")
        process.send_signal(how)
        _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == (-how if how == signal.SIGKILL else 128 + how)
    assert "Traceback" not in err
    assert [op["method"] for op in rows(tmp_path)] == ["tools/call"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_replay_over_http_killed_in_the_middle_of_a_stream(tmp_path: Path, how: signal.Signals) -> None:
    argv = serve_command(SAMPLES / "sample-relay", tmp_path, "--speed", "0.01", "--listen", "127.0.0.1:0")
    with subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        where = urlsplit(process.stderr.readline().split()[-1])
        body = json.dumps(
            request(1, "tools/call", {**META, "progressToken": 1}, name="bake", arguments={"loaves": 5})
        ).encode()
        with socket.create_connection((where.hostname, where.port), 60) as client:
            client.sendall(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            assert client.recv(15) == b"HTTP/1.1 200 OK"
            process.send_signal(how)
            assert process.wait(LIMIT) == (-how if how == signal.SIGKILL else 0)
            with contextlib.suppress(ConnectionError):
                while client.recv(65536):
                    pass
        assert "Traceback" not in process.stderr.read()
    (op,) = rows(tmp_path)
    assert (op["method"], op["outcome"]) == ("tools/call", "open" if how == signal.SIGKILL else "lost")

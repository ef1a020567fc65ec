"""Whatever is killed, whenever: the capture is readable, and nothing stays behind (tests marked `live` look for it)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.journal import read_capture
from tests.conftest import ROOT, mrtrscope, wait_until
from tests.replay.world import PYTHON, call, capture, said

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


def driving(folder: Path) -> subprocess.Popen[str]:
    recorded = capture(folder / "recorded", call(1, "a"), said(1, "x"), call(2, "b"), said(2, "y"))
    argv = [
        sys.executable,
        "-m",
        "mrtrscope",
        "replay",
        "drive",
        str(recorded),
        "--capture",
        str(folder / "own"),
    ]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*argv, "--format", "json", "--", PYTHON, "-c", SILENT], cwd=ROOT, stdout=pipe, stderr=pipe, text=True
    )


def server_pid(own: Path) -> int:
    """Of the live server, once the second request is on its way."""

    def asked() -> int:
        frames = list(read_capture(own)) if own.is_dir() else []
        sent = [f for f in frames if f.lane == "0i" and f.kind == "data"]
        came = [f for f in frames if f.lane == "0o" and f.kind == "data"]
        if len(sent) < 2 or not came:
            return 0
        return int(json.loads(came[0].data)["result"]["content"][0]["text"])

    return wait_until(asked, 30, "the second request is sent")


def rows(own: Path) -> list[dict[str, Any]]:
    done = mrtrscope("list", own, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["operations"]
    return found


def test_a_server_killed_under_a_drive(tmp_path: Path) -> None:
    import os

    with driving(tmp_path) as process:
        os.kill(server_pid(tmp_path / "own"), signal.SIGKILL)
        out, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    verdicts = [(one["verdict"], one["rounds"][0]["why"]) for one in json.loads(out)["operations"]]
    assert verdicts == [("differs", ""), ("failed", "the server was ended by signal 9")]
    assert [op["outcome"] for op in rows(tmp_path / "own")] == ["complete", "lost"]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_drive_killed_in_the_middle(tmp_path: Path, how: signal.Signals) -> None:
    with driving(tmp_path) as process:
        server_pid(tmp_path / "own")
        process.send_signal(how)
        _, err = process.communicate(timeout=30)
    assert process.returncode != 0
    assert "Traceback" not in err
    assert [op["method"] for op in rows(tmp_path / "own")] == ["tools/call", "tools/call"]

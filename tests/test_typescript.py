"""The official TypeScript SDK on both sides, recorded on stdio and over HTTP while the server asks in every way."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import LIMIT, ROOT, mrtrscope, need, npm
from tests.peers.relayed import Relayed
from tests.peers.wrapped import wrapped

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

PEERS = ROOT / "tests" / "peers"
VERSIONS = {"client": "2.4.0", "server": "2.4.0", "node": "2.1.2"}
CALLS: list[dict[str, Any]] = [{"name": name, "arguments": {}} for name in ("one", "three", "all", "again")]
# tool: rounds, and how each round but the first is linked to the one before
ASKED = {
    "one": (2, {"inferred"}),  # no state was handed out
    "three": (4, {"exact"}),
    "all": (2, {"exact"}),
    "again": (2, {"exact"}),
}
# What 2.4.0 does to the process that it starts to ask which revisions a server speaks.
HASTY = ("stdio/client-closes-stdin-first", "client")


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> str:
    """The program, with the packages where the peers look for them."""
    found = need("node", "runs both peers")
    for name, version in VERSIONS.items():
        package = npm(f"@modelcontextprotocol/{name}/package.json", "the official SDK for TypeScript")
        assert json.loads(package.read_text(encoding="utf-8"))["version"] == version
    monkeypatch.setenv("MRTRSCOPE_NPM", str(package.parents[3]))
    return found


@contextmanager
def recorded(by: str, capture: Path, node: str) -> Iterator[str]:
    """Where the client finds the server: the command of a wrap, or the address of a relay."""
    server = [node, str(PEERS / "asking_server.cjs")]
    if by == "wrap":
        yield " ".join(wrapped(capture, "asking", *server))
        return
    with subprocess.Popen(
        [*server, "--http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        port = int(running.stdout.readline().rpartition(":")[2].partition("/")[0])
        with Relayed(capture, port) as relay:
            yield f"http://127.0.0.1:{relay.port}/mcp"
        running.stdin.close()
        running.wait(LIMIT)


@pytest.mark.parametrize("by", ["wrap", "relay"])
def test_every_way_to_ask_is_one_operation_each(tmp_path: Path, node: str, by: str) -> None:
    capture = tmp_path / "capture"
    with recorded(by, capture, node) as where:
        client = [node, str(PEERS / "probed_client.cjs"), where, json.dumps(CALLS), "all"]
        done = subprocess.run(client, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["texts"] == ["one", "three", "form model roots url", "again"]

    operations = json.loads(mrtrscope("list", capture, "--format", "json").stdout)["operations"]
    assert {op["outcome"] for op in operations} == {"complete"}
    calls: dict[str, dict[str, Any]] = {op["target"]: op for op in operations if op["method"] == "tools/call"}
    assert len(calls) == len([op for op in operations if op["method"] == "tools/call"])
    got = {
        name: (len(op["rounds"]), {round["link"]["grade"] for round in op["rounds"][1:]})
        for name, op in calls.items()
    }
    assert got == ASKED
    assert {op["kind"] for op in calls.values()} == {"mrtr"}

    found = json.loads(mrtrscope("check", capture, "--format", "json").stdout)["findings"]
    broken = {(f["rule"], f["party"]) for f in found if f["level"] != "info"}
    assert broken <= ({HASTY} if by == "wrap" else set())

"""The official TypeScript client, as it is: before a server that misbehaves, and before a recorded one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.replay.ways import BROKEN, HTTP, KEPT, NOT_MADE, UNSURE, WAYS
from tests.conftest import ROOT, SAMPLES, mrtrscope, need, npm
from tests.replay.world import serve_command, served

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

VERSION = "2.4.0"
CALLS = [
    {"name": "book_table", "arguments": {"day": "Friday"}},
    {"name": "order_cake", "arguments": {"kind": "plum"}},
]
# What 2.4.0 does; see docs/replay.md.
SEEN = {name: KEPT if HTTP in way.transports else NOT_MADE for name, way in WAYS.items()} | {
    "no-result-type": UNSURE,
    "duplicate-keys": UNSURE,
    "stream-cut": UNSURE,
    "list-asks": BROKEN,
}


@pytest.fixture(scope="module")
def client() -> list[str]:
    node = need("node", "runs the TypeScript client")
    package = json.loads(npm("@modelcontextprotocol/client/package.json", "the official client").read_text())
    assert package["version"] == VERSION
    return [node, str(ROOT / "tests" / "peers" / "probed_client.cjs")]


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    found = npm("@modelcontextprotocol/client/package.json", "the official client")
    monkeypatch.setenv("MRTRSCOPE_NPM", str(found.parents[3]))


def probed(into: Path, client: list[str], where: str, *options: str) -> dict[str, dict[str, Any]]:
    argv = ["probe", "client", "--capture", into, "--format", "json", *options, "--", *client, where]
    done = mrtrscope(*argv, timeout=280)
    assert done.returncode in (0, 1), done.stderr
    return {row["way"]: row for row in json.loads(done.stdout)["ways"]}


def test_what_it_makes_of_a_server_that_misbehaves_over_http(tmp_path: Path, client: list[str]) -> None:
    got = probed(tmp_path, client, "{url}")
    assert {way: row["verdict"] for way, row in got.items()} == SEEN
    assert got["endless"]["saw"] == got["endless-state-only"]["saw"] == "gave up after 10 retries"
    assert got["list-asks"]["saw"] == "retried 10 times"
    assert got["stream-cut"]["ended"].endswith("Request timed out")  # it waits on
    assert "carries neither inputRequests nor requestState" in got["neither-field"]["stderr"][-1]
    assert got["cached-reads"]["saw"] == "asked for either, 2 requests in all"


def test_what_it_makes_of_it_on_stdio(tmp_path: Path, client: list[str]) -> None:
    """To ask which revisions a server speaks it starts one of its own, and another for the session."""
    ways = ["endless", "stream-cut", "probe-32601", "probe-32602", "probe-32000", "probe-1234"]
    got = probed(tmp_path, client, "{server}", "--only", ",".join(ways))
    assert {way: row["verdict"] for way, row in got.items()} == {
        way: UNSURE if way == "stream-cut" else KEPT for way in ways
    }
    assert got["stream-cut"]["ended"].endswith("Connection closed")
    assert {row["saw"] for way, row in got.items() if way.startswith("probe-")} == {
        "fell back to the handshake"
    }


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("sample", ["sample-stdio", "sample-relay"])
def test_a_recording_is_played_to_it(tmp_path: Path, client: list[str], sample: str, transport: str) -> None:
    def visit(where: str) -> dict[str, Any]:
        done = subprocess.run(
            [*client, where, json.dumps(CALLS)], cwd=ROOT, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        got: dict[str, Any] = json.loads(done.stdout)
        return got

    if transport == "stdio":
        got = visit(" ".join(serve_command(SAMPLES / sample, tmp_path, "--stdio")))
    else:
        with served(SAMPLES / sample, tmp_path) as url:
            got = visit(url)
    assert got == {
        "tools": ["book_table", "order_cake", "bake"],
        "texts": [
            "A table for 4 on Friday.",
            "A large plum cake for 2027-03-01, and on it: For Åsa, 40 today",
        ],
        "read": [],
    }
    found = json.loads(mrtrscope("check", tmp_path, "--format", "json").stdout)["findings"]
    assert [f["rule"] for f in found if f["level"] == "must"] == []

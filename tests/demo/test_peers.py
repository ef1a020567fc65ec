"""The demo's client and server talk to each other without anything between them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import LIMIT

pytestmark = pytest.mark.live

SERVER = [sys.executable, "-m", "mrtrscope.demo.server"]

GUEST = {
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
CLUMSY = {
    "state_changed": "error -32602: Invalid or expired requestState",
    "same_id_again": "A table for 3 on Tuesday.",
    "one_answer_missing": "asked for day",
}
CLIENTS = {"client": GUEST, "broken_client": CLUMSY}


@pytest.fixture
def url() -> Iterator[str]:
    with subprocess.Popen([*SERVER, "--http", "0"], stdin=-1, stdout=-1, text=True) as server:
        assert server.stdout and server.stdin
        yield server.stdout.readline().strip()
        server.stdin.close()
        assert server.wait(LIMIT) == 0


def got(module: str, *target: str) -> Any:
    command = [sys.executable, "-m", f"mrtrscope.demo.{module}", *target]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("module", CLIENTS)
def test_over_stdio(module: str) -> None:
    assert got(module, *SERVER) == CLIENTS[module]


@pytest.mark.parametrize("module", CLIENTS)
def test_over_http(module: str, url: str) -> None:
    assert got(module, url) == CLIENTS[module]

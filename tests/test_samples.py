"""The sample captures say the same on every way of recording: same peers, same operations, same findings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SAMPLES, mrtrscope
from tests.test_demo import EXPECTED

WAYS = [
    ("sample-demo", "bakery"),
    ("sample-demo", "http"),
    ("sample-stdio", "bakery"),
    ("sample-relay", "http"),
]
BROKEN = {
    "mrtr/state-echoed-verbatim": "must",
    "mrtr/new-request-id": "must",
    "mrtr/all-keys-answered": "must",
}

Read = Callable[[str, str], Any]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """What a verb says of a sample, of which a copy is analysed: a checkout may be read-only."""

    def ask(verb: str, sample: str) -> Any:
        copy = tmp_path / sample
        if not copy.exists():
            shutil.copytree(SAMPLES / sample, copy, ignore=shutil.ignore_patterns("scope.db*", "*.lock"))
        done = mrtrscope(verb, copy, "--format", "json")
        assert done.returncode in (0, 1), done.stderr
        assert done.stderr == ""
        return json.loads(done.stdout)

    return ask


@pytest.mark.parametrize(("sample", "channel"), WAYS)
def test_the_operations_are_those_of_the_demo(read: Read, sample: str, channel: str) -> None:
    counts: dict[tuple[str, str | None, int], int] = {}
    for operation in read("list", sample)["operations"]:
        if operation["channel"].startswith(channel):
            key = (operation["method"], operation["target"], len(operation["rounds"]))
            counts[key] = counts.get(key, 0) + 1
    assert counts == EXPECTED


@pytest.mark.parametrize(("sample", "channel"), WAYS)
def test_the_broken_client_is_caught(read: Read, sample: str, channel: str) -> None:
    findings = [f for f in read("check", sample)["findings"] if f["channel"].startswith(channel)]
    assert {f["rule"]: f["level"] for f in findings if f["level"] != "info"} == BROKEN
    assert {f["party"] for f in findings} == {"client"}


@pytest.mark.parametrize(("sample", "channel"), WAYS)
def test_every_retry_is_linked(read: Read, sample: str, channel: str) -> None:
    operations = [o for o in read("list", sample)["operations"] if o["channel"].startswith(channel)]
    links = [r["link"] for o in operations for r in o["rounds"][1:]]
    grades = [link["grade"] for link in links]
    assert (grades.count("exact"), grades.count("suspect")) == (len(grades) - 1, 1)
    assert all(link["to"] in link["candidates"] for link in links)


@pytest.mark.parametrize("sample", sorted({sample for sample, _ in WAYS}))
def test_every_message_was_delivered_and_read(read: Read, sample: str) -> None:
    messages = read("messages", sample)
    assert (messages["non_messages"], messages["undelivered"]) == (0, 0)
    assert [m["m"] for m in messages["messages"]] == [
        f"m{n}" for n in range(1, len(messages["messages"]) + 1)
    ]
    assert {m["kind"] for m in messages["messages"]} == {"request", "response", "error", "notification"}
    assert not any(m["oddities"] for m in messages["messages"])

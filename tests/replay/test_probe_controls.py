"""`probe server`: what an attempt proves, what its control takes back, later rounds, sessions, tasks, names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, mrtrscope
from tests.replay.world import (
    FORM,
    PYTHON,
    YES,
    asks,
    call,
    capture,
    request,
    result,
    said,
    url_of,
)

pytestmark = pytest.mark.live

KEPT, BROKEN, UNSURE, NOT_MADE = "kept", "broken", "cannot tell", "not made"
ODD = [PYTHON, str(ROOT / "tests" / "peers" / "odd_server.py")]
ANN, BOB = ["--header", "Authorization: Bearer ann"], ["--as", "Authorization: Bearer bob"]


def two_rounds(folder: Path) -> Path:
    """A client that asks which tools there are, calls one, answers two questions, and calls another."""
    one, two = (
        {
            **FORM,
            "params": {"message": key, "mode": "form", "requestedSchema": FORM["params"]["requestedSchema"]},
        }
        for key in ("one", "two")
    )
    yes_one, yes_two = {"one": YES}, {"two": YES}
    return capture(
        folder,
        request(1, "tools/list"), result(1, tools=[{"name": n, "inputSchema": {"type": "object"}} for n in "ab"]),
        call(2, "a", {"x": 1}), asks(2, "s1", one=one),
        call(3, "a", {"x": 1}, inputResponses=yes_one, requestState="s1"), asks(3, "s2", two=two),
        call(4, "a", {"x": 1}, inputResponses=yes_two, requestState="s2"), said(4, "done"),
        call(5, "b", {"x": 1}), asks(5, "s3", one=one),
        call(6, "b", {"x": 1}, inputResponses=yes_one, requestState="s3"), asks(6, "s4", two=two),
        call(7, "b", {"x": 1}, inputResponses=yes_two, requestState="s4"), said(7, "done"),
    )  # fmt: skip


def with_a_task(folder: Path) -> Path:
    made = {"taskId": "t", "status": "working", "createdAt": "2026-11-29T19:05:15Z", "ttlMs": 1000}
    return capture(
        folder, call(1, "a", {"x": 1}), result(1, **made | {"resultType": "task"}),
        request(2, "tasks/get", taskId="t"), result(2, **made),
    )  # fmt: skip


def rows(capture: Path, into: Path, mode: str, *options: str, http: bool = False) -> list[dict[str, Any]]:
    def run(*where: str) -> list[dict[str, Any]]:
        done = mrtrscope("probe", "server", capture, "--capture", into, "--format", "json", *options, *where)
        assert done.returncode in (0, 1), done.stderr
        found: list[dict[str, Any]] = json.loads(done.stdout)["attempts"]
        return found

    if not http:
        return run("--", *ODD, mode)
    with url_of([*ODD, mode, "--http"]) as url:
        return run("--target", url)


def one(found: list[dict[str, Any]], attempt: str, round: int = 0) -> tuple[str, str]:
    """Verdict and why of an attempt, in a round when that is said."""
    (row,) = [r for r in found if r["attempt"] == attempt and r["round"] in (round, round or r["round"])]
    return row["verdict"], row["why"]


def test_every_retry_of_an_operation_gets_its_attempts(tmp_path: Path) -> None:
    recorded = two_rounds(tmp_path / "recorded")
    found = rows(recorded, tmp_path / "own", "right", "--only", "op2")
    rounds = {r["round"] for r in found}
    assert rounds == {2, 3, 0}
    assert {r["name"] for r in found if not r["round"]} == {"the server as a whole"}
    for round in (2, 3):
        names = (
            "state-changed",
            "state-dropped",
            "other-tool",
            "answer-missing",
            "answer-off-schema",
            "same-id",
        )
        assert {one(found, name, round)[0] for name in names} == {KEPT}
    assert one(found, "undeclared", 2)[0] == BROKEN  # it looks at no declaration
    assert one(found, "undeclared-on-retry", 2) == (BROKEN, "asked though nothing was declared")
    assert one(found, "undeclared-on-retry", 3) == (KEPT, "there was nothing left to ask")
    only = rows(recorded, tmp_path / "own", "right", "--only", "op2,state-changed,same-id", "--round", "3")
    assert [(r["round"], r["attempt"]) for r in only] == [
        (3, n) for n in ("as-recorded", "state-changed", "same-id")
    ]


def test_a_refusal_proves_nothing_where_what_is_right_is_refused_too(tmp_path: Path) -> None:
    found = rows(
        two_rounds(tmp_path / "recorded"), tmp_path / "own", "sulking", "--only", "op2,state-changed"
    )
    assert one(found, "as-recorded", 2)[0] == KEPT
    assert one(found, "state-changed", 2) == (
        UNSURE,
        "the unaltered retry was not taken right after it, either",
    )


def test_a_refusal_of_a_tool_that_does_not_work_proves_nothing(tmp_path: Path) -> None:
    recorded = two_rounds(tmp_path / "recorded")
    verdict, why = one(
        rows(recorded, tmp_path / "own", "alone", "--only", "op2,other-tool", "--round", "2"), "other-tool"
    )
    assert (verdict, why) == (
        UNSURE,
        "the other tool does not work by itself: the server did not ask, so there is nothing to take up",
    )
    assert (
        one(
            rows(recorded, tmp_path / "own", "right", "--only", "op2,other-tool", "--round", "2"),
            "other-tool",
        )[0]
        == KEPT
    )


def test_an_id_that_is_answered_with_what_was_stored_under_it_gets_no_answer(tmp_path: Path) -> None:
    recorded = two_rounds(tmp_path / "recorded")
    found = rows(recorded, tmp_path / "own", "stored", "--only", "op2,same-id", "--round", "2")
    assert one(found, "same-id") == (BROKEN, "the first request was answered again, not this one")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("session", (BROKEN, "refused")),
        ("badge", (KEPT, "")),
        ("right", (NOT_MADE, "the server minted no Mcp-Session-Id and no cookie")),
    ],
)
def test_a_retry_without_the_headers_that_the_server_minted(
    tmp_path: Path, mode: str, expected: tuple[str, str]
) -> None:
    recorded = two_rounds(tmp_path / "recorded")
    found = rows(recorded, tmp_path / "own", mode, "--only", "op2,without-session", "--round", "2", http=True)
    assert one(found, "as-recorded")[0] == KEPT
    assert one(found, "without-session") == expected


@pytest.mark.parametrize(
    ("mode", "options", "expected"),
    [
        ("shared", [*ANN, *BOB], (BROKEN, "another principal got the task's data")),
        ("owned", [*ANN, *BOB], (KEPT, "")),
        ("owned", ANN, (UNSURE, "say who with --as")),
        ("owned", BOB, (UNSURE, "op1 tools/call a was not answered with a task")),
        ("right", [*ANN, *BOB], (UNSURE, "op1 tools/call a was not answered with a task")),
    ],
)
def test_whose_a_task_is(tmp_path: Path, mode: str, options: list[str], expected: tuple[str, str]) -> None:
    recorded = with_a_task(tmp_path / "recorded")
    found = rows(recorded, tmp_path / "own", mode, "--only", "task-of-another", *options, http=True)
    assert [r["attempt"] for r in found] == ["task-of-another"]
    assert one(found, "task-of-another") == expected


def test_there_are_no_principals_on_stdio(tmp_path: Path) -> None:
    found = rows(
        with_a_task(tmp_path / "recorded"), tmp_path / "own", "owned", "--only", "task-of-another", *BOB
    )
    assert one(found, "task-of-another") == (UNSURE, "there are no principals on stdio")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("right", (KEPT, "")),
        ("fond", (BROKEN, "tools/list is answered otherwise, at /result/tools/2")),
        ("moody", (UNSURE, "tools/list is answered otherwise each time, whatever the name")),
    ],
)
def test_whether_the_name_of_a_client_matters(tmp_path: Path, mode: str, expected: tuple[str, str]) -> None:
    found = rows(two_rounds(tmp_path / "recorded"), tmp_path / "own", mode, "--only", "other-client-name")
    assert one(found, "other-client-name") == expected


def test_what_there_is_can_be_listed_and_named_at_once(tmp_path: Path) -> None:
    from mrtrscope.replay.attempts import ATTEMPTS
    from mrtrscope.replay.ways import WAYS

    listed = mrtrscope("probe", "server", "--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(ATTEMPTS)
    listed = mrtrscope("probe", "client", "--list").stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(WAYS)
    done = mrtrscope("probe", "server", two_rounds(tmp_path), "--only", "op2,nothing", "--", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "Error: There is no attempt 'nothing'; there are: as-recorded, state-invented"
    )
    done = mrtrscope("probe", "server", tmp_path, "--round", "9", "--", "x")
    assert done.stderr.startswith(f"Error: {tmp_path}: no operation in it has a round 9 that may be probed")


def test_every_rule_that_only_shows_when_somebody_acts_is_tried() -> None:
    """And docs/replay.md says by what."""
    from mrtrscope.replay.attempts import ATTEMPTS
    from mrtrscope.replay.ways import WAYS
    from mrtrscope.rules.catalogue import ENTRIES

    active = {rule for rule, entry in ENTRIES.items() if entry["observable"] == "active"}
    assert len(active) == 16
    tried: dict[str, set[str]] = {rule: set() for rule in active}
    for one in [*ATTEMPTS.values(), *WAYS.values()]:
        if one.rule in active:
            tried[one.rule].add(one.name)
    assert all(tried.values())
    lines = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8").splitlines()
    for rule, names in tried.items():
        (row,) = [line for line in lines if line.startswith(f"| `{rule}` |")]
        assert {name for name in names if f"`{name}`" in row} == names


def test_on_a_terminal_it_says_how_far_it_has_come(tmp_path: Path) -> None:
    import io

    from mrtrscope.cli.probe_names import progress

    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, expected in (
        (Screen(), "\r\x1b[K1 of 2  first\r\x1b[K2 of 2  second\r\x1b[K"),
        (io.StringIO(), "2 to try, beginning with first; some may be carried out.\n"),
    ):
        with progress(stream, "; some may be carried out") as made:
            made(0, 2, "first")
            made(1, 2, "second")
        assert stream.getvalue() == expected

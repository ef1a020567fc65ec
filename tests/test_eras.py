"""The sample captures of other eras and of two hops say what the page about them says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mrtrscope.rules.examples import Case, cases_of
from tests.conftest import SAMPLES, SHARED, mrtrscope


def listed(tmp_path: Path, sample: str) -> list[dict[str, Any]]:
    """The operations of a sample, of which a copy is analysed: a checkout may be read-only."""
    copy = tmp_path / sample
    shutil.copytree(SAMPLES / sample, copy, ignore=shutil.ignore_patterns("scope.db*", "*.lock"))
    done = mrtrscope("list", copy, "--format", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["operations"]
    return found


@pytest.mark.parametrize(
    ("sample", "kinds"),
    [
        ("sample-legacy", {"legacy": 2}),
        ("sample-gateway", {"mrtr": 1, "legacy": 1}),
        ("sample-gateway-modern", {"mrtr": 2}),
        ("sample-task", {"task": 1}),
        ("sample-task-legacy", {"task": 1}),
        ("sample-subscription", {"subscription": 1}),
        ("sample-agent", {"a2a": 5}),
    ],
)
def test_each_kind_is_one_operation_whose_times_add_up(
    tmp_path: Path, sample: str, kinds: dict[str, int]
) -> None:
    ops = [op for op in listed(tmp_path, sample) if op["kind"] != "single"]
    assert {kind: sum(op["kind"] == kind for op in ops) for kind in {op["kind"] for op in ops}} == kinds
    for op in ops:
        times = op["times"]
        assert times["server"] + times["waiting"] == pytest.approx(times["total"], abs=1e-3)


def test_every_question_in_the_old_way_stands_in_its_call(tmp_path: Path) -> None:
    ops = {op["id"]: op for op in listed(tmp_path, "sample-legacy")}
    asked = [op for op in ops.values() if op["method"] == "elicitation/create"]
    assert [(op["within"]["grade"], op["id"] in ops[op["within"]["operation"]]["nested"]) for op in asked] == [
        ("exact", True), ("exact", True),
    ]  # fmt: skip


@pytest.mark.parametrize("sample", ["sample-gateway", "sample-gateway-modern"])
def test_every_call_of_a_gateway_is_a_hop_of_its_hosts(tmp_path: Path, sample: str) -> None:
    ops = {op["id"]: op for op in listed(tmp_path, sample)}
    hops = [op for op in ops.values() if op["method"] == "tools/call" and op["channel"] != "gateway"]
    assert [(op["hop_of"]["grade"], op["id"] in ops[op["hop_of"]["operation"]]["hops"]) for op in hops] == [
        ("exact", True)
    ]


def test_the_states_of_a_task_and_of_an_agents(tmp_path: Path) -> None:
    (task,) = [op for op in listed(tmp_path, "sample-task") if op["kind"] == "task"]
    assert ([s["state"] for s in task["task"]["states"]], task["task"]["polls"], task["task"]["updates"]) == (
        ["working", "input_required", "working", "completed"], 6, 1,
    )  # fmt: skip
    older = listed(tmp_path, "sample-task-legacy")
    (task,) = [op for op in older if op["kind"] == "task"]
    assert ([s["state"] for s in task["task"]["states"]], task["task"]["polls"], task["nested"]) == (
        ["working", "input_required", "working", "completed"], 4, [older[-1]["id"]],
    )  # fmt: skip
    agent, *others = listed(tmp_path, "sample-agent")
    assert [s["state"] for s in agent["task"]["states"]] == [
        "submitted", "working", "input_required", "working", "auth_required", "working", "completed",
    ]  # fmt: skip
    assert len(agent["rounds"]) == 3
    assert [(op["kind"], len(op["rounds"])) for op in others] == [
        ("single", 1), ("a2a", 1), ("a2a", 1), ("single", 1), ("a2a", 1), ("a2a", 1), ("single", 1),
    ]  # fmt: skip
    (first,) = {op["conversation"]["operation"] for op in others if op["conversation"] is not None}
    assert [op["id"] for op in others if op["context"] == others[0]["context"]] == [
        first,
        "op3",
        "op4",
        "op5",
    ]


def test_who_ended_a_subscription(tmp_path: Path) -> None:
    (found,) = [op for op in listed(tmp_path, "sample-subscription") if op["kind"] == "subscription"]
    told = found["subscription"]
    assert (told["ended"], told["by"], sum(told["delivered"].values())) == ("cancelled", "client", 2)
    assert told["acknowledged"] > found["t"]


def test_a_gateway_that_has_every_fault(tmp_path: Path) -> None:
    copy = tmp_path / "capture"
    shutil.copytree(
        SAMPLES / "sample-gateway-faulty", copy, ignore=shutil.ignore_patterns("scope.db*", "*.lock")
    )
    done = mrtrscope("check", copy, "--select", "gateway", "--format", "json")
    rules = sorted(f["rule"].removeprefix("gateway/") for f in json.loads(done.stdout)["findings"])
    assert rules == [
        "question-reached-nobody", "question-reached-nobody", "question-timed-out", "retry-wants-header",
        "rounds-answered-at-once", "state-accepted-elsewhere", "state-bound-to-session", "upstream-left-open",
    ]  # fmt: skip


def test_a_picture_has_the_findings_of_everything_in_it(tmp_path: Path) -> None:
    for sample, op, rule in (
        ("sample-gateway-faulty", "op10", "gateway/question-timed-out"),
        ("sample-legacy", "op2", "legacy/priming-and-retry-events"),
    ):
        copy = tmp_path / sample
        shutil.copytree(SAMPLES / sample, copy, ignore=shutil.ignore_patterns("scope.db*", "*.lock"))
        assert rule in mrtrscope("diagram", copy, op, "--format", "text").stdout


@pytest.mark.shared
@pytest.mark.parametrize(("recording", "calls", "exact"), [("ts-auto", 18, 6), ("py-legacy", 17, 2)])
def test_both_sides_of_a_real_gateway_are_joined(
    tmp_path: Path, recording: str, calls: int, exact: int
) -> None:
    assert SHARED is not None
    folder = SHARED / "corpus" / "captures" / "proxy" / f"fastmcp-proxy__{recording}"
    for side in (folder, folder / "inner"):
        mrtrscope("import", side / "capture.jsonl.gz", "--capture", tmp_path)
    ops = json.loads(mrtrscope("list", tmp_path, "--format", "json").stdout)["operations"]
    front = ops[0]["channel"]
    named = [op for op in ops if op["method"] in ("tools/call", "prompts/get", "resources/read")]
    hops = [op for op in named if op["channel"] != front]
    grades = [op["hop_of"]["grade"] for op in hops]
    assert (len(hops), grades.count("exact"), grades.count("inferred")) == (calls, exact, calls - exact)
    hosts = {op["id"]: op for op in named if op["channel"] == front}
    for op in hops:
        host = hosts[op["hop_of"]["operation"]]
        assert (host["method"], host["target"]) == (op["method"], op["target"])
        assert host["t"] < op["t"] < host["t"] + host["times"]["total"]
    assert not any(op["hop_of"] for op in hosts.values())
    found = json.loads(mrtrscope("check", tmp_path, "--format", "json").stdout)["findings"]
    assert not any(f["rule"].startswith("gateway/") for f in found)


@pytest.mark.parametrize(("name", "page"), [
    ("violates-old-way", "2025-11-25/client/elicitation#elicitation-requests"),
    ("violates-absent", "2026-07-28/client/elicitation#elicitation-requests"),
])  # fmt: skip
def test_a_finding_cites_the_revision_of_its_exchange(tmp_path: Path, name: str, page: str) -> None:
    case = next(case for case in cases_of("elicitation/message-present") if case.name == name)
    (tmp_path / "case.jsonl").write_text(case.transcript("stdio")[0], encoding="utf-8")
    done = mrtrscope(
        "check", tmp_path / "case.jsonl", "--select", "elicitation/message-present", "--format", "json"
    )
    assert {f["rule_source"] for f in json.loads(done.stdout)["findings"]} == {page}


@pytest.mark.parametrize(("era", "page"), [
    ("2025-06-18", "2025-11-25/basic/utilities/progress#progress-flow"),
    ("2026-07-28", "2026-07-28/basic/patterns/progress#progress-flow"),
])  # fmt: skip
def test_a_finding_in_no_exchange_cites_the_revision_of_its_channel(
    tmp_path: Path, era: str, page: str
) -> None:
    """A progress notification with a token that nobody gave belongs to no request."""
    begun: dict[str, Any] = {"handshake": era} if era < "2026" else {"discover": {}}
    told = {"s2c": {"method": "notifications/progress", "params": {"progressToken": None, "progress": 1}}}
    lines = {"case": "x", "era": era}, begun, told
    case = Case("progress/token-type", "violates-x", "\n".join(map(json.dumps, lines)))
    (tmp_path / "case.jsonl").write_text(case.transcript("stdio")[0], encoding="utf-8")
    done = mrtrscope("check", tmp_path / "case.jsonl", "--select", "progress/token-type", "--format", "json")
    [found] = json.loads(done.stdout)["findings"]
    assert (found["rule_source"], found["saw"], found["operation"]) == (page, "null", None)

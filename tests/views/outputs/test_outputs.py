"""Findings for other programs: each form holds what it must, and no captured text acts in it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.dom import minidom

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sarif_pydantic import Sarif

from mrtrscope import model
from mrtrscope.rules import registry
from mrtrscope.views.outputs import baseline, github, junit, sarif
from mrtrscope.views.outputs.places import Places, repository
from mrtrscope.views.outputs.select import Folded, Selection, UnknownRule, channel_name, fingerprint, fold

NASTY = "\x00\x1b[31m]]>&<script>alert('x')</script>\r\n::error::\u202e\ud800%0A,:\"'"


def finding(rule: str = "mrtr/new-request-id", *, n: int = 3, level: str = "must", text: str = "the same id",
            because: str | None = None, path: str = "", channel: str = "bakery",
            party: str = "client") -> model.Finding:  # fmt: skip
    return model.Finding.model_validate({
        "id": f"id{n}{rule}", "rule": rule, "level": level, "keyword": "must", "party": party, "at": f"m{n}",
        "also": ["m1"], "operation": "op1", "channel": channel, "t": 1.0, "saw": {"id": 3}, "expected": "another id",
        "text": text, "path": path, "rule_source": "2026-07-28/basic/patterns/mrtr#x",
        "source": {"file": "a b.jsonl", "line": 4}, "because": because,
    })  # fmt: skip


# Of a transcript in the folder `recorded` of a repository.
PLACES = Places(Path("/repo/recorded/a b.jsonl"), Path("/repo"))
ABOUT = {"op1": ("tools/call", "book_table")}


def folded(*findings: model.Finding) -> list[Folded]:
    return list(fold(findings, ABOUT))


def test_findings_that_say_the_same_are_one_with_a_true_count() -> None:
    rows = folded(finding(n=3), finding(n=5), finding("mrtr/all-keys-answered", n=5), finding(n=9))
    assert [(f.finding.rule, f.finding.at, f.count) for f in rows] == [
        ("mrtr/new-request-id", "m3", 3),
        ("mrtr/all-keys-answered", "m5", 1),
    ]


def test_first_faults_stand_before_their_consequences() -> None:
    rows = folded(finding(n=1, because="x"), finding("mrtr/all-keys-answered", n=2))
    assert [f.finding.at for f in rows] == ["m2", "m1"]


def test_a_fingerprint_knows_neither_time_nor_port() -> None:
    a = finding(n=3, channel="http://127.0.0.1:8000/mcp")
    b = finding(n=77, channel="http://localhost:9001/mcp")
    c = finding(n=77, channel="http://localhost:9001/other")
    assert fingerprint(a, "tools/call", "t") == fingerprint(b, "tools/call", "t")
    assert fingerprint(b, "tools/call", "t") != fingerprint(c, "tools/call", "t")
    assert fingerprint(b, "tools/call", "t") != fingerprint(b, "tools/call", "u")
    assert channel_name("https://example.org:8443/mcp") == "https://example.org:8443/mcp"


@pytest.mark.parametrize(
    ("select", "ignore", "party", "kept"),
    [
        ([], [], None, ["mrtr/new-request-id", "jsonrpc/id-not-null"]),
        (["mrtr"], [], None, ["mrtr/new-request-id"]),
        (["mrtr/*,jsonrpc"], ["jsonrpc/id-not-null"], None, ["mrtr/new-request-id"]),
        (["jsonrpc/id-not-null"], [], None, ["jsonrpc/id-not-null"]),
        ([], [], "server", []),
        ([], ["mrtr"], "client", ["jsonrpc/id-not-null"]),
    ],
)
def test_selection_is_by_rule_area_and_party(
    select: list[str], ignore: list[str], party: str | None, kept: list[str]
) -> None:
    chosen = Selection(select, ignore, party, registry.load())
    rows = [finding(), finding("jsonrpc/id-not-null")]
    assert [row.rule for row in rows if row in chosen] == kept


def test_a_name_that_is_no_rule_is_refused_with_a_hint() -> None:
    with pytest.raises(UnknownRule, match="did you mean mrtr/new-request-id"):
        Selection(["mrtr/new-request"], [], None, registry.load())
    with pytest.raises(UnknownRule, match="`mrtrscope rules` lists them"):
        Selection([], ["zzzz"], None, registry.load())


def test_a_baseline_accepts_what_was_written_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    assert baseline.write(path, folded(finding(n=3), finding(n=4))) == 1
    known = baseline.read(path)
    assert fingerprint(finding(n=50), *ABOUT["op1"]) in known
    assert fingerprint(finding(path="/x"), *ABOUT["op1"]) not in known
    assert "op" not in json.loads(path.read_text(encoding="utf-8"))["accepted"][0]["operation"][:2]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mrtrscope-baseline": 9, "accepted": []}', "\x00"])
def test_what_is_no_baseline_says_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(baseline.BadBaseline, match="--write-baseline"):
        baseline.read(path)
    with pytest.raises(baseline.BadBaseline, match="--write-baseline FILE makes one"):
        baseline.read(tmp_path / "missing")


def test_sarif_fits_its_schema_and_names_place_rule_and_fingerprint() -> None:
    rows = folded(finding(n=3), finding(n=5), finding("jsonrpc/id-not-null", level="info", text=NASTY))
    document = sarif.sarif(rows, registry.load(), PLACES)
    Sarif.model_validate_json(json.dumps(document))
    run = document["runs"][0]
    first, second = run["results"]
    rules = run["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in run["results"]] == [
        "mrtr/new-request-id",
        "jsonrpc/id-not-null",
    ]
    assert (first["level"], second["level"], first["occurrenceCount"]) == ("error", "note", 2)
    place = first["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "recorded/a%20b.jsonl", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 5},
    }
    assert run["originalUriBaseIds"].keys() == {"%SRCROOT%"}
    assert first["partialFingerprints"]["mrtrscope/v1"] == rows[0].fingerprint
    assert "\x1b" not in second["message"]["text"]


def test_junit_counts_what_failed_and_what_was_kept() -> None:
    rows = folded(finding(), finding("jsonrpc/id-not-null", level="should", text=NASTY))
    exercised = {"jsonrpc/id-not-null": 4, "jsonrpc/no-batch": 9}
    text = junit.junit(rows, exercised, registry.load(), "must", NASTY, PLACES)
    document = minidom.parseString(text)
    cases = {c.getAttribute("name"): c for c in document.getElementsByTagName("testcase")}
    assert set(cases) == {"mrtr/new-request-id", "jsonrpc/id-not-null", "jsonrpc/no-batch"}
    assert len(cases["mrtr/new-request-id"].getElementsByTagName("failure")) == 1
    assert len(cases["jsonrpc/id-not-null"].getElementsByTagName("failure")) == 0
    assert "<script>" in cases["jsonrpc/id-not-null"].getElementsByTagName("system-out")[0].firstChild.data
    root = document.documentElement
    assert (root.getAttribute("tests"), root.getAttribute("failures")) == ("3", "1")
    stricter = minidom.parseString(
        junit.junit(rows, exercised, registry.load(), "should", "x", PLACES)
    ).documentElement
    assert stricter.getAttribute("failures") == "2"


def test_github_commands_stay_on_their_line() -> None:
    [line] = github.github(folded(finding(text=NASTY, path="x")), PLACES)
    assert line.startswith(
        "::error file=recorded/a b.jsonl,line=5,title=mrtr/new-request-id (must%2C client)::m3: "
    )
    assert "\n" not in line
    assert "\r" not in line
    assert "\x1b" not in line


@given(st.text())
def test_no_captured_text_breaks_a_form(text: str) -> None:
    rows = folded(finding(text=text, path=text, channel=text))
    minidom.parseString(junit.junit(rows, {}, registry.load(), "must", text, PLACES))
    [line] = github.github(rows, PLACES)
    assert len(line.splitlines()) == 1
    json.loads(json.dumps(sarif.sarif(rows, registry.load(), PLACES)))


def test_files_are_named_as_they_lie_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    capture = tmp_path / "repo" / "tests" / "my capture"
    (capture / "journals").mkdir(parents=True)
    root = repository(capture.parent, {})
    assert root == tmp_path / "repo"
    journal, line = model.Source(file="a.mrj", offset=7), model.Source(file="a.jsonl", line=1)
    assert Places(capture, root).path(journal) == "tests/my capture/journals/a.mrj"
    assert Places(capture, root).uri(journal) == "tests/my%20capture/journals/a.mrj"
    assert Places(capture.parent / "a.jsonl", root).path(line) == "tests/a.jsonl"
    outside = Places(tmp_path / "a.jsonl", root)
    assert (outside.path(line), outside.inside(line)) == (f"{tmp_path}/a.jsonl", None)
    assert outside.uri(line) == f"file://{tmp_path}/a.jsonl"


def test_the_root_is_what_the_ci_checked_out(tmp_path: Path) -> None:
    inner = tmp_path / "work" / "sub"
    inner.mkdir(parents=True)
    assert repository(inner, {"GITHUB_WORKSPACE": str(tmp_path / "work")}) == tmp_path / "work"
    assert repository(inner, {"GITHUB_WORKSPACE": "/elsewhere"}) in (inner, *inner.parents)

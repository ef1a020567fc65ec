"""The options of `check`, on a real capture that breaks rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import SAMPLES, mrtrscope

DEMO = SAMPLES / "sample-demo"


def found(*options: str | Path) -> list[dict[str, object]]:
    done = mrtrscope("check", DEMO, "--format", "json", *options)
    assert done.returncode in (0, 1), done.stderr
    rows: list[dict[str, object]] = json.loads(done.stdout)["findings"]
    return rows


def test_selection_narrows_findings_counts_and_exit_code() -> None:
    every = found()
    mine = found("--select", "mrtr/new-request-id")
    assert {row["rule"] for row in mine} == {"mrtr/new-request-id"}
    assert found("--ignore", "mrtr/new-request-id") == [row for row in every if row not in mine]
    assert mrtrscope("check", DEMO, "--select", "mrtr/new-request-id").returncode == 1
    quiet = mrtrscope("check", DEMO, "--party", "server", "--select", "mrtr")
    assert (quiet.returncode, quiet.stdout) == (0, "No findings in 26 operations and 102 messages.\n")


def test_a_baseline_makes_a_build_green_and_stays_strict_about_the_rest(tmp_path: Path) -> None:
    accepted = tmp_path / "accepted.json"
    written = mrtrscope("check", DEMO, "--write-baseline", accepted, "--select", "mrtr")
    assert written.returncode == 0
    assert str(accepted) in written.stderr
    left = found("--baseline", accepted)
    assert all(not str(row["rule"]).startswith("mrtr/") for row in left)
    one = tmp_path / "one.json"
    first = mrtrscope("check", DEMO, "--write-baseline", one, "--select", "mrtr/new-request-id")
    assert first.stderr.startswith(f"2 accepted in {one};")
    done = mrtrscope("check", DEMO, "--baseline", one)
    assert done.stdout.splitlines()[-1] == f"2 left out that {one} accepts."
    assert done.returncode == 1
    assert "mrtr/state-echoed-verbatim" in done.stdout
    assert "mrtr/new-request-id" not in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--select", "mrtr/nonsense"], "no rule or area is called 'mrtr/nonsense'"),
        (["--baseline", "missing.json"], "--write-baseline FILE makes one"),
        (["--verdicts", "--format", "sarif"], "--verdicts has the formats text and json"),
    ],
)
def test_a_mistake_is_named_with_what_to_do(options: list[str], words: str) -> None:
    done = mrtrscope("check", DEMO, *options)
    assert done.returncode == 2
    assert words in done.stderr


def test_verdicts_count_every_rule_once_for_each_channel() -> None:
    done = mrtrscope("check", DEMO, "--verdicts", "--format", "json")
    rows = json.loads(done.stdout)["verdicts"]
    totals = {sum(len(row[word]) for word in ("broken", "noted", "kept", "no_occasion")) for row in rows}
    assert len(totals) == 1
    for row in rows:
        assert row["exercised"] == len(row["broken"]) + len(row["noted"]) + len(row["kept"])
        assert {"mrtr/new-request-id", "mrtr/state-echoed-verbatim"} <= {r["rule"] for r in row["broken"]}
    text = mrtrscope("check", DEMO, "--verdicts").stdout
    assert "had no occasion" in text


@pytest.mark.parametrize(
    ("form", "words"), [("junit", "<testsuites"), ("github", "::error "), ("sarif", '"2.1.0"')]
)
def test_every_form_is_printed_with_the_exit_code_of_the_findings(form: str, words: str) -> None:
    done = mrtrscope("check", DEMO, "--format", form)
    assert done.returncode == 1
    assert words in done.stdout

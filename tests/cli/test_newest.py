"""CAPTURE left out, IDs as people type them, rows chosen, and what to type next."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mrtrscope.cli import run
from tests.captures import recorded
from tests.cli.test_commands import on_a_terminal
from tests.conftest import SAMPLES

STDIO = str(SAMPLES / "sample-stdio")
BROKEN = "op11"  # of sample-stdio


def out_of(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> tuple[str, str]:
    assert run(list(args)) == code
    out, err = capsys.readouterr()
    return out, err


@pytest.fixture
def captures(private_state: Path) -> Path:
    """Two captures in the place of those that nobody named; the second was written to last."""
    home = private_state / "state" / "mrtrscope" / "captures"
    for n, name in enumerate(("2026-11-30", "2026-11-29")):
        recorded(home / name, requests=3 + n)
        for path in (home / name / "journals").iterdir():
            os.utime(path, (1000 + n, 1000 + n))
    (home / "empty").mkdir()
    return home


def test_without_a_capture_the_newest_is_read_and_named(
    captures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = captures / "2026-11-29"
    for verb in (
        ["list"],
        ["messages"],
        ["channels"],
        ["check", "--fail-on", "never"],
        ["show", "op1"],
        ["show", "m2"],
    ):
        out, err = out_of(capsys, *verb)
        assert err == f"Reading {newest}, the newest capture.\n"
        assert out == out_of(capsys, verb[0], str(newest), *verb[1:])[0]


def test_the_environment_names_the_capture(
    captures: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MRTRSCOPE_CAPTURE", STDIO)
    out, err = out_of(capsys, "show", BROKEN)
    assert err == f"Reading {STDIO}, which $MRTRSCOPE_CAPTURE names.\n" and out.startswith(BROKEN)
    monkeypatch.setenv("MRTRSCOPE_CAPTURE", "/no/such")
    assert "/no/such, which $MRTRSCOPE_CAPTURE names: no such" in out_of(capsys, "list", code=2)[1]


def test_a_file_named_like_an_id_is_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded(tmp_path / "op1", requests=2)
    monkeypatch.chdir(tmp_path)
    assert out_of(capsys, "show", "op1", "op2")[0].startswith("op2")


@pytest.mark.parametrize("id", ["op11", "OP11", "11", "Op11"])
def test_an_operation_is_named_in_many_ways(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert out_of(capsys, "show", STDIO, id)[0].startswith("op11  tools/call")


def test_a_finding_is_shown_and_explained_where_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", STDIO, "--format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    for one in found:
        out, _ = out_of(capsys, "show", STDIO, one["id"])
        assert one["at"] in out and one["rule"] in out
        assert f"{one['rule']}\n" in out_of(capsys, "explain", STDIO, one["at"])[0]
        assert f"{one['rule']}\n" in out_of(capsys, "explain", STDIO, one["operation"])[0]
    assert out_of(capsys, "explain", STDIO, "m3") == (
        "m3  request 2 tools/list, client to server, of op2: tools/list on bakery, 1 round, complete\n",
        f"Nothing was found at m3; mrtrscope list {STDIO} --findings shows where.\n",
    )


def test_an_explanation_begins_with_what_it_is_and_what_was_found(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, *rest = out_of(capsys, "explain", STDIO, "m42")[0].splitlines()
    assert first.startswith(
        "m42  request 2 tools/call, client to server, of op11: tools/call book_table on bakery"
    )
    assert second.startswith(
        "mrtr/state-echoed-verbatim  must  client  m42, request 2 tools/call: requestState did"
    )
    assert "mrtr/state-echoed-verbatim" in rest  # the page of the rule comes after it
    assert rest[-1] == "Examples mrtrscope explain mrtr/state-echoed-verbatim"
    assert len(rest) < 28
    elsewhere = out_of(capsys, "explain", STDIO, "m41")[0].splitlines()
    assert elsewhere[0].startswith("m41  answer to 1, server to client, of op11: ")
    assert elsewhere[1] == "    op11 has 1 finding elsewhere: mrtrscope explain op11"
    found = json.loads(out_of(capsys, "explain", STDIO, "m42", "--format", "json")[0])
    assert found["id"] == "mrtr/state-echoed-verbatim" and [one["at"] for one in found["findings"]] == ["m42"]


def test_an_explanation_fits_a_narrow_terminal() -> None:
    shown = on_a_terminal("explain", STDIO, "op12", NO_COLOR="1").replace("\r", "").splitlines()
    assert shown[0].startswith("op12  tools/call book_table on bakery, 2 rounds, comple")
    text = shown[shown.index("The retry has the id of a request it retries.") :]
    assert all(len(line) <= 60 for line in text if not line.startswith("Source"))
    paragraph = text.index('Cannot tell: 1 and "1" are different ids. Other clients may')
    assert text[paragraph + 1] == "use the same ones; only this chain counts, or all of those"


def test_info_and_note_are_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    page = out_of(capsys, "explain", "caching/hints-on-other-methods")[0]
    assert page.splitlines()[1].startswith("advisory (a note, level info)  server  ")
    assert out_of(capsys, "explain", "mrtr/new-request-id")[0].splitlines()[1].startswith("must  client  ")


@pytest.mark.parametrize(
    ("rule", "never"),
    [
        ("mrtr/new-request-id", ["whose revision is not known"]),
        ("tools/name-format", ["whose revision is not known", "a revision before 2025-11-25"]),
        ("jsonrpc/id-not-null", []),
        ("a2a/response-id", []),
    ],
)
def test_an_explanation_says_when_the_rule_stays_silent(
    rule: str, never: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    page = out_of(capsys, "explain", rule)[0]
    said = " ".join(page[page.index("Silent ") :].partition("\n\n")[0].split())
    assert said.startswith("Silent never about what was cut in recording, edited by a person, or said by the")
    assert [words in said for words in ("whose revision is not known", "a revision before 2025-11-25")] == [
        words in never for words in ("whose revision is not known", "a revision before 2025-11-25")
    ]


@pytest.mark.parametrize(
    ("option", "levels"), [("--findings", {"must", "should", "info"}), ("--broken", {"must", "should"})]
)
def test_a_list_of_what_was_found(option: str, levels: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    every = json.loads(out_of(capsys, "list", STDIO, "--format", "json")[0])["operations"]
    chosen = json.loads(out_of(capsys, "list", STDIO, "--format", "json", option)[0])["operations"]
    assert chosen and chosen == [row for row in every if row["worst"] in levels]


def test_a_list_of_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = out_of(capsys, "list", str(SAMPLES / "sample-subscription"), "--broken")
    assert out.startswith("No operation has any.\n")


def test_a_terminal_is_told_what_to_type_next() -> None:
    shown = on_a_terminal("check", STDIO, NO_COLOR="1").replace("\r", "")
    assert shown.endswith(
        f"\n\nopen: mrtrscope show {STDIO} {BROKEN}\ndraw: mrtrscope diagram {STDIO} {BROKEN} -o {BROKEN}.svg\n"
        "why:  mrtrscope explain mrtr/state-echoed-verbatim\n"
    )
    assert f"why:  mrtrscope check {STDIO}\n" in on_a_terminal("list", STDIO, NO_COLOR="1").replace("\r", "")


def test_a_pipe_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert "mrtrscope" not in out_of(capsys, "check", STDIO, code=1)[0]

"""The report as Markdown: what it tells, how long it may be, and that no label is more than text."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from mrtrscope import analyse
from mrtrscope.views.escape import markdown_text
from mrtrscope.views.report import markdown
from mrtrscope.views.report.choose import Choice
from tests import captures
from tests.conftest import SAMPLES, mrtrscope
from tests.views import hostile


def written(capture: Path, choice: Choice | None = None, raw: bool = False) -> str:
    out = io.StringIO()
    with analyse.bring_up_to_date(capture) as store:
        markdown._write(out, store, choice or Choice(), raw)
    return out.getvalue()


def test_what_it_tells() -> None:
    text = written(SAMPLES / "sample-demo")
    assert text.startswith("# sample\\-demo\n\n**6 breaches of a MUST by the client")
    assert " 26 operations, 46 rounds, " in text.splitlines()[2]
    assert re.findall(r"^### `([a-z/-]+)`", text, re.M)[:3] == [
        "mrtr/all-keys-answered", "mrtr/new-request-id", "mrtr/state-echoed-verbatim",
    ]  # fmt: skip
    assert len(re.findall(r"^\| op[0-9]+ \|", text, re.M)) == 26
    sections = re.findall(r"^<details><summary>(op[0-9]+):", text, re.M)
    assert {"op11", "op12", "op13", "op24", "op25", "op26"} < set(sections)
    assert len(sections) == text.count("```mermaid\nsequenceDiagram\n") == text.count("</details>")
    assert "| `/params/requestState` | – | `v1." in text
    assert re.search(r"^\| `/params/requestState` .* \*\*requestState did not come back", text, re.M)


def test_a_choice_is_kept_and_told() -> None:
    text = written(SAMPLES / "sample-demo", Choice(("bakery",), findings=True))
    told = re.findall(r"^\| (op[0-9]+) \|", text, re.M)
    assert {"op11", "op12", "op13"} <= set(told) and all(int(op[2:]) < 14 for op in told)
    assert "only bakery; only operations with findings" in text


def test_it_stays_short_enough_for_a_comment(tmp_path: Path) -> None:
    captures.recorded(tmp_path, requests=800)
    text = written(tmp_path)
    assert len(text) < 4 * markdown.ROOM
    assert len(re.findall(r"^\| op[0-9]+ \|", text, re.M)) == markdown.TABLE
    assert re.search(r"^and [0-9,]+ more\.$", text, re.M)


def test_nothing_captured_is_markup(tmp_path: Path) -> None:
    """Outside fences and code spans, whatever could begin markup is ours."""
    text = written(hostile.record(tmp_path))
    outside = re.sub(r"^```mermaid\n.*?^```$", "", text, flags=re.M | re.S)
    outside = re.sub(r"(?<![\\`])(`+)(?!`).+?(?<!`)\1(?!`)", "", outside)
    tags = {tag for tag in re.findall(r"<[^>]*>?", outside) if tag.strip("</>") not in ("details", "summary")}
    assert tags == set()
    assert not re.search(r"(?<!\\)!\[|(?<!\\)\]\(|(?<![\w&])@\w", outside)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    rows = [line for line in outside.splitlines() if re.match(r"\| op[0-9]+ \|", line)]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {11}


def test_a_label_in_the_table_is_the_label_itself(tmp_path: Path) -> None:
    labels = ["| a | b |", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "a\nb"]
    text = written(hostile.record(tmp_path, labels))
    for label in labels:
        assert f"| {markdown_text(f'tools/call {label}')} |" in text


def test_secrets_are_hidden(tmp_path: Path) -> None:
    from tests.views.report.test_pages import secrets

    capture = secrets(tmp_path)
    text, raw = written(capture), written(capture, raw=True)
    assert "tulip-42" not in text and "Nothing is hidden." in raw


@pytest.mark.parametrize("options", [["--format", "md"], ["-o", "report.md"]])
def test_the_command(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = mrtrscope("report", SAMPLES / "sample-demo", *options)
    assert done.returncode == 0
    text = done.stdout or (tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# sample\\-demo\n")


def test_what_hides_nothing_is_for_its_owner_alone(tmp_path: Path) -> None:
    output = tmp_path / "report.md"
    output.write_text("old", encoding="utf-8")
    output.chmod(0o644)
    with analyse.bring_up_to_date(SAMPLES / "sample-stdio") as store:
        markdown.write(store, output)
        assert output.stat().st_mode & 0o777 == 0o644
        markdown.write(store, output, raw=True)
    assert output.stat().st_mode & 0o777 == 0o600
    assert "Nothing is hidden." in output.read_text(encoding="utf-8")

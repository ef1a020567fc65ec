"""The page: what is in it, what is hidden, how it is split, what the options choose."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from mrtrscope import analyse
from mrtrscope.views.redact import Redactor
from mrtrscope.views.report import markdown, pages
from mrtrscope.views.report.choose import BadChoice, Choice, began_by, moment
from mrtrscope.views.report.entry import numbers
from tests import captures
from tests.conftest import SAMPLES, mrtrscope
from tests.views import hostile


def made(capture: Path, output: Path, choice: Choice | None = None, raw: bool = False) -> pages.Made:
    with analyse.bring_up_to_date(capture) as store:
        return pages.write(store, output, choice, raw)


def unpacked(data: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(data), -15))


def islands(page: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The index of a page, and the operations in it."""
    text = page.read_text(encoding="utf-8")
    found = dict(re.findall(r'<script type="text/plain" id="([a-z0-9-]+)">([A-Za-z0-9+/=]*)</script>', text))
    index = unpacked(found.pop("index"))
    return index, [
        entry for name in sorted(found, key=lambda n: int(n[6:])) for entry in unpacked(found[name])
    ]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("report") / "report.html"
    made(SAMPLES / "sample-demo", output)
    return output


def test_everything_that_was_said_is_in_it(sample: Path) -> None:
    index, entries = islands(sample)
    with analyse.bring_up_to_date(SAMPLES / "sample-demo") as store:
        operations = list(store.operations())
        messages = [m for m in store.messages() if m.operation]
        findings = [f for f in store.findings() if f.operation]
    assert (
        [row[0] for row in index["rows"]] == [entry["id"] for entry in entries] == [o.id for o in operations]
    )
    assert {m for entry in entries for m in entry["ms"]} == {m.m for m in messages}
    assert sum(len(entry["findings"]) for entry in entries) == len(findings)
    assert [len(entry["rounds"]) for entry in entries] == [len(o.rounds) for o in operations]
    assert all(entry["svg"][0].startswith("<svg") for entry in entries)
    assert sum(n for _, n in index["blocks"]) == len(entries)


def test_a_retry_says_what_changed(sample: Path) -> None:
    _, entries = islands(sample)
    broken = next(e for e in entries if any(f["rule"] == "mrtr/state-echoed-verbatim" for f in e["findings"]))
    retry = broken["rounds"][1]
    assert retry["grade"] == "suspect" and retry["to"] == broken["rounds"][0]["ms"][-1]
    assert [place[0] for place in retry["diff"]] == ["/id", "/params/inputResponses", "/params/requestState"]
    assert [way[0] for way in broken["states"]] == ["changed"]


@pytest.mark.parametrize(
    ("rule", "path", "words"),
    [("mrtr/state-echoed-verbatim", "/params/requestState", "requestState did not come back as it was issued: one"),
     ("mrtr/new-request-id", "/id", "the retry has the id 3 of a request that it retries"),
     ("mrtr/all-keys-answered", "/params/inputResponses", "no answer for the key 'day'")],
)  # fmt: skip
def test_a_change_that_breaks_a_rule_says_so(sample: Path, rule: str, path: str, words: str) -> None:
    _, entries = islands(sample)
    broken = next(e for e in entries if any(f["rule"] == rule for f in e["findings"]))
    told = {place[0]: place for place in broken["rounds"][1]["diff"]}
    assert [place for place, row in told.items() if row[4]] == [path]
    assert told[path][3].startswith(words)


def test_the_page_is_alone_and_strict(sample: Path) -> None:
    text = sample.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    assert policy and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1] and "base-uri 'none'; form-action 'none'" in policy[1]
    assert re.findall(r"""(?:src|href)\s*=\s*["'](?!#)[^"']*["']""", text) == []
    assert "@import" not in text and "url(" not in text and " style=" not in text and " onclick=" not in text


def test_nothing_made_for_one_report_differs_in_the_next(sample: Path, tmp_path: Path) -> None:
    made(SAMPLES / "sample-demo", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == sample.read_bytes()


def secrets(folder: Path) -> Path:
    """A capture with secrets by name and by value; the password stands elsewhere, too."""

    def line(t: int, dir: str, **members: Any) -> tuple[int, str, bytes]:
        return t, dir, json.dumps({"jsonrpc": "2.0", **members}).encode()

    key = "sk_" + "live_" + "abcdefghij0123456789"
    captures.journal(folder, [
        line(0, "c2s", id=1, method="tools/call", params={"name": "login", "arguments": {"password": "tulip-42"}}),
        line(10, "s2c", id=1, result={"content": [{"type": "text", "text": f"tulip-42 is right; use {key}"}]}),
        line(20, "c2s", id=2, method="tools/call", params={"name": "again", "arguments": {"apiKey": "tulip-42"}}),
        line(30, "s2c", id=2, result={"content": [], "structuredContent": {"session": {"token": "rose-99"}}}),
    ]).close()  # fmt: skip
    return folder


def test_secrets_are_hidden_by_name_and_by_value(tmp_path: Path) -> None:
    capture = secrets(tmp_path / "capture")
    done = made(capture, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    _, entries = islands(tmp_path / "report.html")
    text = page + json.dumps(entries, ensure_ascii=False)
    for secret in ("tulip-42", "rose-99", "sk_live"):
        assert secret not in text
    assert done.hidden == 3
    first, second = (json.dumps(entry["ms"], ensure_ascii=False) for entry in entries)
    assert first.count("‹hidden 1›") == 2 and second.count("‹hidden 1›") == 1, "equal values, equal stand-ins"
    assert "value of password" in page and "looks like a credential" in page


def test_what_is_secret_is_hidden_before_it_is_named_and_where_a_form_says_so(tmp_path: Path) -> None:
    asks = {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Say it", "requestedSchema": {"type": "object", "properties": {
            "word": {"type": "string", "format": "password", "default": "open-sesame"},
            "digits": {"type": "integer", "writeOnly": True}, "plain": {"type": "string"}}}},
    }  # fmt: skip
    call = {"name": "login", "arguments": {"note": "rose-99 and open-sesame come later", "word": "thistle"}}
    given = {"q": {"action": "accept", "content": {"word": "iris-7", "digits": 4711, "plain": "daisy"}}}
    asked = {"resultType": "input_required", "requestState": "s", "inputRequests": {"q": asks}}
    done = {"resultType": "complete", "content": [], "structuredContent": {"token": "rose-99"}}
    lines = [
        ("c2s", {"id": 1, "method": "tools/call", "params": call}),
        ("s2c", {"id": 1, "result": asked}),
        ("c2s", {"id": 2, "method": "tools/call", "params": call | {"requestState": "s", "inputResponses": given}}),
        ("s2c", {"id": 2, "result": done}),
    ]  # fmt: skip
    captures.journal(tmp_path / "capture", [
        (n, dir, json.dumps({"jsonrpc": "2.0", **body}).encode()) for n, (dir, body) in enumerate(lines)
    ]).close()  # fmt: skip
    made(tmp_path / "capture", tmp_path / "report.html")
    _, entries = islands(tmp_path / "report.html")
    picture = mrtrscope("diagram", tmp_path / "capture", "op1", "--unfold").stdout
    for text in (json.dumps(entries, ensure_ascii=False), picture):
        assert [s for s in ("rose-99", "sesame", "iris", "4711", "thistle") if s in text] == []
        assert "daisy" in text and "‹hidden" in text


def test_many_secrets_are_hidden_wherever_they_stand() -> None:
    redact = Redactor()
    values = [f"{n:05}-tulip" for n in range(3000)] + ["$dollar-rose", "_under_score_"]
    for value in values:
        redact.named("password", value)
    for value in values:
        assert redact.text(f"it is {value}, is it not") == f"it is {redact.known(value)}, is it not"
    assert redact.text("x00001-tulip 00001-tulips") == "x00001-tulip 00001-tulips"


def test_raw_hides_nothing_and_says_so(tmp_path: Path) -> None:
    capture = secrets(tmp_path / "capture")
    made(capture, tmp_path / "report.html", raw=True)
    _, entries = islands(tmp_path / "report.html")
    assert "tulip-42" in json.dumps(entries)
    assert "It may hold credentials" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "report.html").stat().st_mode & 0o077 == 0


def test_a_large_report_is_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    captures.recorded(tmp_path / "capture", requests=300)
    monkeypatch.setattr(pages, "FILE", 40_000)
    done = made(tmp_path / "capture", tmp_path / "report.html")
    assert len(done.files) > 2
    index, entries = islands(tmp_path / "report.html")
    assert entries == [] and len(index["rows"]) == done.operations
    parts = [islands(path) for path in done.files[1:]]
    assert [row[0] for part, _ in parts for row in part["rows"]] == [row[0] for row in index["rows"]]
    for part, ops in parts:
        assert [row[0] for row in part["rows"]] == [entry["id"] for entry in ops]
    assert [name for _, name in index["home"]] == [path.name for path in done.files[1:]]


def test_many_operations_are_drawn_by_several_processes_and_come_out_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mrtrscope.views.report import drawing

    captures.recorded(tmp_path / "capture", requests=120)
    made(tmp_path / "capture", tmp_path / "one.html")
    monkeypatch.setattr(drawing, "PAYS", 10)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    made(tmp_path / "capture", tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_what_cannot_be_held_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST", 5)
    done = made(SAMPLES / "sample-demo", tmp_path / "report.html")
    assert (done.operations, done.left_out) == (5, 21)
    assert "21 operations more are left out" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("choice", "ids"),
    [
        (Choice(("op3",)), ["op3"]),
        (Choice(("OP3", "7")), ["op3", "op7"]),
        (Choice(("op3-op5", "op7")), ["op3", "op4", "op5", "op7"]),
        (Choice(("invitation",)), ["op5", "op18"]),
        (Choice(("abandoned",)), ["op13"]),
        (Choice(("order_cake",), findings=True), ["op13", "op26"]),
    ],
)
def test_what_is_told_of(choice: Choice, ids: list[str], tmp_path: Path) -> None:
    done = made(SAMPLES / "sample-demo", tmp_path / "report.html", choice)
    index, _ = islands(tmp_path / "report.html")
    assert [row[0] for row in index["rows"]] == ids and done.operations == len(ids)


def test_only_operations_with_findings(tmp_path: Path) -> None:
    made(SAMPLES / "sample-demo", tmp_path / "report.html", Choice(findings=True))
    _, entries = islands(tmp_path / "report.html")
    assert {"op11", "op12", "op13"} <= {entry["id"] for entry in entries}
    assert all(entry["findings"] for entry in entries)


def test_the_summary_is_about_what_was_chosen(tmp_path: Path) -> None:
    made(SAMPLES / "sample-demo", tmp_path / "report.html", Choice(("op11",)))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    table = re.search(r"<caption>Channels</caption>.*?<tbody>(.*?)</tbody>", text, re.DOTALL)
    assert table is not None
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall("<tr>(.*?)</tr>", table[1])]
    assert cells == [["bakery", "stdio", "modern", "4", "1", "1", "1"]]
    assert "1 channel " in text and "is about what was chosen: only op11." in text


@pytest.mark.parametrize("word", ["op99", "99", "op50-op60", "nothing like it"])
@pytest.mark.parametrize("name", ["r.html", "r.md"])
def test_a_choice_that_fits_nothing_is_a_mistake(word: str, name: str, tmp_path: Path) -> None:
    done = mrtrscope(
        "report", SAMPLES / "sample-demo", "-o", tmp_path / name, "--only", "op3", "--only", word
    )
    assert done.returncode == 2 and not (tmp_path / name).exists()
    what = "No operation fits" if " " in word else "There is no operation"
    assert f"Error: --only: {what} {word!r}; mrtrscope list shows what there is." in done.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [("r.pdf", "r.pdf: nothing is written as .pdf; known endings are .html, .htm, .md, .markdown, and"),
     ("mistyped/r.html", "mistyped: no such folder; make it first, or name another.")],
)  # fmt: skip
def test_a_name_that_cannot_be_meant_is_refused(name: str, said: str, tmp_path: Path) -> None:
    done = mrtrscope("report", SAMPLES / "sample-demo", "-o", tmp_path / name)
    assert done.returncode == 2 and said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_times_as_people_say_them() -> None:
    assert moment("10m", 1000.0) == 400.0
    assert moment("1.5 h".replace(" ", ""), 6000.0) == 600.0
    assert moment("12.5", None) == 12.5
    assert moment("2026-07-28T12:00", None) == moment("2026-07-28T14:00+02:00", None) == 1785240000.0
    with pytest.raises(BadChoice, match="'tomorrow' is no time"):
        moment("tomorrow", None)


def test_a_time_after_the_end_of_the_capture_is_refused(tmp_path: Path) -> None:
    assert began_by("990", 1000.0) == 990.0 and began_by("1000", 1000.0) == 1000.0
    assert began_by("12", None) == 12.0
    with pytest.raises(BadChoice, match=r"--since: .* is after the end of the capture, "):
        began_by("1000.1", 1000.0)
    for name in ("r.html", "r.md"):
        done = mrtrscope("report", SAMPLES / "sample-demo", "-o", tmp_path / name, "--since", "2099-01-01")
        said = done.stderr.splitlines()
        assert done.returncode == 2 and done.stdout == ""
        assert said[-1].startswith(
            "Error: --since: 2099-01-01 00:00:00.000 UTC is after the end of the capture, 20"
        )
    assert list(tmp_path.iterdir()) == []


def test_numbers_are_folded() -> None:
    assert numbers(["m3", "m4", "m5", "m9", "m1"]) == "1 3-5 9"
    assert numbers([]) == ""


def test_the_command(tmp_path: Path) -> None:
    done = mrtrscope("report", SAMPLES / "sample-demo", "-o", tmp_path / "r.html", "--since", "1s")
    assert done.returncode == 0 and done.stdout == ""
    assert re.search(
        r"r\.html: \d+ operations, .* hidden; .*KiB, made in [\d.]+ s with \d+ MiB of memory\n$", done.stderr
    )
    assert mrtrscope("report", SAMPLES / "sample-demo").returncode == 2
    bad = mrtrscope("report", SAMPLES / "sample-demo", "-o", tmp_path / "r.html", "--since", "x")
    assert bad.returncode == 2 and "'x' is no time" in bad.stderr


def test_no_label_is_markup_anywhere_in_the_page(tmp_path: Path) -> None:
    """Outside its own script and style, the page holds no element that a label brought."""
    capture = hostile.record(tmp_path / "capture")
    made(capture, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    text = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    tags = set(re.findall(r"<([a-zA-Z]+)", text))
    assert (
        tags & {"img", "iframe", "object", "math", "foreignObject", "base", "textarea", "script", "style"}
        == set()
    )
    assert re.findall(r"<[^>]*\son[a-z]+\s*=", text) == []
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (
            Choice(since=4e9),
            "No operation began since 2096-10-02 07:06:40.000 UTC; the last one, op3, began at ",
        ),
        (Choice(findings=True), "No operation of 3 in this capture has findings."),
        (
            Choice(("op2",), findings=True),
            "No operation that was chosen has findings (3 operations in this capture).",
        ),
    ],
)
def test_a_report_of_nothing_says_why(choice: Choice, words: str, tmp_path: Path) -> None:
    lines = []
    for n in (1, 2, 3):
        answer = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % n
        lines += [(3000 * n, "c2s", captures.call(n, "ping")), (3000 * n + 900, "s2c", answer)]
    captures.journal(tmp_path / "capture", lines).close()
    output, text = tmp_path / "report.html", tmp_path / "report.md"
    with analyse.bring_up_to_date(tmp_path / "capture") as store:
        result = pages.write(store, output, choice)
        told = markdown.write(store, text, choice)
    assert result.operations == 0 and result.nothing.startswith(words)
    assert told == result.nothing
    page = output.read_text(encoding="utf-8")
    assert f"<strong>{result.nothing}</strong>" in page and "No rule is broken" not in page
    assert text.read_text(encoding="utf-8").splitlines()[2].startswith("**No operation ")
    assert "| id |" not in text.read_text(encoding="utf-8")


def test_a_capture_in_which_nothing_was_asked_says_so(tmp_path: Path) -> None:
    captures.journal(tmp_path / "capture").close()
    result = made(tmp_path / "capture", tmp_path / "report.html")
    assert result.nothing == "Nothing was asked in this capture."


def test_pauses_lie_behind_what_happened(tmp_path: Path) -> None:
    made(SAMPLES / "sample-gateway-faulty", tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    timeline = text[text.index('<svg class="timeline"') :]
    timeline = timeline[: timeline.index("</svg>")]
    assert 0 < timeline.rindex('class="tl-pause"') < timeline.index('class="tl-text"')
    assert timeline.rindex('class="tl-pause"') < timeline.index('class="tl-bar')
    legend = text[text.index('<p class="legend"') :].partition("</p>")[0]
    assert re.findall(r'class="key (\S+)"', legend) == ["o-complete", "o-error", "o-abandoned", "pause"]


def test_the_worst_finding_of_an_operation_stands_first(tmp_path: Path) -> None:
    made(SAMPLES / "sample-gateway-faulty", tmp_path / "report.html")
    _, entries = islands(tmp_path / "report.html")
    levels = [[found["level"] for found in entry["findings"]] for entry in entries]
    order = ["must", "should", "info"]
    assert any(len(set(found)) > 2 for found in levels)
    assert all(found == sorted(found, key=order.index) for found in levels)


@pytest.mark.parametrize(("sample", "stops"), [("sample-gateway-faulty", False), ("sample-demo", True)])
def test_a_long_timeline_is_passed_over_by_the_tab_key(sample: str, stops: bool, tmp_path: Path) -> None:
    made(SAMPLES / sample, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    bars = re.findall(r'<a href="#op\d+"([^>]*)><title>', text.partition('<svg class="timeline"')[2])
    assert len(bars) > 20 and set(bars) == ({""} if stops else {' tabindex="-1"'})

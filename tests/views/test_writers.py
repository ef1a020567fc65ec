"""SVG, DOT, PNG, PlantUML and text: the same scene in each language, and nothing captured acts in any."""

from __future__ import annotations

import re
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.parsers import expat

import pytest

from mrtrscope.views.build import build
from mrtrscope.views.diagram import FORMATS, Options, diagram
from mrtrscope.views.draw import draw
from mrtrscope.views.escape import visible
from mrtrscope.views.metrics import cells
from mrtrscope.views.shapes import Page
from mrtrscope.views.theme import THEMES, css
from mrtrscope.views.writers import dot, fonts, plantuml, png, svg, text
from tests.conftest import ROOT, SHARED
from tests.views import browser, nasty, scenes, traffic
from tests.views.test_build import GOLDEN, golden
from tests.views.test_escape import plantuml_back
from tests.views.test_mermaid import labelled

DATA = Path(__file__).with_name("data")
LABELS = [label for label in nasty.ALL if len(label) < 400]


def page(name: str = "asks-once") -> Page:
    return draw(build(scenes.ALL[name]()))[0]


def elements(xml: str) -> list[tuple[str, dict[str, str], str]]:
    """Every element with its attributes and the text right inside it."""
    found: list[list[Any]] = []
    stack: list[list[Any]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        stack.append([name, attributes, ""])
        found.append(stack[-1])

    def data(chars: str) -> None:
        stack[-1][2] += chars

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: stack.pop() and None
    parser.CharacterDataHandler = data
    parser.Parse(xml.encode("utf-8"), True)
    return [(name, attributes, inside) for name, attributes, inside in found]


# ---- SVG


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", scenes.ALL)
def test_svg_is_well_formed_and_holds_every_text(name: str, theme: str) -> None:
    for one in draw(build(scenes.ALL[name]())):
        found = elements(svg.write(one, theme))
        told = [inside for element, _, inside in found if element == "text"]
        assert [t.text for t in one.texts() if t.text not in told] == []
        ids = [attributes["id"] for _, attributes, _ in found if "id" in attributes]
        assert len(ids) == len(set(ids))


def test_svg_has_a_text_alternative() -> None:
    found = elements(svg.write(page()))
    root = found[0][1]
    assert root["role"] == "img"
    names = {attributes.get("id"): (element, inside) for element, attributes, inside in found}
    title, desc = (names[id] for id in root["aria-labelledby"].split())
    assert title[0] == "title" and title[1].startswith("tools/call deploy: complete after 2 rounds")
    assert desc[0] == "desc"
    assert desc[1].split("\n")[1:4] == [
        "Round 1 of 2.",
        '18:30:37.500 client to server: tools/call deploy  id 1 (env "prod").',
        "18:30:37.504 server to client: input_required, HTTP 200 (asks confirm).",
    ]


def test_svg_elements_name_and_link_their_message() -> None:
    found = elements(svg.write(page(), links="#"))
    assert {a["data-m"] for _, a, _ in found if "data-m" in a} == {"m1", "m2", "m3", "m4"}
    assert {a["href"] for e, a, _ in found if e == "a"} == {"#m1", "#m2", "#m3", "#m4"}
    assert "href" not in svg.write(page())


def test_svg_holds_nothing_that_runs_or_loads() -> None:
    for label in LABELS:
        for one in draw(labelled(label)):
            for element, attributes, _ in elements(svg.write(one, links="#")):
                assert element in {
                    "svg",
                    "title",
                    "desc",
                    "g",
                    "a",
                    "rect",
                    "path",
                    "polygon",
                    "circle",
                    "text",
                }
                assert not any(
                    name.startswith("on") or name in ("style", "xlink:href") for name in attributes
                )
                assert re.fullmatch(r"#m\d+", attributes.get("href", "#m1"))


def test_css_recolours_the_classes_of_a_picture() -> None:
    used = set(
        re.findall(
            r"\b([fs]-[a-z0-9-]+)\b", " ".join(a.get("class", "") for _, a, _ in elements(svg.write(page())))
        )
    )
    rules = css(THEMES["dark"], ".dark")
    for name in used:
        assert f".dark .{name}{{" in rules


@pytest.mark.parametrize("theme", THEMES)
def test_texts_can_be_read_on_their_ground(theme: str) -> None:
    colors = THEMES[theme]
    texts = ["ink", "muted", "request", "asked", "complete", "error", "question", "reply", "cancel", "must",
             "should", "info",
             "exact", "inferred", "suspect", "ambiguous"]  # fmt: skip
    for ground in ("bg", "frame", "card", "head", "chip"):
        for role in texts:
            assert contrast(colors[role], colors[ground]) >= 4.5, (role, ground)
    for role in ("must", "should", "info"):
        assert contrast(colors["on-mark"], colors[role]) >= 4.5


def contrast(a: str, b: str) -> float:
    """Contrast of two colours as WCAG reckons it."""

    def light(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(a), light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.browser
def test_a_browser_shows_every_nasty_label_and_runs_none(tmp_path: Path) -> None:
    pictures = "\n".join(
        svg.write(one, header=False, links="#") for label in LABELS for one in draw(labelled(label))
    )
    html = tmp_path / "page.html"
    html.write_text(
        f'<!doctype html><meta charset="utf-8"><script>window.bad = 0; window.alert = () => bad++;</script>{pictures}'
        '<pre id="result"></pre><script>'
        'const odd = [...document.querySelectorAll("svg *")]'
        '.filter(e => [...e.attributes].some(a => a.name.startsWith("on")));'
        'document.getElementById("result").textContent = JSON.stringify({bad: window.bad, odd: odd.length,'
        'scripts: document.querySelectorAll("svg script, svg foreignObject").length,'
        'svgs: document.querySelectorAll("svg").length,'
        'errors: document.querySelectorAll("parsererror").length})</script>',
        encoding="utf-8",
    )  # fmt: skip
    found = browser.result(browser.run(html))
    assert found == {"bad": 0, "odd": 0, "scripts": 0, "svgs": len(LABELS), "errors": 0}


# ---- DOT and PNG


@pytest.mark.parametrize("name", ["asks-once", "broken-state", "scripts"])
def test_dot_is_the_golden_one(name: str) -> None:
    golden(GOLDEN / "dot" / f"{name}.dot", dot.write(page(name)))


def engines() -> list[str]:
    found = []
    for engine in ("dot", "graphviz-pure"):
        try:
            png.program(engine)
        except png.NoEngine:
            continue
        found.append(engine)
    return found


@pytest.mark.parametrize("engine", engines())
def test_every_engine_accepts_every_nasty_label(engine: str, tmp_path: Path) -> None:
    whole = "\n".join(dot.write(one, links="#") for label in LABELS for one in draw(labelled(label)))
    done = subprocess.run(
        [png.program(engine), "-Kneato", "-n2", "-Tdot_json"], input=whole.encode("utf-8"),
        capture_output=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0
    told = done.stderr.decode("utf-8", "replace")
    assert "syntax error" not in told and "Error" not in told
    assert done.stdout.count(b'"directed": true') == len(LABELS)


def size(data: bytes) -> tuple[int, int]:
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_png_is_twice_as_many_dots_as_the_svg_has_pixels() -> None:
    one = page()
    width, height = size(png.write(one, engine="graphviz-pure"))
    assert width == pytest.approx(2 * one.width, abs=8)
    assert height == pytest.approx(2 * one.height, abs=8)


def test_png_is_not_empty() -> None:
    data = png.write(page(), engine="graphviz-pure")
    packed, at = b"", 8
    while at < len(data):
        long, kind = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + long] if kind == b"IDAT" else b""
        at += 12 + long
    assert len(set(zlib.decompress(packed))) > 50  # ink of several colours, not one ground


def test_letters_that_no_bundled_font_has_are_spelled() -> None:
    assert png.spelled("Zürich → 日本 Ω Ж") == "Zürich → U+65E5 U+672C Ω Ж"
    assert png.spelled("שלום") == "U+05E9 U+05DC U+05D5 U+05DD"
    assert png.spelled("👩\u200d👩") == "U+1F469 U+1F469"
    assert png.spelled("e\u0301") == "e\u0301"
    assert png.spelled("日本は שלום", {"日", "本", "は"}) == "日本は U+05E9 U+05DC U+05D5 U+05DD"
    assert png.spelled("日本ש", {"日", "本"}) == "日本 U+05E9"
    scene = png.plain(build(scenes.scripts()))
    assert (
        scene.rows[0].label
        == "tools/call U+90E8 U+7F72 U+5230 U+751F U+4EA7 U+73AF U+5883 U+0646 U+0634 U+0631  id 1"
    )


def test_letters_of_east_asia_are_drawn_where_the_system_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = build(scenes.scripts())
    here, engine = png.prepared(scene, "auto")
    if engine == "dot":  # a real one, with fonts
        assert here.rows[0].label == "tools/call 部署到生产环境 U+0646 U+0634 U+0631  id 1"
        assert size(png.write(draw(here)[0], engine=engine))[0] > 1000
    assert png.prepared(scene, "graphviz-pure") == (png.plain(scene), "graphviz-pure")
    latin = build(scenes.ALL["asks-once"]())
    assert png.prepared(latin, "auto") == (latin, "auto")
    monkeypatch.setenv("PATH", "")
    fonts.installed.cache_clear()
    assert not fonts.installed(frozenset("部署"))
    assert png.prepared(scene, "auto") == (png.plain(scene), "auto")


def test_letters_whose_width_is_known_are_those_of_east_asia() -> None:
    assert fonts.wide("aé部署한국어か。نشر👩 １") == set("部署한국어か。")


def test_a_missing_engine_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png.shutil, "which", lambda name: None)
    monkeypatch.setattr(png.sys, "executable", "/nowhere/python")
    with pytest.raises(png.NoEngine, match="pip install graphviz-pure, or take --format svg"):
        png.program("auto")


# ---- PlantUML


@pytest.mark.parametrize("name", ["asks-once", "broken-state", "one-round"])
def test_plantuml_is_the_golden_one(name: str) -> None:
    golden(GOLDEN / "plantuml" / f"{name}.puml", plantuml.write(build(scenes.ALL[name]())))


_LINES = re.compile(
    r"@startuml|@enduml|skinparam responseMessageBelowArrow true|hide footbox|title .*"
    r"|(actor|participant) \"[^\"]*\" as \w+"
    r"|group .*|end|(user|model|files|client|server) (->|-->|--x|->x|->>) (user|model|files|client|server) : .*"
    r"|note over \w+(, \w+)?|end note|[^@!'].*|"
)


def test_plantuml_holds_labels_as_text_only() -> None:
    for label in LABELS:
        made = plantuml.write(labelled(label))
        assert made.count("@startuml") == made.count("@enduml") == 1
        assert len(re.findall("^group ", made, re.M)) == len(re.findall("^end$", made, re.M))
        assert len(re.findall(r"^note over \w+(?:, \w+)?$", made, re.M)) == len(
            re.findall("^end note$", made, re.M)
        )
        for line in made.splitlines():
            assert _LINES.fullmatch(line), line
            bare = re.sub(r"<U\+[0-9A-F]+>", "", line)
            assert not re.search(r"[%$!<&~{}\[\]|\\`*]|^\s*'", bare.replace("note over", "")), line
        if label.strip():
            assert visible(label)[:60] in plantuml_back(made)


# ---- text


@pytest.mark.parametrize("name", scenes.ALL)
def test_text_is_the_golden_one(name: str) -> None:
    golden(GOLDEN / "text" / f"{name}.txt", text.write(build(scenes.ALL[name]()), 100))


@pytest.mark.parametrize("width", [72, 100, 140])
def test_text_keeps_its_width_and_sends_nothing_to_the_terminal(width: int) -> None:
    for label in LABELS:
        for line in text.write(labelled(label), width).split("\n"):
            assert cells(line) <= width, (label, line)
            assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", line)


# ---- all of them


@pytest.mark.parametrize("file", sorted(DATA.glob("*.jsonl")), ids=lambda path: path.name[:3])
def test_every_operation_of_the_odd_captures_in_every_format(file: Path) -> None:
    operations = traffic.operations(file)
    assert len(operations) > 2
    for detail in operations:
        for form in FORMATS:
            assert all(diagram(detail, form, Options(theme="dark")))


@pytest.mark.shared
@pytest.mark.parametrize("group", ["py-story", "ts-story", "extra", "conformance-server"])
def test_every_operation_of_real_captures(group: str) -> None:
    assert SHARED is not None
    drawn = 0
    for file in sorted((SHARED / "corpus" / "captures" / group).rglob("capture*.jsonl*"))[:60]:
        for detail in traffic.operations(file):
            scene = build(detail)
            pages = draw(scene)
            assert pages and svg.write(pages[0])
            drawn += 1
    assert drawn > 20


def test_templates_travel_with_the_package() -> None:
    assert {p.name for p in (ROOT / "templates").glob("sequence.*")} == {
        "sequence.dot.j2", "sequence.mmd.j2", "sequence.puml.j2",
    }  # fmt: skip


def test_the_engine_that_looks_the_same_everywhere_comes_first() -> None:
    assert Path(png.program("auto")).name == "graphviz-pure"


def test_what_is_cut_stands_in_full_in_a_tooltip() -> None:
    detail = scenes.long_labels()
    scene = build(detail)
    (one,) = draw(scene)
    seen = {group.id: group.seen for group in one.groups}
    for row in scene.rows:
        assert row.label in seen[f"{one.id}-{row.id}"]
        if row.kind in ("ask", "reply"):
            for line in row.lines:
                assert line.text in seen[f"{one.id}-{row.id}"]
    assert scene.title in seen[f"{one.id}-title"]
    assert "c" * 120 in seen[f"{one.id}-who-client"]


@pytest.mark.parametrize("width", [72, 80, 140])
def test_no_finding_is_cut_in_a_narrow_terminal(width: int) -> None:
    made = scenes.long_labels()
    findings = scenes.broken_state().findings
    made.findings = [replace(findings[n % 3], at="m3") for n in range(7)]
    lines = text.write(build(made), width).splitlines()
    assert max(map(cells, lines)) <= width
    shown = " ".join("\n".join(lines).replace("│", " ").split())
    before, _, _ = shown.partition("■1 must · ")
    assert all(sign in before for sign in ("■1 must", "■4 must", "■7 must", "▲2 should", "+3"))
    assert any(line.startswith("m3 ") for line in lines)  # what the list below calls it

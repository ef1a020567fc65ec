"""Each language, each position: what goes in comes out as text, and as nothing else."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from html.parser import HTMLParser
from typing import Any
from xml.parsers import expat

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mrtrscope.views import escape
from tests.views import nasty

NASTY = st.integers(0, len(nasty.ALL) - 1).map(nasty.ALL.__getitem__)
ANY = st.one_of(
    st.text(max_size=60), NASTY, st.tuples(NASTY, NASTY).map("".join), st.text(st.characters(), max_size=60)
)


def parsed(xml: str) -> tuple[list[str], str, dict[str, str]]:
    """Names of the elements, all text, and the attributes of the last one."""
    names: list[str] = []
    texts: list[str] = []
    attributes: dict[str, str] = {}

    def start(name: str, found: dict[str, str]) -> None:
        names.append(name)
        attributes.clear()
        attributes.update(found)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.CharacterDataHandler = texts.append
    parser.Parse(xml.encode("utf-8"), True)
    return names, "".join(texts), attributes


@given(ANY)
def test_visible_leaves_nothing_unseen(text: str) -> None:
    shown = escape.visible(text)
    for char in shown:
        assert unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp"), repr(char)
        assert (
            char not in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff\u061c\u200e\u200f"
        )
    assert escape.visible(shown) == shown


@pytest.mark.parametrize("keep", ["", "\n", "\n\t"])
@given(text=ANY)
def test_texts_that_need_no_closer_look_would_come_out_of_it_the_same(text: str, keep: str) -> None:
    closely = escape._UNSEEN.sub(lambda m: m[0] if m[0] in keep else escape._shown(m), text)
    assert escape.visible(text, keep) == escape._PILED.sub("\\1…", closely)


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧‍👦", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "👍🏽", "1️⃣", "©️", "می‌خواهم", "e\u0301", "部署", "हिन्दी", "Zürich – 5 €"]
)
def test_visible_keeps_what_is_meant_to_be_seen(text: str) -> None:
    assert escape.visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("\U000e0041x", "\\U000e0041x"),
        ("a\u200db", "a\\u200db"),
        ("x\ufe0f\ufe0f", "x\\ufe0f\\ufe0f"),
        ("x" + "\u0300" * 9, "x" + "\u0300" * 4 + "…"),
    ],
)
def test_visible_spells_out_what_is_not(text: str, shown: str) -> None:
    assert escape.visible(text) == shown


def test_visible_keeps_the_line_breaks_it_is_told_to() -> None:
    assert escape.visible("a\nb\tc\x00", keep="\n\t") == "a\nb\tc\\x00"


@given(ANY)
def test_svg_is_text_between_tags_and_in_attributes(text: str) -> None:
    names, inside, attributes = parsed(f'<t a="{escape.svg_attr(text)}">{escape.svg_text(text)}</t>')
    assert names == ["t"]
    assert inside == escape.visible(text)
    assert attributes == {"a": escape.visible(text)}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.attributes: Any = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes = attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@given(ANY)
def test_html_is_text_between_tags_and_in_attributes(text: str) -> None:
    parser = _Tags()
    parser.feed(f'<p title="{escape.html_attr(text)}">{escape.html_text(text)}</p>')
    parser.close()
    assert parser.tags == ["p"]
    assert parser.text == escape.visible(text, keep="\n\t")
    assert parser.attributes == [("title", escape.visible(text))]


JSON = st.recursive(
    st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=6
)


@given(JSON, ANY)
def test_json_in_a_script_is_the_value_and_ends_nothing(inner: Any, text: str) -> None:
    value = [inner, {text: text}]
    shown = escape.json_in_script(value)
    assert not re.search(r"[<>&\u2028\u2029]", shown)
    assert json.loads(shown) == value


@given(ANY)
def test_dot_string_ends_where_it_should(text: str) -> None:
    quoted = escape.dot_quoted(text)
    assert re.fullmatch(r'"(?:[^"\\]|\\["\\])*"', quoted, re.DOTALL)
    assert html.unescape(quoted[1:-1].replace('\\"', '"').replace("\\\\", "\\")) == html.unescape(
        escape.visible(text).replace("&", "&amp;")
    )


@given(ANY)
def test_dot_html_is_text(text: str) -> None:
    names, inside, _ = parsed(f"<t>{escape.dot_html(text)}</t>")
    assert (names, inside) == (["t"], escape.visible(text))


def mermaid_back(text: str) -> str:
    """What Mermaid shows for a label: it turns `#n;` into the character."""
    return re.sub(r"#(\d+);", lambda m: chr(int(m[1])), text)


@given(ANY)
@example("WRAP:")
@example("nowrap : x")
@example("The End")
def test_mermaid_label_has_nothing_that_acts(text: str) -> None:
    label = escape.mermaid_label(text)
    assert mermaid_back(label) == escape.visible(text)
    bare = re.sub(r"#\d+;", "x", label)
    assert not re.search(
        r"[#;<>&\"%`$\\{}\[\]|~^*@\n]|--|==|\bend\b|^:|^(no)?wrap\s*:", bare, re.IGNORECASE
    ), label


def plantuml_back(text: str) -> str:
    """What PlantUML shows for `<U+XXXX>`."""
    return re.sub(r"<U\+([0-9A-F]+)>", lambda m: chr(int(m[1], 16)), text)


@given(ANY)
def test_plantuml_label_has_nothing_that_acts(text: str) -> None:
    label = escape.plantuml_label(text)
    assert plantuml_back(label) == escape.visible(text)
    bare = re.sub(r"<U\+[0-9A-F]+>", "x", label)
    assert not re.search(r"""[<>&"%$!@#;\\{}\[\]|~^*'`\n]|--|__|//|\.\.|==""", bare), label


@given(ANY)
def test_markdown_escapes_every_sign(text: str) -> None:
    shown = escape.markdown_text(text)
    assert re.fullmatch(
        r"(?:\\[!-/:-@\[-`{-~]|&(?:amp|lt|gt|#64);|[^\\`*_{}\[\]()#+.!|~:=^$\"'<>&@-])*", shown
    ), shown
    assert html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", shown)) == html.unescape(
        escape.visible(text).replace("&", "&amp;")
    )


@given(ANY)
def test_markdown_code_is_one_span(text: str) -> None:
    span = escape.markdown_code(text)
    fence = re.match("`+", span)
    assert fence is not None
    inner = span[len(fence[0]) : len(span) - len(fence[0])]
    assert fence[0] not in re.findall("`+", inner)
    assert "\n" not in span
    assert "|" not in inner.replace("\\|", "")


@given(ANY)
def test_terminal_gets_no_control_character(text: str) -> None:
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", escape.terminal(text))


def test_right_to_left_is_recognised() -> None:
    assert escape.has_right_to_left("abc نشر")
    assert escape.has_right_to_left("שלום")
    assert not escape.has_right_to_left("部署 abc é")

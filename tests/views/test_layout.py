"""Geometry: no label overlaps another, or leaves its column or the picture. Told from the layout, for every font."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrtrscope import analyse
from mrtrscope.views import detail
from mrtrscope.views.build import build
from mrtrscope.views.draw import draw
from mrtrscope.views.scene import LinkDetail, OperationDetail
from mrtrscope.views.shapes import Box, Page, Path, Text
from mrtrscope.views.writers.png import plain
from tests.conftest import SAMPLES
from tests.views import nasty, scenes
from tests.views.scenes import ACCEPT, CONFIRM, Script

NASTY = st.integers(0, len(nasty.ALL) - 1).map(nasty.ALL.__getitem__)
LABEL = st.one_of(st.text(max_size=40), NASTY)


def faults(page: Page) -> list[str]:
    """What is wrong with the places of the texts of a page, in words."""
    texts = list(page.texts())
    found = []
    for text in texts:
        left, top, right, bottom = text.box
        if left < -0.5 or top < -0.5 or right > page.width + 0.5 or bottom > page.height + 0.5:
            found.append(f"outside the picture: {text}")
        if text.area is not None and (left < text.area[0] - 0.5 or right > text.area[1] + 0.5):
            found.append(f"outside its column {text.area}: {text}")
    texts.sort(key=lambda t: t.box[1])
    for i, one in enumerate(texts):
        for other in texts[i + 1 :]:
            if other.box[1] >= one.box[3]:
                break
            if overlap(one, other):
                found.append(f"overlap: {one} {other}")
    chips = [
        (b.x, b.y, b.x + b.w, b.y + b.h)
        for g in page.groups
        for b in g.items
        if isinstance(b, Box) and b.fill == "chip"
    ]
    found += crossed(page)
    return found + [f"under a chip {chip}: {t}" for chip in chips for t in texts if crosses(chip, t.box)]


def crossed(page: Page) -> list[str]:
    """Texts with a lifeline through their letters: nothing filled was drawn in between."""
    drawn = [item for group in page.groups for item in group.items]
    lines = [
        (n, item.points[0], item.points[-1])
        for n, item in enumerate(drawn)
        if isinstance(item, Path) and item.stroke == "line" and item.points[0][0] == item.points[-1][0]
    ]
    found = []
    for n, text in enumerate(drawn):
        if not isinstance(text, Text) or not text.text.strip():
            continue
        left, top, right, bottom = text.box
        for at, (x, high), (_, low) in lines:
            if at < n and left < x < right and high < bottom and top < low:
                between = (b for b in drawn[at:n] if isinstance(b, Box) and b.fill)
                if not any(b.x <= left and right <= b.x + b.w and b.y - 1 <= top and bottom <= b.y + b.h + 1
                           for b in between):  # fmt: skip
                    found.append(f"crossed by the line at {x}: {text}")
    return found


def crosses(chip: tuple[float, float, float, float], text: tuple[float, float, float, float]) -> bool:
    """True when a text lies partly under a chip, and is not the one that stands in it."""
    wide = min(chip[2], text[2]) - max(chip[0], text[0])
    high = min(chip[3], text[3]) - max(chip[1], text[1])
    inside = chip[0] <= text[0] and text[2] <= chip[2] and chip[1] <= text[1] + 1 and text[3] <= chip[3] + 1
    return wide > 0.5 and high > 0.5 and not inside


def overlap(one: Text, other: Text) -> bool:
    if not one.text.strip() or not other.text.strip():
        return False
    a, b = one.box, other.box
    return min(a[2], b[2]) - max(a[0], b[0]) > 0.5 and min(a[3], b[3]) - max(a[1], b[1]) > 0.5


@pytest.mark.parametrize("unfold", [False, True], ids=["folded", "unfolded"])
@pytest.mark.parametrize("width", [None, 640.0, 1600.0])
@pytest.mark.parametrize("name", scenes.ALL)
def test_labels_stand_apart(name: str, width: float | None, unfold: bool) -> None:
    for page in draw(build(scenes.ALL[name](), unfold=unfold), width=width):
        assert faults(page) == []


@pytest.mark.parametrize("name", ["scripts", "long-labels"])
def test_labels_stand_apart_where_letters_are_spelled_out(name: str) -> None:
    for page in draw(plain(build(scenes.ALL[name]()))):
        assert faults(page) == []


def made(words: list[str], texts: list[str]) -> OperationDetail:
    """An operation in which every name and text is somebody else's."""
    name, key, field, arg = (words * 4)[:4]
    message, answer, error = (texts * 3)[:3]
    form = {key: {"method": "elicitation/create", "params": {"message": message, "requestedSchema": {
        "type": "object", "properties": {field: {"type": "string", "title": answer}}}}}}  # fmt: skip
    script = Script(name, {arg: answer}).ask(form, message)
    script.note("notifications/progress", message=error, progress=1).note(
        "notifications/message", data=answer
    )
    script.retry(
        {key: {"action": "accept", "content": {field: answer}}}, error, grade="suspect", differences=(error,)
    )
    return script.fail(-1, error).detail(client=name, server=key)


@settings(max_examples=60)
@given(st.lists(LABEL, min_size=1, max_size=4), st.lists(LABEL, min_size=1, max_size=3))
def test_no_label_can_break_the_layout(words: list[str], texts: list[str]) -> None:
    for page in draw(build(made(words, texts))):
        assert faults(page) == []


def test_a_thousand_arrows_make_pages_that_hold_every_row() -> None:
    scene = build(scenes.many_arrows(1000), unfold=True)
    pages = draw(scene)
    assert len(pages) > 5
    ids = [group.id for page in pages for group in page.groups]
    assert len(ids) == len(set(ids))
    for row in scene.rows:
        assert sum(id.endswith(f"-{row.id}") for id in ids) == 1, row.id
    for page in pages:
        assert page.height <= 3000
        assert faults(page) == []


def test_a_ribbon_that_crosses_pages_goes_on_to_the_next() -> None:
    script = Script()
    for _ in range(12):
        script.ask(CONFIRM, "the same").retry(ACCEPT, "the same", 1.0)
    scene = build(script.done().detail(), unfold=True)
    pages = draw(scene, page_height=900)
    assert len(pages) > 3
    assert [faults(page) for page in pages] == [[]] * len(pages)
    for ribbon, (a, b) in ((r, (r.start, r.stop)) for r in scene.ribbons):
        on = [p for p in pages if any(g.id.endswith(ribbon.id) for g in p.groups)]
        rows = [
            next(p for p in pages if f"{p.id}-{scene.rows[i].id}" in {g.id for g in p.groups}) for i in (a, b)
        ]
        assert on and on[0] is rows[0] and on[-1] is rows[1]


def test_width_is_kept_where_there_is_room() -> None:
    assert [draw(build(scenes.asks_once()), width=w)[0].width for w in (900.0, 1600.0)] == pytest.approx(
        [900.0, 1600.0]
    )


@pytest.mark.parametrize("name", scenes.ALL)
def test_a_width_from_the_least_upwards_is_met(name: str) -> None:
    scene = build(scenes.ALL[name]())
    least, natural = (draw(scene, width=w)[0].width for w in (1.0, None))
    for wanted in (least, (least + natural) / 2, natural):
        assert draw(scene, width=wanted)[0].width == pytest.approx(wanted)


def test_no_word_of_a_link_is_lost() -> None:
    words = ("padding lost: 2 of 103 characters", "the answer to “confirm” was given to another question")
    script = Script().ask(CONFIRM, "s").retry(ACCEPT, "t", 1.0, grade="suspect", differences=words)
    scene = build(script.done().detail())
    for width in (None, 900.0):
        page = draw(scene, width=width)[0]
        label = next(g for g in page.groups if g.id.endswith("round2-label"))
        lines = [item.text for item in label.items if isinstance(item, Text)][2:]
        assert len(lines) > 1 and " ".join(lines) == scene.spans[1].words
        assert faults(page) == []


def test_a_label_on_a_lifeline_has_paper_behind_it() -> None:
    scene = build(scenes.five_rounds())
    for span in scene.spans:
        span.label = "fetches the result of a long piece of work"
    for page in draw(scene):
        assert faults(page) == []
        patches = [b for g in page.groups if g.id.endswith("-label") for b in g.items if isinstance(b, Box)]
        assert sum(b.fill == "frame" for b in patches) == len(scene.spans)


def test_frames_do_not_cross() -> None:
    scene = build(scenes.five_rounds())
    for one, other in combinations(scene.spans, 2):
        assert one.last < other.first or other.last < one.first


@pytest.mark.parametrize("room", [200, 330, 500, 777])
@pytest.mark.parametrize("name", scenes.ALL)
def test_labels_stand_apart_wherever_a_page_ends(name: str, room: float) -> None:
    for page in draw(build(scenes.ALL[name](), unfold=True), page_height=room):
        assert faults(page) == []


def test_the_words_of_two_states_do_not_lie_on_each_other() -> None:
    script = Script().ask(CONFIRM, "constant").retry(ACCEPT, "constant", 2.0)
    made = script.done().detail()
    names = [f"m{n}" for n in range(2, 60, 3)]
    made.rounds[1].link = LinkDetail(None, "ambiguous", ["state"], names, [])
    scene = build(made)
    assert [ribbon.fate for ribbon in scene.ribbons] == ["unclear", "held"]
    assert scene.ribbons[0].words == "from one of m2, m5, m8, m11, m14, m17 and 14 more"
    assert scene.spans[1].words == "takes up one of m2, m5, m8, m11, m14, m17 and 14 more"
    for page in draw(scene):
        assert faults(page) == []


def test_sixty_findings_stand_in_columns_and_the_worst_at_their_arrow() -> None:
    made = scenes.broken_state()
    found = made.findings
    made.findings = [replace(found[2 - n % 3], rule=f"mrtr/rule-{n}", at="m4") for n in range(60)]
    scene = build(made)
    page = draw(scene)[0]
    assert faults(page) == []
    assert page.height < 3000
    arrow = next(group for group in page.groups if group.id.endswith("-m4"))
    levels = [item.text for item in arrow.items if isinstance(item, Text)][-5:]
    assert levels == ["must", "must", "must", "must", "+56"]
    listed = [group for group in page.groups if "-finding" in group.id and not group.id.endswith("findings")]
    assert [group.id.rpartition("finding")[2] for group in listed] == [str(n) for n in range(1, 61)]


def test_a_long_value_goes_on_in_the_next_lines() -> None:
    choices = [f"eu-north-{n} in the harbour" for n in range(5)]
    form = {"where": {"method": "elicitation/create", "params": {"message": "Where?", "requestedSchema": {
        "type": "object", "properties": {"region": {"type": "string", "enum": choices}}}}}}  # fmt: skip
    page = draw(build(Script().ask(form, "s").detail()))[0]
    card = next(group for group in page.groups if group.id.endswith("m2.where"))
    texts = [item for item in card.items if isinstance(item, Text) and item.mono]
    assert texts[0].text == "region" and len({item.x for item in texts[1:]}) == 1 and len(texts) == 4
    assert faults(page) == []


def test_what_a_label_ends_with_is_seen_too() -> None:
    made = scenes.long_labels()
    page = draw(build(made))[0]
    calls = [
        text.text
        for text in page.texts()
        if text.text.startswith("tools/call a_tool") and text.role == "request"
    ]
    assert calls and all("…" in text and text.endswith(f"  id {n}") for n, text in enumerate(calls, 1))
    assert build(made).title.endswith("12.4 s, nearly all of it waiting") and len(build(made).title) < 160


@pytest.mark.parametrize("outcome", ["open", "abandoned", "lost", "cancelled"])
@pytest.mark.parametrize("known", [True, False])
def test_how_it_ended_does_not_lie_on_the_state(outcome: str, known: bool) -> None:
    """Where the questions are of no known kind nobody stands left of the client, and the words go to its right."""
    script = Script()
    made = script.ask(CONFIRM if known else {}, scenes.STATE).detail()
    made.outcome, made.end = outcome, made.t + 9
    assert [faults(page) for page in draw(build(made))] == [[]]


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.glob("sample-*")))
def test_labels_stand_apart_in_what_was_really_said(sample: str) -> None:
    with analyse.bring_up_to_date(SAMPLES / sample) as store:
        found = list(detail.details(store, store.operations()))
    assert found
    for one in found:
        for unfold in (False, True):
            for page in draw(build(one, unfold=unfold)):
                assert faults(page) == [], one.id


def test_a_title_that_is_too_long_has_two_lines() -> None:
    made = scenes.broken_state()
    made.method, made.target = "tools/call", "a_tool_of_a_rather_long_name_" * 9
    scene = build(made)
    page = draw(scene)[0]
    head = next(group for group in page.groups if group.id.endswith("-title"))
    lines = [item.text for item in head.items if isinstance(item, Text)]
    assert len(lines) == 3 and " · ".join(lines[:2]) == scene.title
    assert faults(page) == []


def test_a_hint_goes_on_in_a_second_line() -> None:
    tools = [{"name": f"a_tool_with_some_longer_name_{n}"} for n in range(9)]
    made = scenes.one_round()
    answer = made.rounds[0].answer
    assert answer is not None
    answer.body = {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}
    page = draw(build(made), width=640.0)[0]
    row = next(group for group in page.groups if group.id.endswith(f"-{answer.m}"))
    hints = [
        item.text for item in row.items if isinstance(item, Text) and item.role == "muted" and not item.mono
    ]
    assert any(text.startswith("9 tools: ") for text in hints) and len(hints) > 2
    assert faults(page) == []


def test_a_state_keeps_its_digest_in_a_narrow_picture() -> None:
    scene = build(scenes.five_rounds())
    texts = [text.text for text in draw(scene, width=640.0)[0].texts() if text.text.startswith("state ")]
    assert len(texts) == len(scene.ribbons)
    assert all(
        text.endswith(ribbon.label.rpartition(" ")[2])
        for text, ribbon in zip(texts, scene.ribbons, strict=True)
    )

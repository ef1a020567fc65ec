"""A whole channel on one page: lanes, time, pages."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope import model
from mrtrscope.views import session
from mrtrscope.views.diagram import Options
from mrtrscope.views.diagram import session as drawn
from mrtrscope.views.metrics import cells
from mrtrscope.views.shapes import Sign
from tests.views import nasty
from tests.views.test_layout import faults
from tests.views.test_writers import elements, size

Outcome = Literal["complete", "error", "open", "abandoned", "cancelled", "lost"]
T0 = 1_795_977_037.5
CHANNEL = "https://ferry.example.test/mcp"


def operation(
    n: int, target: str = "deploy", outcome: Outcome = "complete", rounds: int = 2, t: float | None = None
) -> model.Operation:
    start = T0 + n * 0.7 if t is None else t
    made = []
    for i in range(rounds):
        link = model.Link(to="m1", grade="exact", evidence=["state"], candidates=["m1"]) if i else None
        state = "answered" if i == rounds - 1 else "asked"
        at = start + 12.4 * i
        made.append(
            model.Round(
                request=f"m{n * 10 + i}", answer="m2", link=link, state=state, t=at, t_answer=at + 0.004
            )
        )
    times = model.Times(server=0.004 * rounds, waiting=12.4 * (rounds - 1), total=12.4 * (rounds - 1) + 0.004)
    return model.Operation(
        id=f"op{n}", key=f"k:{n}", t=start, kind="mrtr", channel=CHANNEL, method="tools/call", target=target,
        outcome=outcome, rounds=made, times=times, findings=n % 3, worst="must" if n % 3 else None,
        worst_count=min(1, n % 3),
    )  # fmt: skip


def test_title_counts_outcomes_and_findings() -> None:
    made = session.build(
        [operation(1), operation(2, outcome="abandoned"), operation(3, outcome="error")], CHANNEL
    )
    assert made.title == f"{CHANNEL} · 3 operations: 1 complete, 1 abandoned and 1 error · 3 findings"


def test_other_channels_are_left_out() -> None:
    assert session.build([operation(1)], "another").lanes == []
    assert [lane.id for lane in session.build([operation(1)], CHANNEL).lanes] == ["op1"]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40))
def test_time_never_runs_backwards(times: list[float]) -> None:
    scale = session.Scale(times, 100, 900)
    places = [scale(t) for t in sorted(times)]
    assert places == sorted(places)
    assert places[0] >= 99.99 and places[-1] <= 900.01


def test_a_short_call_beside_a_long_wait_can_be_seen() -> None:
    scale = session.Scale([0, 0.004, 12.4, 12.404], 0, 800)
    assert scale(0.004) - scale(0) > 8


@pytest.mark.parametrize("width", [None, 720.0, 1800.0])
def test_labels_stand_apart(width: float | None) -> None:
    targets = [label for label in nasty.ALL if len(label) < 300]
    made = session.build([operation(n, target) for n, target in enumerate(targets, 1)], CHANNEL)
    pages = list(session.pages(made, width))
    assert len(pages) == -(-len(targets) // session.LANES)
    for page in pages:
        assert faults(page) == []


def test_every_lane_is_told_and_named() -> None:
    (svg,) = drawn([operation(1), operation(2)], CHANNEL, "svg", Options(links="#"))
    found = elements(svg.decode())
    assert {a["href"] for e, a, _ in found if e == "a"} == {"#op1", "#op2"}
    desc = next(inside for e, _, inside in found if e == "desc")
    assert (
        "18:30:38.200 op1 tools/call deploy: complete after 2 rounds, 12.4 s, 1 finding (worst: must)."
        in desc
    )


def test_png_dot_and_text() -> None:
    operations = [operation(n, "日本" * n) for n in range(1, 30)]
    (png,) = drawn(operations, CHANNEL, "png", Options(engine="graphviz-pure"))
    assert size(png)[0] == pytest.approx(2200, abs=10)
    (dot,) = drawn(operations, CHANNEL, "dot")
    assert dot.count(b"op29") > 0
    (text,) = drawn(operations, CHANNEL, "text", Options(width=90))
    lines = text.decode().splitlines()
    assert len(lines[lines.index("") + 1 :]) == 29
    assert max(map(cells, lines)) <= 100


def test_an_empty_channel_is_a_picture_too() -> None:
    (svg,) = drawn([], CHANNEL, "svg")
    assert b"0 operations" in svg


@pytest.mark.parametrize("form", ["mermaid", "plantuml"])
def test_formats_that_have_no_lanes(form: str) -> None:
    with pytest.raises(ValueError, match="no session in"):
        next(drawn([], CHANNEL, form))  # type: ignore[arg-type]


def test_a_lane_says_how_many_findings_are_of_the_worst_level() -> None:
    found = [lane.found for lane in session.build([operation(n) for n in (1, 2, 3)], CHANNEL).lanes]
    assert found == ["1 must", "1 must +1", ""]
    page = next(session.pages(session.build([operation(2)], CHANNEL)))
    sign = next(item for group in page.groups for item in group.items if isinstance(item, Sign))
    assert sign.text == "1" and "must +1" in [text.text for text in page.texts()]


@pytest.mark.parametrize("width", [72, 80, 140])
def test_the_signs_of_a_session_in_text_are_explained(width: int) -> None:
    lines = session.text(session.build([operation(1)], CHANNEL), width).splitlines()
    told = " ".join(lines[: lines.index("")])
    assert all(f"{sign} " in told for sign in ("▓", "█", "?", "=", "!", "x"))
    assert all(cells(line) <= width for line in lines[: lines.index("")] if not line.startswith("20"))

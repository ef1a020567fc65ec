"""Findings in a picture: the mark at an arrow, and the list below. Number, shape and word say it besides the colour."""

from __future__ import annotations

from functools import partial

from mrtrscope.views import metrics
from mrtrscope.views.layout import EDGE, SMALL, TINY
from mrtrscope.views.scene import Mark, Scene
from mrtrscope.views.shapes import Box, Group, Shape, Sign, Text
from mrtrscope.views.theme import SHAPES

_small_bold = partial(metrics.width, size=SMALL, bold=True)
_small = partial(metrics.width, size=SMALL)
_TINY_BOLD = partial(metrics.width, size=TINY, bold=True)


def _pill_width(mark: Mark) -> float:
    return 30 + _TINY_BOLD(mark.level)


def pills_width(marks: list[Mark]) -> float:
    """How wide the marks of one arrow are together."""
    return sum(_pill_width(mark) + 5 for mark in marks[:4]) - 5 if marks else 0.0


def beyond(middle: float, wide: float, label: float, area: tuple[float, float], leftward: bool) -> float:
    """Where marks begin: on the middle, else behind the label if there is room for it before the arrow's head."""
    low, high = area
    x = middle - wide / 2
    if leftward:
        behind = min(x, high - label - 10 - wide)
        return behind if behind >= low else x
    behind = max(x, low + label + 10)
    return behind if behind + wide <= high else x


def pill(mark: Mark, x: float, y: float, id: str) -> tuple[list[Shape], float]:
    """The mark at an arrow, from x on; and where the next one begins."""
    wide = _pill_width(mark)
    role = mark.level if mark.level in SHAPES else "info"
    shapes: list[Shape] = [
        Box(x, y - 9, wide, 18, "chip", role, 9),
        Sign(SHAPES[role], x + 10, y, 8, role, str(mark.n)),
        Text(x + 22, y + 4, mark.level, TINY, role, bold=True),
    ]
    return shapes, x + wide + 5


def said(mark: Mark) -> str:
    """How bad: the keyword of the sentence, behind the level where that is another."""
    keyword = mark.keyword.replace("-", " ")
    if not keyword or keyword == "advisory" or keyword.startswith(mark.level):
        return keyword if keyword.startswith(mark.level) else mark.level
    return f"{mark.level} ({keyword})"


def findings(scene: Scene, prefix: str, width: float, top: float) -> tuple[list[Group], float]:
    """The list below the picture: each finding with rule, party, words, what was seen, and source."""
    groups = []
    left, room = EDGE + 30, width - 2 * EDGE - 30
    area = (EDGE, width - EDGE)
    y = top + 16
    groups.append(Group(f"{prefix}-findings", items=[Text(EDGE, y, "Findings", 13, bold=True, area=area)]))
    y += 8
    for mark in scene.marks:
        role = mark.level if mark.level in SHAPES else "info"
        full = (
            mark.rule,
            mark.text,
            mark.saw and f"saw {mark.saw}",
            mark.expected and f"expected {mark.expected}",
        )
        group = Group(f"{prefix}-finding{mark.n}", mark.at, "\n".join(part for part in full if part))
        group.items.append(Sign(SHAPES[role], EDGE + 12, y + 13, 8.5, role, str(mark.n)))
        y += 17
        head = f"{said(mark)} · {mark.party if mark.party != 'either' else 'either side'} ·"
        group.items.append(Text(left, y, head, SMALL, role, bold=True, area=area))
        x = left + _small_bold(head + "  ")
        rule = metrics.cut(mark.rule, room - (x - left), _small)
        group.items.append(Text(x, y, rule, SMALL, "ink", area=area))
        x += _small(rule + "   ")
        where = metrics.cut(f"at {mark.at}", max(0.0, left + room - x), _small)
        group.items.append(Text(x, y, where, SMALL, "muted", area=area))
        for text in metrics.wrap(mark.text, room, 3, _small):
            y += 15
            group.items.append(Text(left, y, text, SMALL, "ink", area=area))
        told = " · ".join(
            f"{name} {value}" for name, value in (("saw", mark.saw), ("expected", mark.expected)) if value
        )
        for text in metrics.wrap(told, room, 2, _small):
            y += 15
            group.items.append(Text(left, y, text, SMALL, "muted", area=area))
        if mark.source:
            y += 15
            group.items.append(
                Text(left, y, metrics.cut(mark.source, room, _small, middle=True), SMALL, "muted", area=area)
            )
        y += 7
        groups.append(group)
    return groups, y

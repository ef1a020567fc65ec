"""Findings in a picture: the mark at an arrow, and the list below. Number, shape and word say it besides the colour."""

from __future__ import annotations

from functools import partial
from itertools import batched

from mrtrscope.views import metrics
from mrtrscope.views.layout import EDGE, SMALL, TINY
from mrtrscope.views.scene import Mark, Scene
from mrtrscope.views.shapes import Box, Group, Shape, Sign, Text
from mrtrscope.views.theme import SHAPES

_MANY, _NARROWEST = 6, 400.0  # findings that stand below each other; a column of more is at least this wide
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
    """The list below the picture: each finding with rule, party, words, what was seen, and source; many in columns."""
    y = top + 16
    head = Text(EDGE, y, "Findings", 13, bold=True, area=(EDGE, width - EDGE))
    groups = [Group(f"{prefix}-findings", items=[head])]
    y += 8
    side_by_side = max(1, int((width - EDGE) // (_NARROWEST + EDGE))) if len(scene.marks) > _MANY else 1
    wide = (width - EDGE) / side_by_side - EDGE
    for row in batched(scene.marks, side_by_side):
        drawn = [_finding(mark, prefix, EDGE + n * (wide + EDGE), wide, y) for n, mark in enumerate(row)]
        groups += [group for group, _ in drawn]
        y = max(low for _, low in drawn)
    return groups, y


def _finding(mark: Mark, prefix: str, edge: float, wide: float, y: float) -> tuple[Group, float]:
    """One finding from x `edge` on, and where it ends."""
    left, room, area = edge + 30, wide - 30, (edge, edge + wide)
    role = mark.level if mark.level in SHAPES else "info"
    seen = (("saw", mark.saw), ("expected", mark.expected))
    full = (mark.rule, mark.text, *(value and f"{name} {value}" for name, value in seen))
    group = Group(f"{prefix}-finding{mark.n}", mark.at, "\n".join(part for part in full if part))

    def put(x: float, text: str, role: str, bold: bool = False) -> None:
        group.items.append(Text(x, y, text, SMALL, role, bold=bold, area=area))

    group.items.append(Sign(SHAPES[role], edge + 12, y + 13, 8.5, role, str(mark.n)))
    y += 17
    head = f"{said(mark)} · {mark.party if mark.party != 'either' else 'either side'} ·"
    put(left, head, role, bold=True)
    x = left + _small_bold(head + "  ")
    at = f"at {mark.at}"
    rule = metrics.cut(mark.rule, left + room - x - _small("   " + at), _small, middle=True)
    put(x, rule, "ink")
    x += _small(rule + "   ")
    put(x, metrics.cut(at, max(0.0, left + room - x), _small), "muted")
    told = " · ".join(f"{name} {value}" for name, value in seen if value)
    source = metrics.cut(mark.source, room, _small, middle=True)
    for tone, lines in (
        ("ink", metrics.wrap(mark.text, room, 3, _small)),
        ("muted", metrics.wrap(told, room, 2, _small)),
        ("muted", [source] if source else []),
    ):
        for line in lines:
            y += 15
            put(left, line, tone)
    return group, y + 7

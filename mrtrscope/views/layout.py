"""Where everything stands: from a scene to pages of shapes. All positions and sizes of every picture are reckoned here.

Columns first: how far apart the participants stand follows from the widest label between them, within limits. Then the
height of each row, then the pages, then `draw` fills them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import partial

from mrtrscope.views import metrics
from mrtrscope.views.scene import Line, Ribbon, Row, Scene, Span

PAGE_HEIGHT = 2800.0  # a picture taller than this becomes several
EDGE = 18.0
CLOCK = 86.0  # column of the times
LABEL, SMALL, TINY = 13.0, 11.5, 10.5  # font sizes
LEADING = 15.0  # from line to line under an arrow
SLOT = 15.0  # from ribbon to ribbon beside a lifeline
_HEAD_ROOM, _FOOT_ROOM = 27.0, 9.0  # in a round's frame, over its first row and under its last
_BETWEEN = 10.0
_FOLDED = 3  # lines that the value of one name takes at most
_LEAST = 190.0  # between two lifelines, where somebody wants a narrow picture
_NEAR, _FAR = (235.0, 350.0), (330.0, 470.0)  # least and most between answerers and client, client and server

small = partial(metrics.width, size=SMALL)
mono = partial(metrics.width, size=SMALL - 0.5, mono=True)
small_bold = partial(metrics.width, size=SMALL, bold=True)
label_width = partial(metrics.width, size=LABEL, bold=True)


@dataclass(slots=True)
class Head:
    """What stands in the first lines of a frame: where its label, its grade and the words of its link begin."""

    x: float
    grade: float
    wide: float  # of the grade's chip, 0 without one
    words: float
    lines: list[str]

    @property
    def height(self) -> float:
        return _HEAD_ROOM + LEADING * max(0, len(self.lines) - 1)


@dataclass(slots=True)
class Placed:
    """A row with its place on a page: `y` of its arrow (or middle), what stands under it, folded and cut."""

    row: Row
    index: int
    height: float
    label: str
    under: list[tuple[str, str, str]]  # kind, name, text
    loose: float = 0  # room between the arrow and its texts, for what stands on the arrow
    top: float = 0
    y: float = 0
    opens: list[Span] = field(default_factory=list)
    heads: list[Head] = field(default_factory=list)  # of the frames that it opens
    closes: list[Span] = field(default_factory=list)


@dataclass(slots=True)
class Columns:
    """x of each participant, and the edges."""

    x: dict[str, float]
    left: float  # of the frames
    right: float
    width: float

    def between(self, row: Row) -> tuple[float, float]:
        """Left and right lifeline of a row."""
        a, b = self.x[row.source], self.x.get(row.target, self.x[row.source])
        return (a, b) if a <= b else (b, a)


def columns(scene: Scene, wanted: float | None) -> Columns:
    """Place the participants; `wanted` is the width the picture is to have, when somebody said."""
    ids = [p.id for p in scene.participants]
    gaps = [_gap(scene, a, b) for a, b in itertools.pairwise(ids)]
    left = EDGE + CLOCK
    half = 92.0
    natural = left + half + sum(gaps) + half + EDGE
    if wanted is None:
        title = metrics.width(scene.title, 17, bold=True) + 2 * EDGE
        wanted = max(natural, min(title, natural + 140, 1100))
    spare = wanted - natural
    if gaps and spare > 0:
        gaps = [gap + spare * gap / sum(gaps) for gap in gaps]
    elif gaps and spare < 0:  # each gives of what it has over the least
        over = sum(gap - _LEAST for gap in gaps)
        share = min(1.0, -spare / over)
        gaps = [gap - share * (gap - _LEAST) for gap in gaps]
    x, at = {}, left + half
    for id, gap in zip(ids, [*gaps, 0.0], strict=True):
        x[id] = at
        at += gap
    right = max(x.values()) + half
    return Columns(x, left, right, right + EDGE)


def _gap(scene: Scene, a: str, b: str) -> float:
    answering = scene.participant(a).side in ("user", "model", "files")
    low, high = _NEAR if answering else _FAR
    need = low
    for row in scene.rows:
        if {row.source, row.target} == {a, b}:
            need = max(need, label_width(row.label) + 56 + 62 * len(row.marks))
            need = max(
                [need, *(mono(f"{line.name}: {line.text}") + 64 for line in row.lines if line.kind == "item")]
            )
    return min(need, high)


def rows(scene: Scene, cols: Columns) -> list[Placed]:
    """Every row with its height and what stands in it."""
    slots = ribbon_slots(scene)
    used = max(slots.values(), default=-1) + 1
    placed = [_row(row, i, cols, used) for i, row in enumerate(scene.rows)]
    for span in scene.spans:
        placed[span.first].opens.append(span)
        placed[span.last].closes.append(span)
    for p in placed:
        p.opens.sort(key=lambda s: s.depth)
        p.heads = [_head(span, scene, cols, used) for span in p.opens]
        p.height += sum(head.height for head in p.heads) + (_FOOT_ROOM + _BETWEEN) * len(p.closes)
    _make_room_for_captions(scene, placed)
    return placed


def edges(span: Span, cols: Columns) -> tuple[float, float]:
    """Left and right of a frame."""
    inset = 7.0 * min(span.depth, 6)
    return cols.left + inset, cols.right - inset


def _head(span: Span, scene: Scene, cols: Columns, used: int) -> Head:
    """Label and grade begin at the left; the words beside the client's lifeline and its ribbons, in a few lines."""
    left, right = edges(span, cols)
    x = grade = left + 12
    grade += metrics.width(span.label, SMALL + 0.5, bold=True) + 10
    wide = metrics.width(span.grade, TINY, bold=True) + 12 if span.grade else 0.0
    row = scene.rows[span.first]
    client = cols.x[row.source] if row.kind != "gap" else grade
    beyond = client + 16 + SLOT * max(used, 0.4)
    if grade + wide > client - 8:
        grade = max(grade, beyond)
    words = max(grade + wide + 10, beyond)
    far = min((at for at in cols.x.values() if at > words), default=right)
    return Head(x, grade, wide, words, metrics.wrap(span.words, far - 8 - words, 4, small))


def text_area(row: Row, cols: Columns, used: int) -> tuple[float, float]:
    """Between which x the label and lines of a row may stand."""
    low, high = cols.between(row)
    if row.kind in ("ask", "reply"):
        return low + 14, high - 14
    return low + 16 + SLOT * max(used, 0.4), high - 16


def _row(row: Row, index: int, cols: Columns, used: int) -> Placed:
    if row.kind == "gap":
        return Placed(row, index, 54, row.label, [])
    if row.kind == "end":
        return Placed(row, index, 46, row.label, [])
    if row.kind == "rounds":
        return Placed(row, index, 54, row.label, [])
    low, high = text_area(row, cols, used)
    label = metrics.cut(row.label, high - low, label_width, middle=True)
    pad = 20 if row.kind in ("ask", "reply") and row.lines else 0
    under = fold_lines(row.lines, high - low - pad)
    loose = 4.0 if row.marks or row.kind == "fold" else 0.0
    height = 38 + 2 * loose + LEADING * len(under) + (pad + 4 if under else 0)
    return Placed(row, index, height, label, under, loose=loose)


def fold_lines(lines: list[Line], room: float) -> list[tuple[str, str, str]]:
    """Lines as they will stand: running text and values folded, all else cut."""
    out: list[tuple[str, str, str]] = []
    for line in lines:
        if line.kind == "text":
            out += [("text", "", part) for part in metrics.wrap(line.text, room, 4, small)]
        elif line.kind == "item" and line.name:
            name = metrics.cut(line.name, room * 0.55, mono)
            folded = metrics.wrap(line.text, room - mono(name + "  "), _FOLDED, mono) or [""]
            beside = " " * round(mono(name) / mono(" "))
            out += [("item", beside if n else name, part) for n, part in enumerate(folded)]
        else:
            measure = mono if line.kind == "item" else small
            out += [(line.kind, "", part) for part in metrics.wrap(line.text, room, 2, measure)]
    return out


def ribbon_slots(scene: Scene) -> dict[str, int]:
    """Which place beside the lifeline a ribbon takes: those that run side by side take several."""
    slots: dict[str, int] = {}
    taken: list[int] = []  # last row of the ribbon in each slot
    last = len(scene.rows)
    for ribbon in sorted(scene.ribbons, key=lambda r: (-1 if r.start is None else r.start, r.stop or last)):
        start = ribbon.start if ribbon.start is not None else max(0, (ribbon.stop or 0) - 1)
        stop = ribbon.stop if ribbon.stop is not None else start + 1
        slot = next((i for i, end in enumerate(taken) if end <= start), len(taken))
        if slot == len(taken):
            taken.append(stop)
        taken[slot] = stop
        slots[ribbon.id] = min(slot, 5)
    return slots


CAPTION = 50.0  # height of the words beside a ribbon


def caption_rows(ribbon: Ribbon, placed: list[Placed]) -> list[Placed]:
    """The rows beside which a ribbon's words stand: those without arrows just before it ends (or after it begins)."""
    if ribbon.stop is not None:
        first = ribbon.stop
        while first > 0 and placed[first - 1].row.kind in ("ask", "reply", "gap", "end"):
            first -= 1
        return placed[first : ribbon.stop]
    first = last = (ribbon.start or 0) + 1
    while last < len(placed) and placed[last].row.kind in ("ask", "reply", "gap", "end"):
        last += 1
    return placed[first:last]


def _make_room_for_captions(scene: Scene, placed: list[Placed]) -> None:
    """The rows that a ribbon's words stand beside are at least as high as the words."""
    first = scene.participants[0].id
    # Last of the rows -> how high the words are together; how it ended stands there, too, where nobody is left of it.
    waiting = {p.index: CAPTION for p in placed if p.row.kind == "end" and p.row.source == first}
    for ribbon in scene.ribbons:
        beside = caption_rows(ribbon, placed)
        if not beside:
            continue
        last = beside[-1].index
        waiting[last] = waiting.get(last, 0.0) + CAPTION
        short = waiting[last] - sum(p.height for p in beside)
        if short > 0:
            beside[-1].height += short


def pages(placed: list[Placed], room: float) -> list[list[Placed]]:
    """The rows in pages: broken between rounds when a round begins in the last third, else between rows."""
    out: list[list[Placed]] = []
    page: list[Placed] = []
    height = 0.0
    for p in placed:
        if page and height + p.height > room:
            at = next((i for i in range(len(page) - 1, 2 * len(page) // 3, -1) if page[i].opens), len(page))
            out.append(page[:at])
            page = page[at:]
            height = sum(q.height for q in page)
        page.append(p)
        height += p.height
    if page or not out:
        out.append(page)
    return out


def place(page: list[Placed], top: float) -> float:
    """Set the y of each row of a page, from `top` down; returns the bottom."""
    for p in page:
        p.top = top
        head = sum(one.height for one in p.heads)
        foot = (_FOOT_ROOM + _BETWEEN) * len(p.closes)
        still = p.row.kind in ("gap", "end", "rounds")
        p.y = top + head + ((p.height - head - foot) / 2 if still else 27 + p.loose)
        top += p.height
    return top


FOOT_ROOM, BETWEEN = _FOOT_ROOM, _BETWEEN

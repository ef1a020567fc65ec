"""Draws the states: a ribbon from the answer that issued one to the request that brought it back, torn or whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from mrtrscope.views import layout, metrics
from mrtrscope.views.layout import SLOT, SMALL, Columns, Placed
from mrtrscope.views.scene import Ribbon
from mrtrscope.views.shapes import Path, Shape, Text
from mrtrscope.views.theme import STATES

_BROAD, _CORNER, _LEADING = 10.0, 9.0, 15.0
_BAD = ("changed", "dropped", "invented")
Points = list[tuple[float, float]]


@dataclass(slots=True)
class Sheet:
    """The page that ribbons are drawn on: its rows by index, and where it begins and ends."""

    cols: Columns
    placed: list[Placed]
    here: dict[int, Placed]
    slots: dict[str, int]
    top: float
    bottom: float
    # Where words stand already: left, top, right, bottom.
    captions: list[tuple[float, float, float, float]] = field(default_factory=list)


def band(ribbon: Ribbon, sheet: Sheet) -> list[Shape]:
    """A ribbon as far as it runs over this page, and the words beside it; nothing where it does not."""
    start, stop = ribbon.start, ribbon.stop
    first, last = min(sheet.here, default=0), max(sheet.here, default=-1)
    if (
        (start is not None and start > last)
        or (stop is not None and stop < first)
        or (start is None and stop not in sheet.here)
    ):
        return []
    far, x = _columns(ribbon, sheet)
    begins = sheet.here[start].y if start in sheet.here else None
    ends = sheet.here[stop].y if stop in sheet.here else None
    beside = [p for p in layout.caption_rows(ribbon, sheet.placed) if p.index in sheet.here]
    low = begins if begins is not None else sheet.top if start is not None else (ends or 0.0) - 34
    high = ends if ends is not None else sheet.bottom if stop is not None else _loose_end(low, beside)
    head = [(far, low)] if begins is not None else []
    tail = [(far, high)] if ends is not None else []
    color, after = (f"state{n % STATES}" for n in (ribbon.color, ribbon.color_after))
    shapes: list[Shape] = []
    if ribbon.fate in ("changed", "dropped") and ends is not None:
        middle = (beside[0].top + beside[-1].top + beside[-1].height if beside else low + high) / 2
        shapes += [_piece([*head, (x, low), (x, middle - 7)], color), _tear(x, middle - 5)]
        if ribbon.fate == "changed":
            shapes += [_piece([(x, middle + 7), (x, high), *tail], after), _tear(x, middle + 5)]
    else:
        shapes.append(
            _piece([*head, (x, low), (x, high), *tail], color, "9 5" if ribbon.fate == "unclear" else "")
        )
        if ribbon.fate in ("held", "invented"):
            shapes.append(_tear(x, high if ribbon.fate == "held" else low))
    return shapes + _words(ribbon, x, beside, sheet)


def _columns(ribbon: Ribbon, sheet: Sheet) -> tuple[float, float]:
    """x of the lifeline that issued the state, and of the ribbon beside the one that holds it."""
    row = sheet.placed[ribbon.start if ribbon.start is not None else ribbon.stop or 0].row
    issued = (
        ribbon.start is not None and row.kind != "rounds"
    )  # a row of folded rounds points from client to server
    issuer, holder = (row.source, row.target) if issued else (row.target, row.source)
    return sheet.cols.x[issuer] - 3, sheet.cols.x[holder] + 11 + SLOT * sheet.slots[ribbon.id]


def _loose_end(low: float, beside: list[Placed]) -> float:
    if not beside:
        return low + 40
    last = beside[-1]
    return max(low + 34, last.y - 12 if last.row.kind == "end" else last.top + last.height - 8)


def _piece(points: Points, color: str, dash: str = "") -> Path:
    return Path(points, color, _BROAD, dash, round=_CORNER, band=True)


def _tear(x: float, y: float) -> Path:
    """A jagged edge across a ribbon."""
    return Path([(x - 9 + 3.5 * i, y + (3.5 if i % 2 else -3.5)) for i in range(6)], "suspect", 1.8)


def _words(ribbon: Ribbon, x: float, beside: list[Placed], sheet: Sheet) -> list[Shape]:
    """Which state it is, and how it fared."""
    if not beside:
        return []
    used = max(sheet.slots.values(), default=0)
    low = x + 14 + SLOT * (used - sheet.slots[ribbon.id])
    high = min((v for v in sheet.cols.x.values() if v > x), default=sheet.cols.right) - 12
    lines = [(f"state {ribbon.label}", True), (ribbon.words, False)]
    if ribbon.fate == "changed":
        lines.append((f"now {ribbon.label_after}", True))
    y = (beside[0].top + beside[-1].top + beside[-1].height) / 2 - _LEADING * (len(lines) - 1) / 2 + 4
    y = _free(sheet, low, y, high, _LEADING * len(lines))
    out: list[Shape] = []
    for text, fixed in lines:
        bad = not fixed and ribbon.fate in _BAD
        shown = metrics.cut(
            text,
            high - low,
            layout.mono if fixed else layout.small_bold if bad else layout.small,
            middle=fixed,
        )
        size, role = (SMALL - 0.5 if fixed else SMALL), ("suspect" if bad else "muted")
        out.append(Text(low, y, shown, size, role, bold=bad, mono=fixed, area=(low, high)))
        y += _LEADING
    return out


def _free(sheet: Sheet, left: float, y: float, right: float, high: float) -> float:
    """The first baseline of words that are to begin at y, or below those that stand there already."""
    top = y - 12
    for a, above, b, below in sorted(sheet.captions, key=lambda box: box[1]):
        if a < right and left < b and above < top + high and top < below:
            top = below + 2
    sheet.captions.append((left, top, right, top + high))
    return top + 12

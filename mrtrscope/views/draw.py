"""Draws a laid-out scene: rows, frames, ribbons, findings become shapes with positions."""

from __future__ import annotations

from mrtrscope.views import layout, metrics
from mrtrscope.views.bands import Sheet, band
from mrtrscope.views.clear import clear
from mrtrscope.views.layout import CLOCK, EDGE, LABEL, LEADING, SLOT, SMALL, TINY, Columns, Placed
from mrtrscope.views.marks import beyond, findings, pill, pills_width
from mrtrscope.views.narrate import narrate
from mrtrscope.views.scene import Participant, Row, Scene, Span
from mrtrscope.views.shapes import Box, Group, Page, Path, Text

_HEAD = 46.0  # height of a participant's box
_HALF, _WIDEST = 74.0, 90.0  # half its width, least and most


def draw(scene: Scene, *, width: float | None = None, page_height: float = layout.PAGE_HEIGHT) -> list[Page]:
    """The pictures of a scene: one, or several where it is too tall for one."""
    cols = layout.columns(scene, width)
    placed = layout.rows(scene, cols)
    parts = layout.pages(placed, page_height)
    return [_Page(scene, cols, placed, part, n, len(parts)).draw() for n, part in enumerate(parts, 1)]


class _Page:
    def __init__(
        self, scene: Scene, cols: Columns, placed: list[Placed], part: list[Placed], n: int, of: int
    ) -> None:
        self.scene, self.cols, self.placed, self.part, self.n, self.of = scene, cols, placed, part, n, of
        self.prefix = scene.id if of == 1 else f"{scene.id}-p{n}"
        self.groups: list[Group] = []
        self.slots = layout.ribbon_slots(scene)
        self.used = max(self.slots.values(), default=-1) + 1
        self.first = part[0].index if part else 0
        self.last = part[-1].index if part else -1

    def draw(self) -> Page:
        cols, scene = self.cols, self.scene
        title = scene.title if self.of == 1 else f"({self.n} of {self.of}) {scene.title}"
        top = 64.0 + self._heading(title)
        body = top + _HEAD + 16
        continued = any(span.first < self.first <= span.last for span in scene.spans)
        bottom = layout.place(self.part, body + 20 if continued else body)
        spans = [span for span in scene.spans if span.first <= self.last and span.last >= self.first]
        for span in spans:
            self._frame(span, body, bottom)
        self._lifelines(top + _HEAD, bottom + 4)
        for participant in scene.participants:
            self._head(participant, top)
        for span in spans:
            self._frame_label(span, body)
        sheet = Sheet(self.cols, self.placed, {p.index: p for p in self.part}, self.slots, body - 4, bottom)
        sheet.captions += [self._end_area(p) for p in self.part if p.row.kind == "end"]
        for ribbon in scene.ribbons:
            if items := band(ribbon, sheet):
                at = ribbon.stop if ribbon.stop is not None else ribbon.start
                self._group(ribbon.id, scene.rows[at or 0].m, ribbon.seen).items += items
        for p in self.part:
            self._row(p)
        clear(self.groups, cols.x.values(), top + _HEAD, bottom + 4)
        foot = bottom + 12
        if scene.marks and self.n == self.of:
            group, foot = findings(scene, self.prefix, cols.width, foot)
            self.groups += group
        return Page(self.prefix, cols.width, foot + 12, title, narrate(scene), self.groups)

    def _group(self, id: str, m: str = "", seen: str = "") -> Group:
        group = Group(f"{self.prefix}-{id}", m, seen)
        self.groups.append(group)
        return group

    def _heading(self, title: str) -> float:
        """Title and subtitle; returns how much more room than usual they take."""
        room = self.cols.width - 2 * EDGE
        group = self._group("title", seen=f"{title}\n{self.scene.subtitle}")
        area = (EDGE, self.cols.width - EDGE)
        size = next((s for s in (17, 16, 15, 14) if metrics.width(title, s, bold=True) <= room), 13)
        lines = [title]
        if metrics.width(title, size, bold=True) > room:
            size, lines = 14, _in_two(title)
        for n, line in enumerate(lines):
            shown = metrics.cut(line, room, lambda t: metrics.width(t, size, bold=True))
            group.items.append(Text(EDGE, 28 + 18 * n, shown, size, bold=True, area=area))
        more = 18.0 * (len(lines) - 1)
        below = metrics.cut(self.scene.subtitle, room, lambda t: metrics.width(t, 12), middle=True)
        group.items.append(Text(EDGE, 47 + more, below, 12, "muted", area=area))
        return more

    def _lifelines(self, top: float, bottom: float) -> None:
        """Whole, but dotted where time passes that the picture leaves out."""
        group = self._group("lifelines")
        gaps = [(p.top, p.top + p.height) for p in self.part if p.row.kind == "gap"]
        for x in self.cols.x.values():
            y = top
            for start, end in gaps:
                group.items.append(Path([(x, y), (x, start)], "line", 1.4))
                group.items.append(Path([(x, start), (x, end)], "line", 1.4, "2 5"))
                y = end
            group.items.append(Path([(x, y), (x, bottom)], "line", 1.4))

    def _head(self, who: Participant, top: float) -> None:
        x = self.cols.x[who.id]
        half = max(_HALF, min(_WIDEST, metrics.width(who.name, SMALL) / 2 + 8))
        group = self._group(f"who-{who.id}", seen=f"{who.side}: {who.name}" if who.name else who.side)
        area = (x - half + 4, x + half - 4)
        behind = who.side in ("user", "model", "files")
        group.items.append(Box(x - half, top, 2 * half, _HEAD, "head", "head-line", 23 if behind else 6,
                               dash="4 3" if behind else ""))  # fmt: skip
        name = {"files": "roots"}.get(who.side, who.side)
        if who.name:
            shown = metrics.cut(who.name, 2 * half - 12, layout.small, middle=True)
            group.items.append(Text(x, top + 20, name, LABEL, anchor="middle", bold=True, area=area))
            group.items.append(Text(x, top + 36, shown, SMALL, "muted", "middle", area=area))
        else:
            group.items.append(Text(x, top + 28, name, LABEL, anchor="middle", bold=True, area=area))

    def _frame_top(self, span: Span, body: float) -> float:
        if span.first < self.first:
            return body - 6
        p = self.placed[span.first]
        return p.top + sum(head.height for head in p.heads[: p.opens.index(span)])

    def _frame(self, span: Span, body: float, bottom: float) -> None:
        top, low = self._frame_top(span, body), bottom
        if span.last <= self.last:
            p = self.placed[span.last]
            low = p.top + p.height - layout.BETWEEN * len(p.closes) - layout.FOOT_ROOM * p.closes.index(span)
        left, right = layout.edges(span, self.cols)
        group = self._group(f"{span.id}-frame", seen=_framed(span))
        group.items.append(
            Box(left, top, right - left, low - top, "frame" if not span.depth else "", "frame-line", 7)
        )

    def _frame_label(self, span: Span, body: float) -> None:
        """Which round, how it was linked, and why."""
        area = layout.edges(span, self.cols)
        y = self._frame_top(span, body) + 18
        group = self._group(f"{span.id}-label", seen=_framed(span))
        if span.first < self.first:
            label = f"{span.label}, continued"
            group.items.append(Text(area[0] + 12, y, label, SMALL + 0.5, "muted", bold=True, area=area))
            return
        opening = self.placed[span.first]
        head = opening.heads[opening.opens.index(span)]
        group.items.append(Text(head.x, y, span.label, SMALL + 0.5, "muted", bold=True, area=area))
        if span.grade:
            middle = head.grade + head.wide / 2
            group.items += [Box(head.grade, y - 11, head.wide, 15, "chip", span.grade, 7.5),
                            Text(middle, y, span.grade, TINY, span.grade, "middle", True, area=area)]  # fmt: skip
        for n, line in enumerate(head.lines):
            group.items.append(Text(head.words, y + n * LEADING, line, SMALL, "muted", area=area))

    # ---- rows

    def _row(self, p: Placed) -> None:
        row = p.row
        group = self._group(row.id, row.m, _told(row))
        if row.clock:
            x, margin = EDGE + CLOCK - 12, (2.0, EDGE + CLOCK)
            for text, y, size in ((row.clock, p.y + 4, TINY), (row.m, p.y + 17, TINY - 1)):
                group.items.append(Text(x, y, text, size, "muted", "end", mono=True, area=margin))
        if row.kind == "gap":
            self._gap(p, group)
        elif row.kind == "end":
            self._end(p, group)
        elif row.kind == "rounds":
            self._rounds(p, group)
        else:
            self._arrow(p, group)

    def _arrow(self, p: Placed, group: Group) -> None:
        row, cols = p.row, self.cols
        a, b = cols.x[row.source], cols.x[row.target]
        low, high = layout.text_area(row, cols, self.used)
        behind = row.kind in ("ask", "reply")
        leftward = a > b
        if p.under and behind:
            card = Box(low, p.y + 8, high - low, LEADING * len(p.under) + 13, "card", "card-line", 4)
            group.items.append(card)
        gap = 2.0 if a < b else -2.0
        head = "filled" if row.tone in ("request", "question", "reply") else "open"
        dash = (
            "6 4"
            if row.tone in ("asked", "complete", "error")
            else "2 3"
            if behind
            else "5 3"
            if row.tone == "cancel"
            else ""
        )
        weight = 1.1 if row.tone == "note" else 1.7
        if row.kind == "fold":
            group.items += [
                Path([(a, p.y - 3), (b - 4 * gap, p.y - 3)], row.tone, 0.9),
                Path([(a, p.y + 3), (b - 4 * gap, p.y + 3)], row.tone, 0.9),
            ]
        group.items.append(Path([(a + gap, p.y), (b - gap, p.y)], row.tone, weight, dash, head))
        anchor, x = ("end", high) if leftward else ("start", low)
        if behind:
            anchor, x = "middle", (low + high) / 2
        role = row.tone if row.tone != "note" else "muted"
        group.items.append(
            Text(
                x,
                p.y - 9 - p.loose,
                p.label,
                LABEL,
                role,
                anchor,
                row.kind != "fold" and row.tone != "note",
                area=(low, high),
            )
        )
        self._under(
            p, group, low + (10 if behind else 0), high - (10 if behind else 0), leftward and not behind
        )
        self._beside(p, group, a, b, (low, high))

    def _under(self, p: Placed, group: Group, low: float, high: float, right: bool) -> None:
        y = p.y + (24 if p.row.kind in ("ask", "reply") else 17 + p.loose)
        for kind, name, text in p.under:
            size, fixed = (SMALL - 0.5, True) if kind == "item" else (SMALL, False)
            if name:
                told = metrics.width(name + "  ", size, mono=True)
                start = high - told - metrics.width(text, size, mono=True) if right else low
                if name.strip():  # else a value goes on
                    group.items.append(Text(start, y, name, size, "muted", mono=True, area=(low, high)))
                group.items.append(Text(start + told, y, text, size, "ink", mono=True, area=(low, high)))
            else:
                role = "ink" if kind in ("text", "item") else "muted"
                group.items.append(
                    Text(
                        high if right else low,
                        y,
                        text,
                        size,
                        role,
                        "end" if right else "start",
                        mono=fixed,
                        area=(low, high),
                    )
                )
            y += LEADING

    def _beside(self, p: Placed, group: Group, a: float, b: float, area: tuple[float, float]) -> None:
        """The HTTP status at the arrow's tail, the findings on its middle, or behind a label that reaches it."""
        row = p.row
        if row.status:
            wide = metrics.width(row.status, TINY, bold=True) + 10
            x = a + 7 if a > b else a - 7 - wide
            role = "error" if row.status[0] in "45" else "muted"
            group.items += [Box(x, p.y - 7.5, wide, 15, "chip", role, 3),
                            Text(x + wide / 2, p.y + 4, row.status, TINY, role, "middle", True)]  # fmt: skip
        marks, more = self.scene.worst(row)
        x = beyond((a + b) / 2, pills_width(marks), layout.label_width(p.label), area, a > b)
        for mark in marks:
            shapes, x = pill(mark, x, p.y, group.id)
            group.items += shapes
        if more:
            wide = metrics.width(f"+{more}", TINY, bold=True) + 12
            group.items += [Box(x, p.y - 9, wide, 18, "chip", "muted", 9),
                            Text(x + wide / 2, p.y + 4, f"+{more}", TINY, "muted", "middle", True)]  # fmt: skip

    def _gap(self, p: Placed, group: Group) -> None:
        x = self.cols.x[p.row.source] - 14
        first = min(self.cols.x.values())
        if first < self.cols.x[p.row.source]:
            middle, room = (first + self.cols.x[p.row.source]) / 2, self.cols.x[p.row.source] - first - 30
        else:
            middle, room = (x + 10) / 2, x - 10
        label = metrics.cut(p.label, room - 26, layout.small)
        wide = metrics.width(label, SMALL) + 26
        group.items += [Box(middle - wide / 2, p.y - 12, wide, 24, "bg", "wait", 12, 1.2, "3 3"),
                        Text(middle, p.y + 4, label, SMALL, "muted", "middle", area=(10, x))]  # fmt: skip

    def _rounds(self, p: Placed, group: Group) -> None:
        """Rounds that are not drawn: a stack of sheets across the picture."""
        left, right = self.cols.left, self.cols.right
        for off in (6.0, 3.0, 0.0):
            group.items.append(
                Box(left + off, p.y - 14 + off, right - left - 2 * off, 26, "frame", "frame-line", 6)
            )
        low, high = self.cols.x[p.row.source] + 30, self.cols.x[p.row.target] - 10
        label = metrics.cut(p.label, high - low, layout.small_bold)
        group.items.append(
            Text((low + high) / 2, p.y + 2, label, SMALL, "muted", "middle", True, area=(low, high))
        )

    def _end_area(self, p: Placed) -> tuple[float, float, float, float]:
        """Where it says how an operation ended: left of its column, right of it where that is the first one."""
        x, right = self.cols.x[p.row.source], self.cols.right
        left = x if x == min(self.cols.x.values()) else 10.0
        return left, p.y - 10, right if left == x else x, p.y + 9

    def _end(self, p: Placed, group: Group) -> None:
        x = self.cols.x[p.row.source]
        left, right = 10.0, self.cols.right
        ids = list(self.cols.x)
        group.items.append(Path([(x, p.y), (x, p.y)], "cancel", 2, head="cross"))
        if p.row.source == ids[-1]:
            low, high = (self.cols.x[ids[-2]] + 30 if len(ids) > 1 else left), x - 16
            text = metrics.cut(p.label, high - low, layout.small_bold)
            group.items.append(Text(high, p.y + 4, text, SMALL, "cancel", "end", True, area=(low, high)))
        elif p.row.source == ids[0]:
            low, high = x + 16 + SLOT * self.used, right
            text = metrics.cut(p.label, high - low, layout.small_bold)
            group.items.append(Text(low, p.y + 4, text, SMALL, "cancel", "start", True, area=(low, high)))
        else:
            low, high = left, x - 16
            text = metrics.cut(p.label, high - low, layout.small_bold)
            group.items.append(Text(high, p.y + 4, text, SMALL, "cancel", "end", True, area=(low, high)))


def _in_two(title: str) -> list[str]:
    """A title in two lines, broken where its parts meet, nearest to its middle."""
    parts = title.split(" · ")
    if len(parts) == 1:
        return parts
    split = min(range(1, len(parts)), key=lambda n: abs(len(" · ".join(parts[:n])) - len(title) / 2))
    return [" · ".join(parts[:split]), " · ".join(parts[split:])]


def _told(row: Row) -> str:
    """The tooltip of a row: what may be cut in the picture, in full, and its message."""
    lines = [f"{line.name} {line.text}".strip() for line in row.lines] if not row.seen else []
    return "\n".join(part for part in (row.label, *lines, row.seen) if part)


def _framed(span: Span) -> str:
    return " · ".join(part for part in (span.label, span.grade, span.words) if part)

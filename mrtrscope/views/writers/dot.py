"""DOT with every position given, for any Graphviz: draw it with `neato -n2`; nothing is left to lay out.

A box is a node, a line an edge between two points, a text a node without a shape. Graphviz counts in points (72 to the
inch) from the bottom; a pixel is taken for a point.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from mrtrscope.views.escape import dot_quoted
from mrtrscope.views.shapes import Box, Page, Path, Sign, Text
from mrtrscope.views.templates import render
from mrtrscope.views.theme import THEMES, Theme

Fonts = dict[tuple[bool, bool], str]  # (fixed width, bold) -> name

# The PostScript names are the ones that every Graphviz knows, whatever font it then takes for them.
POSTSCRIPT: Fonts = {
    (False, False): "Helvetica",
    (False, True): "Helvetica-Bold",
    (True, False): "Courier",
    (True, True): "Courier-Bold",
}
# For an engine with fontconfig: families whose letters are as wide as Helvetica's and Courier's, the likely ones first.
_SANS, _MONO = (
    "Arimo,Liberation Sans,Nimbus Sans,Arial,Helvetica",
    "Cousine,Liberation Mono,Nimbus Mono PS,Courier New,Courier",
)
AS_WIDE = (
    "Arimo",
    "Liberation Sans",
    "Nimbus Sans",
    "Arial",
    "Helvetica",
)  # the single ones
FAMILIES: Fonts = {
    (False, False): _SANS,
    (False, True): f"{_SANS} Bold",
    (True, False): _MONO,
    (True, True): f"{_MONO} Bold",
}
_BASELINE = 0.30  # of the font size: how far a text's middle lies above its baseline in Graphviz


@dataclass(slots=True)
class Item:
    """A node or an edge: its name and its attributes, values ready to be written."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Part:
    """What one group of shapes becomes."""

    id: str
    items: list[Item] = field(default_factory=list)


def write(page: Page, theme: str = "light", *, links: str | None = None, fonts: Fonts = POSTSCRIPT) -> str:
    """The picture as DOT text; `links` as for SVG."""
    maker = _Dot(page, THEMES[theme], links, fonts)
    return render("sequence.dot.j2", page=page, parts=maker.parts(), background=THEMES[theme]["bg"], n=number)


def number(value: float) -> str:
    """A number, two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


class _Dot:
    def __init__(self, page: Page, colors: Theme, links: str | None, fonts: Fonts) -> None:
        self.page, self.colors, self.links, self.fonts = page, colors, links, fonts
        self.n = 0
        self.common: dict[str, str] = {}

    def parts(self) -> list[Part]:
        out = []
        for group in self.page.groups:
            self.common = {"tooltip": dot_quoted(group.seen[:400] or " ")}
            if self.links is not None and group.m:
                self.common["URL"] = dot_quoted(f"{self.links}{group.m}")
            part = Part(group.id)
            for item in group.items:
                part.items += self._item(item)
            if part.items:
                part.items[0].attributes["id"] = dot_quoted(group.id)
            out.append(part)
        return out

    def _item(self, item: Text | Box | Path | Sign) -> list[Item]:
        if isinstance(item, Text):
            return [self._text(item)]
        if isinstance(item, Box):
            return [self._box(item)]
        return self._path(item) if isinstance(item, Path) else [self._sign(item)]

    def _pos(self, x: float, y: float) -> str:
        return f'"{number(x)},{number(self.page.height - y)}"'

    def _node(self, x: float, y: float, w: float, h: float, **attributes: str) -> Item:
        self.n += 1
        place = {"pos": self._pos(x, y), "width": f"{w / 72:.4f}", "height": f"{h / 72:.4f}"}
        return Item(f"n{self.n}", {**place, **attributes, **self.common})

    def _text(self, t: Text) -> Item:
        left, _, right, _ = t.box
        middle = (left + right) / 2
        # More room than the text needs, as Graphviz warns by its own reckoning; none beyond the page, as it would grow.
        room = min(1.3 * (right - left) + 16, 2 * middle, 2 * (self.page.width - middle))
        return self._node(
            middle, t.y - _BASELINE * t.size, max(1.0, room), t.size * 1.7, shape="none",
            label=dot_quoted(t.text), fontsize=number(t.size), fontcolor=f'"{self.colors[t.role]}"',
            fontname=f'"{self.fonts[t.mono, t.bold]}"',
        )  # fmt: skip

    def _box(self, b: Box) -> Item:
        style = (
            ",".join([*["filled"] * bool(b.fill), *["rounded"] * bool(b.r), *["dashed"] * bool(b.dash)])
            or "solid"
        )
        return self._node(
            b.x + b.w / 2, b.y + b.h / 2, b.w, b.h, shape="box", style=f'"{style}"', penwidth=number(b.weight),
            color=f'"{self.colors[b.stroke or b.fill]}"', fillcolor=f'"{self.colors[b.fill] if b.fill else "none"}"',
        )  # fmt: skip

    def _sign(self, s: Sign) -> Item:
        wide = 2 * s.r * (1.3 if s.kind == "triangle" else 1.05)
        return self._node(
            s.x, s.y, wide, wide, shape=s.kind, style="filled", color=f'"{self.colors[s.fill]}"',
            fillcolor=f'"{self.colors[s.fill]}"', label=dot_quoted(s.text), fontsize="9" if len(s.text) < 3 else "7",
            fontcolor=f'"{self.colors["on-mark"]}"', fontname=f'"{self.fonts[False, True]}"',
        )  # fmt: skip

    def _path(self, p: Path) -> list[Item]:
        x, y = p.points[-1]
        if p.head == "cross":
            cross = [[(x - 5, y - 5), (x + 5, y + 5)], [(x - 5, y + 5), (x + 5, y - 5)]]
            tail = [p] if p.points[0] != p.points[-1] else []
            plain = [Path(points, p.stroke, 2.2) for points in cross] + [
                Path(q.points, q.stroke, q.weight, q.dash) for q in tail
            ]
            return [item for q in plain for item in self._edge(q)]
        return self._edge(p)

    def _edge(self, p: Path) -> list[Item]:
        """Two points without size and the line between them, as a spline of straight pieces."""
        a, b = p.points[0], p.points[-1]
        ends = [self._node(x, y, 0.01, 0.01, shape="point", style="invis") for x, y in (a, b)]
        for end in ends:
            end.attributes.pop("tooltip", None)
            end.attributes.pop("URL", None)
        stop, arrow = b, ""
        if p.head:
            back = 8 if a[0] < b[0] else -8
            stop = (b[0] - back, b[1])
            arrow = f"e,{number(b[0])},{number(self.page.height - b[1])} "
        points = [*p.points[:-1], stop]
        style = "dotted" if p.dash.startswith("2") else "dashed" if p.dash else "solid"
        color = self.colors[p.stroke] + ("8c" if p.band else "")
        attributes = {
            "pos": f'"{arrow}{self._spline(points)}"', "color": f'"{color}"', "style": style,
            "penwidth": number(p.weight), "dir": "forward" if p.head else "none",
            "arrowhead": "normal" if p.head == "filled" else "vee",
            "arrowsize": "0.8", **self.common,
        }  # fmt: skip
        return [*ends, Item(f"{ends[0].name} -> {ends[1].name}", attributes)]

    def _spline(self, points: list[tuple[float, float]]) -> str:
        out = [points[0]]
        for (ax, ay), (bx, by) in itertools.pairwise(points):
            third = ((bx - ax) / 3, (by - ay) / 3)
            out += [(ax + third[0], ay + third[1]), (bx - third[0], by - third[1]), (bx, by)]
        return " ".join(f"{number(x)},{number(self.page.height - y)}" for x, y in out)

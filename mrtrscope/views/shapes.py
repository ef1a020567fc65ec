"""What a laid-out picture consists of: a few shapes with positions, in pixels, ready for any writer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mrtrscope.views.metrics import width


@dataclass(slots=True)
class Text:
    """One line of text; `y` is its baseline, `role` its colour, `area` the column (x from, x to) it must stay in."""

    x: float
    y: float
    text: str
    size: float = 13
    role: str = "ink"
    anchor: str = "start"  # start, middle, end
    bold: bool = False
    mono: bool = False
    area: tuple[float, float] | None = None

    @property
    def width(self) -> float:
        return width(self.text, self.size, bold=self.bold, mono=self.mono)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, right, bottom."""
        wide = self.width
        left = self.x - {"start": 0.0, "middle": wide / 2, "end": wide}[self.anchor]
        return left, self.y - 0.78 * self.size, left + wide, self.y + 0.22 * self.size


@dataclass(slots=True)
class Box:
    """A rectangle, its corners rounded by `r`."""

    x: float
    y: float
    w: float
    h: float
    fill: str = ""
    stroke: str = ""
    r: float = 0
    weight: float = 1
    dash: str = ""


@dataclass(slots=True)
class Path:
    """A line through points; `round` softens its corners, `head` is what stands at its end."""

    points: list[tuple[float, float]]
    stroke: str
    weight: float = 1.5
    dash: str = ""
    head: str = ""  # filled, open, cross
    round: float = 0
    band: bool = False  # a broad, see-through ribbon


@dataclass(slots=True)
class Sign:
    """A small filled shape with a letter or number in it: octagon, triangle, circle, diamond."""

    kind: str
    x: float
    y: float
    r: float
    fill: str
    text: str = ""


@dataclass(slots=True)
class Group:
    """Shapes that tell of one thing: `id` names it, `m` is its message, `seen` its tooltip."""

    id: str
    m: str = ""
    seen: str = ""
    items: list[Shape] = field(default_factory=list)


Shape = Text | Box | Path | Sign


@dataclass(slots=True)
class Page:
    """One picture."""

    id: str
    width: float
    height: float
    title: str
    description: str
    groups: list[Group] = field(default_factory=list)

    def texts(self) -> Iterator[Text]:
        """Every line of text on it."""
        for group in self.groups:
            for item in group.items:
                if isinstance(item, Text):
                    yield item

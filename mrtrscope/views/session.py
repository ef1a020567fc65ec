"""A whole channel on one page: operations as lanes, time from left to right.

Made from rows alone, no message is read. Time is not to scale: between two events it grows with the logarithm of what
passed, so that a call of 4 ms and a person's 12 minutes both can be seen; the ticks say what time it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from math import log1p
from statistics import median

from mrtrscope import model
from mrtrscope.views import metrics
from mrtrscope.views.escape import visible
from mrtrscope.views.redact import Redactor
from mrtrscope.views.rows import ended
from mrtrscope.views.shapes import Box, Group, Page, Path, Sign, Text
from mrtrscope.views.theme import SHAPES, STATES
from mrtrscope.views.words import clock, count, duration, series, when

LANES = 100  # on one page
WIDTH = 1100.0
_EDGE, _NAMES, _ENDS, _LANE, _TOP = 18.0, 230.0, 210.0, 27.0, 92.0
_SIZE = 11.5
_small = partial(metrics.width, size=_SIZE)
_ROLES = {
    "asked": "asked",
    "answered": "complete",
    "failed": "error",
    "cancelled": "cancel",
    "lost": "cancel",
    "waiting": "wait",
}


@dataclass(slots=True)
class Piece:
    """One round of a lane: when, how it ended, how it hangs together with the one before it."""

    m: str
    start: float
    end: float
    state: str
    grade: str = ""
    carried: bool = False  # a state links it


@dataclass(slots=True)
class Lane:
    """One operation."""

    id: str
    name: str
    outcome: str
    total: float
    start: float
    end: float
    pieces: list[Piece] = field(default_factory=list)
    findings: int = 0
    worst: str = ""
    worst_count: int = 0

    @property
    def found(self) -> str:
        """How many findings of the worst level, and how many others: "1 must +2"."""
        rest = self.findings - self.worst_count
        return f"{self.worst_count} {self.worst}{f' +{rest}' if rest else ''}" if self.findings else ""


@dataclass(slots=True)
class Session:
    """What the picture of a channel says."""

    title: str
    subtitle: str
    lanes: list[Lane]


def build(operations: Iterable[model.Operation], channel: str, redact: Redactor | None = None) -> Session:
    """The lanes of a channel, in order of time."""
    redact = redact or Redactor()
    lanes = [_lane(operation, redact) for operation in operations if operation.channel == channel]
    outcomes = Counter(lane.outcome for lane in lanes)
    found = sum(lane.findings for lane in lanes)
    parts = [
        visible(redact.text(channel)),
        count(len(lanes), "operation")
        + (f": {series([f'{n:,} {what}' for what, n in outcomes.most_common()])}" if lanes else ""),
        count(found, "finding") if found else "no findings",
    ]
    told = ""
    if lanes:
        first, last = min(lane.start for lane in lanes), max(lane.end for lane in lanes)
        told = f"{when(first)} · {duration(last - first)} · long waits are drawn shorter than they were"
    return Session(" · ".join(parts), told, lanes)


def _lane(operation: model.Operation, redact: Redactor) -> Lane:
    target = f" {redact.text(operation.target)}" if operation.target else ""
    pieces = [
        Piece(r.request, r.t, r.t_answer if r.t_answer is not None else r.t, r.state, r.link.grade if r.link else "",
              "state" in r.link.evidence if r.link else False)
        for r in operation.rounds
    ]  # fmt: skip
    end = max([operation.t, *(p.end for p in pieces)])
    return Lane(
        operation.id, visible(f"{operation.method}{target}"), ended(operation), operation.times.total, operation.t,
        end, pieces, operation.findings, operation.worst or "", operation.worst_count,
    )  # fmt: skip


class Scale:
    """From time to x: every stretch between two events is as wide as the logarithm of its length."""

    def __init__(self, times: Iterable[float], left: float, right: float) -> None:
        self.times = sorted(set(times)) or [0.0]
        steps = [b - a for a, b in pairwise(self.times)]
        unit = median(steps) if steps else 1.0
        at, self.x = 0.0, [0.0]
        for step in steps:
            at += 0.15 + log1p(step / (unit or 1.0))
            self.x.append(at)
        stretch = (right - left) / at if at else 0.0
        self.x = [left + x * stretch for x in self.x]

    def __call__(self, t: float) -> float:
        i = bisect_right(self.times, t) - 1
        if i < 0:
            return self.x[0]
        if i + 1 == len(self.times):
            return self.x[i]
        share = (t - self.times[i]) / (self.times[i + 1] - self.times[i])
        return self.x[i] + share * (self.x[i + 1] - self.x[i])


def pages(session: Session, width: float | None = None) -> Iterator[Page]:
    """The pictures, a hundred lanes on each."""
    parts = [session.lanes[i : i + LANES] for i in range(0, len(session.lanes), LANES)] or [[]]
    for n, lanes in enumerate(parts, 1):
        title = session.title if len(parts) == 1 else f"({n} of {len(parts)}) {session.title}"
        yield _page(
            f"session-p{n}" if len(parts) > 1 else "session",
            title,
            session.subtitle,
            lanes,
            max(width or WIDTH, 720.0),
        )


def _page(id: str, title: str, subtitle: str, lanes: list[Lane], width: float) -> Page:
    left, right = _EDGE + _NAMES, width - _EDGE - _ENDS
    scale = Scale((t for lane in lanes for p in lane.pieces for t in (p.start, p.end)), left + 8, right - 12)
    bottom = _TOP + _LANE * len(lanes)
    area = (_EDGE, width - _EDGE)
    size = next((s for s in (17, 16, 15, 14) if metrics.width(title, s, bold=True) <= width - 2 * _EDGE), 13)
    bold = partial(metrics.width, size=size, bold=True)
    head = Group(f"{id}-title", seen=title)
    head.items.append(
        Text(_EDGE, 28, metrics.cut(title, width - 2 * _EDGE, bold), size, bold=True, area=area)
    )
    head.items.append(
        Text(
            _EDGE,
            47,
            metrics.cut(subtitle, width - 2 * _EDGE, partial(metrics.width, size=12)),
            12,
            "muted",
            area=area,
        )
    )
    groups = [head, _axis(id, scale, left, right, bottom)]
    groups += [_draw(id, lane, _TOP + _LANE * i, scale, left, right, width) for i, lane in enumerate(lanes)]
    groups.append(_legend(id, bottom + 20, area))
    told = "\n".join([subtitle, *(sentence(lane) for lane in lanes)])
    return Page(id, width, bottom + 40, title, told, groups)


def sentence(lane: Lane) -> str:
    """One lane in words."""
    found = f", {count(lane.findings, 'finding')} (worst: {lane.worst})" if lane.findings else ""
    rounds = count(len(lane.pieces), "round")
    return f"{clock(lane.start)} {lane.id} {lane.name}: {lane.outcome} after {rounds}, {duration(lane.total)}{found}."


def _axis(id: str, scale: Scale, left: float, right: float, bottom: float) -> Group:
    """Ticks at events, as many as have room."""
    group = Group(f"{id}-axis")
    group.items.append(Path([(left, _TOP - 8), (right, _TOP - 8)], "line", 1.2))
    free = left
    for t, x in zip(scale.times, scale.x, strict=True):
        label = clock(t)
        wide = metrics.width(label, 10, mono=True)
        if x >= free and x + wide <= right + 40:
            group.items.append(Path([(x, _TOP - 12), (x, bottom)], "line", 0.6, "1 4"))
            group.items.append(Text(x, _TOP - 16, label, 10, "muted", mono=True, area=(left, right + 60)))
            free = x + wide + 14
    return group


def _draw(id: str, lane: Lane, top: float, scale: Scale, left: float, right: float, width: float) -> Group:
    y = top + _LANE / 2
    group = Group(f"{id}-{lane.id}", lane.id, sentence(lane))
    items = group.items
    number = metrics.cut(lane.id, 56, partial(metrics.width, size=10.5, mono=True))
    items.append(Text(_EDGE, y + 4, number, 10.5, "muted", mono=True, area=(_EDGE, left)))
    name = metrics.cut(lane.name, _NAMES - 74, _small)
    items.append(Text(_EDGE + 60, y + 4, name, _SIZE, "ink", area=(_EDGE, left)))
    for before, after in pairwise(lane.pieces):
        items += _carried(scale(before.end), scale(after.start), y, after)
    for piece in lane.pieces:
        a, b = scale(piece.start), scale(piece.end)
        items += _bar_of(piece.state, a, max(b - a, 4.0), y)
    last = lane.pieces[-1] if lane.pieces else None
    if last is not None and lane.outcome in ("abandoned", "cancelled", "lost", "open"):
        x = scale(last.end) + 12
        items.append(Path([(x, y), (x, y)], "cancel", 2, head="cross") if lane.outcome != "open" else
                     Path([(x - 6, y), (x + 6, y)], "wait", 2, "2 3"))  # fmt: skip
    x = right + 12
    room = _ENDS - 12 - (86 if lane.findings else 0)
    told = f"{lane.outcome} · {duration(lane.total)}"
    items.append(Text(x, y + 4, metrics.cut(told, room, _small), _SIZE, "muted", area=(right, width - _EDGE)))
    if lane.findings:
        role = lane.worst if lane.worst in SHAPES else "info"
        mark = width - _EDGE - 74
        items.append(
            Sign(SHAPES[role], mark, y, 8, role, str(lane.worst_count) if lane.worst_count < 100 else "99")
        )
        items.append(
            Text(
                mark + 13,
                y + 4,
                lane.found.partition(" ")[2],
                10.5,
                role,
                bold=True,
                area=(right, width - _EDGE),
            )
        )
    return group


def _bar_of(state: str, x: float, wide: float, y: float) -> list[Box | Path]:
    """One round: hollow when it asks, filled when it answers, crossed out when it failed."""
    role = _ROLES.get(state, "note")
    if state == "asked":
        return [Box(x, y - 6.5, wide, 13, "bg", role, 3, 1.8)]
    bar: list[Box | Path] = [Box(x, y - 7, wide, 14, role, "", 3)]
    if state in ("failed", "lost", "cancelled"):
        bar.append(Path([(x + wide - 1, y - 6), (x + wide - 1, y + 6)], "on-mark", 1.4))
        bar.append(Path([(x + wide + 5, y), (x + wide + 5, y)], role, 2, head="cross"))
    return bar


def _legend(id: str, y: float, area: tuple[float, float]) -> Group:
    """What the bars and the lines between them mean."""
    group = Group(f"{id}-legend")
    x = area[0]
    for state, told in (("asked", "asks for input"), ("answered", "final answer"), ("failed", "error")):
        group.items += _bar_of(state, x, 22, y)
        x += 32 if state != "failed" else 38
        group.items.append(Text(x, y + 4, told, _SIZE, "muted", area=area))
        x += _small(told) + 20
    for after, told in (
        (Piece("m0", 0, 0, "", "exact", True), "its state came back"),
        (Piece("m0", 0, 0, "", "suspect"), "came back wrong"),
        (Piece("m0", 0, 0, ""), "no state"),
    ):
        group.items += _carried(x, x + 26, y, after)
        group.items.append(Text(x + 32, y + 4, told, _SIZE, "muted", area=area))
        x += 52 + _small(told)
    return group


def _carried(a: float, b: float, y: float, after: Piece) -> list[Path]:
    """Between two rounds: a ribbon where a state went back, torn where it came back wrong, else a dotted line."""
    if after.grade == "suspect":
        middle = (a + b) / 2
        tear = [(middle - 3 + 3 * (i % 2), y - 7 + 3.5 * i) for i in range(5)]
        return [Path([(a, y), (b, y)], "suspect", 2, "4 3"), Path(tear, "suspect", 1.8)]
    if after.carried:
        return [Path([(a, y), (b, y)], f"state{hash_of(after.m) % STATES}", 8, band=True)]
    return [Path([(a, y), (b, y)], "wait", 1.5, "2 3")]


def hash_of(m: str) -> int:
    """A number out of a message's number: neighbours get other colours."""
    return int(m[1:]) if m[1:].isascii() and m[1:].isdigit() else 0


def text(session: Session, width: int = 100) -> str:
    """The lanes for a terminal."""
    left, ends = 34, 26
    out = [*metrics.wrap(session.title, width, 3, metrics.cells), session.subtitle]
    out += [*metrics.wrap(_SIGNS, width, 3, metrics.cells), ""]
    for n in range(0, len(session.lanes), LANES):
        lanes = session.lanes[n : n + LANES]
        scale = Scale(
            (t for lane in lanes for p in lane.pieces for t in (p.start, p.end)),
            0,
            max(20, width - left - ends),
        )
        for lane in lanes:
            name = metrics.cut(f"{lane.id} {lane.name}", left - 2, metrics.cells)
            found = f" {lane.found}" if lane.found else ""
            bar = _bar(lane, scale, max(20, width - left - ends))
            out.append(
                f"{name}{' ' * (left - metrics.cells(name))}{bar} {lane.outcome} {duration(lane.total)}{found}".rstrip()
            )
    return "\n".join(out) + "\n"


_SIGNS = "▓ server  █ answer  ? asks  = state back  ! error  x cancelled, lost"
_BLOCKS = {"asked": "?", "answered": "█", "failed": "!", "cancelled": "x", "lost": "x"}


def _bar(lane: Lane, scale: Scale, wide: int) -> str:
    cells = [" "] * (wide + 1)
    for before, after in pairwise(lane.pieces):
        for x in range(int(scale(before.end)), int(scale(after.start)) + 1):
            cells[x] = "=" if after.carried else "·"
    for piece in lane.pieces:
        for x in range(int(scale(piece.start)), int(scale(piece.end)) + 1):
            cells[x] = "▓"
        cells[int(scale(piece.end))] = _BLOCKS.get(piece.state, "▓")
    return "".join(cells)

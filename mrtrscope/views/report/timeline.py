"""The session at a glance: a bar for each operation, or a column for each stretch of time when there are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from mrtrscope.views.escape import svg_attr, svg_text
from mrtrscope.views.metrics import cut
from mrtrscope.views.report.summary import OUTCOMES
from mrtrscope.views.words import clock, count, duration

WIDTH: Final = 1000.0
LEFT: Final = 8.0
BARS: Final = 300  # operations that are drawn one by one
STOPS: Final = 30  # bars up to which each can be reached with the Tab key
LANES: Final = 12  # of one channel
COLUMNS: Final = 120
PAUSE: Final = 0.06  # part of the whole above which a pause is shortened
ROW, HEAD = 11.0, 20.0

Bar = tuple[float, float, str, str, str, str]  # begin, end, channel, id, outcome, words


class Axis:
    """Seconds to pixels; long pauses, in which nothing was under way, are shortened and marked."""

    def __init__(self, bars: list[Bar]) -> None:
        busy: list[list[float]] = []
        for begin, end, *_ in sorted(bars):
            if busy and begin <= busy[-1][1]:
                busy[-1][1] = max(busy[-1][1], end)
            else:
                busy.append([begin, end])
        whole = busy[-1][1] - busy[0][0] or 1.0
        self.pauses: list[tuple[float, float]] = []  # where, how long
        self._points: list[tuple[float, float]] = [(busy[0][0], 0.0)]
        at = 0.0
        for n, (begin, end) in enumerate(busy):
            at += end - begin
            self._points.append((end, at))
            if n + 1 < len(busy):
                pause = busy[n + 1][0] - end
                if pause > PAUSE * whole:
                    self.pauses.append((end, pause))
                at += min(pause, PAUSE * whole)
                self._points.append((busy[n + 1][0], at))
        self.length = at or 1.0

    def x(self, t: float) -> float:
        """Where a moment stands."""
        import bisect

        i = min(max(bisect.bisect_left(self._points, (t, -1.0)), 1), len(self._points) - 1)
        (t0, a0), (t1, a1) = self._points[i - 1], self._points[i]
        part = 0.0 if t1 <= t0 else min(1.0, max(0.0, (t - t0) / (t1 - t0)))
        return LEFT + (WIDTH - 2 * LEFT) * (a0 + (a1 - a0) * part) / self.length


def write(bars: list[Bar], href: Callable[[str], str]) -> str:
    """The timeline as SVG for use in a page; `href` gives the address of an operation."""
    if not bars:
        return ""
    axis = Axis(bars)
    body, height = _bars(bars, axis, href) if len(bars) <= BARS else _columns(bars, axis)
    first, last = min(bar[0] for bar in bars), max(bar[1] for bar in bars)
    told = Counter(bar[4] for bar in bars)
    words = f"{count(len(bars), 'operation')} in {duration(last - first)}: " + ", ".join(
        f"{told[name]:,} {name}" for name in OUTCOMES if told[name]
    )
    behind = ""  # drawn first: a short bar is wider than its time, and a channel's name may reach over one
    for at, long in axis.pauses[:40]:
        x0, x1 = axis.x(at), axis.x(at + long)
        behind += (
            f'<g class="tl-pause"><title>nothing for {duration(long)}</title><rect x="{x0:.1f}" y="{HEAD - 4:.1f}" '
            f'width="{max(2.0, x1 - x0):.1f}" height="{height - HEAD:.1f}"/></g>'
        )
    return (
        f'<svg class="timeline" viewBox="0 0 {WIDTH:.0f} {height + 18:.0f}" role="group" aria-labelledby="tl-t">'
        f'<title id="tl-t">{svg_text(words)}</title>{behind}{body}'
        f'<text class="tl-text" x="{LEFT}" y="{height + 13:.0f}">{svg_text(clock(first))}</text>'
        f'<text class="tl-text" x="{WIDTH - LEFT:.0f}" y="{height + 13:.0f}" text-anchor="end">'
        f"{svg_text(clock(last))}</text></svg>"
    )


def _bars(bars: list[Bar], axis: Axis, href: Callable[[str], str]) -> tuple[str, float]:
    """Operations as bars, in as many lanes as run at once; one group for each channel."""
    out: list[str] = []
    # More than a few would be as many stops for who goes by keyboard; the table has all of them.
    stop = ' tabindex="-1"' if len(bars) > STOPS else ""
    y = 14.0
    for channel in dict.fromkeys(bar[2] for bar in bars):
        out.append(f'<text class="tl-text" x="{LEFT}" y="{y:.0f}">{svg_text(cut(channel, 90, len))}</text>')
        y += 6
        free: list[float] = []
        for begin, end, _, id, outcome, words in sorted(bar for bar in bars if bar[2] == channel):
            x = axis.x(begin)
            w = max(5.0, axis.x(end) - x)
            lane = next((n for n, until in enumerate(free) if until <= x), len(free))
            if lane >= LANES:
                lane = LANES - 1
            free[lane : lane + 1] = [x + w + 1]
            out.append(
                f'<a href="{svg_attr(href(id))}"{stop}><title>{svg_text(words)}</title>'
                f'<rect class="tl-bar o-{outcome}" x="{x:.1f}" y="{y + lane * ROW:.1f}" width="{w:.1f}" height="9" '
                f'rx="2"/></a>'
            )
        y += len(free) * ROW + 16
    return "".join(out), y - 8


def _columns(bars: list[Bar], axis: Axis) -> tuple[str, float]:
    """How many operations began in each stretch of time, by outcome."""
    found: dict[int, Counter[str]] = {}
    for begin, *_, outcome, _ in bars:
        n = min(COLUMNS - 1, int((axis.x(begin) - LEFT) / (WIDTH - 2 * LEFT) * COLUMNS))
        found.setdefault(n, Counter())[outcome] += 1
    most = max(sum(column.values()) for column in found.values())
    return "".join(_column(n, column, most) for n, column in sorted(found.items())), HEAD + 124


def _column(n: int, column: Counter[str], most: int) -> str:
    return "".join(_stack(n, column, most))


def _stack(n: int, column: Counter[str], most: int) -> Iterator[str]:
    step = (WIDTH - 2 * LEFT) / COLUMNS
    words = ", ".join(f"{column[name]:,} {name}" for name in OUTCOMES if column[name])
    yield f"<g><title>{svg_text(words)}</title>"
    y = HEAD + 120
    for name in OUTCOMES:
        if column[name]:
            h = max(1.5, 116 * column[name] / most)
            y -= h
            place = f'x="{LEFT + n * step:.1f}" y="{y:.1f}" width="{step - 1:.1f}" height="{h:.1f}"'
            yield f'<rect class="o-{name}" {place}/>'
    yield "</g>"

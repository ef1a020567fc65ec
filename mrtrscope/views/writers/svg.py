"""SVG, the reference: written without any engine, colours as attributes and as classes that a page may restyle.

Nothing in it runs, loads or styles beyond itself: no script, no style element, no address that is not given by the
caller. Every line of text carries its reckoned width as `textLength`: a viewer with other fonts keeps the layout.
"""

from __future__ import annotations

from math import cos, pi, sin

from mrtrscope.views.escape import has_right_to_left, svg_attr, svg_text
from mrtrscope.views.shapes import Box, Group, Page, Path, Sign, Text
from mrtrscope.views.theme import THEMES, Theme

SANS = "Arimo, 'Liberation Sans', Arial, Helvetica, sans-serif"
MONO = "Cousine, 'Liberation Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def write(page: Page, theme: str = "light", *, links: str | None = None, header: bool = True) -> str:
    """The picture as SVG text.

    links    prefix of addresses: each element that tells of a message becomes a link to it ("#" gives "#m3")
    header   False leaves the XML declaration out, for use inside a page
    """
    colors = THEMES[theme]
    out = ['<?xml version="1.0" encoding="UTF-8"?>\n'] if header else []
    w, h, id = _n(page.width), _n(page.height), svg_attr(page.id)
    out.append(
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{id}" class="mrtr" width="{w}" height="{h}" '
        f'viewBox="0 0 {w} {h}" role="img" aria-labelledby="{id}-t {id}-d" font-family="{svg_attr(SANS)}">\n'
        f'<title id="{id}-t">{svg_text(page.title)}</title>\n'
        f'<desc id="{id}-d">{svg_text(page.description, keep=chr(10))}</desc>\n'
        f'<rect class="f-bg" width="{w}" height="{h}" fill="{colors["bg"]}"/>\n'
    )
    for group in page.groups:
        _group(out, group, colors, links)
    out.append("</svg>\n")
    return "".join(out)


def _group(out: list[str], group: Group, colors: Theme, links: str | None) -> None:
    link = links is not None and bool(group.m)
    if link:
        out.append(f'<a href="{svg_attr(f"{links}{group.m}")}">')
    data = f' data-m="{svg_attr(group.m)}"' if group.m else ""
    out.append(f'<g id="{svg_attr(group.id)}"{data}>')
    if group.seen:
        out.append(f"<title>{svg_text(group.seen, keep=chr(10))}</title>")
    for item in group.items:
        if isinstance(item, Text):
            out.append(_text(item, colors))
        elif isinstance(item, Box):
            out.append(_box(item, colors))
        elif isinstance(item, Path):
            out.append(_path(item, colors))
        else:
            out.append(_sign(item, colors))
    out.append("</g></a>\n" if link else "</g>\n")


def _text(t: Text, colors: Theme) -> str:
    anchor = "" if t.anchor == "start" else f' text-anchor="{t.anchor}"'
    weight = ' font-weight="700"' if t.bold else ""
    family = f' font-family="{svg_attr(MONO)}"' if t.mono else ""
    # A line that holds right-to-left text is laid out as a paragraph of its own, from the left, like the others.
    bidi = ' direction="ltr" unicode-bidi="isolate"' if has_right_to_left(t.text) else ""
    fit = f' textLength="{_n(t.width)}" lengthAdjust="spacingAndGlyphs"' if len(t.text) > 2 else ""
    return (
        f'<text x="{_n(t.x)}" y="{_n(t.y)}" class="f-{t.role}" fill="{colors[t.role]}" font-size="{_n(t.size)}"'
        f'{anchor}{weight}{family}{bidi}{fit} xml:space="preserve">{svg_text(t.text)}</text>'
    )


def _box(b: Box, colors: Theme) -> str:
    round_ = f' rx="{_n(b.r)}"' if b.r else ""
    line = _stroke(b.weight, b.dash) if b.stroke else ""
    place = f'x="{_n(b.x)}" y="{_n(b.y)}" width="{_n(b.w)}" height="{_n(b.h)}"'
    return f"<rect {place}{round_}{_paint(b.fill, b.stroke, colors)}{line}/>"


def _paint(fill: str, stroke: str, colors: Theme) -> str:
    classes = " ".join([f"f-{fill}"] * bool(fill) + [f"s-{stroke}"] * bool(stroke))
    line = f' stroke="{colors[stroke]}"' if stroke else ""
    return f' class="{classes}" fill="{colors[fill] if fill else "none"}"{line}'


def _stroke(weight: float, dash: str) -> str:
    return (f' stroke-width="{_n(weight)}"' if weight != 1 else "") + (
        f' stroke-dasharray="{dash}"' if dash else ""
    )


def _path(p: Path, colors: Theme) -> str:
    opacity = ' stroke-opacity="0.55" stroke-linejoin="round"' if p.band else ""
    x, y = p.points[-1]
    body = ""
    if len(p.points) > 1 and p.points[0] != p.points[-1]:
        body = f'<path d="{_line(p)}"{_paint("", p.stroke, colors)}{_stroke(p.weight, p.dash)}{opacity}/>'
    if p.head == "cross":
        d = f"M{_n(x - 5)} {_n(y - 5)}l10 10m0 -10l-10 10"
        return body + f'<path d="{d}"{_paint("", p.stroke, colors)} stroke-width="2.2"/>'
    if p.head:
        back = -8 if p.points[0][0] < x else 8
        d = f"M{_n(x + back)} {_n(y - 4.5)}L{_n(x)} {_n(y)}L{_n(x + back)} {_n(y + 4.5)}"
        if p.head == "filled":
            return body + f'<path d="{d}Z"{_paint(p.stroke, "", colors)}/>'
        return body + f'<path d="{d}"{_paint("", p.stroke, colors)} stroke-width="1.6"/>'
    return body


def _line(p: Path) -> str:
    """The points as path data, corners rounded."""
    points = p.points
    d = f"M{_n(points[0][0])} {_n(points[0][1])}"
    for i, (x, y) in enumerate(points[1:], 1):
        if p.round and i + 1 < len(points):
            (ax, ay), (bx, by) = (
                _toward((x, y), points[i - 1], p.round),
                _toward((x, y), points[i + 1], p.round),
            )
            d += f"L{_n(ax)} {_n(ay)}Q{_n(x)} {_n(y)} {_n(bx)} {_n(by)}"
        else:
            d += f"L{_n(x)} {_n(y)}"
    return d


def _toward(a: tuple[float, float], b: tuple[float, float], distance: float) -> tuple[float, float]:
    long = ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) ** 0.5
    part = min(distance, long / 2) / long if long else 0
    return a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part


def _sign(s: Sign, colors: Theme) -> str:
    paint = _paint(s.fill, "", colors)
    if s.kind == "circle":
        shape = f'<circle cx="{_n(s.x)}" cy="{_n(s.y)}" r="{_n(s.r)}"{paint}/>'
    else:
        points = " ".join(f"{_n(x)},{_n(y)}" for x, y in corners(s))
        shape = f'<polygon points="{points}"{paint}/>'
    room = 1 if s.kind == "triangle" else 2  # letters; a triangle is narrow where they stand
    size = 9.5 if len(s.text) <= room else 7
    low = 1.5 if s.kind == "triangle" else 0
    return shape + (
        f'<text x="{_n(s.x)}" y="{_n(s.y + size * 0.36 + low)}" class="f-on-mark" fill="{colors["on-mark"]}" '
        f'font-size="{_n(size)}" font-weight="700" text-anchor="middle">{svg_text(s.text)}</text>' if s.text else ""
    )  # fmt: skip


def corners(s: Sign) -> list[tuple[float, float]]:
    """The corners of a sign that is no circle."""
    if s.kind == "triangle":
        turn, n, r, y = -pi / 2, 3, s.r * 1.28, s.y + 1.2
    elif s.kind == "diamond":
        turn, n, r, y = 0.0, 4, s.r * 1.1, s.y
    else:
        turn, n, r, y = pi / 8, 8, s.r * 1.05, s.y
    return [(s.x + r * cos(turn + 2 * pi * i / n), y + r * sin(turn + 2 * pi * i / n)) for i in range(n)]


def _n(value: float) -> str:
    """A number, as short as it can be without being seen."""
    return f"{value:.6g}"

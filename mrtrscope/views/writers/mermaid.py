"""Mermaid, for Markdown: `sequenceDiagram` with the same rows, frames, states and findings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mrtrscope.views.scene import Row, Scene
from mrtrscope.views.templates import render

LIMIT = 45_000  # characters; Mermaid refuses a text of more than 50,000
_FINDINGS = 40  # that are listed
_LABEL = 160  # characters of a label before it is cut; Mermaid does not fold long words
_ARROWS = {"asked": "-->>", "complete": "-->>", "error": "--x", "cancel": "-x", "note": "-)", "fold": "-)"}
_TINTS = {
    "": "rgba(140, 160, 180, 0.10)",
    "suspect": "rgba(213, 94, 0, 0.12)",
    "ambiguous": "rgba(204, 121, 167, 0.14)",
}
_SIGNS = {"must": "■", "should": "▲", "info": "●"}


@dataclass(slots=True)
class Step:
    """One line of the diagram; the template knows how each kind is written."""

    kind: str  # message, note, open, close
    a: str = ""
    b: str = ""
    arrow: str = ""
    lines: tuple[str, ...] = ()
    tint: str = ""


def write(scene: Scene) -> str:
    """The picture as Mermaid text; where it would be too long for Mermaid, with fewer details, then with fewer rows."""
    for details, most in ((12, 10_000), (0, 10_000), (0, 200), (0, 60)):
        text = render(
            "sequence.mmd.j2",
            scene=scene,
            steps=list(steps(scene, details, most)),
            label=cut,
            heading=heading,
        )
        if len(text) <= LIMIT:
            break
    return text


def cut(text: str, limit: int = _LABEL) -> str:
    """A label short enough for Mermaid."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def steps(scene: Scene, details: int, most: int) -> Iterator[Step]:
    """The diagram line by line."""
    first, last = scene.participants[0].id, scene.participants[-1].id
    opens = {span.first: span for span in scene.spans if not span.depth}
    closes = [span.last for span in scene.spans if not span.depth]
    inside = 0
    for i, row in enumerate(scene.rows[:most]):
        if span := opens.get(i):
            told = " · ".join(t for t in (span.label, span.grade, span.words) if t)
            yield Step("open", lines=(told,), a=first, b=last, tint=_TINTS.get(span.grade, _TINTS[""]))
            inside += 1
        yield from _row(row, scene, first, details)
        for ribbon in scene.ribbons:
            if ribbon.stop == i:
                after = f", now {ribbon.label_after}" if ribbon.fate == "changed" else ""
                yield Step("note", row.source, lines=(f"state {ribbon.label}{after}: {ribbon.words}",))
        for _ in range(closes.count(i)):
            yield Step("close")
            inside -= 1
    for _ in range(inside):
        yield Step("close")
    if len(scene.rows) > most:
        yield Step("note", first, last, lines=(f"{len(scene.rows) - most} more rows: see the SVG",))
    for ribbon in scene.ribbons:
        if ribbon.stop is None and ribbon.start is not None and ribbon.start < most:
            yield Step(
                "note", scene.rows[ribbon.start].target, lines=(f"state {ribbon.label}: {ribbon.words}",)
            )
    for mark in scene.marks[:_FINDINGS]:
        head = f"{sign(mark.level, mark.n)} · {mark.party} · {mark.rule} · at {mark.at}"
        yield Step("note", first, last, lines=(head, mark.text))
    if (more := len(scene.marks) - _FINDINGS) and more > 0:
        yield Step("note", first, last, lines=(f"{more:,} more findings: see the SVG",))


def heading(title: str, room: int = 90) -> list[str]:
    """The title in lines, broken where its parts meet."""
    lines: list[str] = []
    for part in title.split(" · "):
        if lines and len(lines[-1]) + len(part) < room:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def sign(level: str, n: int) -> str:
    """The mark of a finding: shape, number and word."""
    return f"{_SIGNS.get(level, '●')} {n} {level}"


def _row(row: Row, scene: Scene, first: str, details: int) -> Iterator[Step]:
    worst, more = scene.worst(row)
    marks = "".join(f"  {sign(mark.level, mark.n)}" for mark in worst) + (f"  +{more}" if more else "")
    if row.kind in ("gap", "end", "rounds"):
        yield Step(
            "note", first if row.kind == "gap" else row.source, row.target or row.source, lines=(row.label,)
        )
        return
    status = f"  {row.status}" if row.status else ""
    clock = f"{row.clock} {row.m}  " if row.clock else ""
    arrow = _ARROWS.get(row.tone if row.kind == "arrow" else row.kind, "->>")
    if row.kind in ("ask", "reply"):
        arrow = "-->>"
    yield Step("message", row.source, row.target, arrow, (f"{clock}{cut(row.label)}{status}{marks}",))
    told = tuple(
        f"{line.name}: {line.text}" if line.name else line.text.replace("\n", " ")
        for line in row.lines[:details]
    )
    if told:
        yield Step("note", row.source, row.target, lines=told)

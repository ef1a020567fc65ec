"""The scene in sentences: the text alternative of every picture, for people who do not see it."""

from __future__ import annotations

from mrtrscope.views.scene import Row, Scene

_ROWS = 60  # a description longer than this helps nobody; the report has every message


def narrate(scene: Scene) -> str:
    """What the picture says, one sentence a line."""
    opens = {span.first: span for span in scene.spans}
    out = [scene.subtitle]
    for i, row in enumerate(scene.rows[:_ROWS]):
        span = opens.get(i)
        if span is not None:
            link = f", link {span.grade}" if span.grade else ""
            out.append(f"{span.label.capitalize()}{link}{f': {span.words}' if span.words else ''}.")
        out.append(sentence(row, scene))
        out += [f"State {r.label}: {r.words}." for r in scene.ribbons if r.stop == i]
    if len(scene.rows) > _ROWS:
        out.append(f"{len(scene.rows) - _ROWS} more rows follow.")
    out += [f"State {r.label}: {r.words}." for r in scene.ribbons if r.stop is None]
    out += [f"Finding {m.n}, {m.level}, {m.party}, at {m.at}: {m.text} ({m.rule})." for m in scene.marks]
    return "\n".join(out)


def sentence(row: Row, scene: Scene) -> str:
    """One row."""
    if row.kind in ("gap", "end", "rounds"):
        return f"{row.label[:1].upper()}{row.label[1:]}."
    source, target = (scene.participant(id).side for id in (row.source, row.target))
    when = f"{row.clock} " if row.clock else ""
    status = f", HTTP {row.status}" if row.status else ""
    lines = "; ".join(f"{line.name} {line.text}".strip() for line in row.lines[:12]).replace("\n", " ")
    marks = f" [{', '.join(f'finding {n}' for n in row.marks)}]" if row.marks else ""
    return f"{when}{source} to {target}: {row.label}{status}{f' ({lines})' if lines else ''}.{marks}"

"""PlantUML: the same rows, frames, states and findings."""

from __future__ import annotations

from mrtrscope.views.scene import Scene
from mrtrscope.views.templates import render
from mrtrscope.views.writers.mermaid import Step, cut, steps

_ARROWS = {"->>": "->", "-->>": "-->", "--x": "--x", "-x": "->x", "-)": "->>"}


def write(scene: Scene) -> str:
    """The picture as PlantUML text."""
    made = list(steps(scene, 12, 2000))
    for step in made:
        step.arrow = _ARROWS.get(step.arrow, "")
    return render("sequence.puml.j2", scene=scene, steps=made, label=cut)


__all__ = ["Step", "write"]

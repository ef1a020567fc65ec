"""PlantUML: what the real program draws of labels that could act in its language."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mrtrscope.views import escape
from mrtrscope.views.build import build
from mrtrscope.views.writers import plantuml
from tests.conftest import need
from tests.views import nasty, scenes
from tests.views.test_mermaid import labelled
from tests.views.test_writers import elements

DRAWN = frozenset({
    "svg", "defs", "filter", "feGaussianBlur", "feColorMatrix", "feOffset", "feBlend", "g", "rect", "line", "polygon",
    "path", "ellipse", "text",
})  # fmt: skip


@pytest.mark.browser
@pytest.mark.timeout(600)
def test_the_real_program_draws_every_nasty_label_as_text(tmp_path: Path) -> None:
    program = need("plantuml", "the real PlantUML draws every label")
    labels = [label for label in nasty.ALL if len(label) < 400]
    made = {f"{n:03}": labelled(label) for n, label in enumerate(labels)}
    made |= {name: build(make()) for name, make in scenes.ALL.items()}
    for name, scene in made.items():
        (tmp_path / f"{name}.puml").write_text(plantuml.write(scene), encoding="utf-8")
    done = subprocess.run(
        [program, "-tsvg", "-charset", "UTF-8", "-failfast2", "-nbthread", "2", str(tmp_path / "*.puml")],
        capture_output=True, text=True, encoding="utf-8", timeout=500,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]
    shown = {name: texts(tmp_path / f"{name}.svg") for name in made}
    assert [name for name, told in shown.items() if any("Syntax Error" in text for text in told)] == []
    for label, told in zip(labels, shown.values(), strict=False):
        whole = "".join(escape.visible(label).split())[:40]
        assert sum(whole in "".join(text.split()) for text in told) > 1, (label, told)


def texts(picture: Path) -> list[str]:
    """The texts of a picture, in which there is nothing but text, lines and areas."""
    found = elements(picture.read_text(encoding="utf-8"))
    assert {name for name, _, _ in found} <= DRAWN
    assert not any(one.startswith("on") or "href" in one for _, attributes, _ in found for one in attributes)
    return [inside.replace("\u00a0", " ") for name, _, inside in found if name == "text"]

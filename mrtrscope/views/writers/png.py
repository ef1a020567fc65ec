"""PNG, drawn from our DOT by a Graphviz engine: `graphviz-pure`, which brings its own fonts, or the system's `dot`.

Every position is given, so engines differ in glyphs only; but how wide a glyph is depends on the fonts a system has: a
`dot` that finds none of Arial's width lets labels run into each other. So the engine that looks the same everywhere
comes first. What its fonts do not have is spelled `U+65E5` before anything is laid out: it takes the room it needs, and
no box ever stands for a letter. Letters of East Asia are drawn where `dot` is here and the system's fonts have them
(`fonts`).

(resvg would draw the SVG itself, but brings no fonts: the picture would be another on every machine, or we would have
to carry fonts along; and DOT is written anyway.)
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from mrtrscope.views.shapes import Page
from mrtrscope.views.writers import dot, fonts

ENGINES: Final = ("auto", "dot", "graphviz-pure")
SCALE = 144  # dots to the inch; 72 would be one for each pixel of the SVG
TIMEOUT = 60.0

# What Arimo and Cousine both have and can be set letter by letter from left to right: Latin, Greek, Cyrillic, signs.
_COVERED: Final = re.compile(
    "[\x20-\x7e\xa0-\u0233\u0238-\u0361\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u03ce\u03d0-\u0513\u1e00-\u1e9b\u1ea0-\u1ef9"
    "\u1f00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fc4"
    "\u2012-\u2015\u2018-\u201e\u2020-\u2022\u2026\u2030\u2032\u2033\u2039\u203a\u203c\u2044\u207f\u20ac\u2105\u2113"
    "\u2116\u2122\u2126\u2153\u2154\u215b-\u215e\u2190-\u2195\u2202\u2206\u220f\u2211\u2212\u221a\u221e\u2229\u222b"
    "\u2248\u2260\u2261\u2264\u2265\u25a0\u25a1\u25b2\u25ba\u25bc\u25c4\u25ca\u25cb\u25cf]+"
)
_SILENT = dict.fromkeys([0x200C, 0x200D, *range(0xFE00, 0xFE10)])


class NoEngine(Exception):
    """There is nothing to draw PNG with; the text says what to do."""


def spelled(text: str, known: AbstractSet[str] = frozenset()) -> str:
    """The text with what the fonts lack spelled out: "日本" is "U+65E5 U+672C". `known`: letters that they have too."""
    if text.isascii():
        return text
    out, at = [], 0
    for match in _COVERED.finditer(text):
        out += [_names(text[at : match.start()], known), match[0]]
        at = match.end()
    out.append(_names(text[at:], known))
    return "".join(out)


def _names(text: str, known: AbstractSet[str]) -> str:
    if known:
        runs = groupby(text, known.__contains__)
        return " ".join("".join(run) if has else _names("".join(run), frozenset()) for has, run in runs)
    parts = [char if char == "\n" else f"U+{ord(char):04X}" for char in text.translate(_SILENT)]
    return re.sub(r" ?\n ?", "\n", " ".join(parts))


def plain[T](scene: T, known: AbstractSet[str] = frozenset()) -> T:
    """The scene with every text spelled."""
    found: T = _mapped(scene, lambda text: spelled(text, known))
    return found


def prepared[T](scene: T, engine: str) -> tuple[T, str]:
    """The scene as it is to be laid out, and the engine that has the fonts for it."""
    lacking: set[str] = set()

    def look(text: str) -> str:
        if not text.isascii():
            lacking.update(fonts.wide(text))
        return text

    _mapped(scene, look)
    if lacking and engine != "graphviz-pure" and shutil.which("dot") is not None:
        as_wide = fonts.as_reckoned(dot.FAMILIES[False, False], dot.AS_WIDE)
        if as_wide and fonts.installed(frozenset(lacking)):
            return plain(scene, lacking), "dot"
    return plain(scene), engine


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(v, change) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value, **{f.name: _mapped(getattr(value, f.name), change) for f in dataclasses.fields(value)}
        )
    return value


def program(engine: str = "auto") -> str:
    """The engine's program; NoEngine when it is not there."""
    beside = Path(sys.executable).with_name("graphviz-pure")
    if engine in ("auto", "graphviz-pure"):
        found = str(beside) if beside.is_file() else shutil.which("graphviz-pure")
        if found:
            return found
    if engine in ("auto", "dot") and (found := shutil.which("dot")):
        return found
    missing = "graphviz-pure" if engine == "auto" else engine
    raise NoEngine(
        f"{missing} is not installed, and PNG is drawn by it: pip install graphviz-pure, or take --format svg"
    )


def write(page: Page, theme: str = "light", *, engine: str = "auto") -> bytes:
    """The picture as PNG."""
    from graphviz.backend.dot_command import command

    path = program(engine)
    made: list[Any] = command("neato", "png", neato_no_op=2)
    made[0] = path
    text = dot.write(page, theme, fonts=dot.POSTSCRIPT if "pure" in Path(path).name else dot.FAMILIES)
    run = subprocess.run(
        [*made, f"-Gdpi={SCALE}", "-q1"],
        input=text.encode("utf-8"),
        capture_output=True,
        timeout=TIMEOUT,
        check=False,
    )
    if run.returncode or not run.stdout.startswith(b"\x89PNG"):
        raise NoEngine(
            f"{path} did not draw the picture: {run.stderr.decode('utf-8', 'replace').strip()[:300]}"
        )
    return run.stdout

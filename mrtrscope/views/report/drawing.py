"""Draws the pictures of many operations, on all processors when it pays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from mrtrscope.views.report.entry import pictures
from mrtrscope.views.scene import Scene


def drawn(scenes: Iterable[tuple[dict[str, Any], Scene]]) -> Iterator[str]:
    """Each entry with its picture, as JSON text, in the order given."""
    for entry, scene in scenes:
        yield finished(entry, scene)


def finished(entry: dict[str, Any], scene: Scene) -> str:
    """An entry with its picture, as JSON text."""
    return json.dumps(entry | {"svg": pictures(scene)}, separators=(",", ":"))

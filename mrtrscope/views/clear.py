"""No line runs through a letter: where a text stands on a lifeline, the paper behind it is put in between."""

from __future__ import annotations

from collections.abc import Iterable

from mrtrscope.views.shapes import Box, Group, Shape, Text

_SIDE, _ABOVE = 3.0, 1.0  # how much paper there is around a text


def clear(groups: list[Group], lines: Iterable[float], top: float, bottom: float) -> None:
    """Put a patch behind every text of these groups that a vertical line at one of these x would cross.

    top, bottom   from where to where the lines run; what stands above or below them is left alone
    """
    across = sorted(lines)
    sheets = [
        item for group in groups if group.id.endswith("-frame") for item in group.items if type(item) is Box
    ]
    for group in groups:
        patched: list[Shape] = []
        behind: list[Box] = []  # what this group has drawn so far
        for item in group.items:
            if isinstance(item, Box) and item.fill:
                behind.append(item)
            if isinstance(item, Text) and top < item.y < bottom:
                left, high, right, low = item.box
                crossed = any(left < x < right for x in across)
                if crossed and not any(_holds(box, item) for box in behind):
                    paper = next((s.fill for s in reversed(sheets) if s.fill and _holds(s, item)), "bg")
                    patched.append(Box(left - _SIDE, high - _ABOVE, right - left + 2 * _SIDE,
                                       low - high + 2 * _ABOVE, paper))  # fmt: skip
            patched.append(item)
        group.items[:] = patched


def _holds(box: Box, text: Text) -> bool:
    left, top, right, bottom = text.box
    return box.x <= left and right <= box.x + box.w and box.y <= top + 1 and bottom - 1 <= box.y + box.h

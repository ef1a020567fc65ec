"""What changed between two JSON values, place by place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mrtrscope.link.canonical import canonical
from mrtrscope.wire.events import ABSENT

LIMIT: Final = 100  # places that are told; two hostile messages may differ everywhere
DEPTH: Final = 20


class Change:
    """path: JSON pointer; before, after: the values there, ABSENT where there is none."""

    __slots__ = ("after", "before", "path")

    def __init__(self, path: str, before: Any, after: Any) -> None:
        self.path = path
        self.before = before
        self.after = after


def changes(before: Any, after: Any, path: str = "", depth: int = 0) -> Iterator[Change]:
    """Places where the values differ as JSON: what only one side has comes out whole, never member by member."""
    if type(before) is dict and type(after) is dict and depth < DEPTH:
        for key in [*before, *(key for key in after if key not in before)]:
            yield from changes(
                before.get(key, ABSENT), after.get(key, ABSENT), f"{path}/{_step(key)}", depth + 1
            )
    elif type(before) is list and type(after) is list and depth < DEPTH:
        for n in range(max(len(before), len(after))):
            old = before[n] if n < len(before) else ABSENT
            new = after[n] if n < len(after) else ABSENT
            yield from changes(old, new, f"{path}/{n}", depth + 1)
    elif before is ABSENT or after is ABSENT:
        if before is not after:
            yield Change(path, before, after)
    elif canonical(before) != canonical(after):
        yield Change(path, before, after)


def _step(key: str) -> str:
    """A member name in a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")

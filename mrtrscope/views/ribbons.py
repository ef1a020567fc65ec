"""Where the states go: which answer issued one, which request brought it back, and whether it was still the same."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from mrtrscope.views.escape import visible
from mrtrscope.views.scene import OperationDetail, Ribbon, RoundDetail
from mrtrscope.views.words import count

_ABSENT = object()


def shortened(state: Any, raw: bool = False) -> str:
    """A state as it may be shown: its two ends, and a digest that is equal for equal states."""
    text = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    ends = visible(text) if len(text) <= 16 or raw else f"{visible(text[:6])}…{visible(text[-4:])}"
    return f"{ends} #{digest}"


def several(names: list[str], most: int = 6) -> str:
    """A few names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def measured(state: Any) -> str:
    """How long a state is, in words."""
    return count(len(state), "character") if isinstance(state, str) else "not a string"


def states(detail: OperationDetail) -> set[str]:
    """The states of an operation that are too long to be shown whole."""
    found: set[str] = set()
    for round_ in detail.rounds:
        for holder in (
            round_.request.member("params"),
            round_.answer.member("result") if round_.answer else {},
        ):
            state = holder.get("requestState")
            if isinstance(state, str) and len(state) > 16:
                found.add(state)
    return found


@dataclass(slots=True)
class _Way:
    fate: Literal["kept", "changed", "dropped", "invented", "held", "unclear"]
    start: str | None  # message that issued it
    stop: str | None  # message that brought it back
    state: Any
    back: Any
    words: str


class Ribbons:
    """Fed the rounds in order; afterwards it knows the way of every state."""

    def __init__(self, raw: bool = False) -> None:
        self.raw = raw
        self._issued: dict[str, Any] = {}
        self._back: set[str] = set()
        self._ways: list[_Way] = []

    def round(self, round_: RoundDetail) -> None:
        """Take one round: what its request brings back first, then what its answer issues."""
        back = round_.request.member("params").get("requestState", _ABSENT)
        link = round_.link
        if link is not None and link.to is not None:
            issued = self._issued.get(link.to, _ABSENT)
            self._way(link.to, round_.request.m, issued, back, link.differences)
            self._back.add(link.to)
        elif back is not _ABSENT:
            unclear = link is not None and link.grade == "ambiguous"
            words = (
                f"from one of {several(link.candidates)}"
                if link is not None and unclear
                else "never issued here"
            )
            self._ways.append(
                _Way("unclear" if unclear else "invented", None, round_.request.m, back, back, words)
            )
        answer = round_.answer
        if answer is not None and "requestState" in answer.member("result"):
            self._issued[answer.m] = answer.member("result")["requestState"]

    def _way(self, start: str, stop: str, issued: Any, back: Any, differences: list[str]) -> None:
        told = "; ".join(visible(d) for d in differences[:2])
        if issued is _ABSENT and back is _ABSENT:
            return
        if issued is _ABSENT:
            self._ways.append(_Way("invented", None, stop, back, back, told or "none was issued"))
        elif back is _ABSENT:
            self._ways.append(_Way("dropped", start, stop, issued, issued, told or "not sent back"))
        elif type(issued) is type(back) and issued == back:
            self._ways.append(_Way("kept", start, stop, issued, back, "came back unchanged"))
        else:
            self._ways.append(_Way("changed", start, stop, issued, back, told or "came back changed"))

    def adopt(self, other: Ribbons) -> None:
        """Take over the ways of another channel's share."""
        self._ways += other._ways
        self._issued |= other._issued
        self._back |= other._back

    def drawn(self, place: dict[str, str], index: dict[str, int]) -> list[Ribbon]:
        """The ribbons, with rows for messages; a way inside one folded row is none."""
        ways = self._ways + [
            _Way("held", m, None, state, state, "not sent back")
            for m, state in self._issued.items()
            if m not in self._back
        ]
        colors: dict[str, int] = {}
        out = []
        for way in ways:
            start = index.get(place.get(way.start, "")) if way.start else None
            stop = index.get(place.get(way.stop, "")) if way.stop else None
            if start == stop or (start is None and way.fate in ("kept", "changed", "dropped", "held")):
                continue
            color, after = (colors.setdefault(shortened(s, True), len(colors)) for s in (way.state, way.back))
            out.append(Ribbon(
                f"state-{way.start or ''}-{way.stop or ''}", start, stop, way.fate, color,
                shortened(way.state), way.words, after, shortened(way.back),
                seen=f"requestState {shortened(way.state, self.raw)}, {measured(way.state)}: {way.words}",
            ))  # fmt: skip
        return out

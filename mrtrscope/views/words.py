"""Times, sizes and counts in words, the same in every view."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

_RECENT = 1e8  # seconds since 1970: anything below is a transcript that counts from its own beginning


def duration(seconds: float) -> str:
    """A length of time, three figures at most: "0.4 ms", "12 ms", "1.24 s", "2 min 5 s", "3 h 4 min"."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 0.9995:
        ms = seconds * 1000
        return f"{ms:.1f} ms" if 0 < ms < 9.95 else f"{ms:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def clock(t: float) -> str:
    """A time of day to the millisecond (UTC), or seconds where a transcript counts from its own beginning."""
    if abs(t) < _RECENT:
        return f"{t:.3f} s"
    try:
        return datetime.fromtimestamp(t, UTC).strftime("%H:%M:%S.%f")[:-3]
    except (ValueError, OverflowError, OSError):
        return f"{t:.0f} s"


def when(t: float) -> str:
    """Date, time of day and zone; seconds where a transcript counts from its own beginning."""
    if abs(t) < _RECENT:
        return clock(t)
    try:
        return f"{datetime.fromtimestamp(t, UTC):%Y-%m-%d} {clock(t)} UTC"
    except (ValueError, OverflowError, OSError):
        return clock(t)


def count(n: int, one: str, many: str = "") -> str:
    """ "1 question", "3 questions", "12,400 messages"."""
    return f"{n:,} {one}" if n == 1 else f"{n:,} {many or one + 's'}"


def series(parts: list[str], last: str = "and") -> str:
    """ "a", "a and b", "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def told(value: Any, text: str) -> bool:
    """Whether the text of a finding says the value already, in words of its own; a number may mean something else."""
    said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return len(said) > 3 and said in text and re.search(rf"(?<!\w){re.escape(said)}(?!\w)", text) is not None


def size(n: int) -> str:
    """A number of bytes: "212 B", "4.1 KiB", "12 MiB"."""
    value = float(n)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == "B" or value >= 10 else f"{value:.1f} {unit}"

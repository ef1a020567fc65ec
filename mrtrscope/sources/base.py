"""What every readable thing offers, whatever its form, and the one error it is refused with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from mrtrscope.frames import Frame


class SourceError(Exception):
    """The file or folder cannot be read as a capture; the text says what is wrong and what to do."""


class Source:
    """Something that gives frames in order of time. Use it in a `with` block.

    kind      "capture", "journal", "stdio transcript", "http transcript", "mitmproxy flows", "HAR"
    name      what the frames call it (`Frame.journal`); a capture folder has many journals
    trouble   what could not be read and was passed over, a line each; complete after `frames()` ended
    """

    kind = ""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.trouble: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files."""

    def headers(self) -> dict[str, dict[str, Any]]:
        """For each journal name that frames bear: what `Pipeline.source` wants to know of it."""
        raise NotImplementedError

    def frames(self) -> Iterator[Frame]:
        """All frames, in order of time. SourceError when the file turns out to be unreadable."""
        raise NotImplementedError


def micros(value: Any, default: int) -> int:
    """Seconds as microseconds; `default` for what is no time."""
    if type(value) in (int, float) and -1e11 < value < 1e11:
        return round(float(value) * 1e6)
    return default

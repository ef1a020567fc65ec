"""Capture folders and single journals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mrtrscope import journal
from mrtrscope.frames import Frame
from mrtrscope.sources.base import Source, SourceError
from mrtrscope.timeline import Timeline


class Capture(Source):
    """A capture folder: its journals, put on one clock and merged by time."""

    kind = "capture"

    def __init__(self, path: Path) -> None:
        super().__init__(path, path.resolve().name)
        self._timeline = Timeline(path)
        if not self._timeline.headers:
            why = next(iter(self._timeline.problems.values()), "")
            raise SourceError(
                f"{path}: no journal in {path / 'journals'}{': ' + why if why else ''}.\n"
                f"Record one with `mrtrscope wrap --capture {path} -- COMMAND`, or try `mrtrscope demo`."
            )

    def headers(self) -> dict[str, dict[str, Any]]:
        return {name: header.raw for name, header in self._timeline.headers.items()}

    def frames(self) -> Iterator[Frame]:
        yield from self._timeline.read()
        self.trouble += [*self._timeline.problems.values(), *map(str, self._timeline.damage)]

    def close(self) -> None:
        self._timeline.__exit__(None, None, None)


class SingleJournal(Source):
    """One journal by itself; what a rotated one goes on in is another file."""

    kind = "journal"

    def __init__(self, path: Path) -> None:
        try:
            self._header = journal.read_header(path)
        except journal.NotAJournal as error:
            raise SourceError(str(error)) from None
        super().__init__(path, self._header.name)

    def headers(self) -> dict[str, dict[str, Any]]:
        return {self.name: self._header.raw}

    def frames(self) -> Iterator[Frame]:
        reader = journal.Reader(self._header)
        try:
            while (found := reader.read(final=True)) is not None:
                yield from found
        finally:
            reader.close()
        self.trouble += map(str, reader.damage)

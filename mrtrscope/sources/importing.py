"""Writes what a source holds as journals of a capture folder, so that it can be kept, merged and followed as one."""

from __future__ import annotations

import errno
from pathlib import Path

from mrtrscope.recorder import Journal
from mrtrscope.sources.base import Source, SourceError
from mrtrscope.sources.settling import aside, settle, take_in


def import_source(source: Source, capture: Path) -> list[Path]:
    """One journal for each that the source has frames of; their paths. Times stay those of the source.

    They are written aside, and are in the capture when all of them are whole: half a recording looks like one that
    ended there.
    """
    try:
        settle(capture)
        with aside(capture) as made:
            names = _write(source, made)
            if names:
                _refuse_others(made / "journals", capture / "journals")
                take_in(made)
        return [capture / "journals" / name for name in names]
    except OSError as error:
        raise SourceError(f"{capture}: cannot be written: {error.strerror}") from None


def _write(source: Source, folder: Path) -> list[str]:
    """The names of the journals, of their first parts where they have several."""
    headers = source.headers()
    journals: dict[str, tuple[Journal, int]] = {}
    names = []
    try:
        for frame in source.frames():
            if frame.journal not in journals:
                journal = _begin(headers.get(frame.journal, {}), source, folder, frame.t)
                journals[frame.journal] = journal, frame.t
                names.append(Path(journal.path).name)
            journal, began = journals[frame.journal]
            journal.append(frame.lane, frame.kind, max(frame.t - began, 0) * 1000, frame.data)
    finally:
        for journal, _ in journals.values():
            journal.close()
    lost = sum(journal.lost_frames for journal, _ in journals.values())
    if lost:
        raise SourceError(f"{folder.parent}: {lost} frames could not be written; is the disk full?")
    return names


def _refuse_others(made: Path, journals: Path) -> None:
    """A journal is never written over."""
    for path in made.iterdir():
        if (journals / path.name).exists():
            raise FileExistsError(errno.EEXIST, f"there is a {path.name} already")


def _begin(header: dict[str, object], source: Source, capture: Path, t: int) -> Journal:
    channel = str(header.get("channel") or source.name)
    how = str(header.get("how") or "import")
    keep = {name: header[name] for name in ("upstream", "target", "whole") if name in header}
    came = {"form": source.kind, "name": source.path.name}
    # Times are counted from the first frame, on no machine's clock: nothing is merged with it but by wall time.
    return Journal.create(str(capture), how, channel, mono=0, wall=t * 1000, boot="", imported=came, **keep)  # type: ignore[arg-type]

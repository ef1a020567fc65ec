"""Writes what a source holds as journals of a capture folder, so that it can be kept, merged and followed as one."""

from __future__ import annotations

from pathlib import Path

from mrtrscope.recorder import Journal
from mrtrscope.sources.base import Source, SourceError


def import_source(source: Source, capture: Path) -> list[Path]:
    """One journal for each that the source has frames of; their paths. Times stay those of the source."""
    headers = source.headers()
    journals: dict[str, tuple[Journal, int]] = {}
    try:
        for frame in source.frames():
            if frame.journal not in journals:
                journals[frame.journal] = (
                    _begin(headers.get(frame.journal, {}), source, capture, frame.t),
                    frame.t,
                )
            journal, began = journals[frame.journal]
            journal.append(frame.lane, frame.kind, max(frame.t - began, 0) * 1000, frame.data)
    except OSError as error:
        raise SourceError(f"{error.filename or capture}: cannot be written: {error.strerror}") from None
    finally:
        for journal, _ in journals.values():
            journal.close()
    lost = sum(journal.lost_frames for journal, _ in journals.values())
    if lost:
        raise SourceError(f"{capture}: {lost} frames could not be written; is the disk full?")
    return [Path(journal.path) for journal, _ in journals.values()]


def _begin(header: dict[str, object], source: Source, capture: Path, t: int) -> Journal:
    channel = str(header.get("channel") or source.name)
    how = str(header.get("how") or "import")
    keep = {name: header[name] for name in ("upstream", "target", "whole") if name in header}
    came = {"form": source.kind, "name": source.path.name}
    # Times are counted from the first frame, on no machine's clock: nothing is merged with it but by wall time.
    return Journal.create(str(capture), how, channel, mono=0, wall=t * 1000, boot="", imported=came, **keep)  # type: ignore[arg-type]

"""Takes a capture file through a pipeline in memory, without rows."""

from __future__ import annotations

from pathlib import Path

from mrtrscope.pipeline import Pipeline
from mrtrscope.sources import open_source


def feed(pipeline: Pipeline, path: Path) -> list[str]:
    """Give a pipeline all frames of a file; returns what could not be read of it."""
    with open_source(path) as source:
        for name, header in source.headers().items():
            pipeline.source(name, header)
        for frame in source.frames():
            pipeline.feed(frame)
        return list(source.trouble)

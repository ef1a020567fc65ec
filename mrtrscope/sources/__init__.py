"""Everything that can be read as a capture: folders, journals, transcripts, mitmproxy flows, HAR.

    with open_source(path) as source:
        for name, header in source.headers().items(): pipeline.source(name, header)
        for frame in source.frames(): pipeline.feed(frame)

The kind is told by content, never by the name; gzip is seen through.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from pathlib import Path
from typing import IO, Any

from mrtrscope.journal import NO_FILE, is_journal
from mrtrscope.sources.base import Source, SourceError

__all__ = ["Source", "SourceError", "open_source"]

_START = 1 << 20
_FLOW = re.compile(rb"[0-9]{1,12}:")
_ENDINGS = re.compile(r"(\.gz|\.jsonl|\.json|\.ndjson|\.mitm|\.mitmproxy|\.har)+$", re.I)
_FORMS = (
    "What can be read: a capture folder, a journal (.mrj), a stdio or HTTP transcript (.jsonl, .json), "
    "a mitmproxy flow file, a HAR file; .gz too."
)


def open_source(path: str | os.PathLike[str]) -> Source:
    """What `path` is, ready to give its frames. SourceError says in a line or two why it cannot be read."""
    place = Path(path)
    try:
        if place.is_dir():
            return _folder(place)
        if not place.is_file() and place.exists():
            raise SourceError(f"{place}: {NO_FILE}. {_FORMS}")
        start = _start(place)
        return _file(place, start)
    except FileNotFoundError:
        raise SourceError(f"{place}: no such file or folder") from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise SourceError(f"{place}: cannot be read: {why}") from None


def _folder(place: Path) -> Source:
    from mrtrscope.sources.journals import Capture

    if not (place / "journals").is_dir():
        if place.name == "journals" and any(place.glob("*.mrj")):
            return Capture(place.parent)
        raise SourceError(
            f"{place}: not a capture: it has no folder named journals.\n"
            f"Record one with `mrtrscope wrap --capture {place} -- COMMAND`, or try `mrtrscope demo`."
        )
    return Capture(place)


def _file(place: Path, start: bytes) -> Source:
    from mrtrscope.sources import transcript

    if is_journal(start):
        from mrtrscope.sources.journals import SingleJournal

        if _compressed(place):
            raise SourceError(f"{place}: a compressed journal; unpack it first: gunzip -k {place}")
        return SingleJournal(place)
    name = _ENDINGS.sub("", place.name) or place.name
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()

    def opener() -> IO[bytes]:
        return _open(place)

    if not text:
        raise SourceError(f"{place}: empty. {_FORMS}")
    if _FLOW.match(start):
        from mrtrscope.sources.flows import Flows

        return Flows(place, name, opener)
    if text[:1] == b"[":
        return transcript.HttpList(place, name, opener)
    # A HAR may stand in one line that is longer than what is looked at.
    first = {"log": None} if re.match(rb'\{\s*"log"\s*:', text) else _first_object(text)
    if "dir" in first:
        return transcript.StdioTranscript(place, name, opener)
    if "request" in first:
        return transcript.HttpTranscript(place, name, opener)
    if "log" in first:
        from mrtrscope.sources.har import Har

        return Har(place, name, opener)
    raise SourceError(f"{place}: {_guess(start)}. {_FORMS}")


def _first_object(text: bytes) -> dict[str, Any]:
    """The first line that is a JSON object; {} when there is none near the beginning."""
    for line in text.split(b"\n", 20)[:20]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            # A first line longer than what was looked at: its members tell enough.
            if len(text) >= _START and line == text[: len(line)]:
                return {name.decode(): None for name in re.findall(rb'"(dir|request|log)"\s*:', text[:4096])}
            continue
        if type(value) is dict:
            return value
    return {}


def _guess(start: bytes) -> str:
    if start.startswith(b"SQLite format 3"):
        return "a database, not a capture; give the capture folder that it lies in"
    if start[:4] in (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x0a\x0d\x0d\x0a"):
        return "a packet capture, which cannot be read; record with `mrtrscope relay` or `proxy`"
    if b"\0" in start[:1024]:
        return "not a capture: binary data of an unknown form"
    return "not a capture: neither its first line nor the whole is in a form that is known"


def _compressed(place: Path) -> bool:
    with place.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _open(place: Path) -> IO[bytes]:
    if _compressed(place):
        return gzip.open(place, "rb")  # type: ignore[return-value]
    return place.open("rb")


def _start(place: Path) -> bytes:
    with _open(place) as file:
        try:
            return file.read(_START)
        except EOFError:  # cut: what is there may still be readable
            with _open(place) as again:
                return again.read1(_START)  # type: ignore[attr-defined,no-any-return]

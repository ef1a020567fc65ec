"""The report as HTML: operations in compressed blocks, the page around them, several files when one would be too large.

A block holds some dozens of operations as JSON, deflated and in base64, in a script element that no browser runs; the
page's own script opens a block when one of its operations is to be shown. Blocks wait in a temporary file until all
are made, so that the size of a report is no matter of memory.
"""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from mrtrscope import __version__
from mrtrscope.files import new_file
from mrtrscope.store.reader import Store
from mrtrscope.views import detail, templates, theme
from mrtrscope.views.ahead import redactor
from mrtrscope.views.escape import visible
from mrtrscope.views.redact import Redactor
from mrtrscope.views.report import messages, timeline
from mrtrscope.views.report import summary as counting
from mrtrscope.views.report.choose import Choice
from mrtrscope.views.report.drawing import blocks, packed
from mrtrscope.views.report.entry import Entry, index_row
from mrtrscope.views.words import count, when

FILE: Final = 48_000_000  # characters of blocks in one file: browsers open what is larger, but slowly
MOST: Final = 100_000  # operations of one report
LOOSE: Final = 200  # messages outside operations, and texts that are none
HIDDEN: Final = 300  # stand-ins that are listed


@dataclass(slots=True)
class Made:
    """What was written: the files, the first of which is to be opened, and what is in them; `nothing`: why that is
    no operation."""

    files: list[Path]
    operations: int
    findings: int
    hidden: int
    left_out: int = 0
    nothing: str = ""


@dataclass(slots=True)
class _Block:
    start: int
    size: int
    first: int  # place of its first operation in the index
    count: int


@dataclass(slots=True)
class _Book:
    """All that the pages need."""

    spool: IO[bytes]
    blocks: list[_Block] = field(default_factory=list)
    index: list[list[Any]] = field(default_factory=list)
    bars: list[timeline.Bar] = field(default_factory=list)


def write(store: Store, output: Path, choice: Choice | None = None, raw: bool = False) -> Made:
    """Write the report; further files go beside the first, with a number in their names."""
    choice = choice or Choice()
    redact = redactor(store, raw)
    summary = counting.Summary()
    chosen: set[str] = set()
    with tempfile.TemporaryFile() as spool:
        book = _Book(spool)
        left_out = _collect(store, choice, redact, summary, book, chosen)
        findings = (
            found for found in store.findings()
            if choice.everything or (found.operation or "") in chosen
        )  # fmt: skip
        counting.add_findings(summary, findings, redact)
        parts = list(_parts(book.blocks))
        files = [output] + [
            output.with_name(f"{output.stem}-{n}{output.suffix}")
            for n in range(1, len(parts) + 1)
            if len(parts) > 1
        ]
        nothing = "" if summary.operations else choice.nothing(store)
        _put(store, files, parts, book, summary, redact, choice, left_out, nothing)
    return Made(files, summary.operations, sum(summary.levels.values()), redact.count, left_out, nothing)


def _collect(
    store: Store, choice: Choice, redact: Redactor, summary: counting.Summary, book: _Book, chosen: set[str]
) -> int:
    """Make the blocks; returns how many operations were too many."""
    left_out = 0

    def limited() -> Iterator[Any]:
        nonlocal left_out
        for operation in choice.operations(store):
            if summary.operations >= MOST:
                left_out += 1
                continue
            summary.add(operation)
            chosen.add(operation.id)
            yield operation

    entries = Entry(redact)

    def scenes() -> Iterator[tuple[dict[str, Any], Any]]:
        for whole in detail.whole(store, limited()):
            operation = whole[1]
            summary.channels[operation.channel]["messages"] += len(whole[2])
            book.index.append(index_row(whole, redact))
            entry, scene = entries.scene(whole)
            book.bars.append((
                operation.t, operation.t + operation.times.total, visible(operation.channel), operation.id,
                operation.outcome, f"{operation.id} {entry['title']}",
            ))  # fmt: skip
            yield entry, scene

    done = 0
    for data, n in blocks(scenes(), store.count("operations") if choice.everything else 0):
        book.blocks.append(_Block(book.spool.tell(), len(data), done, n))
        book.spool.write(data)
        done += n
    choice.kept()
    return left_out


def _parts(blocks: list[_Block]) -> Iterator[list[_Block]]:
    held: list[_Block] = []
    size = 0
    for block in blocks:
        if held and size + block.size > FILE:
            yield held
            held, size = [], 0
        held.append(block)
        size += block.size
    yield held


def _put(
    store: Store, files: list[Path], parts: list[list[_Block]], book: _Book, summary: counting.Summary,
    redact: Redactor, choice: Choice, left_out: int, nothing: str,
) -> None:  # fmt: skip
    several = len(parts) > 1
    home: list[str] = []  # by place in the index: the file that has the operation, "" for this one
    for n, part in enumerate(parts, 1):
        home += [files[n].name if several else ""] * sum(block.count for block in part)
    where = {row[0]: home[place] for place, row in enumerate(book.index)}
    shared: dict[str, Any] = {
        "capture": visible(store.source.resolve().name or str(store.source)),
        "path": visible(str(store.source)),
        "version": __version__,
        "raw": redact.raw,
        "choice": visible(choice.told()),
        "summary": summary,
        "channels": list(store.channels()) if choice.everything else summary.channel_rows(store.channels()),
        "trouble": [visible(line) for line in store.trouble()],
        "noise": store.counts_of_noise() if choice.everything else None,
        "left_out": left_out,
        "nothing": visible(nothing),
        "loose": list(messages.loose(store, redact, LOOSE)) if choice.everything else [],
        "loose_most": LOOSE,
        "hidden": list(redact.hidden.items())[:HIDDEN],
        "hidden_count": redact.count,
        "when": when,
        "count": count,
        "levels": counting.LEVELS,
        "outcomes": counting.OUTCOMES,
        "operation_href": lambda id: f"{where.get(id, '')}#{id}",
        "message_href": lambda at, op: f"{where.get(op, '')}#{at}",
    }
    with new_file(files[0], redact.raw) as file:
        here = [] if several else parts[0]
        picture = timeline.write(book.bars, lambda id: f"{where.get(id, '')}#{id}")
        index = {"rows": book.index, "blocks": _places(here, 0), "home": _runs(home) if several else []}
        _write(file, book, here, index, shared | {"whole": True, "timeline": picture, "part": "", "back": ""})
    first = 0
    for n, part in enumerate(parts, 1) if several else ():
        size = sum(block.count for block in part)
        rows = book.index[first : first + size]
        index = {"rows": rows, "blocks": _places(part, first), "home": []}
        told = f"{rows[0][0]} to {rows[-1][0]}"
        with new_file(files[n], redact.raw) as file:
            _write(file, book, part, index,
                   shared | {"whole": False, "timeline": "", "part": told, "back": files[0].name})  # fmt: skip
        first += size


def _places(blocks: Iterable[_Block], first: int) -> list[list[int]]:
    """[place of its first operation, how many]."""
    return [[block.first - first, block.count] for block in blocks]


def _runs(home: list[str]) -> list[list[Any]]:
    """[place, file]: from this operation on the details stand in that file."""
    return [[n, name] for n, name in enumerate(home) if n == 0 or home[n - 1] != name]


def _write(
    file: IO[bytes], book: _Book, blocks: list[_Block], index: dict[str, Any], values: dict[str, Any]
) -> None:
    script, style = source("report.js"), source("report.css") + _colours()
    text = templates.render(
        "report.html.j2",
        **values, script=script, style=style, script_hash=_hash(script), style_hash=_hash(style),
        index=packed(index).decode(),
    )  # fmt: skip
    before, mark, after = text.partition("<!--blocks-->")
    assert mark
    file.write(before.encode())
    for n, block in enumerate(blocks):
        book.spool.seek(block.start)
        file.write(f'<script type="text/plain" id="block-{n}">'.encode())
        file.write(book.spool.read(block.size))
        file.write(b"</script>\n")
    file.write(after.encode())


def source(name: str) -> str:
    """A file beside the templates, as it is."""
    loader = templates.environment().loader
    assert loader is not None
    return loader.get_source(templates.environment(), name)[0]


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _colours() -> str:
    """Pictures in the colours of the page."""
    dark = theme.css(theme.DARK, ":root[data-theme=dark] svg.mrtr") + theme.css(
        theme.DARK, ":root[data-theme=dark] .swatch"
    )
    return f"\n@media screen{{{dark}}}\n@media print{{{theme.css(theme.PRINT, 'svg.mrtr')}}}\n"

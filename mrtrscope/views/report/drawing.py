"""Makes the blocks of a report: pictures drawn, put beside what is said, packed. On all processors when it pays."""

from __future__ import annotations

import base64
import json
import os
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final

from mrtrscope.views.report.entry import pictures
from mrtrscope.views.scene import Scene

COUNT: Final = 40  # operations in a block
SIZE: Final = 1_500_000  # characters of messages after which a block is closed earlier
PAYS: Final = 1_000  # operations from which on further processes are started
LEVEL: Final = 4  # of compression: half the time of the usual 6, for a twentieth more
AHEAD: Final = 3  # blocks for each process that wait to be drawn or taken

Drawable = tuple[dict[str, Any], Scene]


def blocks(entries: Iterable[Drawable], expected: int) -> Iterator[tuple[bytes, int]]:
    """Packed blocks, and how many operations are in each, in the order given."""
    processes = min(os.cpu_count() or 1, 8)
    if expected < PAYS or processes < 2:
        for group in _groups(entries):
            yield block(group), len(group)
        return
    import multiprocessing
    from concurrent.futures import Future, ProcessPoolExecutor

    # "spawn": a fork of a process that may have threads is no safe thing.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        waiting: deque[tuple[Future[bytes], int]] = deque()
        for group in _groups(entries):
            waiting.append((pool.submit(block, group), len(group)))
            while waiting and (len(waiting) > AHEAD * processes or waiting[0][0].done()):
                made, n = waiting.popleft()
                yield made.result(), n
        for made, n in waiting:
            yield made.result(), n


def _groups(entries: Iterable[Drawable]) -> Iterator[list[Drawable]]:
    held: list[Drawable] = []
    size = 0
    for entry, scene in entries:
        held.append((entry, scene))
        size += sum(len(said.get("x", "")) for said in entry["ms"].values())
        if len(held) >= COUNT or size >= SIZE:
            yield held
            held, size = [], 0
    if held:
        yield held


def block(group: list[Drawable]) -> bytes:
    """Operations with their pictures, packed."""
    return packed([entry | {"svg": pictures(scene)} for entry, scene in group])


def packed(value: Any) -> bytes:
    """JSON deflated, in base64: nothing in it means anything to HTML."""
    text = json.dumps(value, separators=(",", ":"))
    deflate = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
    return base64.b64encode(deflate.compress(text.encode("ascii")) + deflate.flush())

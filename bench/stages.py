"""Where the time of an analysis goes: a clock for each stage, stopped while another one runs.

`install()` puts clocks round the stages' entrances, in this process, before an analysis; `shares()` reads them. They
cost a microsecond or two a message themselves, so speeds are measured without.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from mrtrscope.link.linker import Linker
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules.judge import Judge
from mrtrscope.store.memory import SqliteMemory
from mrtrscope.store.writer import Writer
from mrtrscope.timeline import Timeline
from mrtrscope.wire.reader import Reader

STAGES: tuple[tuple[type, tuple[str, ...], str], ...] = (
    (Timeline, ("_read", "_give"), "journal"),
    (Reader, ("feed",), "wire"),
    (Linker, ("feed",), "link"),
    (Judge, ("on_message", "on_event", "on_settled", "present", "take"), "rules"),
    (Writer, ("write", "write_present", "set_meta"), "rows"),
    (SqliteMemory, ("flush", "save", "find", "get"), "memory"),
    (Pipeline, ("snapshot",), "checkpoint"),
    (Writer, ("transaction",), "commit"),
)
REST = "rest"

_clock = time.thread_time_ns
_spent: dict[str, int] = {}
_running = [REST]
_since = 0


def install() -> None:
    """Put the clocks in place."""
    global _since
    for owner, names, stage in STAGES:
        for name in names:
            setattr(owner, name, _timed(getattr(owner, name), stage))
    _since = _clock()


def shares() -> dict[str, float]:
    """CPU seconds of each stage since `install()`, largest first."""
    _switch()
    return {stage: ns / 1e9 for stage, ns in sorted(_spent.items(), key=lambda item: -item[1])}


def _switch() -> None:
    global _since
    now = _clock()
    _spent[_running[-1]] = _spent.get(_running[-1], 0) + now - _since
    _since = now


@contextlib.contextmanager
def _stage(name: str, within: Any) -> Iterator[Any]:
    """A context of its own that counts for a stage, but for what is done inside."""
    _enter(name)
    with within as value:
        _leave()
        try:
            yield value
        finally:
            _enter(name)
    _leave()


def _enter(name: str) -> None:
    _switch()
    _running.append(name)


def _leave() -> None:
    _switch()
    _running.pop()


def _timed(function: Callable[..., Any], stage: str) -> Callable[..., Any]:
    def timed(*args: Any, **options: Any) -> Any:
        _enter(stage)
        try:
            result = function(*args, **options)
        finally:
            _leave()
        if isinstance(result, Iterator):
            return _paused(result, stage)
        return _stage(stage, result) if hasattr(result, "__exit__") else result

    return timed


def _paused(items: Iterator[Any], stage: str) -> Iterator[Any]:
    """The items, timed while they are made and not while somebody uses them."""
    while True:
        _enter(stage)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            _leave()
        yield item

"""The one module that joins what is read, the pipeline, and SQLite.

Whoever holds the lock of a capture analyses it: `bring_up_to_date` once, `follow` while it grows. After each batch the
rows, what the linker remembers, its checkpoint and the positions in the journals are written in one transaction; a
process killed at any moment leaves a database that the next one goes on from. Where going on is not possible (other
code, a frame that came too late for its place, a file that changed), everything is made anew in the same file, so that
readers keep what they are looking at.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mrtrscope.frames import Frame
from mrtrscope.pipeline import Pipeline
from mrtrscope.recorder import boot_id
from mrtrscope.sources.base import SourceError
from mrtrscope.store import schema
from mrtrscope.store.connect import open_database
from mrtrscope.store.place import Lock, Place
from mrtrscope.store.reader import Store
from mrtrscope.store.writer import Writer
from mrtrscope.tail import WATERMARK
from mrtrscope.timeline import Timeline

BATCH = 5_000  # frames in one transaction
LIVE_SECONDS = 0.25  # a live batch is written after so long at the latest
POLL = 0.02  # seconds between two looks at a lock that somebody else holds
PATIENCE = 2.0  # seconds of waiting after which we say for whom

Say = Callable[[str], None]


class Unreadable(Exception):
    """The capture cannot be read; the text says what is wrong, where, and what to do."""


def bring_up_to_date(capture: Path, *, update: bool = True, say: Say = lambda text: None) -> Store:
    """The rows of a capture, as it is now; `update=False`: as it was when somebody looked last.

    Waits for another analyser when there is one. Damage in what was read is told through `say`.
    """
    if not capture.exists():
        raise Unreadable(f"{capture}: no such file or folder")
    place = Place(capture)
    try:
        if update:
            place.make()
            _update(place, say)
        store = Store(open_database(place.database), capture)
    except SourceError as error:
        raise Unreadable(str(error)) from error
    except FileNotFoundError:
        raise Unreadable(f"{capture}: not analysed yet; run it once without --no-update") from None
    except sqlite3.DatabaseError as error:
        raise Unreadable(f"{place.database}: {error}; remove it, it can be made anew") from error
    except OSError as error:
        raise Unreadable(f"{error.filename or capture}: {error.strerror}") from error
    for line in store.trouble():
        say(line)
    return store


def follow(capture: Path, parent: int | None = None, *, say: Say = lambda text: None) -> None:
    """Keep the rows of a capture folder current while it grows, until the parent process ended or SIGTERM came.

    A row is there within a second of its frame. What was written before the end is read to its end.
    """
    place = Place(capture)
    stop = _Stop(parent)
    place.make()
    with Lock(place.lock) as lock:
        while not lock.take():
            if stop():
                return
            time.sleep(POLL)
        with Analysis(place) as analysis:
            while not _follow(analysis, lock, stop):
                say(f"{capture}: analysing anew: {analysis.late}")


def _update(place: Place, say: Say) -> None:
    """Analyse, or wait until another analyser has got as far as now."""
    seen = _look(place.capture)
    began, told = time.monotonic_ns(), False
    with Lock(place.lock) as lock:
        while not lock.take():
            pid, covered = lock.holder()
            if covered >= began:
                return
            if not told and time.monotonic_ns() - began > PATIENCE * 1e9:
                told = True
                say(
                    f"Waiting for process {pid}, which is analysing {place.capture}; --no-update shows what there is."
                )
            time.sleep(POLL)
        with Analysis(place) as analysis:
            if not analysis.is_current(seen):
                analysis.read()


def _look(capture: Path) -> str:
    """The files that make up a capture, with size and time of change: the same means nothing new."""
    journals = capture / "journals"
    if capture.is_dir() and not journals.is_dir():
        raise Unreadable(
            f"{capture}: not a capture: it has no folder named journals.\n"
            f"Record one with `mrtrscope wrap --capture {capture} -- COMMAND`, or try `mrtrscope demo`."
        )
    paths = sorted(journals.glob("*.mrj")) if capture.is_dir() else [capture]
    return json.dumps({path.name: [(stat := path.stat()).st_size, stat.st_mtime_ns] for path in paths})


class Analysis:
    """One analyser at work; its owner holds the lock."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.late = ""  # why everything has to be made anew
        self.last: Frame | None = None
        self.pending = 0  # frames fed since the last commit
        self._db = _open(place)
        self._writer = Writer(self._db)
        self._pipeline: Pipeline
        self._introduced: set[str] = set()
        self._meta = self._saved()

    def __enter__(self) -> Analysis:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()

    def _saved(self) -> dict[str, Any]:
        """What the database says of itself; nothing when other code made it, or it is to be made anew."""
        if "meta" not in self._db.table_names():
            return {}
        meta = dict(self._db.conn.execute("select key, value from meta").fetchall())
        return meta if all(meta.get(part) == version for part, version in schema.versions().items()) else {}

    def is_current(self, seen: str) -> bool:
        """Whether these very files were read to their ends."""
        return self._meta.get("seen") == seen

    def read(self) -> None:
        """Read what there is."""
        if self.place.capture.is_dir():
            self._read_folder()
        else:
            self._read_file()

    def _read_folder(self) -> None:
        while True:
            seen = _look(self.place.capture)
            if _rewritten(self._meta.get("seen", ""), seen):
                self.restart("a journal was changed or removed")
            with self.timeline() as timeline:
                for frame in _undisturbed(timeline.read()):
                    self.feed(frame, timeline)
                    if self.pending >= BATCH:
                        self.commit(timeline)
                if not timeline.late:
                    self.commit(timeline, present=True, seen=seen)
                    return
                self.restart(timeline.late)

    def _read_file(self) -> None:
        """A file is read as a whole whenever it changed."""
        seen = _look(self.place.capture)
        from mrtrscope.sources import open_source

        with open_source(self.place.capture) as source:
            self._begin(
                hashlib.blake2b(self.place.capture.name.encode(errors="surrogateescape")).digest()[:16]
            )
            for name, header in source.headers().items():
                self._pipeline.source(name, header)
            for frame in _undisturbed(source.frames()):
                self._pipeline.feed(frame)
                self.pending += 1
                if self.pending >= BATCH:
                    self._write({}, present=False)
            self._write({"seen": seen, "trouble": json.dumps(source.trouble)}, present=True)

    def timeline(self) -> Timeline:
        """The capture's journals, from where the checkpoint stands; without a sound one, from their beginning."""
        if "checkpoint" in self._meta:
            try:
                positions, introduced = json.loads(self._meta["positions"])
                timeline = Timeline(self.place.capture, positions)
                self._pipeline = Pipeline.restore(
                    self._meta["checkpoint"], self._writer.memory, self._meta["salt"]
                )
                self._introduced = set(introduced)
                return timeline
            except (ValueError, KeyError, TypeError):
                pass  # what cannot be read is made anew
        timeline = Timeline(self.place.capture)
        first = min(timeline.headers.items(), default=None)
        self._begin(hashlib.blake2b(repr(first[1].raw if first else "").encode()).digest()[:16])
        return timeline

    def _begin(self, salt: bytes) -> None:
        """Empty tables and a new pipeline."""
        with self._writer.transaction():
            self._writer.reset({"salt": salt})
        self._pipeline = Pipeline(self._writer.memory, salt)
        self._introduced = set()
        self._meta = {}
        self.pending = 0

    def restart(self, why: str) -> None:
        """Forget the checkpoint; the next `timeline` begins anew."""
        self.late = why
        self._meta = {}

    def feed(self, frame: Frame, timeline: Timeline) -> None:
        """One frame into the pipeline."""
        if frame.journal not in self._introduced:
            self._introduced.add(frame.journal)
            self._pipeline.source(frame.journal, timeline.headers[frame.journal].raw)
        self._pipeline.feed(frame)
        self.pending += 1
        self.last = frame

    def commit(self, timeline: Timeline, *, present: bool = False, seen: str = "") -> None:
        """Write all that is new, with the checkpoint that goes with it."""
        meta: dict[str, str | bytes] = {
            "checkpoint": self._pipeline.snapshot(),
            "positions": json.dumps([timeline.positions(), sorted(self._introduced)]),
            "trouble": json.dumps(trouble(timeline)),
            "seen": seen,
        }
        self._write(meta, present)
        self._meta |= meta

    def _write(self, meta: dict[str, str | bytes], present: bool) -> None:
        batch = self._pipeline.drain()
        now = self._pipeline.finish() if present else None
        with self._writer.transaction():
            self._writer.write(batch)
            if now is not None:
                self._writer.write_present(now)
            self._writer.set_meta(meta)
        self.pending = 0


def _open(place: Place) -> Any:
    """The database for writing. One that is damaged goes, with all that belongs to it."""
    try:
        db = open_database(place.database, write=True)
        db.table_names()
        return db
    except sqlite3.OperationalError:
        raise  # no room, no right: nothing that removing it would mend
    except sqlite3.DatabaseError:
        for ending in ("", "-wal", "-shm"):
            place.database.with_name(place.database.name + ending).unlink(missing_ok=True)
        return open_database(place.database, write=True)


def _undisturbed(frames: Iterator[Frame]) -> Iterator[Frame]:
    """The frames, while the collector of cycles looks less often: what is made here mostly lives for a batch."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield from frames
    finally:
        gc.set_threshold(*before)


def trouble(timeline: Timeline) -> list[str]:
    """What could not be read, in words."""
    torn = [
        f"{name}: ends within a record; its last {size:,} bytes are no whole record and were passed over."
        for name, size in sorted(timeline.torn.items())
    ]
    return [*timeline.problems.values(), *map(str, timeline.damage[:20]), *torn]


class _Stop:
    """Whether to end: the parent is gone, or somebody asked us to."""

    def __init__(self, parent: int | None) -> None:
        self._parent = parent
        self._ours = os.getppid() == parent
        self._asked = False
        signal.signal(signal.SIGTERM, self._ask)
        # Ctrl-C goes to the whole group: what the parent still writes while it ends is to be read
        signal.signal(signal.SIGINT, signal.SIG_IGN if parent is not None else self._ask)

    def _ask(self, *_: object) -> None:
        self._asked = True

    def __call__(self) -> bool:
        if self._asked or self._parent is None:
            return self._asked
        if self._ours:
            return os.getppid() != self._parent
        try:
            os.kill(self._parent, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False


def _follow(analysis: Analysis, lock: Lock, stop: _Stop) -> bool:
    """Follow to the end (True), or until everything has to be made anew (False)."""
    due = turned = time.monotonic()
    with analysis.timeline() as timeline:
        for frame in timeline.follow(stop):
            now = time.monotonic()
            if frame is not None:
                analysis.feed(frame, timeline)
            if analysis.pending and (frame is None or now >= due or analysis.pending >= BATCH):
                analysis.commit(timeline, present=True)
                due = time.monotonic() + LIVE_SECONDS
                _tell(analysis, lock, timeline)
            if frame is None:
                lock.tell(int(turned * 1e9) - WATERMARK * 1000)
                turned = now
            if timeline.late:
                analysis.restart(timeline.late)
                return False
        analysis.commit(timeline, present=True)
    return True


def _tell(analysis: Analysis, lock: Lock, timeline: Timeline) -> None:
    """Say how far the rows go in busy times, when there is always more."""
    boot = boot_id()
    anchor = min(
        ((h.mono, h.wall) for h in timeline.headers.values() if boot and h.boot == boot), default=None
    )
    if analysis.last is not None and anchor is not None:
        mono, wall = anchor
        lock.tell(mono + analysis.last.t * 1000 - wall)


def _rewritten(before: str, now: str) -> bool:
    """Whether a journal that was read is gone, or is not what it was: they only ever grow."""
    files = json.loads(now)
    return any(
        name not in files or files[name][0] < size or (files[name][0] == size and files[name][1] != changed)
        for name, (size, changed) in (json.loads(before) if before else {}).items()
    )

"""The one place where journals, the pipeline and SQLite meet; its owner holds the lock of the capture.

Rows are written batch by batch. The checkpoint that an interrupted analysis goes on from is as large as what is under
way, so it is written less often, when it costs a fiftieth of the time between; rows that are ahead of it are taken
back by whoever goes on (see `Writer.rewind`). Where going on is not possible (other code, a frame that came too late
for its place, a journal that changed), everything is made anew in the same file, so that readers keep what they are
looking at.
"""

from __future__ import annotations

import gc
import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from mrtrscope import marks
from mrtrscope.analyse import Progress, Stopped, look
from mrtrscope.frames import Frame
from mrtrscope.pipeline import Pipeline
from mrtrscope.recorder import boot_id
from mrtrscope.sources import open_source
from mrtrscope.sources.base import SourceError
from mrtrscope.store import schema, sound
from mrtrscope.store.connect import open_database
from mrtrscope.store.place import Place
from mrtrscope.store.writer import Writer
from mrtrscope.tail import WATERMARK
from mrtrscope.timeline import Timeline

BATCH = 2_500  # frames between two commits
SWEPT = 100  # batches after which garbage is looked for; nearly nothing is in cycles
LIVE_SECONDS = 0.25  # a live batch is written after so long at the latest
PRESENT_SECONDS = 1.0  # what is open now is asked so often at least, where traffic never pauses
PAYS = 50  # a checkpoint is due when so many times its cost went by,
SELDOM = 5.0  # and so many seconds


class Analyser:
    """late   why everything has to be made anew, "" while it need not

    `say` is told when what was there is of no use any more, and why.
    """

    def __init__(self, place: Place, say: Callable[[str], None] = lambda text: None) -> None:
        self.place = place
        self.late = ""
        self._say = say
        self._db = self._open()
        self._writer = Writer(self._db)
        self._pipeline: Pipeline
        self._meta = self._saved()
        self._marks = marks.Marks()
        self._introduced: set[str] = set()
        self._last: Frame | None = None
        self._progress: Progress = lambda done, total: False
        self._pending = 0  # frames fed since the last commit
        self._saved_at, self._cost = time.monotonic(), 0.0

    def __enter__(self) -> Analyser:
        return self

    def __exit__(self, *exc: object) -> None:
        self._db.close()

    def read(self, progress: Progress = lambda done, total: False) -> None:
        """Read what there is. Stopped, with everything so far in the rows, when `progress` says so."""
        self._progress = progress
        if self.place.capture.is_dir():
            self._read_folder()
        else:
            self._read_file()

    def follow(self, stop: Callable[[], bool], tell: Callable[[int], None]) -> bool:
        """Read what there is and what comes until `stop()`; False when everything has to be made anew.

        tell   is told, again and again, the monotonic nanosecond before which everything written is in the rows
        """
        self._compare()
        goes_on = "checkpoint" in self._meta
        try:
            return self._follow(stop, tell)
        except sound.ODD as error:
            self._give_up(goes_on, error)
            return False

    def _follow(self, stop: Callable[[], bool], tell: Callable[[int], None]) -> bool:
        turned = time.monotonic()
        due = turned + LIVE_SECONDS
        behind = 0.0  # since when rows were written without asking what is open now; 0: the answer is theirs
        with self._timeline() as timeline:
            for frame in timeline.follow(stop):
                now = time.monotonic()
                if frame is not None:
                    self._feed(frame, timeline)
                pause = frame is None and bool(behind or self._pending)
                if pause or (self._pending and (now >= due or self._pending >= BATCH)):
                    present = pause or (behind > 0 and now - behind >= PRESENT_SECONDS)
                    self._commit(timeline, present=present)
                    behind = 0.0 if present else behind or now
                    due = time.monotonic() + LIVE_SECONDS
                    tell(self._reached(timeline))
                if frame is None:
                    tell(int(turned * 1e9) - WATERMARK * 1000)
                    turned = now
                if timeline.late:
                    self._restart(timeline.late)
                    return False
            self._commit(timeline, present=True, save=True)
        return True

    def _reached(self, timeline: Timeline) -> int:
        """The monotonic nanosecond of the last frame, where it is of this run of the machine."""
        boot = boot_id()
        anchors = [(h.mono, h.wall) for h in timeline.headers.values() if boot and h.boot == boot]
        if self._last is None or not anchors:
            return 0
        mono, wall = min(anchors)
        return mono + self._last.t * 1000 - wall

    def _read_folder(self) -> None:
        self._compare()
        while True:
            goes_on = "checkpoint" in self._meta
            try:
                if self._read_through(look(self.place.capture)):
                    return
            except sound.ODD as error:
                self._give_up(goes_on, error)

    def _read_through(self, seen: str) -> bool:
        """False when everything has to be made anew."""
        with self._timeline() as timeline:
            _refuse_nothing(self.place.capture, timeline)
            for frame in _undisturbed(timeline.read()):
                self._feed(frame, timeline)
                if self._pending >= BATCH:
                    self._commit(timeline)
                    self._tell(timeline, seen)
            if timeline.late:
                self._restart(timeline.late)
                return False
            self._commit(timeline, present=True, save=True, seen=seen)
        return True

    def _tell(self, timeline: Timeline, seen: str) -> None:
        """How far it has come."""
        total = sum(entry[0] for entry in json.loads(seen).values() if entry)
        if self._progress(sum(read for _, read in timeline.read_files()), total):
            self._commit(timeline, save=True)
            raise Stopped

    def _compare(self) -> None:
        """Look whether the files are those that the checkpoint was made of."""
        if "checkpoint" not in self._meta:
            return
        try:
            why = marks.changed(self.place.capture / "journals", json.loads(self._meta["files"]))
        except sound.ODD as error:
            self._give_up(True, error)
            return
        if why:
            self._anew(f"{self.place.capture}: {why} since it was read")

    def _give_up(self, goes_on: bool, error: Exception) -> None:
        """What went wrong after going on from a checkpoint may have come of it: then everything is made anew. Anew it
        must not go wrong."""
        if not goes_on or not sound.of_content(error):
            raise error
        self._anew(f"{self.place.database}: cannot be gone on with ({type(error).__name__}: {error})")

    def _anew(self, why: str) -> None:
        self._say(f"{why}; everything is made anew.")
        self._restart(why)

    def _read_file(self) -> None:
        """A file is read as a whole whenever it changed."""
        seen = look(self.place.capture)
        with open_source(self.place.capture) as source:
            self._begin(_salt(source.headers()))
            for name, header in source.headers().items():
                self._pipeline.source(name, header)
            for frame in _undisturbed(source.frames()):
                self._pipeline.feed(frame)
                self._pending += 1
                if self._pending >= BATCH:
                    self._write({}, present=False, save=False)
            self._write({"seen": seen, "trouble": json.dumps(source.trouble)}, present=True, save=True)

    def _saved(self) -> dict[str, Any]:
        """What the database says of itself; nothing when other code made it, or it is damaged."""
        versions = schema.versions()
        try:
            if not self._db.conn.execute("select 1 from sqlite_master limit 1").fetchone():
                return {}
            rows = self._db.conn.execute("select key, value from meta where key <> 'checkpoint'").fetchall()
            if any(dict(rows).get(part) != version for part, version in versions.items()):
                return {}
            meta = sound.meta(self._db.conn)
        except sqlite3.DatabaseError as error:
            if not sound.of_content(error):
                raise
            meta = {}
        if not meta:
            self._say(f"{self.place.database}: damaged; everything is made anew.")
        return meta

    def _timeline(self) -> Timeline:
        """The capture's journals, from where the checkpoint stands; without a sound one, from their beginning."""
        if "checkpoint" in self._meta:
            try:
                positions, introduced = json.loads(self._meta["positions"])
                self._pipeline = Pipeline.restore(
                    self._meta["checkpoint"], self._writer.memory, self._meta["salt"]
                )
                self._introduced = set(introduced)
                timeline = Timeline(self.place.capture, positions)
                with self._writer.transaction():
                    self._writer.rewind()
                return timeline
            except sound.ODD as error:
                self._give_up(True, error)
        timeline = Timeline(self.place.capture)
        self._begin(_salt({name: header.raw for name, header in timeline.headers.items()}))
        return timeline

    def _begin(self, salt: bytes) -> None:
        """Empty tables and a new pipeline."""
        try:
            self._empty(salt)
        except sqlite3.DatabaseError as error:
            if not sound.of_content(error):
                raise
            self._db.close()
            self._db = self._replaced()
            self._writer = Writer(self._db)
            self._empty(salt)
        self._pipeline = Pipeline(self._writer.memory, salt)
        self._introduced, self._meta, self._pending = set(), {}, 0

    def _empty(self, salt: bytes) -> None:
        with self._writer.transaction():
            self._writer.reset({"salt": salt})

    def _restart(self, why: str) -> None:
        """Forget the checkpoint, so that the next `_timeline` begins anew."""
        self.late, self._meta = why, {}

    def _feed(self, frame: Frame, timeline: Timeline) -> None:
        if frame.journal not in self._introduced:
            self._introduced.add(frame.journal)
            self._pipeline.source(frame.journal, timeline.header(frame.journal).raw)
        self._pipeline.feed(frame)
        self._pending += 1
        self._last = frame

    def _commit(
        self, timeline: Timeline, *, present: bool = False, save: bool = False, seen: str = ""
    ) -> None:
        """Write the rows that are new; with them the checkpoint, when it is due or `save` says so."""
        before = time.monotonic()
        meta: dict[str, str | bytes] = {"seen": seen, "trouble": json.dumps(_trouble(timeline))}
        due = before - self._saved_at >= max(SELDOM, PAYS * self._cost)
        if save or due:
            meta["checkpoint"] = self._pipeline.snapshot()
            meta["positions"] = json.dumps([timeline.positions(), sorted(self._introduced)])
            meta["files"] = json.dumps(self._marks.of(timeline))
            self._cost = time.monotonic() - before
        self._write(meta, present=present, save=save or due)
        if save or due:
            self._meta |= meta
            self._saved_at = time.monotonic()

    def _write(self, meta: dict[str, str | bytes], *, present: bool, save: bool) -> None:
        batch = self._pipeline.drain()
        now = self._pipeline.finish() if present else None
        with self._writer.transaction():
            self._writer.write(batch)
            if now is not None:
                self._writer.write_present(now)
            if save:
                meta["marks"] = self._writer.save()
                meta["sum"] = sound.total(meta)
            self._writer.set_meta(meta)
        self._pending = 0

    def _open(self) -> Database:
        """The database for writing. One that is damaged goes, with all that belongs to it."""
        db = None
        try:
            db = open_database(self.place.database, write=True)
            db.table_names()
        except sqlite3.DatabaseError as error:
            if db is not None:
                db.close()
            if not sound.of_content(error):
                raise  # no room, no right: nothing that removing it would mend
            self._say(f"{self.place.database}: damaged ({error}); everything is made anew.")
            db = self._replaced()
        return db

    def _replaced(self) -> Database:
        """A new database in place of one that is beyond use."""
        for path in self.place.files():
            if path != self.place.lock:
                path.unlink(missing_ok=True)
        return open_database(self.place.database, write=True)


def _salt(headers: dict[str, dict[str, Any]]) -> bytes:
    """A salt of this capture's own, the same whenever it is read: made of how its first journal begins."""
    first = min(headers.items(), default=("", {}))
    return hashlib.blake2b(json.dumps(first, sort_keys=True).encode(), digest_size=16).digest()


def _undisturbed(frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames, while the collector of cycles works between batches and not in the middle of one; code and whatever
    else was there before is not looked at. Little is left to it, see `Pipeline.settled`."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(1_000_000, 50, 50)
    try:
        for n, frame in enumerate(frames, 1):
            yield frame
            if not n % (SWEPT * BATCH):
                gc.collect()
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _refuse_nothing(capture: Path, timeline: Timeline) -> None:
    """SourceError when the folder holds no journal that can be read."""
    if not timeline.headers:
        with open_source(capture):  # says why
            raise SourceError(f"{capture}: its journals came while it was looked at; try again")


def _trouble(timeline: Timeline) -> list[str]:
    """What could not be read, in words."""
    torn = [
        f"{name}: ends within a record; its last {size:,} bytes are no whole record and were passed over."
        for name, size in sorted(timeline.torn.items())
    ]
    return [*timeline.problems.values(), *map(str, timeline.damage[:20]), *torn]

"""Brings the rows of a capture up to date, and keeps them so: what commands, UI and the proxies' child call.

Whoever holds the lock of a capture analyses it (`analyser`); the others wait until it is as far as they need. Where
nothing is new, nothing of the analysis is even imported.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from mrtrscope.store import schema
from mrtrscope.store.connect import open_database
from mrtrscope.store.place import Lock, NoPlace, Place
from mrtrscope.store.reader import Store

POLL = 0.02  # seconds between two looks at a lock that somebody else holds
PATIENCE = 2.0  # seconds of waiting after which we say for whom

Say = Callable[[str], None]


# Told after each batch how many bytes of how many were read; true when the reading shall stop there.
Progress = Callable[[int, int], bool]


class Stopped(Exception):
    """Somebody stopped the reading; what was read is kept, and the next one goes on from there."""


class Unreadable(Exception):
    """The capture cannot be read; the text says what is wrong, where, and what to do."""


class Unwritable(Unreadable):
    """It can be read, but there is no place for its rows: something for the user to put right first."""


def bring_up_to_date(
    capture: Path,
    *,
    update: bool = True,
    say: Say = lambda text: None,
    plain: bool = False,
    progress: Progress = lambda done, total: False,
) -> Store:
    """The rows of a capture, as it is now; `update=False`: as it was when somebody looked last.

    `plain`: see `Store`. Waits for another analyser when there is one. Damage in what was read is told through `say`.
    """
    from mrtrscope.sources.base import SourceError

    if not capture.exists():
        raise Unreadable(f"{capture}: no such file or folder")
    place = Place(capture)
    try:
        if update:
            _settle(capture, say)
            place.make(say)
            _update(place, say, progress)
        elif not _readable(place):
            raise Unreadable(f"{capture}: not analysed by this version; run it once without --no-update")
        store = Store(open_database(place.database), capture, plain=plain)
    except SourceError as error:
        raise Unreadable(str(error)) from error
    except NoPlace as error:
        raise Unwritable(str(error)) from error
    except sqlite3.DatabaseError as error:
        raise Unwritable(f"{place.database}: {error}{_advice(error)}") from error
    except OSError as error:
        if not update and isinstance(error, FileNotFoundError):
            raise Unreadable(f"{capture}: not analysed yet; run it once without --no-update") from None
        raise Unreadable(f"{error.filename or capture}: {error.strerror}") from error
    for line in store.trouble():
        say(line)
    return store


def _settle(capture: Path, say: Say) -> None:
    """Finish what an import that was killed left on its way."""
    from mrtrscope.sources import settling

    if settling.on_its_way(capture):
        try:
            settling.settle(capture)
        except OSError as error:
            say(f"{capture}: an import into it was interrupted and cannot be finished here: {error.strerror}")


def _advice(error: sqlite3.Error) -> str:
    """What to do when SQLite could not do its work."""
    full = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL
    return "; make room there, then try again" if full else "; remove it, it can be made anew"


def damaged(store: Store) -> str:
    """Why rows cannot be shown, when something failed over them; "" when they are sound, and it was no fault of theirs.

    Damaged ones are marked, so that they are made anew the next time.
    """
    from mrtrscope.store import sound

    what = sound.damage(store)
    if what:
        place = Place(store.source)
        store.close()
        with contextlib.suppress(OSError, sqlite3.Error), open_database(place.database, write=True) as db:
            db.conn.execute("delete from meta")
    return what and f"{store.source}: its rows are damaged ({what}); the next command makes them anew"


def _update(place: Place, say: Say, progress: Progress) -> None:
    """Analyse, or wait until another analyser has got as far as now."""
    began, told = time.monotonic_ns(), False
    with Lock(place.lock) as lock:
        while not lock.take():
            pid, covered = lock.holder()
            if covered >= began:
                return
            if not told and time.monotonic_ns() - began > PATIENCE * 1e9:
                told = True
                say(
                    f"Waiting for process {pid}, which analyses {place.capture}; --no-update shows what there is."
                )
            time.sleep(POLL)
        if not is_current(place):
            from mrtrscope.analyser import Analyser

            with Analyser(place, say) as analyser:
                analyser.read(progress)


def _readable(place: Place) -> bool:
    """Whether the tables are those that this code reads."""
    from mrtrscope.store import sound

    with open_database(place.database) as db:
        meta = sound.meta(db.conn, checkpoint=False)
    return meta.get("schema") == schema.versions()["schema"]


def is_current(place: Place) -> bool:
    """Whether this very code read these very files to their ends."""
    from mrtrscope.store import sound

    try:
        with open_database(place.database) as db:
            meta = sound.meta(db.conn, checkpoint=False)
    except (OSError, sqlite3.DatabaseError):
        return False
    versions = schema.versions()
    return meta.get("seen") == look(place.capture) and all(
        meta.get(part) == versions[part] for part in versions
    )


def look(capture: Path) -> str:
    """The files that make up a capture, with size and times of change: the same means nothing new."""
    paths = sorted((capture / "journals").glob("*.mrj")) if capture.is_dir() else [capture]
    return json.dumps({path.name: _looks(path) for path in paths})


def _looks(path: Path) -> list[int]:
    """Size and times of change of a file; empty for a link to nothing, and for one that is gone meanwhile."""
    try:
        seen = path.stat()
    except OSError:
        return []
    return [seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns]


def follow(capture: Path, parent: int | None = None, *, say: Say = lambda text: None) -> None:
    """Keep the rows of a capture folder current while it grows, until the parent process ended or SIGTERM came.

    A row is there within a second of its frame. What was written before the end is read to its end.
    """
    from mrtrscope.analyser import Analyser

    stop = Stop(parent)
    place = Place(capture)
    _settle(capture, say)
    try:
        place.make(say)
    except NoPlace as error:
        raise Unwritable(str(error)) from error
    with Lock(place.lock) as lock:
        while not lock.take():
            if stop():
                return
            time.sleep(POLL)
        with Analyser(place, say) as analyser:
            while not analyser.follow(stop, lock.tell):
                say(f"{capture}: analysing anew: {analyser.late}")


class Stop:
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
            pass  # it is there, and somebody else's
        return False

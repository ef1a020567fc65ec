"""Journals that were written aside, on their way into a capture: all of them or none, whoever is killed meanwhile.

What is being written lies in a folder `.import-…`, which its writer holds a lock on. When all of it is whole the folder
gets its name `.whole-…`, in one step; from then on the journals are in the capture as good as, and whoever reads it or
writes to it next moves what is still there. Files are moved once, so two that do so at a time are in nobody's way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

WRITING, WHOLE = ".import-", ".whole-"


@contextlib.contextmanager
def aside(capture: Path) -> Iterator[Path]:
    """A folder to write journals into, gone at the end: what it holds has to be taken in before."""
    capture.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = capture / f"{WRITING}{os.urandom(8).hex()}"
    made.mkdir(mode=0o700)
    lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield made
    finally:
        os.close(lock)
        shutil.rmtree(made, ignore_errors=True)


def take_in(made: Path) -> None:
    """The journals of this folder are whole: they belong to the capture now."""
    whole = made.with_name(f"{WHOLE}{made.name.removeprefix(WRITING)}")
    made.rename(whole)
    _move(whole)


def settle(capture: Path) -> None:
    """Move what others left on its way, and remove what they left unfinished; OSError when it cannot be moved."""
    for whole in _left(capture, WHOLE):
        _move(whole)
    for made in _left(capture, WRITING):
        if _abandoned(made):
            shutil.rmtree(made, ignore_errors=True)


def on_its_way(capture: Path) -> bool:
    """Whether there are journals that belong to a capture and are not in their place yet."""
    return bool(_left(capture, WHOLE))


def _left(capture: Path, begins: str) -> list[Path]:
    try:
        return [path for path in capture.iterdir() if path.name.startswith(begins)]
    except OSError:
        return []  # a file, or a folder that nobody may look into


def _move(whole: Path) -> None:
    """Into the capture, the first part of a journal last."""
    journals = whole.parent / "journals"
    made = whole / "journals"
    try:
        left = list(made.iterdir())
    except FileNotFoundError:
        left = []  # somebody else moved all of it meanwhile
    for path in sorted(left, key=lambda path: len(path.name), reverse=True):
        journals.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # somebody else moved it meanwhile
            path.rename(journals / path.name)
    shutil.rmtree(whole, ignore_errors=True)


def _abandoned(made: Path) -> bool:
    """Whether whoever wrote into this folder is gone."""
    try:
        lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(lock)

"""Opening `scope.db`: for one writer and any number of readers that never wait for it.

The folder may come from somebody else. A database in it is only ever opened as a plain file, never through a link,
and nothing stored in it (views, triggers) may call what is not harmless.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, overload

if TYPE_CHECKING:
    from sqlite_utils import Database

ENDINGS = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a database
BUSY_SECONDS = 30.0
CACHE_KIB = 8192


class Reading:
    """What readers need of a database; a single look pays no 0.1 s for sqlite-utils."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.conn = connection

    def rollback(self) -> None:
        self.conn.rollback()

    def close(self) -> None:
        self.conn.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@overload
def open_database(path: Path, *, write: Literal[True]) -> Database: ...
@overload
def open_database(path: Path, *, write: Literal[False] = False) -> Reading: ...
def open_database(path: Path, *, write: bool = False) -> Database | Reading:
    """A connection to the database file; `write` makes the file when there is none, readable by its owner only."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe in its place would be waited for
    fd = os.open(path, flags | (os.O_RDWR | os.O_CREAT if write else os.O_RDONLY), 0o600)
    regular = stat.S_ISREG(os.fstat(fd).st_mode)
    os.close(fd)
    if not regular:
        raise OSError(errno.EINVAL, "no regular file", str(path))
    for ending in ENDINGS:  # these SQLite opens itself, and follows links
        beside = f"{path}{ending}"
        if os.path.lexists(beside) and not stat.S_ISREG(os.lstat(beside).st_mode):
            raise OSError(errno.EINVAL, "no regular file", beside)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, cached_statements=256)
    try:
        connection.execute("pragma trusted_schema = off")
        connection.execute(f"pragma cache_size = -{CACHE_KIB}")
        connection.execute("pragma temp_store = memory")
        if write:
            connection.execute("pragma journal_mode = wal")
            connection.execute(
                "pragma synchronous = normal"
            )  # with WAL: consistent after a crash of anything
            connection.execute("pragma wal_autocheckpoint = 4000")  # pages; each is copied back less often
            connection.execute("pragma journal_size_limit = 16777216")
        else:
            connection.execute("pragma query_only = on")
            return Reading(connection)
        from sqlite_utils import Database

        return Database(connection, recursive_triggers=False, execute_plugins=False)
    except BaseException:
        connection.close()
        raise

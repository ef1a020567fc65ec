"""Which values are secret in a capture, as digests: what one message names is known again, bare, in any other.

No value is kept. A row has a digest of the value, salted per capture, and where to look for it: a short digest of its
longest word, how far that word stands from its beginning, and its length. Text that is to be shown is cut into words;
where one leads to rows, what stands around it is compared. So a view knows all secrets of a capture without reading it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Final

from mrtrscope.store.text import plain

SPELLINGS: Final = 64  # (place, length) of values that share a word, the first
LONGEST: Final = 8_192  # characters of a value that is known again
# Characters that are compared for each one of a text: what a peer makes to share one word many times takes no hours.
_COMPARED: Final = 64
_KEPT: Final = 20_000  # words of which it is known where they lead
_WORDS: Final = re.compile(r"\w+|[^\w\s]{5,}")  # a password may have no word in it


def _anchor(salt: bytes, word: str) -> int:
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=3, key=salt).digest()
    return int.from_bytes(digest)


def _digest(salt: bytes, value: str) -> bytes:
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16, key=salt).digest()


def salt_of(conn: sqlite3.Connection) -> bytes:
    row = conn.execute("select value from meta where key = 'salt'").fetchone()
    return bytes(row[0])[:64] if row else b""


def row(salt: bytes, value: str, why: str) -> tuple[Any, ...] | None:
    """The row of a value; None when it is too long, or nothing in it could be looked for."""
    words = sorted(_WORDS.finditer(value), key=_worth) if len(value) <= LONGEST else ()
    if not words:
        return None
    word = words[-1]
    return _anchor(salt, word[0]), _digest(salt, value), word.start(), len(value), plain(why)


def _worth(word: re.Match[str]) -> tuple[bool, int]:
    """What is found soonest: a word rather than signs, a long one rather than a short one."""
    return word[0][0].isalnum() or word[0][0] == "_", word.end() - word.start()


class Known:
    """Finds the secrets of a capture in any text; asked for each text that is shown."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._salt = salt_of(conn)
        self.fields = frozenset(str(name) for (name,) in conn.execute("select name from secret_fields"))
        self._anchors = {anchor for (anchor,) in conn.execute("select distinct anchor from secrets")}
        self._nowhere: set[str] = set()
        self._places: dict[str, dict[tuple[int, int], dict[bytes, str]]] = {}

    def __bool__(self) -> bool:
        return bool(self._anchors)

    def find(self, text: str) -> Iterator[tuple[str, str]]:
        """Each value that is in the text, and why it is secret; one may be part of another."""
        nowhere, left = self._nowhere, _COMPARED * (len(text) + LONGEST)
        for word in _WORDS.finditer(text):
            if word.end() - word.start() > LONGEST:
                continue  # it is in no value that is known, and is too much to be kept
            if word[0] not in nowhere and (places := self._led(word[0])):
                for (back, size), digests in places.items():
                    start = word.start() - back
                    value = text[start : start + size] if start >= 0 and left > 0 else ""
                    left -= len(value)
                    if len(value) == size and (why := digests.get(_digest(self._salt, value))) is not None:
                        yield value, why

    def _led(self, word: str) -> dict[tuple[int, int], dict[bytes, str]]:
        """Where a value may begin and how long it is, seen from this word, and the digests of such values."""
        known = self._places.get(word)
        if known is not None:
            return known
        anchor = _anchor(self._salt, word)
        found: dict[tuple[int, int], dict[bytes, str]] = {}
        if anchor in self._anchors:
            for digest, back, size, why in self._conn.execute(
                "select digest, back, size, why from secrets where anchor = ?", (anchor,)
            ):
                if (back, size) in found or len(found) < SPELLINGS:
                    found.setdefault((back, size), {})[digest] = why
        if found:
            if len(self._places) >= _KEPT:
                self._places.clear()
            self._places[word] = found
        else:
            if len(self._nowhere) >= _KEPT:
                self._nowhere.clear()
            self._nowhere.add(word)
        return found

"""What must be remembered for ever, behind one small interface: a dict here, an SQLite table for captures.

Keys are 16-byte digests, or such with a number behind them; values are text (JSON). A *space* names what is kept, e.g.
"ask" or "tool". Two forms: `add` collects several values under a key, `set` keeps the last one.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Protocol


def digest(*parts: str | bytes) -> bytes:
    """16 bytes that stand for the parts; parts cannot run into each other."""
    try:
        data = "\0".join(parts)  # type: ignore[arg-type]
    except TypeError:
        if len(parts) == 1 and type(parts[0]) is bytes:
            return blake2b(parts[0], digest_size=16).digest()
        return digest(*[part if isinstance(part, str) else part.hex() for part in parts])
    if data.count("\0") >= len(parts):  # one of them has the separator in it
        data = f"{'.'.join([str(len(part)) for part in parts])}:{data}"
        return blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16, person=b"parts").digest()
    return blake2b(data.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Memory(Protocol):
    """A place that outlives the frames; the core knows no more of it than this."""

    def add(self, space: str, key: bytes, value: str) -> None:
        """One more value under the key."""

    def find(self, space: str, key: bytes, limit: int) -> tuple[list[str], int]:
        """The last `limit` values under the key in order of adding, and how many there are."""

    def set(self, space: str, key: bytes, value: str) -> None:
        """Keep this value alone under the key (not to be mixed with `add` in one space)."""

    def get(self, space: str, key: bytes) -> str | None:
        """The value last set, None when there is none."""


class DictMemory:
    """Memory for tests and single files: lives and dies with the process."""

    def __init__(self) -> None:
        self._many: dict[tuple[str, bytes], list[str]] = {}
        self._one: dict[tuple[str, bytes], str] = {}

    def add(self, space: str, key: bytes, value: str) -> None:
        self._many.setdefault((space, key), []).append(value)

    def find(self, space: str, key: bytes, limit: int) -> tuple[list[str], int]:
        values = self._many.get((space, key), [])
        return values[-limit:], len(values)

    def set(self, space: str, key: bytes, value: str) -> None:
        self._one[space, key] = value

    def get(self, space: str, key: bytes) -> str | None:
        return self._one.get((space, key))

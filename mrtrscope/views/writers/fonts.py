"""Which letters the fonts of this system have, asked of fontconfig: for PNG alone, where our engine's own lack some.

Letters of East Asia stand for themselves when a `dot` is here that draws with those fonts, they have all of them, and a
family whose Latin letters are as wide as we reckon. Everything else that is not in the engine's own fonts stays spelled
out: how wide a font sets it, or in which order, is not known.
"""

from __future__ import annotations

import shutil
import subprocess
import unicodedata
from functools import lru_cache
from typing import Final

MOST: Final = 2_000  # different letters of one picture that are asked about
TIMEOUT: Final = 10.0


def wide(text: str) -> set[str]:
    """The letters of East Asia in a text: each is set in a square of its own."""
    return {
        char
        for char in text
        if unicodedata.east_asian_width(char) in "WF" and unicodedata.category(char)[0] in "LP"
    }


@lru_cache(64)
def installed(letters: frozenset[str]) -> bool:
    """Whether fonts of this system have all these letters; False where nobody can be asked."""
    if len(letters) > MOST:
        return False
    for block in _blocks(letters):
        if (
            _asked("fc-list", "-q", f":charset={' '.join(f'{ord(char):x}' for char in sorted(block))}")
            is None
        ):
            return False
    return True


def as_reckoned(families: str, known: tuple[str, ...]) -> bool:
    """Whether what is taken for these families is one of those whose letters are as wide as we reckon."""
    found = _asked("fc-match", "-f", "%{family}", families)
    return found is not None and any(name in known for name in found.split(","))


def _blocks(letters: frozenset[str]) -> list[set[str]]:
    """By script, as far as fonts are made for them: one font has all of Han and Kana, another all of Hangul."""
    hangul = {char for char in letters if "HANGUL" in unicodedata.name(char, "")}
    return [block for block in (hangul, set(letters) - hangul) if block]


def _asked(program: str, *arguments: str) -> str | None:
    """What a program of fontconfig says; None when it says no, or is not there."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run([path, *arguments], capture_output=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace")

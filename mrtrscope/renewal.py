"""A journal whose file is removed, or cut short, while it is written: what was lost is counted, and it begins anew.

Such a file takes what is written all the same. `recorder` asks for it once a second of traffic, and loads this then.
Standard library only.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mrtrscope.recorder import Journal

REMOVED, CUT = "the journal was removed", "the journal was cut short"


def look_after(journal: "Journal") -> None:
    """Let go of a file that is not what was written; the next append begins another. Called with the lock held."""
    if journal._fd < 0 or journal._stopped:
        return
    seen = os.fstat(journal._fd)
    if not seen.st_nlink:
        _let_go(journal, REMOVED, journal._size, journal._number)
    elif seen.st_size < journal._size:
        _let_go(journal, CUT, journal._size - seen.st_size, 1)


def _let_go(journal: "Journal", why: str, size: int, frames: int) -> None:
    journal._lose("0z", size, why, max(frames, 1))
    fd, journal._fd = journal._fd, -1
    journal._part = journal._base = journal._size = journal._number = 0
    os.close(fd)

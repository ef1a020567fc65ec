"""A journal whose file is removed, or cut short, while it is written: what was lost is counted, and it begins anew.

Such a file takes what is written all the same. `recorder` asks for it once a second of traffic, and loads this then.
Standard library only.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mrtrscope.parts import Parts

REMOVED, CUT = "the journal was removed", "the journal was cut short"


def lost_of(file: "Parts") -> tuple[int, str, int] | None:
    """The bytes that are gone with a file that is not what was written, why, and how many records; None while it is."""
    if file.fd < 0:
        return None
    seen = os.fstat(file.fd)
    if not seen.st_nlink:
        return file.size, REMOVED, max(file.number, 1)
    if seen.st_size < file.size:
        return file.size - seen.st_size, CUT, 1
    return None

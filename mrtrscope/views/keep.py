"""A file that a view is written to."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def write(path: Path, data: bytes, private: bool) -> None:
    """Write a file anew; `private`: secrets are in it, only its owner may read it, whatever it was before."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600 if private else 0o666), "wb") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # not a pipe or a device
            if private:
                os.fchmod(file.fileno(), 0o600)
            file.truncate(0)
        file.write(data)

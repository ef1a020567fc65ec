"""Where the file of a finding lies, as programs want it that know a repository: relative to its root."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from mrtrscope import model


class Places:
    """Paths of the files that findings stand in.

    capture   as the user named it       root   of the repository, absolute
    """

    def __init__(self, capture: Path, root: Path) -> None:
        whole = capture.resolve()
        self._folder = whole / "journals" if whole.is_dir() else whole.parent
        self._root = root.resolve()

    def path(self, source: model.Source) -> str:
        """Relative to the root, with slashes; the whole path where the file lies elsewhere."""
        return (self.inside(source) or PurePosixPath(self._folder / source.file)).as_posix()

    def inside(self, source: model.Source) -> PurePosixPath | None:
        """The path relative to the root; None where the file lies elsewhere."""
        whole = self._folder / source.file
        return PurePosixPath(whole.relative_to(self._root)) if whole.is_relative_to(self._root) else None

    def uri(self, source: model.Source) -> str:
        """The same as a URI: relative, or `file:///…`."""
        inside = self.inside(source)
        if inside is not None:
            return quote(inside.as_posix(), errors="replace")
        return "file://" + quote((self._folder / source.file).as_posix(), errors="replace")


def repository(here: Path, environ: Mapping[str, str]) -> Path:
    """The root that paths are relative to: what the CI checked out, else the repository that we are in, else here."""
    here = here.resolve()
    checked_out = environ.get("GITHUB_WORKSPACE")
    if checked_out and here.is_relative_to(root := Path(checked_out).resolve()):
        return root
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)

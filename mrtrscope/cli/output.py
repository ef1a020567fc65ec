"""Where a picture or a report is written: the form by the ending of the name, the folder that has to be there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click


def form_of[F: str](output: Path | None, forms: Mapping[str, F], otherwise: F) -> F:
    """The form that the ending of the name asks for; UsageError for an ending that is none of those."""
    suffix = output.suffix.lower() if output is not None else ""
    if output is None or not suffix:
        return otherwise
    if suffix not in forms:
        raise click.UsageError(
            f"{output.name}: nothing is written as {suffix}; known endings are {', '.join(forms)}, and --format says"
            " the form under any other name."
        )
    return forms[suffix]


def in_a_folder(output: Path | None) -> None:
    """UsageError when the folder that the file is to be in is not there: its name may be mistyped."""
    if output is not None and not output.parent.exists():
        raise click.UsageError(f"{output.parent}: no such folder; make it first, or name another.")

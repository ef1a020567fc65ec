"""CAPTURE may be left out of a command that reads: then it is the newest one, and stderr says which.

`mrtrscope show op3` has one argument, and it is the ID: what looks like an ID, and is no file, is no CAPTURE.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from mrtrscope.cli.common import CapturePath, say
from mrtrscope.where import captures_home

_NUMBER = re.compile(r"(op|m|f)?[0-9]{1,15}", re.IGNORECASE)
_FINDING = re.compile(r"[0-9a-f]{16}")
_GIVEN = "mrtrscope.id"  # where an ID waits that stood in the place of the CAPTURE


def newest_capture_argument[F: Callable[..., Any]](function: F) -> F:
    """CAPTURE, or the newest one."""
    return click.argument("capture", type=_Newest(path_type=Path), required=False, callback=_default)(
        function
    )


def id_argument[F: Callable[..., Any]](required: bool = True) -> Callable[[F], F]:
    """The ID behind CAPTURE, or alone."""

    def taken(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
        waiting = ctx.meta.pop(_GIVEN, None)
        if waiting is not None and value is not None:  # two of them
            raise click.UsageError(f"{waiting}: no such file or folder", ctx)
        found = value if value is not None else waiting
        if found is None and required:
            raise click.UsageError("Missing argument 'ID'; mrtrscope list prints them", ctx)
        return None if found is None else normal(found)

    return click.argument("id", metavar="ID" if required else "[ID]", required=False, callback=taken)


def is_id(text: str) -> bool:
    """Whether it looks like op7, m3, f12, 7, or the id of a finding as JSON has it."""
    return (_NUMBER.fullmatch(text) or _FINDING.fullmatch(text)) is not None


def normal(id: str) -> str:
    """An ID as it is printed: OP7 and 7 are op7. What is no ID stays as it is."""
    if not _NUMBER.fullmatch(id):
        return id
    return f"op{id}" if id.isdecimal() else id.lower()


class _Newest(CapturePath):
    """A path that must be there; what is none but could be an ID waits for the argument behind it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if ctx is not None and not os.path.lexists(value) and _takes_for_id(ctx.command, str(value)):
            ctx.meta[_GIVEN] = str(value)
            return newest(ctx)
        return super().convert(value, param, ctx)


def _takes_for_id(command: click.Command, value: str) -> bool:
    return is_id(value) and any(param.name == "id" for param in command.params)


def _default(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    return value if value is not None or ctx.resilient_parsing else newest(ctx)


def newest(ctx: click.Context | None = None) -> Path:
    """$MRTRSCOPE_CAPTURE, else the capture of ours that was written to last; says which."""
    given = os.environ.get("MRTRSCOPE_CAPTURE")
    if given:
        found = Path(given)
        if not found.exists():
            raise click.UsageError(f"{found}, which $MRTRSCOPE_CAPTURE names: no such file or folder", ctx)
        say(f"Reading {found}, which $MRTRSCOPE_CAPTURE names.")
        return found
    home = Path(captures_home())
    written = [(when, folder) for folder in _folders(home) if (when := _written(folder)) is not None]
    if not written:
        raise click.UsageError(
            f"Name a CAPTURE: there is none in {home} yet; record one with mrtrscope wrap, relay or proxy",
            ctx,
        )
    found = max(written)[1]
    say(f"Reading {found}, the newest capture.")
    return found


def _folders(home: Path) -> list[Path]:
    try:
        return [path for path in home.iterdir() if path.is_dir()]
    except OSError:
        return []


def _written(folder: Path) -> float | None:
    """When a journal of the capture was last written to; None when it has none."""
    try:
        with os.scandir(folder / "journals") as entries:
            return max((one.stat().st_mtime for one in entries if one.name.endswith(".mrj")), default=None)
    except OSError:
        return None

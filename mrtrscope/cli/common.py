"""What the verbs share: the capture argument, formats, output, and errors with the right exit code."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mrtrscope.store.reader import Store
    from mrtrscope.views.masked import Masked

CLEAN, FINDINGS, USAGE, UNREADABLE = 0, 1, 2, 3


class CannotRead(click.ClickException):
    """The capture cannot be read (exit code 3)."""

    exit_code = UNREADABLE


class CannotWrite(click.ClickException):
    """There is no place for what is worked out of a capture (exit code 2)."""

    exit_code = USAGE


class Amount(click.FloatRange):
    """A number in a range; neither `nan`, which is in every range, nor without end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is no amount.", param, ctx)
        return number


def capture_argument[F: Callable[..., Any]](function: F) -> F:
    """CAPTURE: a capture folder, a journal, a transcript, a flow file or a HAR."""
    return click.argument("capture", type=CapturePath(path_type=Path))(function)


class CapturePath(click.Path):
    """A path that must be there; what to do when it is not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return capture_named(os.fsdecode(super().convert(value, param, ctx)), ctx)


def capture_named(name: str, ctx: click.Context | None = None) -> Path:
    """The path of a capture; UsageError when nothing that can be one is there."""
    path = Path(name)
    if not path.exists():
        raise click.UsageError(
            f"{path}: no such file or folder; record one with mrtrscope wrap, relay or proxy", ctx
        )
    if not (path.is_file() or path.is_dir()):
        raise click.UsageError(
            f"{path}: a pipe, a socket or a device; name a capture folder, or write it to a file first", ctx
        )
    return path


def update_option[F: Callable[..., Any]](function: F) -> F:
    return click.option(
        "--no-update", is_flag=True, help="Show what was analysed before; do not read the capture now."
    )(function)


def raw_option[F: Callable[..., Any]](function: F) -> F:
    return click.option("--raw", is_flag=True, help="Secrets as they are, nothing hidden.")(function)


def masked(store: Store, raw: bool) -> Masked:
    """What rows pass through on their way out."""
    from mrtrscope.views import ahead
    from mrtrscope.views.masked import Masked

    return Masked(ahead.redactor(store, raw))


def format_option[F: Callable[..., Any]](*formats: str) -> Callable[[F], F]:
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Output format.",
    )


def epilog(*examples: str) -> str:
    """The end of a --help page: commands that run as they stand there."""
    word = "Example" if len(examples) == 1 else "Examples"
    return f"{word}:\n\n\b\n" + "\n".join(f"  {example}" for example in examples)


@contextlib.contextmanager
def opened(capture: Path, no_update: bool = False, *, plain: bool = False) -> Iterator[Store]:
    """The rows of a capture, brought up to date; trouble with it becomes the error to show."""
    from mrtrscope import analyse
    from mrtrscope.cli.waiting import waiting
    from mrtrscope.sources.base import SourceError

    try:
        with waiting() as progress:
            store = analyse.bring_up_to_date(
                capture, update=not no_update, say=say, plain=plain, progress=progress
            )
    except analyse.Unwritable as error:
        raise CannotWrite(str(error)) from error
    except analyse.Unreadable as error:
        raise CannotRead(str(error)) from error
    with store:
        try:
            yield store
        except click.ClickException:
            raise
        except Exception as error:
            if isinstance(error, SourceError):  # it was there when it was analysed
                raise CannotRead(str(error)) from error
            if why := analyse.damaged(store):
                raise CannotRead(why) from error
            raise


def say(text: str) -> None:
    """Talk, as against results: to stderr, nothing in it that acts on a terminal."""
    from mrtrscope.views.escape import visible

    click.echo(visible(text, "\n"), err=True)


def colours() -> bool:
    """Whether results may be coloured: only on a terminal whose owner did not say no (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def on_terminal() -> bool:
    """Whether a person reads the results, who may want to know what to type next."""
    return sys.stdout.isatty()


def columns() -> int | None:
    """Columns of the terminal that results go to; None when they go elsewhere and nothing needs cutting."""
    if not sys.stdout.isatty():
        return None
    return os.get_terminal_size(sys.stdout.fileno()).columns or None


def print_lines(lines: Iterable[str]) -> None:
    """Results, one line each."""
    encoding = sys.stdout.encoding or "utf-8"
    with _read_by_somebody() as write:
        for line in lines:
            write(line.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def print_paths(paths: Iterable[Path]) -> None:
    """Paths, for a program as they are; on a terminal nothing in them acts on it."""
    from mrtrscope.views.escape import visible

    print_lines(visible(str(path)) if on_terminal() else str(path) for path in paths)


def print_json(key: str, rows: Iterable[BaseModel], rest: Callable[[], dict[str, Any]] | None = None) -> None:
    """`{"key": [rows…], …rest}`, written row by row, so that a million rows need no memory; ASCII only."""
    with _read_by_somebody() as write:
        write(f'{{"{key}": [')
        between = "\n"
        for row in rows:
            write(between + json.dumps(row.model_dump()))
            between = ",\n"
        write("\n]")
        for name, value in (rest() if rest else {}).items():
            write(f",\n{json.dumps(name)}: {json.dumps(value)}")
        write("}\n")


@contextlib.contextmanager
def _read_by_somebody() -> Iterator[Callable[[str], object]]:
    """Writes to stdout until whoever read it is gone (`| head`): then no more is wanted, and that is no error."""
    try:
        yield sys.stdout.write
        sys.stdout.flush()
    except BrokenPipeError:
        from mrtrscope.cli.streams import silence

        silence(sys.stdout)

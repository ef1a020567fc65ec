"""What `probe server` and `probe client` share: naming attempts and ways, listing them, and how far it has come."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

import click

from mrtrscope.cli.common import print_lines

TABLES = {"attempts": ("mrtrscope.replay.attempts", "ATTEMPTS"), "ways": ("mrtrscope.replay.ways", "WAYS")}


def names_option[F: Callable[..., Any]](flag: str, words: str) -> Callable[[F], F]:
    """--attempt NAME[,NAME], repeatable; see `chosen_names`."""
    return click.option(flag, "names", multiple=True, metavar="NAME[,NAME]", help=words)


def list_option[F: Callable[..., Any]](what: str) -> Callable[[F], F]:
    """--list: print what there is, with the rule that each tries, and stop."""

    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            module, name = TABLES[what]
            table: dict[str, Any] = getattr(importlib.import_module(module), name)
            width = max(map(len, table))
            rules = max(len(one.rule) for one in table.values())
            print_lines(f"{one.name:{width}}  {one.rule:{rules}}  {one.does}" for one in table.values())
            ctx.exit()

    return click.option(
        "--list",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help=f"List the {what} there are.",
    )


def chosen_names(given: Iterable[str], table: dict[str, Any], what: str) -> list[str]:
    """The names that were given, split at commas; UsageError when there is none such."""
    names = [name for text in given for name in text.split(",") if name]
    if unknown := [name for name in names if name not in table]:
        raise click.UsageError(f"There is no {what} {unknown[0]!r}; there are: {', '.join(table)}")
    return list(dict.fromkeys(names))


@contextlib.contextmanager
def progress(stream: TextIO, warning: str = "") -> Iterator[Callable[[int, int, str], None]]:
    """How far it has come: on a terminal one line that is written over, elsewhere one at the start, with a warning."""
    from mrtrscope.views.escape import terminal

    live = stream.isatty()
    begun = False

    def made(number: int, todo: int, name: str) -> None:
        nonlocal begun
        if live:
            stream.write(f"\r\x1b[K{number + 1} of {todo}  {terminal(name)[:100]}")
        elif not begun:
            stream.write(f"{todo} to try, beginning with {terminal(name)}{warning}.\n")
        begun = True
        stream.flush()

    try:
        yield made
    finally:
        if live and begun:
            stream.write("\r\x1b[K")
            stream.flush()

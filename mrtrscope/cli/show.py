"""`mrtrscope show`: one operation, exchange or frame in full."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mrtrscope.cli.common import (
    capture_argument,
    colours,
    columns,
    epilog,
    opened,
    print_lines,
    update_option,
)

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store


@click.command(
    epilog=epilog("mrtrscope show captures/sample-demo op1", "mrtrscope show captures/sample-demo m3")
)
@capture_argument
@click.argument("id", metavar="ID")
@click.option("--raw", is_flag=True, help="Secrets and requestState as they are, nothing shortened.")
@update_option
def show(capture: Path, id: str, raw: bool, no_update: bool) -> None:
    """Show one operation, exchange or frame in full.

    ID is a number as the other commands print it: op2 for an operation (its messages, what changed between the rounds,
    the way of its states, its findings), m3 for the exchange that a message belongs to, f4 for what was seen and is no
    message.
    """
    if not re.fullmatch(r"(op|m|f)[1-9][0-9]{0,15}", id):
        raise click.UsageError(f"{id!r} is no ID: say op2, m3 or f4; `mrtrscope list {capture}` prints them.")
    with opened(capture, no_update) as store:
        {"o": _operation, "m": _exchange, "f": _frame}[id[0]](store, id, raw)


def _operation(store: Store, id: str, raw: bool) -> None:
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views.show import Page

    operation = store.operation(id)
    if operation is None:
        raise _missing(store, id, "operations")
    rows = {row.m: row for row in store.messages(id)}
    page = Page(fetch(store, rows), raw=raw, width=columns(), colours=colours())
    print_lines(page.operation(operation, rows, list(store.findings(id))))


def _exchange(store: Store, id: str, raw: bool) -> None:
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views.show import Page

    row = store.message(id)
    if row is None:
        raise _missing(store, id, "messages")
    rows = {one.m: one for one in store.exchange_messages(row.exchange)} if row.exchange else {}
    rows = rows or {id: row}
    page = Page(fetch(store, rows), raw=raw, width=columns(), colours=colours())
    print_lines(page.exchange(id, rows, list(store.findings_at(rows))))


def _frame(store: Store, id: str, raw: bool) -> None:
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views.show import Page

    what = store.about(id)
    if not what:
        raise _missing(store, id, "events")
    page = Page({}, raw=raw, width=columns(), colours=colours())
    print_lines(page.frame(id, fetch(store, [id]).get(id), what, list(store.findings_at([id]))))


def _missing(store: Store, id: str, table: str) -> click.UsageError:
    letter = id.rstrip("0123456789")
    n = store.count(table)
    if not n:
        return click.UsageError(f"There is no {id}: this capture has none of that kind.")
    return click.UsageError(f"There is no {id}: this capture has {letter}1 to {letter}{n}.")

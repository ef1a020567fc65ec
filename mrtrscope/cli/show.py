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
@click.option(
    "--hops", is_flag=True, help="Instead: what a gateway added, dropped or altered, field by field."
)
@update_option
def show(capture: Path, id: str, raw: bool, hops: bool, no_update: bool) -> None:
    """Show one operation, exchange or frame in full.

    ID is a number as the other commands print it: op2 for an operation (its messages, what changed between the rounds,
    the way of its states, its findings), m3 for the exchange that a message belongs to, f4 for what was seen and is no
    message.
    """
    if not re.fullmatch(r"(op|m|f)[1-9][0-9]{0,15}", id):
        raise click.UsageError(f"{id!r} is no ID: say op2, m3 or f4; `mrtrscope list {capture}` prints them.")
    if hops and not id.startswith("op"):
        raise click.UsageError("--hops compares the hops of an operation: name one (op2).")
    with opened(capture, no_update) as store:
        if hops:
            _hops(store, id, raw)
            return
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


def _hops(store: Store, id: str, raw: bool) -> None:
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views.hops import Hops
    from mrtrscope.views.show import Page

    host = store.operation(id)
    if host is None:
        raise _missing(store, id, "operations")
    if host.hop_of is not None and host.hop_of.operation is not None and not host.hops:
        host = store.operation(host.hop_of.operation) or host
    if not host.hops:
        raise click.UsageError(f"{id} has no hops: nothing on another channel was certainly made for it.")
    hops = [found for name in host.hops if (found := store.operation(name)) is not None]
    nested = {
        one.id: [q for n in one.nested if (q := store.operation(n)) is not None] for one in (host, *hops)
    }
    every = [*hops, host, *(q for asked in nested.values() for q in asked)]
    texts = fetch(store, (row.m for one in every for row in store.messages(one.id)))
    page = Page(texts, raw=raw, width=columns(), colours=colours())
    writer = Hops(page, texts)
    print_lines(line for hop in hops for line in writer.compare(host, hop, nested[host.id], nested[hop.id]))


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
    texts = fetch(store, [id])
    page = Page(texts, raw=raw, width=columns(), colours=colours())
    print_lines(page.frame(id, texts.get(id), what, list(store.findings_at([id]))))


def _missing(store: Store, id: str, table: str) -> click.UsageError:
    letter = id.rstrip("0123456789")
    n = store.count(table)
    if not n:
        return click.UsageError(f"There is no {id}: this capture has none of that kind.")
    return click.UsageError(f"There is no {id}: this capture has {letter}1 to {letter}{n}.")

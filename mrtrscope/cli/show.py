"""`mrtrscope show`: one operation, exchange or frame in full."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mrtrscope.cli.common import (
    colours,
    columns,
    epilog,
    opened,
    print_lines,
    update_option,
)
from mrtrscope.cli.newest import id_argument, is_id, newest_capture_argument

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store


@click.command(
    epilog=epilog("mrtrscope show captures/sample-demo op1", "mrtrscope show captures/sample-demo m3")
)
@newest_capture_argument
@id_argument()
@click.option("--raw", is_flag=True, help="Secrets and requestState as they are, nothing shortened.")
@click.option(
    "--hops", is_flag=True, help="Instead: what a gateway added, dropped or altered, field by field."
)
@update_option
def show(capture: Path, id: str, raw: bool, hops: bool, no_update: bool) -> None:
    """Show one operation, exchange or frame in full.

    ID is a number as the other commands print it: op2 for an operation (its messages, what changed between the rounds,
    the way of its states, its findings), m3 for the exchange that a message belongs to, f4 for what was seen and is no
    message. Without CAPTURE it is the newest one.
    """
    if not is_id(id):
        raise click.UsageError(f"{id!r} is no ID: say op2, m3 or f4; `mrtrscope list {capture}` prints them.")
    if hops and not id.startswith("op"):
        raise click.UsageError("--hops compares the hops of an operation: name one (op2).")
    with opened(capture, no_update) as store:
        if hops:
            _hops(store, id, raw)
            return
        id = at_finding(store, id)
        {"o": _operation, "m": _exchange, "f": _frame}[id[0]](store, id, raw)


def at_finding(store: Store, id: str) -> str:
    """Where a finding stands whose id this is; any other ID as it is."""
    if re.fullmatch(r"(op|m|f)[0-9]+", id):
        return id
    found = next((one.at for one in store.findings() if one.id == id), None)
    if found is None:
        raise click.UsageError(f"There is no finding {id} in this capture.")
    return found


def _operation(store: Store, id: str, raw: bool) -> None:
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views import ahead
    from mrtrscope.views.show import Page

    operation = store.operation(id)
    if operation is None:
        raise missing(store, id)
    rows = {row.m: row for row in store.messages(id)}
    page = Page(fetch(store, rows), ahead.redactor(store, raw), width=columns(), colours=colours())
    print_lines(page.operation(operation, rows, list(store.findings(id))))


def _hops(store: Store, id: str, raw: bool) -> None:
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views import ahead
    from mrtrscope.views.hops import Hops
    from mrtrscope.views.show import Page

    host = store.operation(id)
    if host is None:
        raise missing(store, id)
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
    page = Page(texts, ahead.redactor(store, raw), width=columns(), colours=colours())
    writer = Hops(page, texts)
    print_lines(line for hop in hops for line in writer.compare(host, hop, nested[host.id], nested[hop.id]))


def _exchange(store: Store, id: str, raw: bool) -> None:
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views import ahead
    from mrtrscope.views.show import Page

    row = store.message(id)
    if row is None:
        raise missing(store, id)
    rows = {one.m: one for one in store.exchange_messages(row.exchange)} if row.exchange else {}
    rows = rows or {id: row}
    page = Page(fetch(store, rows), ahead.redactor(store, raw), width=columns(), colours=colours())
    print_lines(page.exchange(id, rows, list(store.findings_at(rows))))


def _frame(store: Store, id: str, raw: bool) -> None:
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views import ahead
    from mrtrscope.views.show import Page

    what = store.about(id)
    if not what:
        raise missing(store, id)
    texts = fetch(store, [id])
    page = Page(texts, ahead.redactor(store, raw), width=columns(), colours=colours())
    print_lines(page.frame(id, texts.get(id), what, list(store.findings_at([id]))))


def missing(store: Store, id: str) -> click.UsageError:
    """What to say when there is no such operation, message or event."""
    letter = id.rstrip("0123456789")
    n = store.count({"op": "operations", "m": "messages", "f": "events"}[letter])
    if not n:
        return click.UsageError(f"There is no {id}: this capture has none of that kind.")
    return click.UsageError(f"There is no {id}: this capture has {letter}1 to {letter}{n}.")

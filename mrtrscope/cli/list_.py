"""`mrtrscope list`: the operations of a capture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mrtrscope.cli.common import (
    colours,
    columns,
    epilog,
    format_option,
    masked,
    on_terminal,
    opened,
    print_json,
    print_lines,
    raw_option,
    update_option,
)  # fmt: skip
from mrtrscope.cli.newest import newest_capture_argument

if TYPE_CHECKING:
    from mrtrscope import model


@click.command("list", epilog=epilog("mrtrscope list captures/sample-demo"))
@newest_capture_argument
@click.option("--findings", is_flag=True, help="Only operations with findings or notes.")
@click.option("--broken", is_flag=True, help="Only operations that break a must or a should.")
@format_option("text", "json")
@raw_option
@update_option
def list_(capture: Path, findings: bool, broken: bool, form: str, raw: bool, no_update: bool) -> None:
    """List the operations of a capture, one a line.

    CAPTURE is a capture folder, a journal, a transcript, a mitmproxy flow file or a HAR. Times are those spent in the
    server, waiting for input, and from the first request to the last answer. Below stands what each channel speaks.
    Without CAPTURE it is the newest one.
    """
    from mrtrscope.views import beside

    with opened(capture, no_update) as store:
        hide = masked(store, raw)
        rows = hide.operations(_chosen(store.operations(), findings, broken))
        if form == "json":
            print_json("operations", rows, lambda: beside.members(store))
        else:
            from itertools import chain

            from mrtrscope.views.eras import lines
            from mrtrscope.views.hints import Noticed
            from mrtrscope.views.rows import operations
            from mrtrscope.views.talks import Talks
            from mrtrscope.views.unsure import Unsure

            noticed, talks, unsure = Noticed(), Talks(), Unsure()
            nothing = "No operation has any." if findings or broken else ""
            table = operations(
                noticed.operations(unsure.seen(talks.seen(rows))), columns(), colours(), nothing
            )
            eras = ([""], lines(hide.channels(store.channels()))) if store.count("operations") else ()
            print_lines(chain(table, *eras, talks.lines(), unsure.lines(), beside.lines(store)))
            if on_terminal():
                print_lines(noticed.lines(capture, colours()))


def _chosen(rows: Iterator[model.Operation], findings: bool, broken: bool) -> Iterator[model.Operation]:
    """Those that were asked for."""
    levels = {"must", "should"} if broken else {"must", "should", "info"}
    return (row for row in rows if row.worst in levels) if findings or broken else rows

"""`mrtrscope list`: the operations of a capture."""

from __future__ import annotations

from pathlib import Path

import click

from mrtrscope.cli.common import (
    capture_argument,
    colours,
    columns,
    epilog,
    format_option,
    masked,
    opened,
    print_json,
    print_lines,
    raw_option,
    update_option,
)  # fmt: skip


@click.command("list", epilog=epilog("mrtrscope list captures/sample-demo"))
@capture_argument
@format_option("text", "json")
@raw_option
@update_option
def list_(capture: Path, form: str, raw: bool, no_update: bool) -> None:
    """List the operations of a capture, one a line.

    CAPTURE is a capture folder, a journal, a transcript, a mitmproxy flow file or a HAR. Times are those spent in the
    server, waiting for input, and from the first request to the last answer. Below stands what each channel speaks.
    """
    hide = masked(raw)
    with opened(capture, no_update) as store:
        if form == "json":
            print_json("operations", hide.operations(store.operations()))
        else:
            from itertools import chain

            from mrtrscope.views.eras import line
            from mrtrscope.views.rows import operations

            eras = ([""], map(line, hide.channels(store.channels()))) if store.count("operations") else ()
            print_lines(chain(operations(hide.operations(store.operations()), columns(), colours()), *eras))

"""`mrtrscope messages`: every message of a capture."""

from __future__ import annotations

from pathlib import Path

import click

from mrtrscope.cli.common import (
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
from mrtrscope.cli.newest import newest_capture_argument


@click.command(epilog=epilog("mrtrscope messages captures/sample-demo"))
@newest_capture_argument
@format_option("text", "json")
@raw_option
@update_option
def messages(capture: Path, form: str, raw: bool, no_update: bool) -> None:
    """List every message of a capture, one a line.

    CAPTURE is a capture folder, a journal, a transcript, a mitmproxy flow file or a HAR. What is no message (noise on
    stdout, undelivered events) is counted at the end.
    """
    with opened(capture, no_update) as store:
        rows = masked(store, raw).messages(store.messages())
        if form == "json":
            print_json("messages", rows, store.counts_of_noise)
        else:
            from mrtrscope.views.rows import messages as table

            print_lines(table(rows, store.counts_of_noise(), columns(), colours()))

"""`mrtrscope channels`: the server sides of a capture, and what each speaks."""

from __future__ import annotations

from pathlib import Path

import click

from mrtrscope.cli.common import (
    epilog,
    format_option,
    masked,
    opened,
    print_json,
    print_lines,
    raw_option,
    update_option,
)
from mrtrscope.cli.newest import newest_capture_argument


@click.command(epilog=epilog("mrtrscope channels captures/sample-demo"))
@newest_capture_argument
@format_option("text", "json")
@raw_option
@update_option
def channels(capture: Path, form: str, raw: bool, no_update: bool) -> None:
    """List the server sides of a capture, and what each speaks.

    Each line tells the revision, on what evidence, what was tried before, and why the client fell back to an older one.
    """
    from mrtrscope.views import beside

    with opened(capture, no_update) as store:
        rows = masked(store, raw).channels(store.channels())
        if form == "json":
            print_json("channels", rows, lambda: beside.members(store))
        else:
            from mrtrscope.views.eras import lines

            print_lines(lines(rows))
            print_lines(beside.lines(store))

"""`mrtrscope channels`: the server sides of a capture, and what each speaks."""

from __future__ import annotations

from pathlib import Path

import click

from mrtrscope.cli.common import (
    capture_argument,
    epilog,
    format_option,
    masked,
    opened,
    print_json,
    print_lines,
    raw_option,
    update_option,
)


@click.command(epilog=epilog("mrtrscope channels captures/sample-demo"))
@capture_argument
@format_option("text", "json")
@raw_option
@update_option
def channels(capture: Path, form: str, raw: bool, no_update: bool) -> None:
    """List the server sides of a capture, and what each speaks.

    Each line tells the revision, on what evidence, what was tried before, and why the client fell back to an older one.
    """
    with opened(capture, no_update) as store:
        rows = masked(raw).channels(store.channels())
        if form == "json":
            print_json("channels", rows)
        else:
            from mrtrscope.views.eras import line

            print_lines(map(line, rows))

"""`mrtrscope channels`: the server sides of a capture, and what each speaks."""

from __future__ import annotations

from pathlib import Path

import click

from mrtrscope.cli.common import (
    capture_argument,
    epilog,
    format_option,
    opened,
    print_json,
    print_lines,
    update_option,
)


@click.command(epilog=epilog("mrtrscope channels captures/sample-demo"))
@capture_argument
@format_option("text", "json")
@update_option
def channels(capture: Path, form: str, no_update: bool) -> None:
    """List the server sides of a capture, and what each speaks.

    Each line tells the revision, on what evidence, what was tried before, and why the client fell back to an older one.
    """
    with opened(capture, no_update) as store:
        if form == "json":
            print_json("channels", store.channels())
        else:
            from mrtrscope.views.eras import line

            print_lines(map(line, store.channels()))

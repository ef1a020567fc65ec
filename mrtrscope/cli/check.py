"""`mrtrscope check`: findings, and an exit code for scripts."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mrtrscope.cli.common import (
    CLEAN,
    FINDINGS,
    capture_argument,
    colours,
    columns,
    epilog,
    format_option,
    opened,
    print_json,
    print_lines,
    update_option,
)  # fmt: skip


@click.command(epilog=epilog("mrtrscope check captures/sample-demo --fail-on never"))
@capture_argument
@click.option("--fail-on", type=click.Choice(["must", "should", "never"]), default="must", show_default=True,
              help="Lowest level that makes the exit code 1.")  # fmt: skip
@click.option("--all", "whole", is_flag=True, help="Print every finding, however often its rule was broken.")
@format_option("text", "json")
@update_option
def check(capture: Path, fail_on: str, whole: bool, form: str, no_update: bool) -> int:
    """Judge a capture against the rules and print what it breaks.

    CAPTURE is a capture folder, a journal, a transcript, a mitmproxy flow file or a HAR. Exit code: 0 clean,
    1 findings, 2 usage, 3 unreadable.
    """
    with opened(capture, no_update) as store:
        levels = store.finding_counts()
        if form == "json":
            print_json("findings", store.findings(), lambda: {"counts": levels})
        else:
            from mrtrscope.views.rows import EACH, findings

            each = sys.maxsize if whole else EACH
            print_lines(
                findings(
                    store.findings(),
                    levels,
                    store.counts(),
                    columns(),
                    colours(),
                    about=store.about,
                    each=each,
                )
            )
    failing = {"must": ("must",), "should": ("must", "should"), "never": ()}[fail_on]
    return FINDINGS if any(levels[level] for level in failing) else CLEAN

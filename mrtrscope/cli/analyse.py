"""`mrtrscope analyse`: the child process that keeps `scope.db` current; hidden, for the proxies."""

from __future__ import annotations

from pathlib import Path

import click

from mrtrscope.cli.common import CannotRead, capture_argument, epilog, opened, say


@click.command(hidden=True, epilog=epilog("mrtrscope analyse captures/sample-demo"))
@capture_argument
@click.option("--follow", is_flag=True, help="Go on while the capture grows.")
@click.option("--parent-pid", type=int, help="With --follow: end when this process has ended.")
def analyse(capture: Path, follow: bool, parent_pid: int | None) -> None:
    """Bring the rows of a capture up to date, and keep them so."""
    if not follow:
        with opened(capture):
            return
    from mrtrscope import analyse as analysis

    try:
        analysis.follow(capture, parent_pid, say=say)
    except analysis.Unreadable as error:
        raise CannotRead(str(error)) from error

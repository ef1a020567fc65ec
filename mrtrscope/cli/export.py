"""`mrtrscope export`: a capture as text that other tools, and this one, can read."""

from __future__ import annotations

from pathlib import Path

import click

from mrtrscope.cli.common import CannotRead, epilog, print_paths, say
from mrtrscope.cli.newest import newest_capture_argument


@click.command(epilog=epilog("mrtrscope export captures/sample-demo --jsonl -o sample-as-text"))
@newest_capture_argument
@click.option(
    "--jsonl", is_flag=True, required=True, help="One JSON object a line: what this version can write."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to write into.",
)
@click.option("--raw", is_flag=True, help="With credentials and cookies as they were sent.")
def export(capture: Path, jsonl: bool, output: Path, raw: bool) -> None:
    """Write a capture as text, one JSON object a line.

    Makes a file of each process, and one of all HTTP exchanges; their paths are printed. Credentials and cookies in
    heads are replaced by a digest unless --raw.
    """
    from mrtrscope.sources import SourceError, open_source
    from mrtrscope.sources.export import write
    from mrtrscope.views.hiding import Hiding

    try:
        with open_source(capture) as source:
            hide = None if raw else Hiding(source.headers()).line
            print_paths(write(source, output, hide or (lambda line: line)))
            for line in source.trouble:
                say(line)
    except SourceError as error:
        raise CannotRead(str(error)) from error

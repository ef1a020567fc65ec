"""`mrtrscope import`: recordings of another form into a capture folder."""

from __future__ import annotations

from pathlib import Path

import click

from mrtrscope.cli.common import CannotRead, epilog, print_paths, say


@click.command("import", epilog=epilog("mrtrscope import captures/sample-demo --capture my-copy"))
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--capture", type=click.Path(path_type=Path, file_okay=False), help="Capture folder to write into."
)
def import_(files: tuple[Path, ...], capture: Path | None) -> None:
    """Read recordings of another form into a capture folder.

    FILES are transcripts, mitmproxy flow files, HARs, journals or captures. Each becomes a journal; their paths are
    printed. A folder that has journals already keeps them.
    """
    from mrtrscope.sources import SourceError, open_source
    from mrtrscope.sources.importing import import_source
    from mrtrscope.where import capture_dir

    folder = Path(capture_dir(str(capture) if capture is not None else None))
    for path in files:
        try:
            with open_source(path) as source:
                print_paths(import_source(source, folder))
                for line in source.trouble:
                    say(line)
        except SourceError as error:
            raise CannotRead(str(error)) from error

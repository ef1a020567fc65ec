"""`mrtrscope demo`: real peers behind the real recorders, then what the other commands make of it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mrtrscope.cli.common import colours, columns, epilog, opened, print_lines, say

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store

PICTURES, REPORT = "pictures", "report.html"


@click.command(epilog=epilog("mrtrscope demo --capture my-demo"))
@click.option(
    "--capture", type=click.Path(path_type=Path, file_okay=False), help="A new folder to record into."
)
@click.option("--open", "show", is_flag=True, help="Open the report when it is done.")
def demo(capture: Path | None, show: bool) -> int:
    """Run a real client and server, capture, judge and draw them.

    A client and a server of the official SDK talk over stdio, behind `wrap`, and over HTTP, behind `proxy`; so does a
    client that breaks rules. Then the operations and the findings are printed, pictures drawn and a report written.
    Takes less than 20 seconds, and leaves nothing running.
    """
    from mrtrscope.demo.run import DemoError, Interrupted, record

    started = time.monotonic()
    os.umask(0o077)  # pictures show what was said; like the capture, they are for their owner
    capture = _new_folder(capture)
    try:
        record(capture, say=say)
    except Interrupted as end:
        say(f"Stopped by {end}; nothing is left running. What was recorded: {capture}")
        return 128 + end.number
    except DemoError as error:
        raise click.ClickException(str(error)) from error
    with opened(capture) as store:
        _print(store)
        pictures = _draw(store, capture)
        page = _report(store, capture)
        broken = list(_broken(store, pictures))
    click.echo(f"\nCapture    {capture}")
    click.echo(f"Pictures   {pictures[0].parent}: {len(pictures)}, of every operation of more than one round")
    for n, (line, _) in enumerate(broken):
        click.echo(f"{'' if n else 'Broken':11}{line}")
    if broken:
        op, rule = broken[0][1]
        click.echo(f"Next       mrtrscope show {capture} {op}")
        click.echo(f"{'':11}mrtrscope explain {rule}")
    click.echo(f"Report     {page}")
    say(f"Took {time.monotonic() - started:.1f} s.")
    if show:
        click.launch(str(page))
    return 0


def _new_folder(given: Path | None) -> Path:
    """The folder to record into; the demo's output says what is in it, so nothing else may be."""
    from mrtrscope.where import default_capture

    folder = given
    if folder is None:
        folder = Path(default_capture())
        if not os.environ.get("MRTRSCOPE_CAPTURE"):
            folder = folder.with_name(time.strftime("demo-%Y-%m-%d-%H%M%S"))
    if folder.exists() and any(folder.iterdir()):
        raise click.UsageError(f"{folder} is not empty; name a new folder with --capture.")
    return folder.absolute()


def _print(store: Store) -> None:
    from mrtrscope.views.rows import findings, operations

    click.echo("\nOperations\n")
    print_lines(operations(store.operations(), columns(), colours()))
    click.echo("\nFindings, all about a client that the demo broke on purpose\n")
    print_lines(findings(store.findings(), store.finding_counts(), store.counts(), columns(), colours()))


def _broken(store: Store, pictures: list[Path]) -> Iterator[tuple[str, tuple[str, str]]]:
    """A line for each breach with the picture that shows it, and (operation, rule) to ask about next."""
    from mrtrscope.views.escape import visible

    drawn = {path.stem: path for path in pictures}
    for found in store.findings():
        if found.level != "info" and found.operation is not None and found.operation in drawn:
            line = f"{drawn[found.operation].name:10}  {found.rule:28}  {found.text}"
            yield visible(line), (found.operation, found.rule)


def _report(store: Store, capture: Path) -> Path:
    from mrtrscope.views.report import pages

    return pages.write(store, capture / REPORT).files[0]


def _draw(store: Store, capture: Path) -> list[Path]:
    """SVG of each operation of several rounds; first the longest without findings, then those with most."""
    from mrtrscope.cli import run

    wanted = [operation for operation in store.operations() if len(operation.rounds) > 1]
    wanted.sort(key=lambda o: (o.findings > 0, -o.findings, -len(o.rounds)))
    folder = capture / PICTURES
    folder.mkdir(mode=0o700, exist_ok=True)
    paths = []
    for operation in wanted:
        path = folder / f"{operation.id}.svg"
        code = run(["diagram", str(capture), operation.id, "--no-update", "--format", "svg", "-o", str(path)])
        if code:
            raise click.ClickException(f"no picture of {operation.id}: exit code {code}")
        paths.append(path)
    return paths

"""`mrtrscope report`: a capture as one page that needs nothing else, or as Markdown."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mrtrscope.cli.common import CannotWrite, epilog, opened, say, update_option
from mrtrscope.cli.newest import newest_capture_argument
from mrtrscope.cli.output import form_of, in_a_folder
from mrtrscope.cli.streams import refusals

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store
    from mrtrscope.views.report.choose import Choice

_BY_NAME = {".html": "html", ".htm": "html", ".md": "md", ".markdown": "md"}


@click.command(epilog=epilog(
    "mrtrscope report captures/sample-demo -o report.html",
    "mrtrscope report captures/sample-demo --findings --format md -o report.md",
))  # fmt: skip
@newest_capture_argument
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="File to write; Markdown goes to standard output without it.")  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(("html", "md")), help="Default: by the name after -o, else html."
)
@click.option("--only", multiple=True, metavar="OP|TEXT",
              help="Only op3, op3-op9, or text in channel, method, target, kind, outcome; repeatable.")  # fmt: skip
@click.option("--since", metavar="TIME",
              help="Only what began since: 10m or 2h before the end of the capture, or a date and time.")  # fmt: skip
@click.option("--findings", is_flag=True, help="Only operations with findings.")
@click.option("--raw", is_flag=True, help="Hide nothing: credentials, secrets and states as they are.")
@click.option("--open", "show", is_flag=True, help="Open the page when it is done.")
@update_option
def report(
    capture: Path, output: Path | None, form: str | None, only: tuple[str, ...], since: str | None, findings: bool,
    raw: bool, show: bool, no_update: bool,
) -> None:  # fmt: skip
    """Write what is in a capture as one page.

    Everything is in the file: summary, timeline, findings by rule, and of each operation its picture, its rounds and
    what changed between them, the way of its states, every message. It loads nothing from anywhere. Credentials and
    the like are replaced by numbered stand-ins.
    """
    form = form or form_of(output, _BY_NAME, "html")
    if output is None and form == "html":
        raise click.UsageError("Name the file to write: -o report.html.")
    in_a_folder(output)
    from mrtrscope.views.report.choose import BadChoice, Choice, began_by

    with opened(capture, no_update) as store:
        try:
            choice = Choice(only, began_by(since, store.end()) if since is not None else None, findings)
            if form == "md":
                from mrtrscope.views.report import markdown

                with refusals() if output is None else nullcontext():
                    nothing = markdown.write(store, output, choice, raw)
            else:
                assert output is not None
                nothing = _page(store, output, choice, raw)
        except BadChoice as error:
            raise click.UsageError(str(error)) from error
        except OSError as error:
            if output is None:
                raise
            raise CannotWrite(f"{error.filename or output}: {error.strerror}") from error
    if nothing:
        say(nothing)
    if show and output is not None:
        click.launch(str(output))


def _page(store: Store, output: Path, choice: Choice, raw: bool) -> str:
    """Write the page and say so; returns why there is no operation in it."""
    import time

    from mrtrscope.views.report import pages
    from mrtrscope.views.words import count, size

    began = time.monotonic()
    made = pages.write(store, output, choice, raw)
    large = sum(path.stat().st_size for path in made.files)
    files = f" in {len(made.files)} files" if len(made.files) > 1 else ""
    hidden = "nothing hidden" if raw else f"{count(made.hidden, 'value')} hidden"
    say(
        f"{output}: {count(made.operations, 'operation')}, {count(made.findings, 'finding')}, {hidden}; "
        f"{size(large)}{files}, made in {time.monotonic() - began:.1f} s with {size(_memory())} of memory"
    )
    return made.nothing


def _memory() -> int:
    """Bytes that this process and its children had at most."""
    import resource
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    own, theirs = (
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return max(_own_peak() or unit * own, unit * theirs)


def _own_peak() -> int:
    """What Linux knows of this program alone; its `ru_maxrss` is also of the one that started it. 0: not known."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except (OSError, ValueError):
        return 0
    found = status.partition("VmHWM:")[2].split(maxsplit=1)
    return int(found[0]) * 1024 if found else 0

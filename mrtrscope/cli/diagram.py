"""`mrtrscope diagram`: the sequence diagram of an operation, of every one, or of a whole session."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from mrtrscope.cli.common import Amount, columns, epilog, opened, say, update_option
from mrtrscope.cli.newest import id_argument, newest_capture_argument
from mrtrscope.cli.output import form_of, in_a_folder
from mrtrscope.cli.streams import refusals

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store
    from mrtrscope.views.diagram import Format, Options

_FORMATS = ("svg", "png", "dot", "mermaid", "plantuml", "text")
_BY_NAME: dict[str, Format] = {
    ".svg": "svg", ".png": "png", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid",
    ".puml": "plantuml", ".txt": "text",
}  # fmt: skip
_SUFFIX = {"mermaid": ".mmd", "plantuml": ".puml", "text": ".txt"}


@click.command(epilog=epilog("mrtrscope diagram captures/sample-demo op1 --format text",
                             "mrtrscope diagram captures/sample-demo --all -o pictures"))  # fmt: skip
@newest_capture_argument
@id_argument(required=False)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="Default: by the name after -o, else svg."
)
@click.option("--all", "every", is_flag=True, help="Every operation, one file each, in the folder after -o.")
@click.option(
    "--session",
    is_flag=True,
    help="A whole channel on one page, operations as lanes; ID names a channel or an operation of it.",
)
@click.option("--width", type=Amount(72, 20_000),
              help="Width in pixels (text: columns); a picture that needs more is drawn wider.")  # fmt: skip
@click.option("--theme", type=click.Choice(("light", "dark", "print")), default="light", show_default=True)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File or folder to write; default: standard output.",
)
@click.option("--engine", type=click.Choice(("auto", "dot", "graphviz-pure")), default="auto", show_default=True,
              help="What draws PNG.")  # fmt: skip
@click.option("--unfold", is_flag=True, help="Fold nothing: every message, field and round.")
@click.option("--raw", is_flag=True, help="Show secrets and states as they are.")
@update_option
def diagram(
    capture: Path, id: str | None, form: Format | None, every: bool, session: bool, width: float | None, theme: str,
    output: Path | None, engine: str, unfold: bool, raw: bool, no_update: bool,
) -> None:  # fmt: skip
    """Draw the sequence diagram of an operation.

    ID is an operation (op3), or a message of one (m7). A picture too long for one page becomes several.
    """
    if sum((every, session, id is not None and not session)) > 1 or not (every or session or id):
        raise click.UsageError(
            "Name one operation (op1), or give --all or --session; mrtrscope list shows what there is."
        )
    form = form or form_of(None if every else output, _BY_NAME, "svg")
    in_a_folder(output)
    Options = _load().Options
    if width is None and form == "text":
        width = columns()
    options = Options(width=width, theme=theme, unfold=unfold, raw=raw, engine=engine)
    with _engine_or_error(form), opened(capture, no_update, plain=True) as store:
        if every:
            _all(store, form, options, output)
        elif session:
            _write(_session(store, id, form, options), form, output, raw)
        else:
            _write(_one(store, id or "", form, options), form, output, raw)
    if width is not None and options.drawn > width + 0.5:
        say(f"--width {width:g} is less than the columns need; drawn {options.drawn:.0f} wide.")


def _load() -> ModuleType:
    """What draws a picture, loaded without looking for garbage meanwhile: most of the time of one picture is this."""
    gc.disable()
    try:
        from mrtrscope.views import detail, diagram, draw  # noqa: F401
    finally:
        gc.enable()
    return diagram


@contextlib.contextmanager
def _engine_or_error(form: Format) -> Iterator[None]:
    """A picture that no engine can draw is an error to be told; only PNG needs one."""
    if form != "png":
        yield
        return
    from mrtrscope.views.writers.png import NoEngine

    try:
        yield
    except NoEngine as error:
        raise click.ClickException(str(error)) from error


def _one(store: Store, id: str, form: Format, options: Options) -> Iterator[bytes]:
    from mrtrscope.views import ahead, detail
    from mrtrscope.views.diagram import diagram as draw

    op = store.operation_of(id) if id.startswith("m") else id
    found = detail.load(store, op) if op else None
    if found is None:
        raise click.UsageError(
            f"There is no operation {id!r} in this capture; mrtrscope list shows what there is."
        )
    return draw(found, form, options, ahead.redactor(store, options.raw))


def _session(store: Store, channel: str | None, form: Format, options: Options) -> Iterator[bytes]:
    from mrtrscope.views import ahead
    from mrtrscope.views.diagram import session

    if form not in ("svg", "png", "dot", "text"):
        raise click.UsageError(f"A session is drawn as svg, png, dot or text, not as {form}.")
    names = [c.name for c in store.channels()]
    if channel is not None and channel not in names:
        op = store.operation_of(channel) if channel.startswith("m") else channel
        found = store.operation(op) if op else None
        channel = found.channel if found is not None else channel
    if channel is None and len(names) == 1:
        channel = names[0]
    if channel not in names:
        wanted = f"There is no channel {channel!r}" if channel is not None else "Say which channel"
        raise click.UsageError(f"{wanted}; there are: {', '.join(names) or 'none'}.")
    return session(store.operations(), channel, form, options, ahead.redactor(store, options.raw))


def _write(pages: Iterator[bytes], form: Format, output: Path | None, raw: bool) -> None:
    """One page to the file named, or to standard output; further pages to files beside it."""
    for n, page in enumerate(pages, 1):
        if output is None:
            if n > 1:
                say(f"Page {n} and what follows need a file: name one with -o.")
                return
            with refusals():
                sys.stdout.buffer.write(page)
            continue
        path = output if n == 1 else output.with_name(f"{output.stem}-{n}{output.suffix}")
        _put(path, page, raw)
    sys.stdout.flush()


def _put(path: Path, data: bytes, raw: bool) -> None:
    from mrtrscope.files import write_file

    try:
        write_file(path, data, private=raw)
    except OSError as error:
        raise click.UsageError(f"{path}: {error.strerror}; name another file with -o") from error


def _all(store: Store, form: Format, options: Options, output: Path | None) -> None:
    """Every operation in a file of its own, with a line on stderr that says how far."""
    from mrtrscope.views import ahead, detail
    from mrtrscope.views.diagram import diagram as draw

    if output is None:
        raise click.UsageError("--all writes many files: name a folder with -o.")
    try:
        output.mkdir(exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"{output}: {error.strerror}") from error
    total = store.counts()["operations"]
    suffix = _SUFFIX.get(form, f".{form}")
    done, redact = 0, ahead.redactor(store, options.raw)
    for found in detail.details(store, store.operations()):
        _write(draw(found, form, options, redact), form, output / f"{found.id}{suffix}", options.raw)
        done += 1
        if done % 250 == 0 and sys.stderr.isatty():
            click.echo(f"\r{done:,} of {total:,}", err=True, nl=False)
    if sys.stderr.isatty() and done >= 250:
        click.echo("\r", err=True, nl=False)
    say(f"{done:,} pictures in {output}")

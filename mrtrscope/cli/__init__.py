"""The command line. A verb's module is imported when the verb is called, so that no command pays for another.

Three kinds of trouble are told apart: what the peers did wrong are findings (exit code 1), what the user did wrong is a
usage error (2), what cannot be read is `Unreadable` (3).
"""

from __future__ import annotations

import contextlib
import importlib
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from mrtrscope import __version__

# verb -> (module, attribute, what it does); None for a verb that does not show in --help
VERBS: dict[str, tuple[str, str, str | None]] = {
    "demo": ("demo", "demo", "Run a real client and server, capture, judge and draw them."),
    "wrap": ("carriers", "wrap", "Start a stdio server, pass everything through, and record it."),
    "relay": ("carriers", "relay", "Pass plain HTTP to a server on this machine, and record it."),
    "proxy": ("proxy", "proxy", "Pass HTTP on through mitmproxy, and record it."),
    "list": ("list_", "list_", "List the operations of a capture, one a line."),
    "channels": ("channels", "channels", "List the server sides of a capture, and what each speaks."),
    "messages": ("messages", "messages", "List every message of a capture, one a line."),
    "show": ("show", "show", "Show one operation, exchange or frame in full."),
    "check": ("check", "check", "Judge a capture against the rules and print what it breaks."),
    "rules": ("rules", "rules", "List the rules."),
    "explain": ("explain", "explain", "Explain one rule: its source, why it matters, examples."),
    "diagram": ("diagram", "diagram", "Draw the sequence diagram of an operation."),
    "watch": ("watch", "watch", "Show operations as they happen."),
    "report": ("report", "report", "Write what is in a capture as one page."),
    "import": ("import_", "import_", "Read recordings of another form into a capture folder."),
    "export": ("export", "export", "Write a capture as text, one JSON object a line."),
    "replay": ("replay", "replay", "Play the recorded server or client to a live peer."),
    "probe": ("probe", "probe", "Try a live server or client with one thing wrong at a time."),
    "analyse": ("analyse", "analyse", None),
}


class _Unread(Exception):
    """A BrokenPipeError on its way past click, which would end with 1: that means findings here."""


@contextlib.contextmanager
def _past_click() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _Unread from error


class Verbs(click.Group):
    """A group that imports the module of the verb it is asked for, and no other."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _past_click():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _past_click():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, attribute, _ = VERBS[cmd_name]
        try:
            found: click.Command = getattr(importlib.import_module(f"mrtrscope.cli.{module}"), attribute)
        except ModuleNotFoundError as error:
            if error.name != f"mrtrscope.cli.{module}":
                raise
            return None
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in VERBS.items() if text])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], [n for n, v in VERBS.items() if v[2]], 1)
            hint = f"; did you mean {near[0]}?" if near else "; mrtrscope --help lists them."
            ctx.fail(f"There is no command {args[0]!r}{hint}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Verbs, epilog="Example:\n\n\b\n  mrtrscope demo", context_settings={"max_content_width": 110}
)
@click.version_option(__version__, prog_name="mrtrscope")
def cli() -> None:
    """Record, link, judge, draw and replay Model Context Protocol traffic."""


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with the exit code it deserves."""
    from mrtrscope.cli import streams

    streams.made_whole()
    sys.exit(run(args))


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    from mrtrscope.cli import streams

    try:
        code = _run(args)
        sys.stdout.flush()
    except (_Unread, BrokenPipeError):  # whoever read the results has seen enough
        streams.silence(sys.stdout)
        return 0
    except OSError as error:
        where, why = error.filename, error.strerror or str(error)
        if error is streams.refused:
            streams.silence(sys.stdout)
            _tell(f"Error: standard output cannot be written: {why}; what was printed is not whole.")
        else:
            _tell(f"Error: {f'{where}: ' if where else ''}{why}.")
        return click.UsageError.exit_code
    return code


def _tell(text: str) -> None:
    """What is wrong, on stderr; a name out of a capture acts on no terminal."""
    from mrtrscope.views.escape import visible

    click.echo(visible(text, "\n"), err=True)


def _run(args: Sequence[str] | None) -> int:
    given = list(args) if args is not None else None
    try:
        result: Any = cli.main(args=given, prog_name="mrtrscope", standalone_mode=False)
    except click.exceptions.Exit as end:
        return end.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 128 + signal.SIGINT
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else "mrtrscope"
        text = error.format_message()
        _tell(f"Error: {text}{'' if text[-1:] in '.?' else '.'} See {where} --help.")
        return error.exit_code
    except click.ClickException as error:
        _tell(f"Error: {error.format_message()}")
        return max(error.exit_code, click.UsageError.exit_code)  # 1 means findings
    return result if isinstance(result, int) else 0

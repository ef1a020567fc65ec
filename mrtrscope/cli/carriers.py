"""`mrtrscope wrap` and `mrtrscope relay`, for whoever comes through this command line.

They read their own arguments, with the standard library alone: `mrtrscope.__main__` sends them there before click is
loaded. This is the same for callers in this process, and what `mrtrscope --help` lists.
"""

from __future__ import annotations

import click

from mrtrscope.cli.common import epilog

_WHOLE = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}


@click.command(
    "wrap",
    add_help_option=False,
    context_settings=_WHOLE,
    epilog=epilog("mrtrscope wrap -- python server.py"),
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def wrap(args: tuple[str, ...]) -> None:
    """Start a stdio server, pass everything through, and record it."""
    from mrtrscope import wrap as carrier

    carrier.leave(carrier.main(list(args)))


@click.command(
    "relay",
    add_help_option=False,
    context_settings=_WHOLE,
    epilog=epilog("mrtrscope relay --target 127.0.0.1:8000 --listen 127.0.0.1:9000"),
)
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def relay(args: tuple[str, ...]) -> None:
    """Pass plain HTTP to a server on this machine, and record it."""
    from mrtrscope import relay as carrier

    carrier.leave(carrier.main(list(args)))

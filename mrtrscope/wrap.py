"""Stands between a host and the stdio server it starts: ``mrtrscope wrap -- CMD…``.

Started in place of a server by every host: the standard library only, and nothing is loaded before the server runs
that its start does not need; the rest is loaded while it starts. `pipes` says what happens then.
"""

import _signal  # type: ignore[import-not-found]
import os
import sys

from mrtrscope.child import CannotStart, start

USAGE = "usage: mrtrscope wrap [--capture DIR] [--name N] [--via HOST:PORT] [--max-size SIZE] -- CMD…"
HELP = f"""{USAGE}

Runs a stdio server and records what goes in and out; put it before the server's command in the host's settings.

  --capture DIR     capture folder (default: $MRTRSCOPE_CAPTURE, else a folder of the day)
  --name N          what to call the server (default: its own: "files" for python files.py)
  --via HOST:PORT   send it through a mitmproxy in socks5 mode, which records (mrtrscope proxy --stdio starts one)
  --max-size SIZE   stop recording, never traffic, at this size: 500M, 2G

Exits with the exit code of CMD, 128+n when signal n ended it, 127 when there is no such command, 126 when it cannot
be run, 2 when this line cannot be read.

Example:
  mrtrscope wrap --name echo -- cat
"""


class Options:
    """The command line."""

    __slots__ = ("capture", "command", "max_size", "name", "via")

    def __init__(self) -> None:
        self.capture: str | None = None
        self.name = ""
        self.via = ""
        self.max_size: int | None = None
        self.command: list[str] = []


class UsageError(Exception):
    """The command line cannot be read."""


def parse(args: list[str]) -> Options:
    """Read the command line by hand; argparse costs a start as much as all the rest."""
    options, at = Options(), 0
    while at < len(args):
        word = args[at]
        at += 1
        if word == "--":
            break
        if not word.startswith("-"):
            at -= 1
            break
        key, equals, value = word.partition("=")
        if key not in ("--capture", "--name", "--via", "--max-size"):
            raise UsageError(f"unknown option {word}")
        if not equals:
            if at == len(args):
                raise UsageError(f"{key} wants a value")
            value = args[at]
            at += 1
        _set(options, key, value)
    options.command = args[at:]
    if not options.command:
        raise UsageError("no command to run")
    return options


def _set(options: Options, key: str, value: str) -> None:
    if key == "--max-size":
        from mrtrscope.where import size

        try:
            options.max_size = size(value)
        except ValueError:
            raise UsageError(f"--max-size {value}: not a size such as 500M or 2G") from None
    else:
        setattr(options, key[2:], value)


def main(args: list[str]) -> int:
    """Run a command between its host and a journal; the exit code."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # no traceback in a host's log; `pipes` passes it on
    if args[:1] in (["-h"], ["--help"]):
        from mrtrscope.where import show

        return show(HELP)
    try:
        options = parse(args)
    except UsageError as e:
        return _refuse(f"{e}\n{USAGE}", 2)
    return run(options)


def run(options: Options) -> int:
    """Start the command; load what carries and records while it starts."""
    host = os.getppid()
    if options.via:
        from mrtrscope.called import called
        from mrtrscope.via import run_via

        return run_via(options.via, options.name or called(options.command), options.command, host)
    try:
        child = start(options.command)
    except CannotStart as e:
        return _refuse(f"{e}; nothing was started (check what follows --)", e.code)
    from mrtrscope import pipes
    from mrtrscope.called import called

    name = options.name or called(options.command)
    return pipes.carry(child, host, pipes.open_journal(options.capture, name, options.max_size))


def _refuse(text: str, code: int) -> int:
    from mrtrscope.where import say

    say(f"mrtrscope wrap: {text}")
    return code


def leave(code: int) -> None:
    """End at once: threads that wait in a read must not hold us, and nothing is buffered."""
    os._exit(code)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))

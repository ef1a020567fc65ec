"""What `replay drive` and `probe server` share: which server, which headers, which part of the capture."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from mrtrscope.cli.common import USAGE, Amount, CannotRead, say

if TYPE_CHECKING:
    from mrtrscope.replay import Recording


def target_options[F: Callable[..., Any]](function: F) -> F:
    """--target or a command behind --, --header, --channel, --only, --capture, --timeout."""
    for option in (
        click.argument("command", nargs=-1, type=click.UNPROCESSED),
        click.option("--target", metavar="URL", help="The live server; else its command, behind --."),
        click.option("--header", "header", multiple=True, metavar="'NAME: VALUE'",
                     help="Sent with every HTTP request; also $MRTRSCOPE_AUTHORIZATION. Repeatable."),
        click.option("--channel", metavar="NAME", help="Which server of CAPTURE, when it has several."),
        click.option("--only", multiple=True, metavar="OP", help="Only this operation (op7); repeatable."),
        click.option("--timeout", type=Amount(min=0.01), default=60.0, show_default=True,
                     help="Seconds that one answer may take."),
        click.option("--capture", "into", type=click.Path(path_type=Path), metavar="DIR",
                     help="Where this traffic is recorded; default: a folder of its own."),
        click.option("--dry-run", is_flag=True, help="Say what would be sent, and send nothing."),
    ):  # fmt: skip
        function = option(function)
    return function


def server_of(target: str | None, command: tuple[str, ...]) -> str | list[str]:
    """The URL or the command; UsageError when it is none of them or both."""
    if bool(target) == bool(command):
        raise click.UsageError("say which server: --target URL, or its command behind --")
    if target is None:
        return list(command)
    try:
        parts = urlsplit(target)
        wrong = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
    except ValueError:  # no IPv6 address, no port
        wrong = True
    if wrong:
        raise click.UsageError(f"--target {target}: a URL is wanted, say http://127.0.0.1:8000/mcp")
    return target


def headers_of(given: tuple[str, ...]) -> dict[str, str]:
    """--header values, and the credential of the environment."""
    found = {}
    if token := os.environ.get("MRTRSCOPE_AUTHORIZATION"):
        found["Authorization"] = token
    for text in given:
        name, colon, value = text.partition(":")
        if not colon or not name.strip() or any(c in text for c in "\r\n\0"):
            raise click.UsageError(f"--header {name[:40]!r}: 'NAME: VALUE' is wanted")
        found[name.strip()] = value.strip()
    return found


def loaded(capture: Path, channel: str | None, only: tuple[str, ...]) -> Recording:
    """The recording, of one server alone, with the operations that were named in it."""
    from mrtrscope.replay import Recording
    from mrtrscope.sources import SourceError

    try:
        recording = Recording.load(capture)
    except SourceError as error:
        raise CannotRead(str(error)) from error
    for trouble in recording.trouble:
        say(trouble)
    if not recording.steps:
        raise CannotRead(f"{capture}: no request in it, so there is nothing to play.")
    steps = recording.steps
    if only:
        unknown = sorted(set(only) - {step.op for step in steps})
        if unknown:
            raise click.UsageError(
                f"There is no operation {unknown[0]!r}; mrtrscope list {capture} shows what there is"
            )
        steps = [step for step in steps if step.op in only]
    names = list(dict.fromkeys(step.exchange.request.channel for step in steps))
    if channel is None and len(names) > 1:
        raise click.UsageError(f"CAPTURE has several servers, say --channel: {', '.join(names)}")
    if channel is not None and channel not in names:
        raise click.UsageError(f"There is no channel {channel!r}; there are: {', '.join(names)}")
    chosen = [step for step in recording.steps if step.exchange.request.channel == (channel or names[0])]
    return Recording(chosen, recording.trouble, recording.scrubbed)


class NoServer(click.ClickException):
    """There is nothing to play to (exit code 2)."""

    exit_code = USAGE


def until_told[T](work: Coroutine[Any, Any, T]) -> T:
    """Run it; SIGTERM ends it in good order, as ctrl-c does, with the exit code of one that a signal ended."""

    async def told() -> T:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(told())
    except asyncio.CancelledError:
        raise click.exceptions.Exit(128 + signal.SIGTERM) from None


def run_until_told[T](work: Coroutine[Any, Any, T], server: str | list[str]) -> T:
    """The same, with a server to play to; NoServer when there is none."""
    from mrtrscope.replay.client import Unreachable

    try:
        return until_told(work)
    except Unreachable as error:
        raise NoServer(_nobody(server, str(error))) from None


def _nobody(server: str | list[str], why: str) -> str:
    """That there is no server, why, and what to do next, in one line."""
    from mrtrscope.views.escape import terminal
    from mrtrscope.views.redact import Redactor

    why = terminal(Redactor().text(why))
    if isinstance(server, str):
        return f"no server at {server.partition('?')[0]}: {why}. Start it, or give another --target."
    if why.startswith("cannot be started"):
        return f"{server[0]} {why}. Say behind -- how the server is started."
    return f"{server[0]}: {why}. It answered nothing; try the command by itself first."


def credentials_go(recording: Recording, server: str | list[str], headers: dict[str, str]) -> bool:
    """Whether recorded credentials are sent: only back to where they came from, or to this machine. Says so if not."""
    from mrtrscope.link.origins import surely_loopback
    from mrtrscope.replay.plan import CREDENTIALS, origin

    if not isinstance(server, str) or "authorization" in {name.lower() for name in headers}:
        return False
    https = [step.exchange.http for step in recording.steps if step.exchange.http is not None]
    had = [h for h in https if any(name.lower() in CREDENTIALS for name, _ in h.request_headers)]
    if recording.scrubbed:
        say("Credentials were taken out of this capture; give yours with --header 'Authorization: …'"
            " or $MRTRSCOPE_AUTHORIZATION.")  # fmt: skip
        return False
    there = origin(server)
    if had and not surely_loopback(there[1]) and any(origin(h.url) != there for h in had):
        say(
            f"The recorded credentials are not sent to {there[1]}, which they are not from; give some with --header."
        )
        return False
    return True

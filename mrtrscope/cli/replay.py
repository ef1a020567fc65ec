"""`mrtrscope replay serve|drive`: play one recorded side to a live peer."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import click

from mrtrscope.cli.common import Amount, CannotRead, capture_argument, epilog, say
from mrtrscope.cli.replay_drive import drive


@click.group(epilog=epilog("mrtrscope replay serve captures/sample-stdio --stdio"))
def replay() -> None:
    """Play the recorded server or client to a live peer."""


replay.add_command(drive)


@replay.command(epilog=epilog("mrtrscope replay serve captures/sample-stdio --stdio"))
@capture_argument
@click.option("--stdio", is_flag=True, help="Serve on standard input and output.")
@click.option(
    "--listen", metavar="HOST:PORT", help="Serve over HTTP on this address; port 0 takes a free one."
)
@click.option("--when-used-up", type=click.Choice(["repeat", "error"]), default="error", show_default=True,
              help="What a call gets that was made more often than recorded.")  # fmt: skip
@click.option("--answers", type=click.Choice(["any", "same", "schema"]), default="any", show_default=True,
              help="Which answers to a question go on with the recorded operation.")  # fmt: skip
@click.option("--speed", type=Amount(min=0), default=0.0, show_default=True,
              help="1: times as recorded, 10: ten times as fast, 0: at once.")  # fmt: skip
@click.option("--record-missing", metavar="URL|CMD",
              help="Send what the recording lacks to this server, and add it to CAPTURE.")  # fmt: skip
@click.option("--capture", "into", type=click.Path(path_type=Path), metavar="DIR",
              help="Where the replay's own traffic is recorded.")  # fmt: skip
@click.option("--name", default="replay", show_default=True, help="Name of the channel in that record.")
def serve(
    capture: Path, stdio: bool, listen: str | None, when_used_up: str, answers: str, speed: float,
    record_missing: str | None, into: Path | None, name: str,
) -> int:  # fmt: skip
    """Stand in for the recorded server.

    Requests match by method, target and arguments; equal calls are answered in recorded order. A retry goes on with
    the operation whose question it takes up; a state that was never served, was altered or belongs to another call is
    refused.
    """
    if stdio == bool(listen):
        raise click.UsageError("say either --stdio or --listen HOST:PORT")
    from mrtrscope.replay import Recording
    from mrtrscope.replay.serving import Serving
    from mrtrscope.sources import SourceError
    from mrtrscope.where import capture_dir

    try:
        recording = Recording.load(capture)
    except SourceError as error:
        raise CannotRead(str(error)) from error
    if not recording.steps:
        raise CannotRead(f"{capture}: no request in it, so there is nothing to play.")
    for trouble in recording.trouble:
        say(f"{trouble}")
    serving = Serving(
        recording, when_used_up=when_used_up, answers=answers, speed=speed, upstream=record_missing,
        add_to=capture if record_missing else None, into=Path(capture_dir(str(into) if into else None)), name=name,
    )  # fmt: skip
    return asyncio.run(_serve(serving, listen))


async def _serve(serving: object, listen: str | None) -> int:
    from mrtrscope.replay.serving import Serving

    assert isinstance(serving, Serving)
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    try:
        if listen is None:
            await serving.stdio()
        else:
            host, _, port = listen.rpartition(":")
            if not port.isdigit() or int(port) > 65535:
                raise click.UsageError(f"--listen {listen}: HOST:PORT is wanted, say 127.0.0.1:8000")
            await serving.http(host.strip("[]") or "127.0.0.1", int(port), say)
    except asyncio.CancelledError:
        pass
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        what = f"cannot record to {error.filename}" if error.filename else f"cannot serve on {listen}"
        raise click.UsageError(f"{what}: {why}") from error
    finally:
        await serving.close()
    for line in serving.summary():
        say(line)
    return 0

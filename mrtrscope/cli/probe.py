"""`mrtrscope probe server|client`: traffic that breaks one rule at a time, and what a live peer makes of it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mrtrscope.cli.common import (
    CLEAN,
    FINDINGS,
    Amount,
    capture_argument,
    colours,
    columns,
    epilog,
    format_option,
    print_lines,
    say,
)
from mrtrscope.cli.probe_client import client, misbehave
from mrtrscope.cli.probe_names import chosen_names, list_option, names_option, progress
from mrtrscope.cli.replay_drive import recorder
from mrtrscope.cli.target import credentials_go, headers_of, loaded, run_until_told, server_of, target_options

MAY = "; some of it may be carried out"

if TYPE_CHECKING:
    from mrtrscope.replay.probe import Tried
    from mrtrscope.replay.probe_choose import Chosen
    from mrtrscope.replay.recording import Recording, Step


@click.group(
    epilog=epilog("mrtrscope probe server captures/sample-stdio --dry-run -- python -m mrtrscope.demo.server")
)
def probe() -> None:
    """Try a live server or client with one thing wrong at a time."""


probe.add_command(client)
probe.add_command(misbehave)


@probe.command(epilog=epilog(
    "mrtrscope probe server captures/sample-stdio -- python -m mrtrscope.demo.server",
    "mrtrscope probe server captures/sample-stdio --only op3,state-changed -- python -m mrtrscope.demo.server",
    "mrtrscope probe server captures/sample-relay --target http://127.0.0.1:8000/mcp --as 'Authorization: Bearer bob'",
))  # fmt: skip
@capture_argument
@target_options
@list_option("attempts")
@names_option("--attempt", "Only this attempt (state-changed), as with --only.")
@click.option("--round", type=click.IntRange(min=2), metavar="N",
              help="Only the retry that is this round of its operation; 2 is the first retry.")  # fmt: skip
@click.option("--as", "as_", multiple=True, metavar="'NAME: VALUE'",
              help="Header of another principal, for the retry that is not its own.")  # fmt: skip
@click.option("--wait", type=Amount(min=0), default=0.0, metavar="SECONDS",
              help="How long the late retry waits; without it there is none.")  # fmt: skip
@click.option("--answers", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="JSON: key or message of a question to its answer; before the recorded ones.")  # fmt: skip
@click.option("--i-own-this-server", is_flag=True, help="Probe a server that is not on this machine.")
@click.option("--no-diagrams", is_flag=True, help="Do not draw what was broken.")
@format_option("text", "json")
def server(
    capture: Path, command: tuple[str, ...], target: str | None, header: tuple[str, ...], channel: str | None,
    only: tuple[str, ...], timeout: float, into: Path | None, dry_run: bool, names: tuple[str, ...],
    round: int | None, as_: tuple[str, ...], wait: float, answers: Path | None, i_own_this_server: bool,
    no_diagrams: bool, form: str,
) -> int:  # fmt: skip
    """Take recorded operations that asked, and send them with one thing wrong each time, from a fresh state.

    Every retry of an operation gets its attempts. --only takes operations and attempts (op3,state-changed); --list
    says which attempts there are. Tools that are said to be destructive are left out unless named with --only. What
    is not simply gone on with is followed by the same with nothing wrong, so that the verdict means something.

    Exit code: 0 nothing broken, 1 something is, or the operation itself does not work, 2 usage, 3 unreadable.
    """
    from mrtrscope.replay.answering import Answers
    from mrtrscope.replay.attempts import ATTEMPTS
    from mrtrscope.replay.probe import Prober
    from mrtrscope.replay.probe_choose import choose
    from mrtrscope.replay.probe_choose import tasks as tasks_of

    where = server_of(target, command)
    _only_here(where, i_own_this_server)
    parts = [part for text in only for part in text.split(",") if part]
    ops = tuple(part for part in parts if re.fullmatch(r"op\d+", part))
    wanted = chosen_names([*(part for part in parts if part not in ops), *names], ATTEMPTS, "attempt")
    recording = loaded(capture, channel, ops)
    chosen, left = choose(recording, ops, round)
    tasks, left_too = tasks_of(recording, ops)
    for line in [*left, *left_too]:
        say(line)
    if not chosen and not tasks:
        raise click.UsageError(_nothing(capture, round))
    if dry_run:
        print_lines(_planned(chosen, wanted, tasks))
        return CLEAN
    headers, other = headers_of(header), headers_of(as_) if as_ else None
    try:
        from_where = Answers.read(answers)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    credentials = credentials_go(recording, where, headers)
    with recorder(into, where, "probe") as journal, progress(sys.stderr, MAY) as made:
        prober = Prober(
            recording, where, journal=journal, headers=headers, as_headers=other, wait=wait, answers=from_where,
            credentials=credentials, timeout=timeout, progress=made,
        )  # fmt: skip
        tried = run_until_told(prober.run(chosen, wanted, tasks), where)
        path = Path(journal.path)
    return _print(tried, form, path, recording, drawn=not no_diagrams)


def _nothing(capture: Path, round: int | None) -> str:
    if round is not None:
        return f"{capture}: no operation in it has a round {round} that may be probed"
    return f"{capture}: no operation in it that asked, was answered, and may be probed"


def _only_here(where: str | list[str], owned: bool) -> None:
    from urllib.parse import urlsplit

    from mrtrscope.link.origins import surely_loopback

    host = urlsplit(where).hostname or "" if isinstance(where, str) else "localhost"
    if not owned and not surely_loopback(host):
        raise click.UsageError(
            f"{host} is not this machine: a probe sends forged requests; say --i-own-this-server if you do"
        )


def _planned(chosen: list[Chosen], names: list[str], tasks: list[Step]) -> list[str]:
    from mrtrscope.replay.attempt import SERVER
    from mrtrscope.replay.attempts import ATTEMPTS
    from mrtrscope.replay.probe import fits
    from mrtrscope.replay.probe_report import heading
    from mrtrscope.replay.probe_whole import WHOLE

    wanted = [attempt for attempt in ATTEMPTS.values() if not names or attempt.name in names]
    plan = [
        (heading(one.retry.op, one.retry.name, one.round), attempt)
        for one in chosen
        for attempt in wanted
        if fits(attempt, one)
    ]
    plan += [(WHOLE, attempt) for attempt in wanted if attempt.on == SERVER]
    return [f"{on}: {one.name}: {one.does}; the server should {one.want}" for on, one in plan]


def _print(tried: list[Tried], form: str, journal: Path, recording: Recording, drawn: bool) -> int:
    from mrtrscope.replay import probe_report
    from mrtrscope.replay.probe_judge import BROKEN
    from mrtrscope.replay.report import redactor_of

    redactor = redactor_of(recording)

    if form == "json":
        print_lines(json.dumps(probe_report.as_json(tried, redactor), indent=1).splitlines())
    else:
        print_lines(probe_report.text(tried, columns(), colours(), redactor))
        if drawn:
            print_lines(probe_report.diagrams([t for t in tried if t.verdict == BROKEN], journal, columns()))
    return FINDINGS if any(t.verdict == BROKEN for t in tried) or not probe_report.worked(tried) else CLEAN

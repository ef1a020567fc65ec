"""`mrtrscope replay drive`: the recorded client against a live server, for people and for CI."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrtrscope.called import called
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
)
from mrtrscope.cli.target import credentials_go, headers_of, loaded, run_until_told, server_of, target_options

if TYPE_CHECKING:
    from mrtrscope.replay import Recording
    from mrtrscope.replay.drive import Driven
    from mrtrscope.replay.plan import Edit


@click.command(epilog=epilog(
    "mrtrscope replay drive captures/sample-stdio -- python -m mrtrscope.demo.server",
    "mrtrscope replay drive captures/sample-relay --only op4 --dry-run --target http://127.0.0.1:8000/mcp",
))  # fmt: skip
@capture_argument
@target_options
@click.option("--set", "edits", multiple=True, metavar="PATH=VALUE",
              help="Change every request played: /params/arguments/env=prod. Repeatable.")  # fmt: skip
@click.option("--answers", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="JSON: key or message of a question to its answer; before the recorded ones.")  # fmt: skip
@click.option("--ask", is_flag=True, help="Ask here what neither recording nor file answers.")
@click.option("--ignore", multiple=True, metavar="PATH",
              help="Do not compare this place: /result/content/*/text. Repeatable.")  # fmt: skip
@click.option("--speed", type=Amount(min=0), default=0.0, show_default=True,
              help="1: times as recorded, 10: ten times as fast, 0: at once.")  # fmt: skip
@format_option("text", "json", "junit")
def drive(
    capture: Path, command: tuple[str, ...], target: str | None, header: tuple[str, ...], channel: str | None,
    only: tuple[str, ...], timeout: float, into: Path | None, dry_run: bool, edits: tuple[str, ...],
    answers: Path | None, ask: bool, ignore: tuple[str, ...], speed: float, form: str,
) -> int:  # fmt: skip
    """Play the recorded client to a live server and compare its answers.

    Into each retry goes the state that the server issued just now. Exit code: 0 all passed, 1 something did not,
    2 usage, 3 unreadable.
    """
    from mrtrscope.replay.answering import Answers
    from mrtrscope.replay.drive import Driver

    server = server_of(target, command)
    recording = loaded(capture, channel, only)
    changes = _edits(edits)
    if dry_run:
        print_lines(_planned(capture, recording, only, changes))
        return CLEAN
    headers = headers_of(header)
    try:
        from_where = Answers.read(answers, _person if ask else None)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    with recorder(into, server, "drive") as journal:
        driver = Driver(
            recording, server, journal=journal, headers=headers, only=only, edits=changes, answers=from_where,
            ignore=ignore, speed=speed, credentials=credentials_go(recording, server, headers), timeout=timeout,
        )  # fmt: skip
        driven = run_until_told(driver.run(), server)
    return _print(driven, form, capture, recording)


def _edits(texts: tuple[str, ...]) -> list[Edit]:
    from mrtrscope.replay.plan import Edit

    try:
        return [Edit(text) for text in texts]
    except ValueError as error:
        raise click.UsageError(f"--set {error}") from error


def _print(driven: list[Driven], form: str, capture: Path, recording: Recording) -> int:
    from mrtrscope.replay import report

    redactor = report.redactor_of(recording)

    if form == "json":
        print_lines(json.dumps(report.as_json(driven, redactor), indent=1).splitlines())
    elif form == "junit":
        print_lines(report.junit(driven, str(capture), redactor).splitlines())
    else:
        print_lines(report.text(driven, columns(), colours(), redactor))
    return CLEAN if report.ok(driven) else FINDINGS


class recorder:
    """The journal of what is sent and received, in the capture folder that was named, else one of its own."""

    def __init__(self, into: Path | None, server: str | list[str], what: str) -> None:
        self._into, self._what = into, what
        self._name = server if isinstance(server, str) else called(server)

    def __enter__(self) -> Any:
        from mrtrscope.recorder import Journal
        from mrtrscope.where import fresh_dir

        folder = fresh_dir(str(self._into) if self._into else None, self._what)
        try:
            self._journal = Journal.create(folder, "replay", self._name.partition("?")[0])
        except OSError as error:
            raise click.UsageError(f"cannot record to {folder}: {error.strerror}") from error
        return self._journal

    def __exit__(self, *_: object) -> None:
        self._journal.close()


def _planned(capture: Path, recording: Any, only: tuple[str, ...], edits: list[Edit]) -> list[str]:
    from mrtrscope.link.canonical import canonical
    from mrtrscope.replay.plan import operations, request_of
    from mrtrscope.replay.report import redactor_of

    redactor, lines = redactor_of(recording), []
    for op, steps in operations(recording).items():
        if only and op not in only:
            continue
        for number, step in enumerate(steps, 1):
            try:
                params = dict(request_of(step, 0, edits).get("params") or {})
            except ValueError as error:
                raise click.UsageError(f"--set {error}") from error
            params.pop("_meta", None)
            if "requestState" in params:
                params["requestState"] = "the one issued then"
            lines.append(f"{op} round {number}  {step.exchange.method}  {canonical(redactor.value(params))}")
    return lines


def _person(key: str, question: dict[str, Any]) -> dict[str, Any] | None:
    """Ask on the terminal, field by field; None when nobody is there."""
    from mrtrscope.views.escape import terminal

    if not sys.stdin.isatty():
        return None
    params = question.get("params") if isinstance(question.get("params"), dict) else {}
    assert isinstance(params, dict)
    click.echo(f"\n{terminal(key)}: {terminal(str(params.get('message', question.get('method'))))}", err=True)
    if question.get("method") != "elicitation/create":
        text = click.prompt(
            "the answer as JSON, or nothing to stop", default="", show_default=False, err=True
        )
        return json.loads(text) if text else None
    actions = click.Choice(["accept", "decline", "cancel"])
    action = click.prompt("accept, decline or cancel", type=actions, default="accept", err=True)
    if action != "accept" or params.get("mode") == "url":
        return {"action": action}
    schema = params.get("requestedSchema")
    fields = schema.get("properties") if isinstance(schema, dict) else None
    content = {}
    for name, field in (fields if isinstance(fields, dict) else {}).items():
        kind = field.get("type") if isinstance(field, dict) else None
        text = click.prompt(f"  {terminal(name)} ({terminal(str(kind))})", err=True)
        content[name] = text if kind == "string" else _value(text)
    return {"action": "accept", "content": content}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

"""`mrtrscope probe client`: a server that misbehaves one way at a time, before a live client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import signal
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

import click

from mrtrscope.cli.common import CLEAN, FINDINGS, colours, columns, epilog, format_option, print_lines, say
from mrtrscope.cli.probe_names import list_option

BROKEN, KEPT, UNSURE = "broken", "kept", "cannot tell"
FINAL = ("no-result-type",)  # ways whose answer has to be taken for the final result
URL, SERVER = "{url}", "{server}"
SAID = 1 << 14  # bytes of a client's stderr that are looked at
GRACE = 3.0  # seconds between SIGTERM and SIGKILL


@click.command(epilog=epilog(
    "mrtrscope probe client -- python my_client.py {url}",
    "mrtrscope probe client --way endless --way no-result-type -- python my_client.py {server}",
    "mrtrscope probe client --listen 127.0.0.1:9000",
))  # fmt: skip
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@list_option("ways")
@click.option(
    "--listen", metavar="HOST:PORT", help="Wait for clients instead of starting one; ctrl-c shows the report."
)
@click.option("--way", "names", multiple=True, metavar="NAME", help="Only this way to misbehave; repeatable.")
@click.option("--tool", default="probe", show_default=True, help="Name of the tool that is in the list.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=30.0, show_default=True,
              help="Seconds that the client gets for each way.")  # fmt: skip
@click.option(
    "--capture", "into", type=click.Path(path_type=Path), metavar="DIR", help="Where the traffic is recorded."
)
@format_option("text", "json")
def client(
    command: tuple[str, ...], listen: str | None, names: tuple[str, ...], tool: str, timeout: float,
    into: Path | None, form: str,
) -> int:  # fmt: skip
    """Start a client once for each way in which a server can misbehave, and see what it does.

    In the client's command, {url} becomes the address of the server, {server} a command that is the server on stdio;
    without either the address is its last argument. It should list the tools and call one, whatever its name.
    """
    from mrtrscope.replay.ways import WAYS
    from mrtrscope.where import capture_dir

    if bool(command) == bool(listen):
        raise click.UsageError("say which client: its command behind --, or --listen HOST:PORT")
    if unknown := [name for name in names if name not in WAYS]:
        raise click.UsageError(f"There is no way {unknown[0]!r}; there are: {', '.join(WAYS)}")
    folder = Path(capture_dir(str(into) if into else None))
    todo = list(names or WAYS)
    if listen:
        rows = asyncio.run(_wait_for_clients(todo, tool, folder, listen))
    else:
        rows = asyncio.run(_start_clients(todo, tool, folder, command, timeout))
    _print(rows, form)
    return FINDINGS if any(row["verdict"] == BROKEN for row in rows) else CLEAN


@click.command(hidden=True, epilog=epilog("mrtrscope probe misbehave endless --capture my-capture"))
@click.argument("way")
@click.option("--tool", default="probe")
@click.option("--capture", "into", type=click.Path(path_type=Path), required=True)
def misbehave(way: str, tool: str, into: Path) -> None:
    """Be the server that misbehaves, on stdio: what {server} stands for."""
    from mrtrscope.replay.misbehave import on_stdio
    from mrtrscope.replay.ways import WAYS

    if way not in WAYS:
        raise click.UsageError(f"There is no way {way!r}; there are: {', '.join(WAYS)}")
    asyncio.run(on_stdio(WAYS[way], tool, into))


async def _start_clients(
    todo: list[str], tool: str, folder: Path, command: tuple[str, ...], timeout: float
) -> list[dict[str, Any]]:
    from mrtrscope.replay.misbehave import OverHttp, seen
    from mrtrscope.replay.ways import WAYS

    rows = []
    on_stdio = any(SERVER in word for word in command)
    for name in todo:
        way = WAYS[name]
        if on_stdio:
            before = _journals(folder)
            server = [
                sys.executable,
                "-m",
                "mrtrscope",
                "probe",
                "misbehave",
                name,
                "--tool",
                tool,
                "--capture",
                str(folder),
            ]
            ended = await _run([word.replace(SERVER, shlex.join(server)) for word in command], timeout)
            new = sorted(p for p in _journals(folder) - before if f"-{name}-" in p.name)
            journal = new[-1] if new else None
        else:
            http = OverHttp(way, tool, folder)
            try:
                ended = await _run(_with_url(command, http.url), timeout)
            finally:
                journal = await http.close()
        verdict, words = (
            seen(journal, way) if journal is not None else ("not seen", "it never started the server")
        )
        if ended.startswith("still running") and verdict == KEPT:
            verdict, words = UNSURE, f"{words}; not at an end"
        if name in FINAL and verdict == KEPT and ended != "exit code 0":
            verdict, words = UNSURE, f"{words}, but did not take it for the end either"
        rows.append(_row(name, verdict, words, ended))
    return rows


def _with_url(command: tuple[str, ...], url: str) -> list[str]:
    if any(URL in word for word in command):
        return [word.replace(URL, url) for word in command]
    return [*command, url]


def _journals(folder: Path) -> set[Path]:
    return set((folder / "journals").glob("*.mrj"))


async def _run(argv: list[str], timeout: float) -> str:
    """Run a client; how it ended, in words. It gets its own group, so that what it started ends with it."""
    with tempfile.TemporaryFile() as says:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=says,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise click.UsageError(f"{argv[0]}: {error.strerror}") from error
        try:
            code = await asyncio.wait_for(process.wait(), timeout)
        except TimeoutError:
            return f"still running after {timeout:g} s"
        finally:
            for how in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, how)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), GRACE)
        ended = f"exit code {code}" if code >= 0 else f"ended by signal {-code}"
        return ended if code == 0 else f"{ended}{_last_words(says)}"


def _last_words(says: IO[bytes]) -> str:
    """The line of stderr that most likely says why: the last one that names an error, else the last."""
    from mrtrscope.views.redact import Redactor

    says.seek(max(0, says.seek(0, os.SEEK_END) - SAID))
    lines = [line.strip(" |+-\t") for line in says.read().decode(errors="replace").splitlines()]
    lines = [line for line in lines if line]
    named = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b.*: ", line)]
    return f": {Redactor().text((named or lines)[-1])[:100]}" if lines else ""


async def _wait_for_clients(todo: list[str], tool: str, folder: Path, listen: str) -> list[dict[str, Any]]:
    from mrtrscope.replay.misbehave import OverHttp, seen
    from mrtrscope.replay.serving import is_loopback
    from mrtrscope.replay.ways import WAYS

    host, _, port = listen.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdigit() or int(port) + len(todo) > 65535:
        raise click.UsageError(f"--listen {listen}: HOST:PORT is wanted, say 127.0.0.1:9000")
    if not is_loopback(host):
        raise click.UsageError(f"cannot serve on {listen}: only loopback addresses are listened on")
    servers = []
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        for n, name in enumerate(todo):
            servers.append(OverHttp(WAYS[name], tool, folder, host, int(port) + n if int(port) else 0))
            say(f"{servers[-1].url}  {name}: {WAYS[name].does}")
        say("Point a client at each of these; ctrl-c shows what was seen.")
        await stop.wait()
    except OSError as error:
        raise click.UsageError(f"cannot serve on {listen}: {os.strerror(error.errno or 0)}") from error
    finally:
        journals = [await server.close() for server in servers]
    return [
        _row(server.way.name, *seen(journal, server.way), "")
        for server, journal in zip(servers, journals, strict=True)
    ]


def _row(name: str, verdict: str, words: str, ended: str) -> dict[str, Any]:
    from mrtrscope.replay.probe_report import level
    from mrtrscope.replay.ways import WAYS

    way = WAYS[name]
    return {
        "way": name, "does": way.does, "rule": way.rule, "level": level(way.rule), "verdict": verdict, "saw": words,
        "ended": ended,
    }  # fmt: skip


def _print(rows: list[dict[str, Any]], form: str) -> None:
    from mrtrscope.views.table import Cell, Column, table

    if form == "json":
        print_lines(json.dumps({"ways": rows}, indent=1).splitlines())
        return
    paints = {KEPT: "green", BROKEN: "red", UNSURE: "yellow"}
    heads = [
        Column("way"),
        Column("verdict"),
        Column("the client", least=16),
        Column("ended"),
        Column("rule", least=12),
    ]
    cells = (
        [
            Cell(row["way"]), Cell(row["verdict"], paints.get(row["verdict"], "dim")), Cell(row["saw"]),
            Cell(row["ended"]), Cell(f"{row['rule']} ({row['level']})"),
        ]
        for row in rows
    )  # fmt: skip
    print_lines(table(heads, cells, columns(), colours()))

"""`mrtrscope probe client`: a server that misbehaves one way at a time, before a live client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click

from mrtrscope.cli.common import (
    CLEAN,
    FINDINGS,
    USAGE,
    Amount,
    colours,
    columns,
    epilog,
    format_option,
    print_lines,
    say,
)
from mrtrscope.cli.probe_names import chosen_names, list_option, names_option, progress
from mrtrscope.cli.target import until_told

BROKEN, KEPT, UNSURE = "broken", "kept", "cannot tell"


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
@names_option("--way", "Only this way to misbehave, as with --only.")
@click.option(
    "--only",
    "only",
    multiple=True,
    metavar="NAME[,NAME]",
    help="Only these ways to misbehave; --list says which.",
)
@click.option("--tool", default="probe", show_default=True, help="Name of the tool that is in the list.")
@click.option("--timeout", type=Amount(min=0.1), default=30.0, show_default=True,
              help="Seconds that the client gets for each way.")  # fmt: skip
@click.option(
    "--capture",
    "into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where the traffic is recorded; default: a folder of its own.",
)
@format_option("text", "json")
def client(
    command: tuple[str, ...], listen: str | None, names: tuple[str, ...], only: tuple[str, ...], tool: str,
    timeout: float, into: Path | None, form: str,
) -> int:  # fmt: skip
    """Start a client once for each way in which a server can misbehave, and see what it does.

    In the client's command, {url} becomes the address of the server, {server} a command that is the server on stdio;
    without either the address is its last argument. It should list the tools and call one, whatever its name; to have
    its cache tried, it should read probe://a and then probe://b.
    """
    from mrtrscope.replay.ways import HTTP, WAYS
    from mrtrscope.where import fresh_dir

    if bool(command) == bool(listen):
        raise click.UsageError("say which client: its command behind --, or --listen HOST:PORT")
    todo = chosen_names([*only, *names], WAYS, "way") or list(WAYS)
    folder = Path(fresh_dir(str(into) if into else None, "probe"))
    if listen:
        todo = [name for name in todo if HTTP in WAYS[name].transports]
        rows = asyncio.run(_wait_for_clients(todo, tool, folder, listen))
    else:
        rows = until_told(_start_clients(todo, tool, folder, command, timeout))
    print_rows(rows, form)
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
    from mrtrscope.recorder import Journal
    from mrtrscope.replay.tried_client import CONTROL, TriedClient

    said = Journal.create(str(folder), "replay", "client")
    trying = TriedClient(command, tool, folder, timeout, said)
    try:
        with progress(sys.stderr) as made:
            for n, name in enumerate([CONTROL, *(name for name in todo if name != CONTROL)]):
                made(n, len(todo) + (CONTROL not in todo), name)
                await trying.way(name)
                if name == CONTROL and trying.absent:
                    raise NoClient(trying.absent)
    except OSError as error:
        why = f"cannot be started: {error.strerror}"
        raise NoClient(f"{command[0]} {why}. Say behind -- how the client is started.") from error
    finally:
        trying.close()
        said.close()
    for line in trying.warnings():
        say(line)
    return [trying.rows()[name] for name in todo]


class NoClient(click.ClickException):
    """There is nobody to be tried (exit code 2)."""

    exit_code = USAGE


async def _wait_for_clients(todo: list[str], tool: str, folder: Path, listen: str) -> list[dict[str, Any]]:
    from mrtrscope.link.origins import surely_loopback
    from mrtrscope.replay.misbehave import OverHttp, seen
    from mrtrscope.replay.tried_client import row
    from mrtrscope.replay.ways import WAYS, together

    host, _, port = listen.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isdigit() or int(port) + len(todo) > 65535:
        raise click.UsageError(f"--listen {listen}: HOST:PORT is wanted, say 127.0.0.1:9000")
    if not surely_loopback(host):
        raise click.UsageError(f"cannot serve on {listen}: only loopback addresses are listened on")
    servers = []
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        for n, name in enumerate(todo):
            server = OverHttp(WAYS[name], tool, folder)
            servers.append(await server.start(host, int(port) + n if int(port) else 0))
            say(f"{servers[-1].url}  {name}: {WAYS[name].does}")
        say("Point a client at each of these; ctrl-c shows what was seen.")
        await stop.wait()
    except OSError as error:
        raise click.UsageError(f"cannot serve on {listen}: {os.strerror(error.errno or 0)}") from error
    finally:
        journals = [await server.close() for server in servers]
    verdicts = {
        server.way.name: seen(server.way, journal) for server, journal in zip(servers, journals, strict=True)
    }
    return [row(name, *verdict) for name, verdict in together(verdicts).items()]


def print_rows(rows: list[dict[str, Any]], form: str) -> None:
    """The table, and what the clients said that did not end well; or JSON."""
    from mrtrscope.views.escape import terminal
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
    said: dict[tuple[str, ...], list[str]] = {}
    for row in rows:
        if row["stderr"] and row["exit"] != 0:
            said.setdefault(tuple(row["stderr"]), []).append(row["way"])
    for lines, ways in said.items():
        print_lines(["", f"What the client said last in {', '.join(ways)}:"])
        print_lines(f"  {terminal(line)}" for line in lines)

"""`mrtrscope rules`: the catalogue."""

from __future__ import annotations

import json
from typing import Any

import click

from mrtrscope.cli.common import colours, columns, epilog, format_option, print_lines

LEVELS = ("must", "must-not", "should", "should-not", "advisory")


@click.command(epilog=epilog("mrtrscope rules --area mrtr", "mrtrscope rules --level must --format json"))
@click.option("--area", help="Only rules whose id begins with this, such as mrtr or cancel.")
@click.option("--level", type=click.Choice(LEVELS), help="Only rules of this keyword.")
@click.option(
    "--checked/--all", default=False, help="Only rules that are checked here; default: the whole catalogue."
)
@format_option("text", "json", "md")
def rules(area: str | None, level: str | None, checked: bool, form: str) -> None:
    """List the rules.

    A rule that is not checked cannot be seen on the wire (active), or has no code yet.
    """
    from mrtrscope.rules import catalogue, registry

    known = registry.load()
    rows = [
        {**entry, "checked": id in known}
        for id, entry in catalogue.ENTRIES.items()
        if (not area or id.split("/")[0] == area.rstrip("/"))
        and (not level or entry["level"] == level)
        and (not checked or id in known)
    ]
    if area and not rows and not any(id.startswith(f"{area.rstrip('/')}/") for id in catalogue.ENTRIES):
        areas = sorted({id.split("/")[0] for id in catalogue.ENTRIES})
        raise click.UsageError(f"There is no area {area!r}. Areas: {', '.join(areas)}")
    if form == "json":
        click.echo(json.dumps({"rules": rows}, indent=1))
    elif form == "md":
        from mrtrscope.views.reference import reference

        print_lines(reference(rows, known).rstrip("\n").split("\n"))
    else:
        print_lines(_table(rows))


def _table(rows: list[dict[str, Any]]) -> Any:
    from mrtrscope.views.table import Cell, Column, paint, table

    heads = [Column("rule"), Column("level"), Column("party"), Column("seen"), Column("checked"),
             Column("title", least=20)]  # fmt: skip
    tone = {"must": "red", "must-not": "red", "should": "yellow", "should-not": "yellow", "advisory": "cyan"}
    cells = (
        [Cell(r["id"], "bold"), Cell(r["level"], tone[r["level"]]), Cell(r["party"]), Cell(r["observable"]),
         Cell("yes" if r["checked"] else "-"), Cell(r["title"])]
        for r in rows
    )  # fmt: skip
    yield from table(heads, cells, columns(), colours())
    known = sum(r["checked"] for r in rows)
    yield paint(
        f"{len(rows)} rules, {known} of them checked; `mrtrscope explain RULE` says more", "dim", colours()
    )

"""`mrtrscope explain`: one rule, its source, why it matters, and two tiny captures that show it."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Iterator
from typing import Any

import click

from mrtrscope.cli.common import colours, epilog, format_option, print_lines


@click.command(epilog=epilog("mrtrscope explain mrtr/at-least-one-field"))
@click.argument("rule")
@format_option("text", "json")
def explain(rule: str, form: str) -> None:
    """Explain one rule: its source, why it matters, examples.

    RULE is an id as `check` and `rules` print it; its last part is enough where only one rule has it.
    """
    from mrtrscope.rules import catalogue, registry

    known = registry.load()
    id = _find(rule, list(catalogue.ENTRIES))
    entry, code = catalogue.ENTRIES[id], known.get(id)
    found = {**entry, "checked": code is not None, "text": inspect.cleandoc(code.doc) if code else None,
             "examples": list(_examples(id))}  # fmt: skip
    if form == "json":
        click.echo(json.dumps(found, indent=1))
    else:
        print_lines(_page(found))


def _find(name: str, ids: list[str]) -> str:
    """The id that was meant."""
    matching = [id for id in ids if id == name] or [id for id in ids if id.endswith(f"/{name}")]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise click.UsageError(f"{name!r} could be {', '.join(matching)}")
    near = difflib.get_close_matches(name, ids, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`mrtrscope rules` lists them."
    raise click.UsageError(f"There is no rule {name!r}; {hint}")


def _examples(id: str) -> Iterator[dict[str, Any]]:
    from mrtrscope.rules import examples

    for case in examples.cases_of(id):
        yield {"name": case.name, "violates": case.violates, "title": case.title, "lines": case.text}


def _page(rule: dict[str, Any]) -> Iterator[str]:
    from mrtrscope.views.table import paint

    colour = colours()
    yield paint(rule["id"], "bold", colour)
    yield f"{rule['level']}  {rule['party']}  {', '.join(rule['transports'])}  {', '.join(rule['revisions'])}"
    yield ""
    yield from (rule["text"] or rule["title"]).splitlines()
    yield ""
    for source in rule["source"]:
        yield f"Source   {source}"
    if rule["conformance"]:
        yield f"Suite    {', '.join(rule['conformance'])}"
    yield f"Seen     {_seen(rule)}"
    for case in rule["examples"]:
        yield ""
        word, tone = ("Breaks it", "red") if case["violates"] else ("Keeps it", "green")
        yield f"{paint(word, tone, colour)}: {case['title']}"
        yield from (f"  {line}" for line in case["lines"])


def _seen(rule: dict[str, Any]) -> str:
    how = {"passive": "on the wire", "passive-partial": "partly on the wire", "active": "only by probing"}
    seen = how[rule["observable"]]
    return seen if rule["checked"] else f"{seen}; not checked by this version"

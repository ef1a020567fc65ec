"""`mrtrscope explain`: one rule, its source, why it matters, and two tiny captures that show it."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from mrtrscope.cli.common import capture_named, colours, epilog, format_option, opened, print_lines, say
from mrtrscope.cli.newest import is_id, newest, normal


@click.command(epilog=epilog("mrtrscope explain mrtr/at-least-one-field",
                             "mrtrscope explain captures/sample-demo m42"))  # fmt: skip
@click.argument("what", nargs=-1, required=True, metavar="RULE | [CAPTURE] ID")
@format_option("text", "json")
def explain(what: tuple[str, ...], form: str) -> None:
    """Explain one rule: its source, why it matters, examples.

    RULE is an id as `check` and `rules` print it; its last part is enough where only one rule has it. With an ID (op3,
    m42, f12) it is the rules that were broken there.
    """
    from mrtrscope.rules import catalogue

    if len(what) > 2 or (len(what) == 2 and not is_id(what[1])):
        raise click.UsageError("Name one rule, or a capture and an ID in it (op3, m42, f12).")
    if is_id(what[-1]):
        rules = _broken(capture_named(what[0]) if len(what) == 2 else newest(), normal(what[-1]))
    else:
        rules = [_find(what[0], list(catalogue.ENTRIES))]
    found = [_rule(id) for id in rules]
    if form == "json":
        click.echo(json.dumps(found[0] if len(found) == 1 else {"rules": found}, indent=1))
        return
    for n, one in enumerate(found):
        print_lines([*[""] * (2 * bool(n)), *_page(one)])


def _rule(id: str) -> dict[str, Any]:
    from mrtrscope.rules import catalogue, registry

    code = registry.load().get(id)
    return {**catalogue.ENTRIES[id], "checked": code is not None,
            "text": inspect.cleandoc(code.doc) if code else None, "examples": list(_examples(id))}  # fmt: skip


def _broken(capture: Path, id: str) -> list[str]:
    """The rules that were broken at an operation, a message or another event."""
    from mrtrscope.cli.show import at_finding, missing

    with opened(capture) as store:
        if not id.startswith("op"):
            id = at_finding(store, id)
        if not (store.operation(id) if id.startswith("op") else store.about(id)):
            raise missing(store, id)
        found = store.findings(id) if id.startswith("op") else store.findings_at([id])
        rules = list(dict.fromkeys(one.rule for one in found))
    if not rules:
        say(f"Nothing was found at {id}; mrtrscope list {capture} --findings shows where.")
    return rules


def _find(name: str, ids: list[str]) -> str:
    """The id that was meant."""
    matching = [id for id in ids if id == name] or [id for id in ids if id.endswith(f"/{name}")]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise click.UsageError(f"{name!r} could be {', '.join(matching)}")
    if any(id.startswith(f"{name.rstrip('/')}/") for id in ids):
        raise click.UsageError(
            f"{name!r} is an area; mrtrscope rules --area {name.rstrip('/')} lists its rules"
        )
    near = difflib.get_close_matches(name, ids, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "`mrtrscope rules` lists them."
    raise click.UsageError(f"There is no rule {name!r}; {hint}")


def _examples(id: str) -> Iterator[dict[str, Any]]:
    from mrtrscope.rules import examples

    for case in examples.cases_of(id):
        yield {"name": case.name, "violates": case.violates, "title": case.title, "lines": case.text}


def _page(rule: dict[str, Any]) -> Iterator[str]:
    from mrtrscope.rules.catalogue import EARLIER
    from mrtrscope.views.table import paint

    colour = colours()
    yield paint(rule["id"], "bold", colour)
    level = "advisory (a note, level info)" if rule["level"] == "advisory" else rule["level"]
    yield f"{level}  {rule['party']}  {', '.join(rule['transports'])}  {', '.join(rule['revisions'])}"
    yield ""
    yield from (rule["text"] or rule["title"]).splitlines()
    yield ""
    for source in rule["source"]:
        yield f"Source   {source}"
    if rule["id"] in EARLIER:
        yield f"Before   {EARLIER[rule['id']]}"
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

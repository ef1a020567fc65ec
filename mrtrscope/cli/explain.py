"""`mrtrscope explain`: what a rule asks and why, with tiny captures that show it; or what is wrong at a message."""

from __future__ import annotations

import difflib
import inspect
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrtrscope.cli.common import (
    capture_named,
    colours,
    columns,
    epilog,
    format_option,
    masked,
    opened,
    print_lines,
    say,
)
from mrtrscope.cli.newest import is_id, newest, normal

if TYPE_CHECKING:
    from mrtrscope import model
    from mrtrscope.rules.registry import Rule
    from mrtrscope.store.reader import Store
    from mrtrscope.views.masked import Masked

WRITTEN = 112  # columns that the texts of rules are written in; a line that ends sooner ends a paragraph


@click.command(epilog=epilog("mrtrscope explain mrtr/at-least-one-field",
                             "mrtrscope explain captures/sample-demo m42"))  # fmt: skip
@click.argument("what", nargs=-1, required=True, metavar="RULE | [CAPTURE] ID")
@format_option("text", "json")
def explain(what: tuple[str, ...], form: str) -> None:
    """Explain one rule: its source, why it matters, examples.

    RULE is an id as `check` and `rules` print it; its last part is enough where only one rule has it. With an ID (op3,
    m42, f12) it is what stands there and what was found, then the rules that were broken.
    """
    from mrtrscope.rules import catalogue

    if len(what) > 2 or (len(what) == 2 and not is_id(what[1])):
        raise click.UsageError("Name one rule, or a capture and an ID in it (op3, m42, f12).")
    if is_id(what[-1]):
        _place(capture_named(what[0]) if len(what) == 2 else newest(), normal(what[-1]), form)
        return
    rule = _rule(_find(what[0], list(catalogue.ENTRIES)))
    if form == "json":
        click.echo(json.dumps(rule, indent=1))
    else:
        print_lines([*_page(rule), *_shown(rule)])


def _rule(id: str) -> dict[str, Any]:
    from mrtrscope.rules import catalogue, registry

    code = registry.load().get(id)
    return {**catalogue.ENTRIES[id], "checked": code is not None,
            "text": inspect.cleandoc(code.doc) if code else None, "silent": _silent(code) if code else None,
            "examples": list(_examples(id))}  # fmt: skip


def _silent(code: Rule) -> str:
    """What the rule is never asked about, whatever its own text says."""
    from mrtrscope.link.facts import A2A, UNKNOWN

    about = ["what was cut in recording, edited by a person, or said by the recording proxy"]
    if UNKNOWN not in code.eras and A2A not in code.eras:
        about.append("traffic whose revision is not known")
    if "since" in code.entry:
        about.append(f"sessions of a revision before {code.entry['since']}")
    return "; ".join(about)


def _place(capture: Path, id: str, form: str) -> None:
    """What stands at an operation, a message or another event, what was found there, and the rules behind that."""
    from mrtrscope.cli.show import at_finding, missing

    with opened(capture) as store:
        hide = masked(store, False)
        if not id.startswith("op"):
            id = at_finding(store, id)
        row = store.message(id) if id.startswith("m") else None
        name = id if id.startswith("op") else row.operation if row is not None else None
        op = store.operation(name) if name else None
        if op is None and not store.about(id):
            raise missing(store, id)
        found = list(
            hide.findings(store, store.findings(id) if id.startswith("op") else store.findings_at([id]))
        )
        rules = [_rule(rule) for rule in dict.fromkeys(one.rule for one in found)]
        if form == "json":
            whole = rules[0] if len(rules) == 1 else {"rules": rules}
            click.echo(json.dumps({**whole, "findings": [one.model_dump() for one in found]}, indent=1))
            return
        print_lines(_answer(store, hide, id, row, op, found))
    for rule in rules:
        print_lines(["", *_page(rule), f"Examples mrtrscope explain {rule['id']}"])
    if not rules:
        say(f"Nothing was found at {id}; mrtrscope list {capture} --findings shows where.")


def _answer(
    store: Store, hide: Masked, id: str, row: model.Message | None, op: model.Operation | None,
    found: list[model.Finding],
) -> Iterator[str]:  # fmt: skip
    """What it is, its operation, its findings."""
    from mrtrscope.views.escape import visible
    from mrtrscope.views.metrics import cells, cut
    from mrtrscope.views.rows import ended, finding
    from mrtrscope.views.table import paint
    from mrtrscope.views.words import count

    width, colour, text = columns(), colours(), hide.redact.text
    parts = []
    if row is not None:
        sent = "client to server" if row.dir == "c2s" else "server to client"
        parts.append(f"{text(store.about(id))}, {sent}{f', of {op.id}' if op is not None else ''}")
    elif op is None:
        parts.append(text(store.about(id)))
    if op is not None:
        op = hide.operation(op)
        called = " ".join(filter(None, [op.method, op.target]))
        parts.append(f"{called} on {op.channel}, {count(len(op.rounds), 'round')}, {ended(op)}")
    head = visible(": ".join(parts))
    yield (
        paint(id, "bold", colour) + "  " + (head if width is None else cut(head, width - len(id) - 2, cells))
    )
    if row is not None and op is not None and op.findings > len(found):
        rest = count(op.findings - len(found), "finding")
        yield paint(f"    {op.id} has {rest} elsewhere: mrtrscope explain {op.id}", "dim", colour)
    for one in found:
        yield from finding(one, lambda at: text(store.about(at)), width, colour)


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
    yield from _fitted(rule["text"] or rule["title"], columns())
    yield ""
    for source in rule["source"]:
        yield f"Source   {source}"
    if rule["id"] in EARLIER:
        yield f"Before   {EARLIER[rule['id']]}"
    if rule["conformance"]:
        yield f"Suite    {', '.join(rule['conformance'])}"
    yield f"Seen     {_seen(rule)}"
    if rule["silent"] is not None:
        first, *more = textwrap.wrap(f"never about {rule['silent']}", (columns() or WRITTEN) - 9)
        yield f"Silent   {first}"
        yield from (f"         {line}" for line in more)


def _shown(rule: dict[str, Any]) -> Iterator[str]:
    """The examples that break it and keep it."""
    from mrtrscope.views.table import paint

    colour = colours()
    for case in rule["examples"]:
        yield ""
        word, tone = ("Breaks it", "red") if case["violates"] else ("Keeps it", "green")
        yield f"{paint(word, tone, colour)}: {case['title']}"
        yield from (f"  {line}" for line in case["lines"])


def _fitted(text: str, width: int | None) -> Iterator[str]:
    """The text of a rule in lines that fit a narrow terminal, its paragraphs kept."""
    lines = text.splitlines()
    if width is None or all(len(line) <= width for line in lines):
        yield from lines
        return
    paragraph: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        paragraph.append(line)
        if len(line) + len(after.split(" ", 1)[0]) < WRITTEN or after.startswith(("Why it", "Cannot tell")):
            yield from textwrap.wrap(" ".join(paragraph), width) or [""]
            paragraph = []


def _seen(rule: dict[str, Any]) -> str:
    how = {"passive": "on the wire", "passive-partial": "partly on the wire", "active": "only by probing"}
    seen = how[rule["observable"]]
    return seen if rule["checked"] else f"{seen}; not checked by this version"

"""`mrtrscope check`: findings, and an exit code for scripts."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mrtrscope.cli.common import (
    CLEAN,
    FINDINGS,
    colours,
    columns,
    epilog,
    format_option,
    masked,
    on_terminal,
    opened,
    print_json,
    print_lines,
    raw_option,
    say,
    update_option,
)  # fmt: skip
from mrtrscope.cli.newest import newest_capture_argument

if TYPE_CHECKING:
    from mrtrscope import model
    from mrtrscope.store.reader import Store
    from mrtrscope.views.masked import Masked
    from mrtrscope.views.outputs.select import Folded

FAILING = {"must": ("must",), "should": ("must", "should"), "never": ()}


@click.command(epilog=epilog(
    "mrtrscope check captures/sample-demo --fail-on never",
    "mrtrscope check captures/sample-demo --select mrtr --party client --format github --fail-on never",
    "mrtrscope check captures/sample-demo --verdicts --fail-on never",
))  # fmt: skip
@newest_capture_argument
@click.option("--fail-on", type=click.Choice(["must", "should", "never"]), default="must", show_default=True,
              help="Lowest level that makes the exit code 1.")  # fmt: skip
@click.option("--select", multiple=True, metavar="RULE|AREA", help="Only these rules or areas; repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE|AREA", help="Not these rules or areas; repeatable.")
@click.option("--party", type=click.Choice(["client", "server"]), help="Only what this side did.")
@click.option("--baseline", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Leave out the findings that this file accepts.")  # fmt: skip
@click.option("--write-baseline", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Accept all findings of this run: write them to the file, exit 0.")  # fmt: skip
@click.option("--verdicts", is_flag=True,
              help="Per channel: which rules the traffic put to the test, which it broke.")  # fmt: skip
@click.option("--all", "whole", is_flag=True, help="Print every finding, however often its rule was broken.")
@format_option("text", "json", "sarif", "junit", "github")
@raw_option
@update_option
def check(
    capture: Path,
    fail_on: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    party: str | None,
    baseline: Path | None,
    write_baseline: Path | None,
    verdicts: bool,
    whole: bool,
    form: str,
    raw: bool,
    no_update: bool,
) -> int:
    """Judge a capture against the rules and print what it breaks.

    CAPTURE is a capture folder, a journal, a transcript, a mitmproxy flow file or a HAR. Exit code: 0 clean,
    1 findings, 2 usage, 3 unreadable. Without CAPTURE it is the newest one. A finding of level info is called a note;
    it breaks nothing.
    """
    chosen = _chosen(select, ignore, party, baseline)
    from mrtrscope.views import beside

    with opened(capture, no_update) as store:
        hide = masked(store, raw)
        if write_baseline is not None:
            from mrtrscope.views.outputs import baseline as accepted

            try:
                accepted.write(write_baseline, hide.folded(store, _folded(store, chosen)))
            except accepted.BadBaseline as error:
                raise click.UsageError(str(error)) from error
            n = _levels(store, chosen).total()  # as --baseline counts them: repeats share an entry
            say(f"{n:,} accepted in {write_baseline}; check with --baseline {write_baseline}")
            return CLEAN
        levels = _levels(store, chosen)
        if verdicts:
            _print_verdicts(store, hide, form, whole)
        elif form == "json":
            rest = {"counts": levels, **beside.members(store)}
            print_json("findings", hide.findings(store, chosen(store)), lambda: rest)
        elif form == "text":
            _print_text(store, hide, chosen, levels, whole)
            if baseline is not None:
                known = _levels(store, _chosen(select, ignore, party, None)).total() - levels.total()
                print_lines([f"{known:,} left out that {baseline} accepts."] if known else [])
        else:
            _print_for_machines(store, hide, chosen, form, fail_on, capture)
    return FINDINGS if any(levels[level] for level in FAILING[fail_on]) else CLEAN


def _chosen(
    select: tuple[str, ...], ignore: tuple[str, ...], party: str | None, baseline: Path | None
) -> Callable[[Store], Iterator[model.Finding]]:
    """How to get the findings that this run is about."""
    if not (select or ignore or party or baseline):
        return lambda store: store.findings()
    from mrtrscope.rules.catalogue import ENTRIES
    from mrtrscope.views.outputs import baseline as accepted
    from mrtrscope.views.outputs.select import Selection, UnknownRule, fingerprint

    try:
        selection = Selection(select, ignore, party, ENTRIES)
        known = accepted.read(baseline) if baseline is not None else frozenset()
    except (UnknownRule, accepted.BadBaseline) as error:
        raise click.UsageError(str(error)) from error

    def chosen(store: Store) -> Iterator[model.Finding]:
        targets = store.targets() if known else {}
        for finding in store.findings():
            if finding in selection and not (
                known and fingerprint(finding, *targets.get(finding.operation or "", ("", ""))) in known
            ):
                yield finding

    return chosen


def _levels(store: Store, chosen: Callable[[Store], Iterator[model.Finding]]) -> Counter[str]:
    counted = Counter(finding.level for finding in chosen(store))
    return Counter({level: counted[level] for level in ("must", "should", "info")})


def _folded(store: Store, chosen: Callable[[Store], Iterator[model.Finding]]) -> Iterator[Folded]:
    from mrtrscope.views.outputs.select import fold

    return fold(chosen(store), store.targets())


def _print_text(
    store: Store,
    hide: Masked,
    chosen: Callable[[Store], Iterator[model.Finding]],
    levels: Counter[str],
    whole: bool,
) -> None:
    from mrtrscope.views import beside
    from mrtrscope.views.hints import Noticed
    from mrtrscope.views.rows import EACH, findings

    noticed = Noticed()
    each = sys.maxsize if whole else EACH
    print_lines(
        findings(
            chosen(store),
            levels,
            store.counts(),
            columns(),
            colours(),
            about=lambda at: hide.redact.text(store.about(at)),
            each=each,
            named=len(list(store.channels())) > 1,
            mask=lambda rows: noticed.findings(hide.findings(store, rows)),
        )
    )
    print_lines(beside.lines(store))
    if on_terminal():
        print_lines(noticed.lines(store.source, colours()))


def _print_verdicts(store: Store, hide: Masked, form: str, whole: bool) -> None:
    from mrtrscope.rules import registry
    from mrtrscope.views import verdicts

    names = [channel.name for channel in store.channels()]
    found = verdicts.verdicts(
        names,
        store.tested_by_channel(),
        store.findings_by_channel(False),
        store.findings_by_channel(True),
        registry.load(),
    )
    rows = hide.verdicts(found)
    if form == "json":
        print_json("verdicts", rows)
    elif form == "text":
        print_lines(verdicts.lines(rows, whole))
    else:
        raise click.UsageError(f"--verdicts has the formats text and json, not {form}")


def _print_for_machines(
    store: Store,
    hide: Masked,
    chosen: Callable[[Store], Iterator[model.Finding]],
    form: str,
    fail_on: str,
    capture: Path,
) -> None:
    from mrtrscope.rules import registry
    from mrtrscope.views.outputs import github, junit, sarif
    from mrtrscope.views.outputs.places import Places, repository

    places = Places(capture, repository(Path.cwd(), os.environ))
    found = hide.folded(store, _folded(store, chosen))
    if form == "github":
        print_lines(github.github(found, places))
    elif form == "junit":
        print_lines(
            [junit.junit(found, store.tested(), registry.load(), fail_on, capture.name, places).rstrip("\n")]
        )
    else:
        document: dict[str, Any] = sarif.sarif(found, registry.load(), places)
        print_lines([json.dumps(document, indent=1)])

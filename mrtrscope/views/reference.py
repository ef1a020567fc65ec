"""The reference page of the rules, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from mrtrscope.rules.catalogue import SEVERITY
from mrtrscope.rules.excluded import EXCLUDED
from mrtrscope.rules.registry import Rule
from mrtrscope.views.templates import render


def reference(rows: Iterable[Mapping[str, Any]], known: Mapping[str, Rule]) -> str:
    """The page about these entries of the catalogue; `known` are the rules that are checked."""
    areas = []
    for name, entries in groupby(_by_area(rows), key=lambda row: row["id"].partition("/")[0]):
        rules = [_rule(entry, known.get(entry["id"])) for entry in entries]
        levels = [SEVERITY[rule["level"]] for rule in rules]
        areas.append({
            "name": name, "rules": rules, "checked": sum(rule["checked"] for rule in rules),
            "must": levels.count("must"), "should": levels.count("should"), "notes": levels.count("info"),
        })  # fmt: skip
    return render(
        "rules.md.j2", areas=areas, total=sum(len(area["rules"]) for area in areas),
        checked=sum(area["checked"] for area in areas),
    )  # fmt: skip


def _by_area(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The notes of our own stand behind the rules of their area."""
    order: dict[str, int] = {}
    return sorted(rows, key=lambda row: order.setdefault(row["id"].partition("/")[0], len(order)))


def _rule(entry: Mapping[str, Any], rule: Rule | None) -> dict[str, Any]:
    if rule is None:
        why = EXCLUDED.get(entry["id"], "it takes a peer that misbehaves on purpose")
        text = [f"{entry['title']}.", f"Not checked: {why}."]
    else:
        text = _paragraphs(rule.doc)
    return {**entry, "checked": rule is not None, "text": text}


def _paragraphs(doc: str) -> list[str]:
    """A docstring as paragraphs; the words that begin one stand at the start of a line."""
    out: list[str] = []
    for line in doc.strip().splitlines():
        text = line.strip()
        if not text or text.startswith(("Why it matters:", "Cannot tell:")) or not out:
            out.append(text)
        else:
            out[-1] = f"{out[-1]} {text}".strip()
    # Our own words, not captured ones: only what Markdown would take for its own has to be kept apart.
    return [text.replace("<", "&lt;").replace("*", r"\*").replace("_", r"\_") for text in out if text]

"""Our own copy of the facts of the rule catalogue, `catalogue.json`: which rules there are, about what.

An entry has: id, title, level, basis, party, transports, revisions, source (a list), observable, since (for a
rule whose sentence is younger than the oldest revision it is applied to), conformance (check ids of the
official suite). `ours.json` has notes of our own, in the same form: no sentence of the specification says them.
`a2a.json` has the rules of another specification, that of A2A; `revisions` are its own there.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def _read(name: str) -> dict[str, dict[str, Any]]:
    text = files("mrtrscope.rules").joinpath(name).read_text(encoding="utf-8")
    return {entry["id"]: entry for entry in json.loads(text)["rules"]}


def _earlier() -> dict[str, str]:
    return dict(json.loads(files("mrtrscope.rules").joinpath("earlier.json").read_text(encoding="utf-8")))


ENTRIES = _read("catalogue.json")
OURS = _read("ours.json")
AGENTS = _read("a2a.json")
ENTRIES |= OURS | AGENTS
# Rule -> where 2025-11-25 says it, for rules of both revisions whose `source` is the later one's.
EARLIER = _earlier()


def said_at(id: str, era: str) -> str:
    """Where the specification says what a rule asks of an exchange of this era ("modern", "legacy", …), "" unknown."""
    if era == "legacy" and id in EARLIER:
        return EARLIER[id]
    entry = ENTRIES.get(id)
    return str(entry["source"][0]) if entry is not None else ""


# What a keyword counts as where one asks "how bad".
SEVERITY = {
    "must": "must",
    "must-not": "must",
    "should": "should",
    "should-not": "should",
    "advisory": "info",
}
RANK = {"info": 0, "should": 1, "must": 2}

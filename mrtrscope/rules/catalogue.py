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


ENTRIES = _read("catalogue.json")
OURS = _read("ours.json")
AGENTS = _read("a2a.json")
ENTRIES |= OURS | AGENTS

# What a keyword counts as where one asks "how bad".
SEVERITY = {
    "must": "must",
    "must-not": "must",
    "should": "should",
    "should-not": "should",
    "advisory": "info",
}
RANK = {"info": 0, "should": 1, "must": 2}

"""Our own copy of the facts of the rule catalogue, `catalogue.json`: which rules there are, about what.

An entry has: id, title, level, basis, party, transports, revisions, source (a list), observable, since (for a
rule whose sentence is younger than the oldest revision it is applied to), conformance (check ids of the
official suite). `ours.json` has notes of our own, in the same form: no sentence of the specification says them.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

_TEXT = files("mrtrscope.rules").joinpath("catalogue.json").read_text(encoding="utf-8")
ENTRIES: dict[str, dict[str, Any]] = {entry["id"]: entry for entry in json.loads(_TEXT)["rules"]}
_OURS = files("mrtrscope.rules").joinpath("ours.json").read_text(encoding="utf-8")
OURS = frozenset(entry["id"] for entry in json.loads(_OURS)["rules"])
ENTRIES |= {entry["id"]: entry for entry in json.loads(_OURS)["rules"]}

# What a keyword counts as where one asks "how bad".
SEVERITY = {
    "must": "must",
    "must-not": "must",
    "should": "should",
    "should-not": "should",
    "advisory": "info",
}
RANK = {"info": 0, "should": 1, "must": 2}

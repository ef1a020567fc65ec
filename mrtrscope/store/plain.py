"""The rows of `model` as plain objects, for a single look: their classes cost nothing to make, and check nothing.

Fields that have a default in `model` have the same one here; `tests/store/test_plain.py` compares them.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Row(SimpleNamespace):
    """Fields as attributes."""

    defaults: dict[str, Any] = {}

    def __init__(self, **fields: Any) -> None:
        # Lists and dicts among the defaults are shared: rows are read, never changed.
        super().__init__(**{**self.defaults, **fields})


class Source(Row):
    defaults = {"line": None, "flow": None, "event": None, "offset": None}


class Message(Row):
    defaults = {
        "id": None, "id_text": None, "method": None, "target": None, "operation": None, "exchange": None, "frames": [],
        "era": "unknown", "oddities": [], "http": None, "status": None,
    }  # fmt: skip


class Link(Row):
    defaults = {"total": 0, "differences": []}


class Round(Row):
    defaults = {"state": "", "asks": [], "t": 0.0, "t_answer": None, "era": "unknown", "client": ""}


class Times(Row):
    pass


class Operation(Row):
    defaults = {
        "attached": [], "task": None, "subscription": None, "within": None, "nested": [], "hop_of": None, "hops": [],
        "again_of": None, "context": None, "conversation": None, "tool_error": False,
        "worst": None, "worst_count": 0,
    }  # fmt: skip


class Finding(Row):
    defaults = {
        "also": [], "operation": None, "saw": None, "expected": None, "path": "", "provisional": False,
        "because": None, "count": 1,
    }  # fmt: skip


class Tried(Row):
    defaults = {"chosen": "", "n": 1}


class Channel(Row):
    defaults = {"server": "", "clients": [], "speaks": {}, "tried": []}

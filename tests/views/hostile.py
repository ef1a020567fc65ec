"""A capture in which every place that a peer can write to holds a nasty label."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests import captures
from tests.views import nasty

LABELS = [label for label in dict.fromkeys(nasty.ALL) if label.strip() and len(label) < 400]


def record(folder: Path, labels: list[str] = LABELS) -> Path:
    """One operation of two rounds for each label, the second with the id of the first, which is a finding."""
    lines: list[tuple[int, str, bytes]] = []
    for n, label in enumerate(labels):
        t = n * 10_000
        state = f"{label}-{n}"
        params = {"name": label, "arguments": {label: label}, "_meta": _meta(label)}
        asked = {
            "resultType": "input_required",
            "inputRequests": {
                label: {
                    "method": "elicitation/create",
                    "params": {"mode": "form", "message": label, "requestedSchema": {
                        "type": "object", "properties": {label: {"type": "string", "title": label, "enum": [label]}},
                        "required": [label]}},
                }
            },
            "requestState": state,
        }  # fmt: skip
        answers = {label: {"action": "accept", "content": {label: label}}}
        retry = params | {"inputResponses": answers, "requestState": state + label}
        failed = {"code": -32000, "message": label, "data": {label: label}}
        lines += [
            _line(t, "c2s", id=n, method="tools/call", params=params),
            _line(
                t + 500, "s2c", method="notifications/message",
                params={"level": "info", "logger": label, "data": label},
            ),
            _line(t + 1000, "s2c", id=n, result=asked),
            _line(t + 2000, "c2s", id=n, method="tools/call", params=retry),
            _line(t + 3000, "s2c", id=n, error=failed),
        ]  # fmt: skip
    captures.journal(folder, lines, channel=labels[0]).close()
    return folder


def _meta(label: str) -> dict[str, Any]:
    return {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": label, "version": label},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }


def _line(t: int, dir: str, **members: Any) -> tuple[int, str, bytes]:
    return t, dir, json.dumps({"jsonrpc": "2.0", **members}).encode()

"""A baseline: findings that somebody accepted, kept in a file, so that a build fails for new ones alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from mrtrscope.files import write_file
from mrtrscope.views.outputs.select import Folded, channel_name

VERSION = 1


class BadBaseline(ValueError):
    """The file is no baseline, or cannot be written; says what to do."""


def write(path: Path, findings: Iterable[Folded]) -> int:
    """Write the findings as accepted; returns how many. The file is meant to be read and committed.

    BadBaseline when there is no place for it.
    """
    rows = [
        {
            "fingerprint": f.fingerprint,
            "rule": f.finding.rule,
            "party": f.finding.party,
            "channel": channel_name(f.finding.channel),
            "operation": f"{f.method} {f.target}".strip(),
            "text": f.finding.text,
        }
        for f in findings
    ]
    rows.sort(key=lambda row: (row["rule"], row["fingerprint"]))
    text = json.dumps({"mrtrscope-baseline": VERSION, "accepted": rows}, indent=1, ensure_ascii=False)
    try:
        write_file(path, f"{text}\n".encode(errors="backslashreplace"))
    except OSError as error:
        raise BadBaseline(f"{path}: {error.strerror}; name another file") from error
    return len(rows)


def read(path: Path) -> frozenset[str]:
    """The fingerprints that are accepted; BadBaseline when the file is something else."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["mrtrscope-baseline"] != VERSION:
            raise BadBaseline(
                f"{path}: a baseline of version {found['mrtrscope-baseline']}; this program writes version {VERSION}."
                " Make it anew with --write-baseline."
            )
        return frozenset(str(row["fingerprint"]) for row in found["accepted"])
    except OSError as error:
        raise BadBaseline(f"{path}: {error.strerror}. --write-baseline FILE makes one.") from error
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, BadBaseline):
            raise
        raise BadBaseline(f"{path}: no baseline. --write-baseline FILE makes one.") from error

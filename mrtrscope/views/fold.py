"""What stands between a request and its answer: notifications, folded into one row where several follow each other."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeGuard

from mrtrscope.views.escape import visible
from mrtrscope.views.questions import short
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import Line, Said
from mrtrscope.views.words import count, series

PROGRESS, LOG = "notifications/progress", "notifications/message"


def label(note: Said, redact: Redactor) -> tuple[str, list[Line]]:
    """What stands over the arrow of one notification, and under it."""
    params = note.member("params")
    if note.method == PROGRESS:
        lines = (
            [Line("hint", short(redact.text(params["message"])))]
            if isinstance(params.get("message"), str)
            else []
        )
        return f"progress {_amount(params)}".strip(), lines
    if note.method == LOG:
        return f"log {short(params.get('level', ''), 20)}".strip(), [
            Line("hint", short(redact.value(params.get("data", ""))))
        ]
    return visible(note.method) or note.kind, []


def runs(notes: list[Said], unfold: bool) -> list[list[Said]]:
    """The notes in runs that make one row each: all of one side that stand together, or each alone when unfolded."""
    out: list[list[Said]] = []
    for note in notes:
        if not unfold and out and _folds(note) and _folds(out[-1][-1]) and note.dir == out[-1][-1].dir:
            out[-1].append(note)
        else:
            out.append([note])
    return out


def _folds(note: Said) -> bool:
    """Whether it may share a row: what ends a request has one of its own."""
    return note.kind == "notification" and not note.method.endswith("/cancelled")


def summary(run: list[Said]) -> str:
    """Several in words: "12 progress, 0 → 100 %; 3 log lines: 2 info, 1 warning; 2 resources/updated"."""
    parts = []
    progress = [note.member("params") for note in run if note.method == PROGRESS]
    if progress:
        parts.append(f"{len(progress):,} progress{_span(progress)}")
    logs = [note.member("params") for note in run if note.method == LOG]
    if logs:
        levels = Counter(short(log.get("level", "no level"), 20) for log in logs)
        parts.append(
            f"{count(len(logs), 'log line')}: {series([f'{n} {level}' for level, n in levels.most_common(4)])}"
        )
    others = Counter(
        visible(note.method.removeprefix("notifications/").removeprefix("subscriptions/"))
        for note in run
        if note.method not in (PROGRESS, LOG)
    )
    parts += [f"{n} {method}" for method, n in others.most_common(4)]
    if len(others) > 4:
        parts.append(f"{len(others) - 4} other kinds")
    return "; ".join(parts)


def _span(progress: list[dict[str, Any]]) -> str:
    first, last = _amount(progress[0]), _amount(progress[-1])
    if not first or not last:
        return ""
    if len(progress) == 1:
        return f", {first}"
    return f", {first.removesuffix(' %')} → {last}"


def _amount(params: dict[str, Any]) -> str:
    """How far: in per cent when there is a total, else the plain number."""
    done, total = params.get("progress"), params.get("total")
    if not _number(done):
        return ""
    if _number(total) and 0 <= done <= total and total > 0:
        return f"{100 * done / total:.0f} %"
    return short(done, 20)


def _number(value: Any) -> TypeGuard[float]:
    return type(value) in (int, float) and abs(value) < 1e15

"""The line over a picture that says it all, and the one below it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from mrtrscope.views.escape import visible
from mrtrscope.views.parts import POLLS
from mrtrscope.views.questions import is_question, short, side_of
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import OperationDetail, Said
from mrtrscope.views.words import count, duration, series, when

_DID = {"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
_LINE = 120  # characters of a title that has room over most pictures
_SHORT, _LONG = 40, 80  # of a target: how far it is cut for that, how long it may be at all
_TIMES = {1: "once", 2: "twice"}
_WHO = {"user": "user", "model": "model", "files": "client's roots"}


def title(detail: OperationDetail, redact: Redactor) -> str:
    """What was called, how it ended, who was asked, how long it took, what was found."""
    parts = [_ended(detail), _found(detail), *_asked(detail)]
    if detail.total > 0:
        share = detail.waiting / detail.total
        waiting = (
            f", {duration(detail.waiting)} of it waiting"
            if 0 < share < 0.99
            else ", nearly all of it waiting"
            if share
            else ""
        )
        parts.append(f"{duration(detail.total)}{waiting}")
    told = " · ".join(parts)
    room = max(_SHORT, min(_LONG, _LINE - len(told)))
    target = f" {short(redact.text(detail.target), room)}" if detail.target else ""
    return f"{visible(detail.method)}{target}: {told}"


def subtitle(detail: OperationDetail) -> str:
    """Where and when."""
    parts = [detail.id, visible(detail.channel), when(detail.t)]
    return " · ".join(part for part in [*parts, detail.era if detail.era != "unknown" else ""] if part)


def _ended(detail: OperationDetail) -> str:
    n = sum(r.request.dir == "c2s" and not r.label for r in detail.rounds)
    after = f" after {count(n, 'round')}" if n > 1 else ""
    last = next((r.answer for r in reversed(detail.rounds) if r.answer is not None), None)
    if detail.outcome == "error":
        code = last.member("error").get("code") if last is not None else None
        return f"error{f' {short(code, 20)}' if code is not None else ''}{after}"
    if detail.outcome == "complete" and last is not None and _result(last).get("isError") is True:
        return f"complete, isError{after}"
    return {
        "complete": f"complete{after}", "open": f"still open{after}",
        "abandoned": f"abandoned{after}", "cancelled": f"cancelled{after}", "lost": f"lost{after}",
    }.get(detail.outcome, detail.outcome)  # fmt: skip


def _result(said: Said) -> dict[str, Any]:
    found = said.member("result")
    return found if isinstance(found, dict) else {}


def _asked(detail: OperationDetail) -> list[str]:
    asked: Counter[str] = Counter()
    actions: Counter[str] = Counter()
    listed: dict[Any, Any] = {}  # by a task, each time it is looked at
    for round_ in detail.rounds:
        asks: Any = round_.answer.member("result").get("inputRequests") if round_.answer is not None else None
        if isinstance(asks, dict) and round_.request.method in POLLS:
            asks, listed = {k: q for k, q in asks.items() if listed.get(k) != q}, listed | asks
        if isinstance(asks, dict):
            asked.update(side_of(q.get("method", "") if isinstance(q, dict) else "") for q in asks.values())
        if round_.request.dir == "s2c" and is_question(round_.request.method):
            asked[side_of(round_.request.method)] += 1
            action = round_.answer.member("result").get("action") if round_.answer is not None else None
            if isinstance(action, str):
                actions[_DID.get(action) or short(action, 20)] += 1
        given = round_.request.member("params").get("inputResponses")
        for response in given.values() if isinstance(given, dict) else ():
            action = response.get("action") if isinstance(response, dict) else None
            if isinstance(action, str):
                actions[_DID.get(action) or short(action, 20)] += 1
    out = {who: f"{_WHO[who]} asked {_TIMES.get(n) or f'{n:,} times'}" for who, n in asked.items()}
    if "user" in out and actions:
        single = asked["user"] == actions.total() == 1
        told = [what if single else f"{n:,} {what}" for what, n in actions.most_common(3)]
        out["user"] += f", {series(told)}"
    return list(out.values())


def _found(detail: OperationDetail) -> str:
    if not detail.findings:
        return "no findings"
    levels = Counter(f.level for f in detail.findings)
    if len(detail.findings) == 1:
        return f"1 finding ({detail.findings[0].level})"
    told = ", ".join(f"{levels[level]:,} {level}" for level in ("must", "should", "info") if levels[level])
    return f"{len(detail.findings):,} findings ({told})"

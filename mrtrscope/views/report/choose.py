"""Which operations a report tells of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from mrtrscope import model
from mrtrscope.store.reader import Store
from mrtrscope.views.rows import ended

_AGO = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|m|min|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class BadChoice(ValueError):
    """What was asked for cannot be understood; the text says what would be."""


class Choice:
    """What the options say.

    only      words: an operation (op3), a range (op3-op9), or part of the channel, method, target, kind or outcome; an
              operation that fits one of them is told of
    since     seconds since the epoch (or of the transcript): operations that began earlier are left out
    findings  only operations with findings
    """

    def __init__(
        self, only: tuple[str, ...] = (), since: float | None = None, findings: bool = False
    ) -> None:
        self.only = [_wanted(word) for word in only]
        self._met: set[int] = set()  # places in `only` of words that fitted some operation
        self.words = only
        self.since = since
        self.findings = findings

    @property
    def everything(self) -> bool:
        return not (self.only or self.findings) and self.since is None

    def __contains__(self, operation: model.Operation) -> bool:
        met = {n for n, wanted in enumerate(self.only) if _fits(operation, *wanted)}
        self._met |= met
        if self.since is not None and operation.t < self.since:
            return False
        if self.findings and not operation.findings:
            return False
        return not self.only or bool(met)

    def operations(self, store: Store) -> Iterator[model.Operation]:
        """Those that are told of, in order of time."""
        return (operation for operation in store.operations() if operation in self)

    def kept(self) -> None:
        """BadChoice when a word fitted nothing, once all operations were looked at."""
        for n, word in enumerate(self.words):
            if n not in self._met:
                what = "There is no operation" if not self.only[n][2] else "No operation fits"
                raise BadChoice(f"--only: {what} {word!r}; mrtrscope list shows what there is.")

    def nothing(self, store: Store) -> str:
        """Why there is no operation to tell of, in a sentence."""
        from mrtrscope.views.words import count, when

        total = store.count("operations")
        last = store.operation(f"op{total}") if total else None
        if last is None:
            return "Nothing was asked in this capture."
        if self.since is not None and last.t < self.since:
            return f"No operation began since {when(self.since)}; the last one, {last.id}, began at {when(last.t)}."
        if self.findings and not self.only and self.since is None:
            return f"No operation of {total:,} in this capture has findings."
        if self.findings:
            return f"No operation that was chosen has findings ({count(total, 'operation')} in this capture)."
        return f"No operation is all that was asked for ({count(total, 'operation')} in this capture)."

    def told(self) -> str:
        """The choice in words, "" when everything is told of."""
        from mrtrscope.views.words import when

        parts = [f"only {', '.join(self.words)}"] if self.words else []
        if self.since is not None:
            parts.append(f"since {when(self.since)}")
        return "; ".join(parts + ["only operations with findings"] * self.findings)


def _wanted(word: str) -> tuple[int, int, str]:
    """First number, last number, "" or 0, 0, text."""
    found = re.fullmatch(r"(?:op)?([0-9]{1,15})(?:(?:-|\.\.)(?:op)?([0-9]{1,15}))?", word.strip().lower())
    if found:
        return int(found[1]), int(found[2] or found[1]), ""
    return 0, 0, word.lower()


def _fits(operation: model.Operation, first: int, last: int, text: str) -> bool:
    if not text:
        return first <= int(operation.id[2:]) <= last
    parts = (
        operation.channel,
        f"{operation.method} {operation.target or ''}",
        operation.kind,
        ended(operation),
    )
    return any(text in part.lower() for part in parts)


def moment(text: str, end: float | None) -> float:
    """A time as the user gives it: "10m" before the end of the capture, a date and time (UTC), or seconds."""
    if found := _AGO.fullmatch(text.strip()):
        return (end or 0.0) - float(found[1]) * _UNITS[found[2]]
    try:
        return float(text)
    except ValueError:
        pass
    try:
        given = datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadChoice(
            f"{text!r} is no time: say 10m, 2h (before the end of the capture), 2026-07-28T12:00, or seconds"
        ) from None
    return (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()


def began_by(text: str, end: float | None) -> float:
    """The time after --since; BadChoice when the capture ended before it, so that nothing could be told."""
    from mrtrscope.views.words import when

    since = moment(text, end)
    if end is not None and since > end:
        raise BadChoice(f"--since: {when(since)} is after the end of the capture, {when(end)}.")
    return since

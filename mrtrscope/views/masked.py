"""Rows as they may be shown: secrets in them replaced by stand-ins, before any form of output is made of them.

What a finding saw may be the value of a password-like field, and only the message says so. So the messages that a
finding stands at are looked through first; what is secret there by its name is hidden wherever else it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import batched
from typing import TYPE_CHECKING, Any, Final

from mrtrscope import model
from mrtrscope.store.secret import SHORTEST, is_secret_name
from mrtrscope.views.redact import Redactor

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store
    from mrtrscope.views.outputs.select import Folded
    from mrtrscope.wire.events import Event

_FAR: Final = 100  # messages between two that are fetched apart
_BATCH: Final = 5000  # findings whose messages are fetched together
_KEPT: Final = 50_000  # what findings said that was looked into, so that equal ones are not again
_DIGITS: Final = re.compile(
    r"(?<!\d)\d{1,4}(?!\d)"
)  # ids and counts, too short for a secret that could be found again
_STATE: Final = "requestState"


class Masked:
    """Masks rows in place, as they pass; with `redact.raw` it changes nothing.

    redact   shared by all of one output, so that equal values have equal stand-ins in it
    """

    def __init__(self, redact: Redactor) -> None:
        self.redact = redact
        self._said: set[int] = set()

    def operations(self, rows: Iterable[model.Operation]) -> Iterator[model.Operation]:
        return iter(rows) if self.redact.raw else map(self.operation, rows)

    def operation(self, row: model.Operation) -> model.Operation:
        """One operation."""
        if self.redact.raw:
            return row
        text = self.redact.text
        row.channel, row.method = text(row.channel), text(row.method)
        row.target = text(row.target) if row.target else row.target
        for one in row.rounds:
            if one.link is not None and one.link.differences:
                one.link.differences = [text(said) for said in one.link.differences]
            one.asks = [text(key) for key in one.asks]
        if row.task is not None:
            row.task.id = text(row.task.id)
        return row

    def messages(self, rows: Iterable[model.Message]) -> Iterator[model.Message]:
        return iter(rows) if self.redact.raw else map(self.message, rows)

    def message(self, row: model.Message) -> model.Message:
        """One message."""
        if self.redact.raw:
            return row
        text = self.redact.text
        row.channel = text(row.channel)
        row.method = text(row.method) if row.method else row.method
        row.target = text(row.target) if row.target else row.target
        if isinstance(row.id, str):
            row.id, row.id_text = text(row.id), text(row.id_text or "")
        row.oddities = [text(odd) for odd in row.oddities]
        return row

    def channels(self, rows: Iterable[model.Channel]) -> Iterator[model.Channel]:
        for row in rows:
            if not self.redact.raw:
                row.name, row.server = self.redact.text(row.name), self.redact.text(row.server)
            yield row

    def verdicts(self, rows: Iterable[model.Verdict]) -> Iterator[model.Verdict]:
        for row in rows:
            row.channel = self.redact.text(row.channel)
            yield row

    def findings(self, store: Store, rows: Iterable[model.Finding]) -> Iterator[model.Finding]:
        """Findings, in batches whose messages are looked through first."""
        if self.redact.raw:
            yield from rows
            return
        for some in batched(rows, _BATCH):
            self._look_into(store, some)
            yield from map(self.finding, some)

    def folded(self, store: Store, rows: Iterable[Folded]) -> Iterator[Folded]:
        """The same for folded ones; what stands for them elsewhere was worked out on the real values."""
        if self.redact.raw:
            yield from rows
            return
        for some in batched(rows, _BATCH):
            self._look_into(store, [one.finding for one in some])
            for one in some:
                self.finding(one.finding)
                one.method, one.target = self.redact.text(one.method), self.redact.text(one.target)
                yield one

    def finding(self, row: model.Finding) -> model.Finding:
        """One finding, whose messages were looked through (`learn`)."""
        if self.redact.raw:
            return row
        name = re.split(r"[./\[\]]+", row.path.rstrip("]./"))[-1]
        row.saw, row.expected = self._value(name, row.saw), self._value(name, row.expected)
        row.text, row.path = self.redact.prose(row.text), self.redact.text(row.path)
        row.channel = self.redact.text(row.channel)
        return row

    def learn(self, events: Mapping[str, Event]) -> None:
        """Take in what is secret in these messages by its name, in heads and bodies."""
        if self.redact.raw:
            return
        from mrtrscope.store.scout import Scout  # not needed by who only lists

        scout = Scout(self.redact.remember, self.redact.fields)
        for event in events.values():
            scout.event(event)
            if hasattr(event, "body"):  # what is too short to be looked for elsewhere has a stand-in, too
                self.redact.value(event.body)

    def _look_into(self, store: Store, rows: Iterable[model.Finding]) -> None:
        names: dict[str, None] = {}
        for row in rows:
            said = _DIGITS.sub("0", f"{row.rule} {row.text} {row.saw} {row.expected}")
            if hash(said) in self._said or not _tells(row):
                continue
            if len(self._said) < _KEPT:
                self._said.add(hash(said))
            names |= dict.fromkeys([row.at, *row.also[:8]])
        if names:
            from mrtrscope.store.bodies import fetch

            for some in _together(store, list(names)):
                self.learn(fetch(store, some))

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            known = self.redact.known(str(value))
            if known is not None and (len(str(value)) >= SHORTEST or is_secret_name(name)):
                return known
            return self.redact.prose(value) if isinstance(value, str) else value
        value = self.redact.value(value)
        if isinstance(value, dict) and isinstance(state := value.get(_STATE), str):
            from mrtrscope.views.ribbons import measured, shortened

            value = value | {_STATE: f"{shortened(state)} ({measured(state)})"}
        return value


def _together(store: Store, names: list[str]) -> Iterator[list[str]]:
    """Which messages to fetch at once.

    A line of a process is found at its own place, and what lies between two that are far apart need not be read; what
    came over HTTP is read from the beginning of its connection in any case.
    """
    lines: list[int] = []
    others: list[str] = []
    for name in names:
        row = store.message(name) if name.startswith("m") and store.source.is_dir() else None
        if row is None or row.http is not None:
            others.append(name)
        else:
            lines.append(int(name[1:]))
    if others:
        yield others
    group: list[int] = []
    for n in sorted(lines):
        if group and n - group[-1] > _FAR:
            yield [f"m{one}" for one in group]
            group = []
        group.append(n)
    if group:
        yield [f"m{one}" for one in group]


def _tells(row: model.Finding) -> bool:
    """Whether a finding repeats something long enough to be a secret."""
    return any(len(str(value)) >= SHORTEST for value in (row.saw, row.expected) if value is not None) or any(
        mark in row.text for mark in "'\"‘“:0123456789"
    )

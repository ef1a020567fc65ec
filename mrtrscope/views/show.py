"""One operation, exchange or frame in full, as text: what was sent, what changed between rounds, where states went.

Secrets are replaced by numbered stand-ins and states shortened unless `raw`; what makes a message long is cut, and
that is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mrtrscope import model
from mrtrscope.views.about import about
from mrtrscope.views.changes import LIMIT, changes
from mrtrscope.views.escape import visible
from mrtrscope.views.masked import Masked
from mrtrscope.views.metrics import cells, cut
from mrtrscope.views.redact import Redactor
from mrtrscope.views.ribbons import measured, shortened
from mrtrscope.views.rows import LEVELS, ended, finding, tone
from mrtrscope.views.table import paint
from mrtrscope.views.words import clock, count, duration, series, size, when
from mrtrscope.wire.events import ABSENT, Event, HttpExchange, Message, NonMessage, Signal

STRING = 300  # characters of one string that are shown
LINES = 200  # lines of one message that are shown
STATE = "requestState"


class Page:
    """Writes lines.

    texts   the messages in full, by number
    redact  what hides secrets; one that is `raw` leaves also states as they are, and nothing is cut
    """

    def __init__(
        self,
        texts: Mapping[str, Event],
        redact: Redactor,
        *,
        width: int | None = None,
        colours: bool = False,
    ) -> None:
        self.texts = texts
        self.raw = redact.raw
        self.width = width
        self.colours = colours
        self.redact = redact
        self.hide = Masked(self.redact)
        self.hide.learn(texts)

    # ---- an operation

    def operation(
        self, op: model.Operation, rows: Mapping[str, model.Message], findings: list[model.Finding]
    ) -> Iterator[str]:
        """Its rounds, the way of its states, its findings."""
        op = self.hide.operation(op)
        yield (
            self._paint(op.id, "bold")
            + visible(f"  {op.method} {op.target or ''} on {op.channel}: {count(len(op.rounds), 'round')}, ")
            + self._paint(ended(op), tone(op))
        )
        parts = [f"server {duration(op.times.server)}", f"total {duration(op.times.total)}"]
        if op.times.waiting:
            parts.insert(1, f"waiting for input {duration(op.times.waiting)}")
        eras = sorted({one.era for one in op.rounds})
        clients = dict.fromkeys(one.client for one in op.rounds)
        yield visible(
            f"began {when(op.t)}; {', '.join(parts)}; {series(eras)} era; client {series(list(clients))}"
        )
        yield from about(op)
        before: model.Round | None = None
        for n, one in enumerate(op.rounds, 1):
            yield ""
            yield from self._round(n, len(op.rounds), one, before, rows)
            before = one
        if others := [m for m in op.attached if rows[m].exchange not in {one.request for one in op.rounds}]:
            yield from ["", self._paint("Besides", "bold"), *self._messages(others, rows)]
        yield from self._states(op)
        yield from self.findings(findings, rows)

    def _round(
        self, n: int, of: int, one: model.Round, before: model.Round | None, rows: Mapping[str, model.Message]
    ) -> Iterator[str]:
        yield self._paint(f"Round {n} of {of}", "bold") + visible(
            f"  {one.request} → {one.answer or 'no answer'}"
        )
        if one.link is not None:
            yield from self._link(one.link)
        if before is not None:
            yield from self._changes(before.request, one.request)
        inside = [m for m, row in rows.items() if row.exchange == one.request]
        yield from self._messages(inside, rows)

    def _link(self, link: model.Link) -> Iterator[str]:
        evidence = series([EVIDENCE.get(word, word) for word in link.evidence])
        grade = self._paint(link.grade, "" if link.grade in ("exact", "inferred") else "yellow")
        if link.to is None:
            more = f" and {link.total - 12:,} more" if link.total > 12 else ""
            yield f"  takes up one of {', '.join(link.candidates[:12])}{more}: {grade}, none can be chosen"
        else:
            yield f"  takes up {link.to}: {grade}{visible(f' ({evidence})') if evidence else ''}"
        for text in link.differences:
            yield self._paint(visible(f"  but {text}"), "yellow")

    def _changes(self, before: str, after: str) -> Iterator[str]:
        old, new = self._body(before), self._body(after)
        if not isinstance(old, dict) or not isinstance(new, dict):
            return
        yield self._paint(f"  changed since {before}:", "dim")
        for n, change in enumerate(changes(old, new)):
            if n == LIMIT:
                yield "    …"
                return
            name = change.path.rpartition("/")[2]
            if change.before is not ABSENT:
                yield self._paint(
                    f"    - {visible(self.redact.text(change.path))}  {self._short(name, change.before)}",
                    "red",
                )
            if change.after is not ABSENT:
                yield self._paint(
                    f"    + {visible(self.redact.text(change.path))}  {self._short(name, change.after)}",
                    "green",
                )

    def _states(self, op: model.Operation) -> Iterator[str]:
        """Which answer issued which state, and which request brought it back."""
        lines = []
        for one in op.rounds:
            for m, verb in ((one.request, "brought"), (one.answer, "issued")):
                holder = self._body(m or "")
                part = (
                    holder.get("params" if verb == "brought" else "result")
                    if isinstance(holder, dict)
                    else None
                )
                state = part.get(STATE, ABSENT) if isinstance(part, dict) else ABSENT
                if state is not ABSENT:
                    lines.append(visible(f"  {m} {verb:7}  {shortened(state, self.raw)}  {measured(state)}"))
        if lines:
            yield from ["", self._paint("States", "bold"), *lines]

    # ---- an exchange, a message, a frame

    def exchange(
        self, m: str, rows: Mapping[str, model.Message], findings: list[model.Finding]
    ) -> Iterator[str]:
        """The exchange that a message belongs to, or the message alone."""
        row = self.hide.message(rows[m])
        inside = [one.m for one in rows.values() if row.exchange and one.exchange == row.exchange] or [m]
        where = f"of {row.operation}" if row.operation else "in no operation"
        yield self._paint(row.exchange or m, "bold") + visible(
            f"  {where}, on {row.channel}, client {row.client}"
        )
        yield from self._heads(self.texts.get(row.exchange or m))
        yield from self._messages(inside, rows)
        yield from self.findings([f for f in findings if f.at in inside], rows)

    def frame(self, f: str, event: Event | None, what: str, findings: list[model.Finding]) -> Iterator[str]:
        """Something that was seen and is no message."""
        yield (
            self._paint(f, "bold")
            + visible(f"  {self.redact.prose(what)}")
            + (visible(f", on {self.redact.text(event.channel)}") if event else "")
        )
        if event is None:
            yield "  It is not in the files any more."
            return
        yield f"  {when(event.t / 1e6)}  {event.dir}  {visible(event.key)}"
        if isinstance(event, NonMessage):
            yield f"  {visible(event.why.replace('-', ' '))}, {size(event.size)}"
            yield from self._block(self.redact.prose(event.raw.decode("utf-8", "backslashreplace")))
        elif isinstance(event, Signal):
            yield from self._heads(event)
            for name, value in event.detail.items():
                yield visible(
                    f"      {name}: {self.redact.prose(value) if isinstance(value, str) else value}"
                )
        yield from self.findings(findings, {})

    def findings(self, found: list[model.Finding], rows: Mapping[str, model.Message]) -> Iterator[str]:
        """What was wrong, last."""
        if not found:
            return
        levels = {level: n for level in LEVELS if (n := sum(one.level == level for one in found))}
        yield ""
        yield self._paint("Findings", "bold") + f"  {series([f'{n} {level}' for level, n in levels.items()])}"
        for one in map(self.hide.finding, found):
            row = rows.get(one.at)
            words = _words(self.hide.message(row)) if row else ""
            yield from finding(one, lambda at, words=words: words, self.width, self.colours)  # type: ignore[misc]

    # ---- pieces

    def _messages(self, ms: list[str], rows: Mapping[str, model.Message]) -> Iterator[str]:
        for m in ms:
            row = self.hide.message(rows[m])
            arrow = "→" if row.dir == "c2s" else "←"
            status = f"  HTTP {row.status}" if row.status is not None else ""
            odd = f"  ({', '.join(row.oddities)})" if row.oddities else ""
            yield self._paint(f"  {m}", "bold") + visible(
                f"  {clock(row.t)} {arrow} {_words(row)}{status}{odd}"
            )
            text = self.texts.get(m)
            if isinstance(text, Message):
                if text.before:
                    yield from self._before(text.before)
                yield from self._block(self._pretty(text.body))
            else:
                yield "      (not in the files any more)"

    def _before(self, text: bytes) -> Iterator[str]:
        """What came, where a person at the proxy let something else pass on."""
        try:
            came = self._pretty(json.loads(text))
        except (ValueError, RecursionError):
            came = self.redact.prose(text.decode("utf-8", "backslashreplace"))
        yield self._paint("    as it came:", "dim")
        yield from self._block(came)
        yield self._paint("    as it was passed on, edited at the proxy:", "dim")

    def _heads(self, event: Event | None) -> Iterator[str]:
        http = event.http if event is not None else None
        if http is None:
            return
        yield visible(f"  {http.method} {self.redact.text(http.url)}")
        yield from self._headers(http.request_headers)
        if http.status is not None:
            yield visible(f"  {http.status} {http.reason}")
            yield from self._headers(http.response_headers)
        yield from self._end(http)

    def _headers(self, headers: list[tuple[str, str]]) -> Iterator[str]:
        for name, value in headers:
            yield visible(f"      {name}: {self.redact.named(name, value)}")

    def _end(self, http: HttpExchange) -> Iterator[str]:
        if http.t_end is not None:
            who = "this recorder's proxy" if http.ours else f"the {http.closed_by}"
            why = f": {self.redact.prose(http.error)}" if http.error else ""
            yield visible(f"  ended by {who} after {duration((http.t_end - http.t) / 1e6)}{why}")

    def _block(self, text: str) -> Iterator[str]:
        lines = text.split("\n")
        for line in lines if self.raw else lines[:LINES]:
            shown = visible(line)
            yield "      " + (
                shown if self.width is None or self.raw else cut(shown, max(40, self.width - 6), cells)
            )
        if len(lines) > LINES and not self.raw:
            yield f"      … and {len(lines) - LINES:,} more lines (--raw shows them)"

    def _body(self, m: str) -> Any:
        text = self.texts.get(m)
        return text.body if isinstance(text, Message) else None

    def _pretty(self, value: Any) -> str:
        return json.dumps(self._shown(self.redact.value(value)), indent=2, ensure_ascii=False, default=str)

    def value(self, name: str, value: Any) -> str:
        """A value in one line, under the name it stands at."""
        return self._short(name, value)

    def _short(self, name: str, value: Any) -> str:
        if name == STATE and not self.raw:
            return f"{shortened(value)}  {measured(value)}"
        text = json.dumps(self._shown(self.redact.named(name, value)), ensure_ascii=False, default=str)
        return visible(text) if self.raw else cut(visible(text), max(40, (self.width or 160) - 40), cells)

    def _shown(self, value: Any, name: str = "") -> Any:
        """The value with states and long strings shortened."""
        if self.raw:
            return value
        if name == STATE:
            return f"{shortened(value)} ({measured(value)})"
        if isinstance(value, str):
            return value if len(value) <= STRING else f"{value[:STRING]}… ({len(value):,} characters)"
        if isinstance(value, dict):
            return {key: self._shown(item, key) for key, item in value.items()}
        return [self._shown(item) for item in value] if isinstance(value, list) else value

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour, self.colours)


EVIDENCE = {
    "state": "state equal", "no-state": "no state was issued", "keys": "answers its questions",
    "arguments": "arguments equal", "client": "same client", "state-alike": "a state much like it",
    "task": "the same task",
}  # fmt: skip


def _words(row: model.Message) -> str:
    if row.kind in ("response", "error"):
        return f"{'answer' if row.kind == 'response' else 'error'} to {row.id_text or 'nothing'}"
    return " ".join(filter(None, [row.kind, row.id_text, row.method, row.target]))

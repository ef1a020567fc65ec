"""What a gateway made of a call on its way: field by field, in each direction, heads included.

Of each hop the requests are held against those of the host that they were sent for, the answers against those that the
host got, and each question asked upstream is looked for among those that the host was asked: in the new way under a
key, in the old way as a request of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mrtrscope import model
from mrtrscope.link.canonical import canonical
from mrtrscope.views.about import EVIDENCE
from mrtrscope.views.changes import LIMIT, changes
from mrtrscope.views.escape import visible
from mrtrscope.views.show import Page
from mrtrscope.views.table import paint
from mrtrscope.views.words import series
from mrtrscope.wire.events import ABSENT, Event, Message

ASKED = ("message", "requestedSchema", "url", "messages", "systemPrompt")  # what makes a question the same
# Heads that every hop has of its own: they say nothing of a gateway.
OWN_HEADS = frozenset({"host", "content-length", "date", "connection", "transfer-encoding", "keep-alive"})

Question = tuple[str, str, Any]  # message it stands in, key ("" in the old way), the question
Operations = list[model.Operation]


class Hops:
    """Writes lines.

    texts    messages of all these operations, by number     rows   the operations with what is nested in them
    """

    def __init__(self, page: Page, texts: Mapping[str, Event]) -> None:
        self.page = page
        self.texts = texts

    def compare(
        self, host: model.Operation, hop: model.Operation, host_asked: Operations, asked: Operations
    ) -> Iterator[str]:
        """One hop against the host's operation; with the questions nested in each, as operations."""
        found = hop.hop_of
        grade, evidence = (
            (found.grade, series([EVIDENCE.get(e, e) for e in found.evidence])) if found else ("", "")
        )
        yield ""
        joined = f"  {hop.method} {hop.target or ''} on {hop.channel}: {grade} ({evidence})"
        yield self._paint(hop.id, "bold") + visible(self.page.redact.text(joined))
        for inner in hop.rounds:
            outer = _sent_for(host, inner)
            if outer is not None:
                words = f"  to the server  {outer.request} → {inner.request}"
                yield from self._both(words, outer.request, inner.request)
            got = _passed_on(host, inner)
            if inner.answer is None:
                yield self._paint(f"  {inner.request} got no answer from the server", "yellow")
            elif got is not None and got.answer is not None:
                words = f"  back to the host  {inner.answer} → {got.answer}"
                yield from self._both(words, inner.answer, got.answer)
            else:
                yield self._paint(f"  {inner.answer} came when the host got no more answer", "yellow")
        yield from self._questions(host, hop, host_asked, asked)

    # -- two messages

    def _both(self, words: str, before: str, after: str) -> Iterator[str]:
        old, new = self.texts.get(before), self.texts.get(after)
        if not isinstance(old, Message) or not isinstance(new, Message):
            return
        lines = [*self._heads(old, new), *self._bodies(old.body, new.body)]
        yield words + ("" if lines else ": as it came")
        yield from lines[:LIMIT]
        if len(lines) > LIMIT:
            yield "    …"

    def _heads(self, old: Message, new: Message) -> Iterator[str]:
        before, after = _head(old), _head(new)
        if old.http is None or new.http is None:
            return  # one side is stdio: it has none
        for name in [*before, *(name for name in after if name not in before)]:
            yield from self._change(f"{name}:", name, before.get(name, ABSENT), after.get(name, ABSENT))

    def _bodies(self, old: Any, new: Any) -> Iterator[str]:
        for change in changes(old, new):
            yield from self._change(change.path, change.path.rpartition("/")[2], change.before, change.after)

    def _change(self, path: str, name: str, before: Any, after: Any) -> Iterator[str]:
        if before is ABSENT and after is ABSENT:
            return
        shown = visible(self.page.redact.text(path))
        if before is not ABSENT and after is not ABSENT:
            if canonical(before) != canonical(after):
                told = f"{self.page.value(name, before)} → {self.page.value(name, after)}"
                yield self._paint(f"    ~ {shown}  {told}", "yellow")
        elif before is ABSENT:
            yield self._paint(f"    + {shown}  {self.page.value(name, after)}", "green")
        else:
            yield self._paint(f"    - {shown}  {self.page.value(name, before)}", "red")

    # -- questions

    def _questions(
        self, host: model.Operation, hop: model.Operation, host_asked: Operations, asked: Operations
    ) -> Iterator[str]:
        down = self._asked(host, host_asked)
        taken: set[tuple[str, str]] = set()
        for m, key, question in self._asked(hop, asked):
            same = [q for q in down if (q[0], q[1]) not in taken and _same(q[2], question)]
            mine = _named(m, key)
            if not same:
                yield self._paint(f"  question {mine}: the host was never asked it", "yellow")
                continue
            taken.add(same[0][:2])
            its = _named(*same[0][:2])
            yield f"  question {mine} → {its}"
            yield from self._bodies(question, same[0][2])
            up, low = self._answer(hop, asked, m, key), self._answer(host, host_asked, *same[0][:2])
            if low is not ABSENT and up is not ABSENT:
                lines = list(self._bodies(low, up))
                yield f"  answer to {its} → {mine}" + ("" if lines else ": as it came")
                yield from lines
            elif low is not ABSENT:
                yield self._paint(f"  answer to {its}: it never reached the server", "yellow")

    def _asked(self, op: model.Operation, nested: list[model.Operation]) -> list[Question]:
        """The questions of an operation, in the new way and in the old way."""
        out: list[Question] = []
        for one in op.rounds:
            result = self._part(one.answer, "result")
            asks = result.get("inputRequests") if result.get("resultType") == "input_required" else None
            for key, question in asks.items() if isinstance(asks, dict) else ():
                out.append((one.answer or "", str(key), question))
        for question_op in nested:
            m = question_op.rounds[0].request
            out.append((m, "", {"method": question_op.method, "params": self._part(m, "params")}))
        return out

    def _answer(self, op: model.Operation, nested: list[model.Operation], m: str, key: str) -> Any:
        """What was answered to a question of `_asked`, ABSENT for nothing."""
        if not key:
            answers = [o.rounds[0].answer for o in nested if o.rounds[0].request == m]
            return self._part(answers[0], "result") if answers and answers[0] else ABSENT
        for one in op.rounds:
            if one.link is not None and one.link.to == m:
                given = self._part(one.request, "params").get("inputResponses")
                return given.get(key, ABSENT) if isinstance(given, dict) else ABSENT
        return ABSENT

    def _part(self, m: str | None, name: str) -> dict[str, Any]:
        text = self.texts.get(m or "")
        value = text.body.get(name) if isinstance(text, Message) and isinstance(text.body, dict) else None
        return value if isinstance(value, dict) else {}

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour, self.page.colours)


def _sent_for(host: model.Operation, inner: model.Round) -> model.Round | None:
    """The host's round that a round of the hop was made for: the last one begun before it."""
    before = [one for one in host.rounds if one.t <= inner.t]
    return before[-1] if before else None


def _passed_on(host: model.Operation, inner: model.Round) -> model.Round | None:
    """The host's round whose answer followed that to a round of the hop: the first one answered after it."""
    at = inner.t_answer
    return next(
        (o for o in host.rounds if o.t_answer is not None and at is not None and o.t_answer >= at), None
    )


def _head(message: Message) -> dict[str, str]:
    http = message.http
    if http is None:
        return {}
    headers = http.request_headers if message.dir == "c2s" else http.response_headers
    found: dict[str, str] = {}
    for name, value in headers:
        low = name.lower()
        if low not in OWN_HEADS:
            found[low] = f"{found[low]}, {value}" if low in found else value
    return found


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict) or one.get("method") != other.get("method"):
        return False
    mine, its = one.get("params"), other.get("params")
    if not isinstance(mine, dict) or not isinstance(its, dict):
        return mine == its
    return canonical([mine.get(n) for n in ASKED]) == canonical([its.get(n) for n in ASKED])


def _named(m: str, key: str) -> str:
    return visible(f"{m} “{key}”" if key else m)

"""What goes on behind the client: who was asked what, how long it took, what they answered.

No capture shows this; it follows from the question in one message and the answer in a later one. So these rows have no
time of their own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from mrtrscope.views import parts, questions
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import Line, RoundDetail, Row, Said, Side
from mrtrscope.views.words import duration, series

SIDES: tuple[Side, ...] = ("user", "model", "files")
_WHO = {"user": "the user", "model": "the model", "files": "the client's roots"}


class Behind:
    """Makes the rows between client and whoever answers; `sides` are those who were seen."""

    def __init__(self, near: str, redact: Redactor, unfold: bool) -> None:
        self.near, self.redact, self.unfold = near, redact, unfold
        self.sides: set[Side] = set()

    def questions(self, round_: RoundDetail, asked: Mapping[str, Any]) -> Iterator[Row]:
        """One row for each question of an answer that asks, but for those `asked` before that it only lists again."""
        if round_.answer is not None:
            for key, request in asks(round_).items():
                if str(key) in asked and asked[str(key)] == request:
                    continue
                side, label, lines = questions.asked(str(key), request, self.redact, self.unfold)
                yield self._row(
                    "ask",
                    f"{round_.answer.m}.{slug(self.redact.text(str(key)))}",
                    side,
                    label,
                    lines,
                    round_.answer.m,
                )

    def between(self, before: RoundDetail, retry: RoundDetail, again: bool) -> Iterator[Row]:
        """Waiting and answers between an answer that asks and a retry; `again`: not its first one."""
        asked, m = asks(before), retry.request.m
        given = retry.request.member("params").get("inputResponses")
        given = given if isinstance(given, dict) else parts.given(retry.request)
        waited = retry.request.t - (before.answer.t if before.answer else retry.request.t)
        who = {questions.side_of(q.get("method", "") if isinstance(q, dict) else "") for q in asked.values()}
        yield self._gap(f"{m}.gap", waited, who, again)
        for key, response in given.items():
            side, label, lines = questions.answered(
                str(key), asked.get(key), response, self.redact, self.unfold
            )
            if key not in asked:
                lines = [Line("hint", "nobody asked this"), *lines]
            yield self._row("reply", f"{m}.{slug(self.redact.text(str(key)))}", side, label, lines, m)
        missing = [questions.quoted(self.redact.text(str(key))) for key in asked if key not in given]
        if missing and given:
            label = f"no answer to {', '.join(missing[:4])}"
            yield Row("end", f"{m}.missing", label, self.near, tone="cancel", m=m)

    def pause(self, before: RoundDetail, again: RoundDetail) -> Iterator[Row]:
        """The time until the same request was sent again (after a 401, say)."""
        last = before.answer.t if before.answer is not None else before.request.t
        if again.request.dir == before.request.dir and again.request.t > last:
            label = f"{duration(again.request.t - last)} until sent again"
            yield Row("gap", f"{again.request.m}.gap", label, self.near)

    def old(self, round_: RoundDetail) -> Iterator[Row]:
        """A question asked in the old way: the server's own request, answered within the call."""
        request, answer = round_.request, round_.answer
        side, label, lines = questions.asked("", request.body, self.redact, self.unfold)
        yield self._row("ask", f"{request.m}.ask", side, label, lines, request.m)
        if answer is not None and parts.is_made(request, answer):
            return  # a task: what was asked comes with `tasks/result`
        if answer is not None and answer.kind == "response":
            yield from self.brought(request, answer)
        elif answer is None:
            yield Row(
                "end", f"{request.m}.end", "no answer to this question", self.near, tone="cancel", m=request.m
            )

    def brought(self, question: Said, answer: Said) -> Iterator[Row]:
        """Waiting and answer to a question asked in the old way."""
        waited = {questions.side_of(question.method)}
        yield self._gap(f"{answer.m}.gap", answer.t - question.t, waited, False)
        result = answer.member("result")
        side, label, lines = questions.answered("", question.body, result, self.redact, self.unfold)
        yield self._row("reply", f"{answer.m}.reply", side, label, lines, answer.m)

    def _row(
        self, kind: Literal["ask", "reply"], id: str, side: Side, label: str, lines: list[Line], m: str
    ) -> Row:
        self.sides.add(side)
        if kind == "ask":
            return Row(kind, id, label, self.near, side, "question", m, lines=lines)
        return Row(kind, id, label, side, self.near, "reply", m, lines=lines)

    def _gap(self, id: str, seconds: float, who: set[Side], again: bool) -> Row:
        names = series([_WHO[side] for side in SIDES if side in who])
        label = f"{duration(seconds)} " + (f"waiting for {names}" if names else "until the retry")
        if again:
            label = f"{duration(seconds)} after the question, once more"
        return Row("gap", id, label, self.near)


def asks(round_: RoundDetail) -> dict[str, Any]:
    """The questions of an answer, {} when it asks none."""
    if round_.answer is None:
        return {}
    if round_.answer.member("result").get("resultType") != "input_required":
        return parts.asked(round_.answer)
    found = round_.answer.member("result").get("inputRequests")
    return found if isinstance(found, dict) else {}


def slug(key: Any) -> str:
    """A piece of an element's id: no letter or digit becomes a dash, with a digest where that loses something."""
    text = str(key)
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in text[:24])
    if plain == text:
        return plain
    return f"{plain}-{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()}"

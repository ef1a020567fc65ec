"""From an operation to its scene: which rows there are, what stands in them, where the states go."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from mrtrscope.views import fold, questions
from mrtrscope.views.escape import visible
from mrtrscope.views.headline import subtitle, title
from mrtrscope.views.redact import Redactor
from mrtrscope.views.ribbons import Ribbons, shortened, states
from mrtrscope.views.scene import (
    FindingDetail,
    Line,
    Mark,
    OperationDetail,
    Participant,
    RoundDetail,
    Row,
    Said,
    Scene,
    Side,
    Span,
    Tone,
)
from mrtrscope.views.words import clock, count, duration

ROUNDS = 10  # more rounds than this are folded: the first and last three stay, and those with findings
_KEPT = 3
_SEEN = 1500  # characters of a message that its tooltip holds
_EVIDENCE = {
    "state": "same state", "no-state": "no state was issued", "keys": "answers its questions",
    "arguments": "same arguments", "client": "same client",
}  # fmt: skip
_SIDES: list[Side] = ["user", "model", "files"]


def build(detail: OperationDetail, *, redact: Redactor | None = None, unfold: bool = False) -> Scene:
    """The scene of one operation."""
    return _Builder(detail, redact or Redactor(), unfold).build()


class _Builder:
    """Collects rows in order; frames and ribbons name rows by id until all of them are there."""

    def __init__(self, detail: OperationDetail, redact: Redactor, unfold: bool) -> None:
        self.detail = detail
        self.redact = redact
        self.unfold = unfold
        self.rows: list[Row] = []
        self.spans: list[tuple[Span, str, str]] = []
        self.sides: set[Side] = set()
        self.place: dict[str, str] = {}  # message -> id of the row that tells of it
        self.near, self.far = "client", "gateway1" if detail.hops else "server"
        self.ribbons = Ribbons(redact.raw)
        self.states = states(detail)

    def build(self) -> Scene:
        folded = self._folded()
        answers = {r.answer.m: r for r in self.detail.rounds if r.answer is not None}
        taken: set[str] = set()
        for number, round_ in enumerate(self.detail.rounds, 1):
            if number in folded:
                self._fold_round(number, folded)
                continue
            before = answers.get(round_.link.to or "") if round_.link else None
            if before is not None:
                self._between(before, round_, again=bool(taken & {before.answer.m if before.answer else ""}))
                taken.add(round_.link.to or "" if round_.link else "")
            self._round(number, round_)
        self._unanswered(taken)
        for said in self.detail.attached:
            self._note(said)
        self._close()
        for depth, hop in enumerate(self.detail.hops, 1):
            self._hop(hop, depth)
        return self._scene()

    # ---- rounds

    def _folded(self) -> set[int]:
        rounds = self.detail.rounds
        if self.unfold or len(rounds) <= ROUNDS:
            return set()
        told = {f.at for f in self.detail.findings}
        keep = {n for n, r in enumerate(rounds, 1) if {r.request.m, r.answer.m if r.answer else ""} & told}
        keep = set(sorted(keep)[: 2 * _KEPT])
        return {n for n in range(_KEPT + 1, len(rounds) - _KEPT + 1) if n not in keep}

    def _fold_round(self, number: int, folded: set[int]) -> None:
        round_ = self.detail.rounds[number - 1]
        row = self.rows[-1] if self.rows and self.rows[-1].id.startswith("rounds") else None
        if row is None:
            last = number
            while last + 1 in folded:
                last += 1
            n = last - number + 1
            label = f"rounds {number} to {last} folded" if n > 1 else f"round {number} folded"
            row = Row("fold", f"rounds{number}", label, self.near, self.far, m=round_.request.m, t=round_.request.t,
                      clock=clock(round_.request.t))  # fmt: skip
            self.rows.append(row)
        for said in (round_.request, round_.answer, *round_.notes):
            if said is not None:
                self.place[said.m] = row.id
        self.ribbons.round(round_)

    def _round(self, number: int, round_: RoundDetail) -> None:
        request = round_.request
        first = len(self.rows)
        self._arrow(request, *self._request_words(number, round_), tone="request")
        if request.dir == "s2c":
            self._old_question(round_)
        for run in fold.runs([n for n in round_.notes if not _after(n, round_.answer)], self.unfold):
            self._notes(run)
        if round_.answer is not None:
            self._answer(round_, round_.answer)
        elif round_.status is not None and round_.status >= 400:
            self.rows.append(Row("arrow", f"{request.m}.http", f"HTTP {round_.status}, no JSON-RPC answer", self.far,
                                 self.near, "error", request.m, status=str(round_.status)))  # fmt: skip
        for run in fold.runs([n for n in round_.notes if _after(n, round_.answer)], self.unfold):
            self._notes(run)
        self.ribbons.round(round_)
        total = len(self.detail.rounds)
        label = f"round {number} of {total}" if total > 1 else "one round"
        link = round_.link
        words = ""
        if link is not None:
            words = ", ".join(_EVIDENCE.get(e, visible(e)) for e in link.evidence)
            if link.grade == "ambiguous":
                words = f"takes up one of {', '.join(link.candidates[:8])}"
            if link.differences:
                words = "; ".join([*(visible(d) for d in link.differences[:3]), *([words] if words else [])])
        span = Span(f"round{number}", label, 0, 0, link.grade if link else "", words)
        self.spans.append((span, self.rows[first].id, self.rows[-1].id))

    def _request_words(self, number: int, round_: RoundDetail) -> tuple[str, list[Line]]:
        request, params = round_.request, round_.request.member("params")
        target = params.get("name", params.get("uri"))
        named = f"{request.method} {questions.short(self.redact.value(target), 120)}" if target is not None else request.method
        label = f"{visible(named) or request.kind}  id {questions.short(request.id, 40)}"
        if number > 1 and round_.link is not None:
            return label, self._carried(round_)
        arguments = params.get("arguments")
        return label, questions.members(arguments, self.redact, self.unfold) if arguments else []

    def _carried(self, round_: RoundDetail) -> list[Line]:
        """What a retry brings: in a hint, as the answers stand above it in full."""
        params = round_.request.member("params")
        brings = []
        answers = params.get("inputResponses")
        if isinstance(answers, dict) and answers:
            keys = [visible(str(k)) for k in list(answers)[:4]]
            brings.append(f"answers {', '.join(keys)}" + (f" and {len(answers) - 4} more" if len(answers) > 4 else ""))
        if "requestState" in params:
            brings.append("the state")
        return [Line("hint", "with " + " and ".join(brings))] if brings else [Line("hint", "without answers or state")]

    def _answer(self, round_: RoundDetail, answer: Said) -> None:
        error, result = answer.member("error"), answer.member("result")
        if answer.kind == "error" or error:
            label = f"error {questions.short(error.get('code', '?'), 20)}"
            lines = [Line("text", questions.short(self.redact.value(error.get("message", ""))))]
            self._arrow(answer, label, lines, tone="error")
        elif result.get("resultType") == "input_required":
            asks = result.get("inputRequests")
            keys = [visible(str(k)) for k in asks] if isinstance(asks, dict) else []
            lines = [Line("hint", f"asks {', '.join(keys[:4])}" + (f" and {len(keys) - 4} more" if len(keys) > 4 else ""))]
            self._arrow(answer, "input_required", lines if keys else [Line("hint", "asks nothing")], tone="asked")
        else:
            kind = result.get("resultType")
            label = questions.short(kind, 40) if kind is not None else "result"
            failed = result.get("isError") is True
            lines = _content(result, self.redact)
            self._arrow(answer, f"{label}, isError" if failed else label, lines, tone="error" if failed else "complete")

    def _arrow(self, said: Said, label: str, lines: list[Line], tone: Tone) -> Row:
        source, target = (self.near, self.far) if said.dir == "c2s" else (self.far, self.near)
        status = str(said.status) if said.status is not None and said.kind in ("response", "error") else ""
        row = Row("arrow", said.m, label, source, target, tone, said.m, said.t, clock(said.t), status, lines,
                  self._seen(said))  # fmt: skip
        self.rows.append(row)
        self.place[said.m] = row.id
        return row

    def _notes(self, run: list[Said]) -> None:
        if len(run) == 1:
            self._note(run[0])
            return
        source, target = (self.near, self.far) if run[0].dir == "c2s" else (self.far, self.near)
        row = Row("fold", f"{run[0].m}.fold", fold.summary(run), source, target, "note", run[0].m, run[0].t, clock(run[0].t),
                  seen=f"{run[0].m} to {run[-1].m}")  # fmt: skip
        self.rows.append(row)
        for said in run:
            self.place[said.m] = row.id

    def _note(self, said: Said) -> None:
        if said.kind == "notification":
            tone: Tone = "cancel" if said.method.endswith("/cancelled") else "note"
            label, lines = fold.label(said, self.redact)
            if tone == "cancel":
                params = said.member("params")
                label = f"cancelled  id {questions.short(params.get('requestId'), 40)}"
                reason = params.get("reason")
                lines = [Line("hint", questions.short(self.redact.text(reason)))] if isinstance(reason, str) else []
            self._arrow(said, label, lines, tone)
        elif said.kind == "request":
            self._arrow(said, visible(f"{said.method}  id {questions.short(said.id, 40)}"), [], "request")
        else:
            self._arrow(said, f"{said.kind}  id {questions.short(said.id, 40)}", [], "error" if said.kind == "error" else "note")

    # ---- what goes on behind the client

    def _between(self, before: RoundDetail, retry: RoundDetail, again: bool) -> None:
        """Questions, waiting and answers between an answer that asks and the retry that takes it up."""
        asks = before.answer.member("result").get("inputRequests") if before.answer else None
        asks = asks if isinstance(asks, dict) else {}
        given = retry.request.member("params").get("inputResponses")
        given = given if isinstance(given, dict) else {}
        prefix = retry.request.m
        if not again:
            self._questions(before, asks)
        waited = retry.request.t - (before.answer.t if before.answer else retry.request.t)
        who = {questions.side_of(q.get("method", "") if isinstance(q, dict) else "") for q in asks.values()}
        self._gap(f"{prefix}.gap", waited, who if given or asks else set(), again)
        for key, response in given.items():
            side, label, lines = questions.answered(str(key), asks.get(key), response, self.redact, self.unfold)
            if key not in asks:
                lines = [Line("hint", "nobody asked this"), *lines]
            self._behind("reply", f"{prefix}.{_slug(key)}", side, label, lines, retry.request.m)
        missing = [str(k) for k in asks if k not in given]
        if missing and given:
            self.rows.append(Row("end", f"{prefix}.missing", f"no answer to {', '.join(map(questions.quoted, missing[:4]))}",
                                 self.near, tone="cancel", m=retry.request.m))  # fmt: skip

    def _questions(self, round_: RoundDetail, asks: dict[str, Any]) -> None:
        if round_.answer is None:
            return
        for key, request in asks.items():
            side, label, lines = questions.asked(str(key), request, self.redact, self.unfold)
            self._behind("ask", f"{round_.answer.m}.{_slug(key)}", side, label, lines, round_.answer.m)

    def _old_question(self, round_: RoundDetail) -> None:
        """A question asked in the old way: the server's own request, answered by whoever is behind the client."""
        body = round_.request.body
        side, label, lines = questions.asked("", body, self.redact, self.unfold)
        self._behind("ask", f"{round_.request.m}.ask", side, label, lines, round_.request.m)
        if round_.answer is not None and round_.answer.kind == "response":
            self._gap(f"{round_.answer.m}.gap", round_.answer.t - round_.request.t, {side}, False)
            side, label, lines = questions.answered("", body, round_.answer.member("result"), self.redact, self.unfold)
            self._behind("reply", f"{round_.answer.m}.reply", side, label, lines, round_.answer.m)

    def _behind(self, kind: Any, id: str, side: Side, label: str, lines: list[Line], m: str) -> None:
        self.sides.add(side)
        source, target = (self.near, side) if kind == "ask" else (side, self.near)
        self.rows.append(Row(kind, self._unique(id), label, source, target, "question" if kind == "ask" else "reply", m, lines=lines))

    def _unique(self, id: str) -> str:
        taken = {row.id for row in self.rows}
        n, wanted = 2, id
        while id in taken:
            id, n = f"{wanted}-{n}", n + 1
        return id

    def _gap(self, id: str, seconds: float, who: set[Side], again: bool) -> None:
        named = [{"user": "the user", "model": "the model", "files": "the client's roots"}[s] for s in _SIDES if s in who]
        label = f"{duration(seconds)} waiting for {' and '.join(named)}" if named else f"{duration(seconds)} until the client came back"
        if again:
            label = f"{duration(seconds)} after the question, once more"
        self.rows.append(Row("gap", id, label, self.near, tone="note", t=None))

    def _unanswered(self, taken: set[str]) -> None:
        """Questions that no retry took up stand at the end."""
        for round_ in self.detail.rounds:
            answer = round_.answer
            if answer is None or answer.m in taken or self.place.get(answer.m) != answer.m:
                continue
            asks = answer.member("result").get("inputRequests")
            if answer.member("result").get("resultType") == "input_required" and isinstance(asks, dict):
                self._questions(round_, asks)

    def _close(self) -> None:
        outcome, detail = self.detail.outcome, self.detail
        last = max((s.t for r in detail.rounds for s in (r.request, r.answer) if s is not None), default=detail.t)
        since = f" for {duration(detail.end - last)}" if detail.end is not None and detail.end > last else ""
        asked = bool(detail.rounds and detail.rounds[-1].state == "asked")
        text = {
            "open": f"waiting for the {'client' if asked else 'server'} when the capture ends{since}",
            "abandoned": f"never answered: the client went on without{since}",
            "lost": "the stream was cut before an answer came",
            "cancelled": "cancelled by the client",
        }.get(outcome)
        if text:
            self.rows.append(Row("end", "end", text, self.near if asked or outcome == "abandoned" else self.far, tone="cancel"))

    # ---- hops, findings, the whole

    def _hop(self, hop: OperationDetail, depth: int) -> None:
        """The share of a further channel: its arrows stand among the others in order of time."""
        inner = _Builder(hop, self.redact, self.unfold)
        inner.near = f"gateway{depth}"
        inner.far = f"gateway{depth + 1}" if depth < len(self.detail.hops) else "server"
        for number, round_ in enumerate(hop.rounds, 1):
            inner._round(number, round_)
        latest, keyed = 0.0, []
        for row in [*self.rows, *inner.rows]:
            latest = row.t if row.t is not None else latest
            keyed.append((latest, row))
        self.rows = [row for _, row in sorted(keyed, key=lambda pair: pair[0])]
        self.place |= inner.place
        self.ribbons.adopt(inner.ribbons)

    def _marks(self, index: dict[str, int]) -> list[Mark]:
        marks = []
        for n, finding in enumerate(self.detail.findings, 1):
            row = index.get(self.place.get(finding.at, finding.at))
            for other in finding.also:
                row = index.get(self.place.get(other, other)) if row is None else row
            if row is not None:
                self.rows[row].marks.append(n)
            marks.append(self._mark(n, finding, row))
        return marks

    def _mark(self, n: int, finding: FindingDetail, row: int | None) -> Mark:
        saw = "" if finding.saw is None else questions.short(self.redact.value(self._without_states(finding.saw)))
        expected = "" if finding.expected is None else questions.short(self.redact.value(self._without_states(finding.expected)))
        return Mark(n, finding.level, finding.party, finding.rule, visible(self.redact.text(finding.text)), finding.at, row, saw,
                    expected, finding.rule_source, finding.keyword)  # fmt: skip

    def _scene(self) -> Scene:
        detail = self.detail
        scene = Scene(detail.id, title(detail, self.redact), subtitle(detail))
        if any(r.request.dir == "s2c" for r in detail.rounds):
            self._by_time()
        scene.rows = self.rows
        index = {row.id: i for i, row in enumerate(self.rows)}
        for span, first, last in self.spans:
            span.first, span.last = sorted((index[first], index[last]))
            scene.spans.append(span)
        for span in scene.spans:
            span.depth = sum(s is not span and s.first <= span.first and span.last <= s.last for s in scene.spans)
        scene.ribbons = self.ribbons.drawn(self.place, index)
        scene.marks = self._marks(index)
        scene.participants = [Participant(side, side) for side in _SIDES if side in self.sides]
        scene.participants.append(Participant("client", "client", visible(detail.client)))
        scene.participants += [Participant(f"gateway{i}", "gateway", visible(detail.channel if i == 1 else detail.hops[i - 2].channel))
                               for i in range(1, len(detail.hops) + 1)]  # fmt: skip
        server = detail.hops[-1].server if detail.hops else detail.server
        scene.participants.append(Participant("server", "server", visible(server)))
        return scene

    def _by_time(self) -> None:
        """Questions of the old way lie inside the call they belong to: there the clock orders the rows."""
        latest, keyed = 0.0, []
        for row in self.rows:
            latest = row.t if row.t is not None else latest
            keyed.append((latest, row))
        self.rows = [row for _, row in sorted(keyed, key=lambda pair: pair[0])]

    def _without_states(self, value: Any, depth: int = 0) -> Any:
        """The value with every long state of this operation shortened, wherever it stands."""
        if self.redact.raw or depth > 64:
            return value
        if isinstance(value, str):
            return shortened(value) if value in self.states else value
        if isinstance(value, dict):
            return {k: self._without_states(v, depth + 1) for k, v in value.items()}
        return [self._without_states(v, depth + 1) for v in value] if isinstance(value, list) else value

    def _seen(self, said: Said) -> str:
        text = json.dumps(self.redact.value(self._without_states(said.body)), ensure_ascii=False, indent=1, default=repr)
        return visible(f"{said.m} {text if len(text) <= _SEEN else text[:_SEEN] + '…'}", keep="\n")


def _content(result: dict[str, Any], redact: Redactor) -> list[Line]:
    """What a final result brings, in a line or two."""
    content = result.get("content", result.get("messages", result.get("contents")))
    items = content if isinstance(content, list) else []
    lines = []
    for item in items[:1]:
        inner = item.get("content", item) if isinstance(item, dict) else item
        if isinstance(inner, dict) and isinstance(inner.get("text"), str):
            lines.append(Line("text", questions.short(redact.text(inner["text"]), 160)))
        elif isinstance(inner, dict):
            kind = questions.short(inner.get("type", inner.get("mimeType", "content")), 60)
            lines.append(Line("hint", kind))
    if len(items) > 1:
        lines.append(Line("more", f"and {count(len(items) - 1, 'more item')}"))
    return lines


def _after(note: Said, answer: Said | None) -> bool:
    return answer is not None and note.t > answer.t


def _slug(key: Any) -> str:
    """A piece of an element's id: what is no letter or digit becomes a dash, with a digest where that loses something."""
    text = str(key)
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in text[:24])
    return plain if plain == text else f"{plain}-{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=3).hexdigest()}"

"""From an operation to its scene: which rows there are, in which order, and where the states go."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mrtrscope.views import fold, labels, parts, questions
from mrtrscope.views.behind import SIDES, Behind, asks
from mrtrscope.views.escape import visible
from mrtrscope.views.headline import subtitle, title
from mrtrscope.views.redact import Redactor
from mrtrscope.views.ribbons import Ribbons, several, shortened, states
from mrtrscope.views.scene import (
    FindingDetail,
    LinkDetail,
    Mark,
    OperationDetail,
    Participant,
    RoundDetail,
    Row,
    Said,
    Scene,
    Span,
)
from mrtrscope.views.words import clock, count, duration, told

ROUNDS = 10  # more rounds than this are folded: the first and last three stay, and some with findings
_KEPT = 3
_SEEN = 1500  # characters of a message that its tooltip holds
_EVIDENCE = {
    "state": "same state", "no-state": "no state was issued", "keys": "answers its questions",
    "arguments": "same arguments", "client": "same client", "state-alike": "a state much like it",
    "task": "the same task",
}  # fmt: skip


def build(detail: OperationDetail, *, redact: Redactor | None = None, unfold: bool = False) -> Scene:
    """The scene of one operation; `redact` is shared where several pictures are to hide alike."""
    return _Builder(detail, redact or Redactor(), unfold).build()


class _Builder:
    """Collects rows in order; frames and ribbons name rows by id until all of them are there."""

    def __init__(self, detail: OperationDetail, redact: Redactor, unfold: bool) -> None:
        merged = (
            sorted([*detail.rounds, *detail.inner], key=lambda r: r.request.t)
            if detail.inner
            else detail.rounds
        )
        self.detail, self.redact, self.unfold = replace(detail, rounds=merged), redact, unfold
        self.rows: list[Row] = []
        self.spans: list[tuple[Span, str, str]] = []
        self.place: dict[str, str] = {}  # message -> id of the row that tells of it
        self.near, self.far = "client", "gateway1" if detail.hops else "server"
        self.behind = Behind(self.near, redact, unfold)
        self.upstream = False  # whoever it asks is the gateway, which has no user of its own
        self.ribbons = Ribbons(redact.raw)
        self.states = states(detail)
        self._ids: set[str] = set()
        self._asked: set[str] = set()  # answers whose questions are drawn
        self._listed: dict[str, Any] = {}  # what a task asks, as often as it is looked at
        self._overtaken: list[Said] = []  # notifications of a round that came when the next had begun

    def build(self) -> Scene:
        folded = self._folded()
        answers = {r.answer.m: r for r in self.detail.rounds if r.answer is not None}
        taken: set[str] = set()
        away = {r.link.to for n, r in enumerate(self.detail.rounds, 1) if n in folded and r.link is not None}
        for number, round_ in enumerate(self.detail.rounds, 1):
            to = round_.link.to if round_.link is not None else None
            if number in folded:
                self._fold_round(number, folded)
            else:
                if to is not None and to in answers:
                    self._questions(answers[to])  # when that one is not drawn
                    self._polls(round_)
                    self._add(self.behind.between(answers[to], round_, again=to in taken))
                elif number > 1 and round_.link is None and not round_.label and not self._nested(round_):
                    self._add(self.behind.pause(self.detail.rounds[number - 2], round_))
                self._round(number, round_)
                if round_.answer is None or round_.answer.m not in away:
                    self._questions(round_)
            taken.add(to or "")
        for said in self.detail.attached:
            self._note(said)
        for said in self._overtaken:
            self._insert(said)
        self._close()
        for depth, hop in enumerate(self.detail.hops, 1):
            self._hop(hop, depth)
        return self._scene()

    def _add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            n, wanted = 2, row.id
            while row.id in self._ids:
                row.id, n = f"{wanted}-{n}", n + 1
            self._ids.add(row.id)
            self.rows.append(row)

    def _nested(self, round_: RoundDetail) -> bool:
        """Whether it goes the other way than what it belongs to: a question within a call."""
        return round_.request.dir != self.detail.rounds[0].request.dir

    def _behind(self, round_: RoundDetail) -> None:
        """What a request of the server means to whoever is behind the client."""
        question = self.detail.rounds[0].request
        if questions.is_question(round_.request.method):
            self._add(self.behind.old(round_))
        elif round_.request.method == parts.RESULT and question.dir == "s2c" and round_.answer is not None:
            self._add(self.behind.brought(question, round_.answer))

    def _questions(self, round_: RoundDetail) -> None:
        """What an answer asks, right behind it."""
        answer = round_.answer
        if answer is not None and answer.m not in self._asked:
            self._asked.add(answer.m)
            polled = round_.request.method in parts.POLLS
            self._add(self.behind.questions(round_, self._listed if polled else {}))
            if polled:
                self._listed |= asks(round_)

    # ---- rounds

    def _folded(self) -> set[int]:
        rounds = self.detail.rounds
        if self.unfold or len(rounds) <= ROUNDS:
            return set()
        told = {f.at for f in self.detail.findings}
        keep = [n for n, r in enumerate(rounds, 1) if {r.request.m, r.answer.m if r.answer else ""} & told]
        away = set(range(_KEPT + 1, len(rounds) - _KEPT + 1)) - set(keep[: 2 * _KEPT])
        threes = [{n, n + 1, n + 2} for n in away if {n + 1, n + 2} <= away]
        return set().union(*threes)  # one or two between others take no more room drawn

    def _fold_round(self, number: int, folded: set[int]) -> None:
        round_ = self.detail.rounds[number - 1]
        if not (self.rows and self.rows[-1].kind == "rounds"):
            last = number
            while last + 1 in folded:
                last += 1
            hidden = self.detail.rounds[number - 1 : last]
            n = sum(1 + (r.answer is not None) + len(r.notes) for r in hidden)
            which = f"rounds {number} to {last}" if last > number else f"round {number}"
            label = f"{which} not drawn: {count(n, 'message')} in {duration(_length(hidden))}"
            t = round_.request.t
            row = Row(
                "rounds",
                f"rounds{number}",
                label,
                self.near,
                self.far,
                m=round_.request.m,
                t=t,
                clock=clock(t),
            )
            self._add([row])
        for said in (round_.request, round_.answer, *round_.notes):
            if said is not None:
                self.place[said.m] = self.rows[-1].id
        self.ribbons.round(round_)

    def _round(self, number: int, round_: RoundDetail) -> None:
        request, answer, first = round_.request, round_.answer, len(self.rows)
        self._polls(round_)
        self._arrow(request, *labels.request(round_, self.redact, self.unfold))
        if request.dir == "s2c" and not self.upstream:
            self._behind(round_)
        later = self.detail.rounds[number].request.t if number < len(self.detail.rounds) else float("inf")
        self._overtaken += [n for n in round_.notes if n.t > later]
        notes = [n for n in round_.notes if n.t <= later]
        late = [n for n in notes if answer is not None and n.t > answer.t]
        self._notes([n for n in notes if answer is None or n.t <= answer.t])
        if answer is not None:
            spoken = request.dir == "s2c" and not self.upstream
            label, lines, tone = labels.answer(answer, self.redact, self.unfold, spoken)
            # Of several questions of the server at a time, which one it answers.
            label += f"  id {questions.short(answer.id, 40)}" if request.dir == "s2c" else ""
            self._arrow(answer, label, lines, tone)
        elif round_.status is not None and round_.status >= 400:
            label, status = f"HTTP {round_.status}, no JSON-RPC answer", str(round_.status)
            self._add(
                [
                    Row(
                        "arrow",
                        f"{request.m}.http",
                        label,
                        self.far,
                        self.near,
                        "error",
                        request.m,
                        status=status,
                    )
                ]
            )
        self._notes(late)
        self.ribbons.round(round_)
        label = round_.label or self._numbered(round_)
        grade, words = (round_.link.grade, _linked(round_.link)) if round_.link is not None else ("", "")
        self.spans.append(
            (Span(f"round{number}", label, 0, 0, grade, words), self.rows[first].id, self.rows[-1].id)
        )

    def _numbered(self, round_: RoundDetail) -> str:
        """Which round of how many; a server's own question is none."""
        own = [
            r
            for r in self.detail.rounds
            if not r.label and r.request.dir == self.detail.rounds[0].request.dir
        ]
        if not any(r is round_ for r in own):
            return "question of the server"
        n = next(i for i, r in enumerate(own, 1) if r is round_)
        return f"round {n} of {len(own)}" if len(own) > 1 else "one round"

    def _polls(self, round_: RoundDetail) -> None:
        """The polls before a round that told nothing new, as one row."""
        id = f"{round_.request.m}.polls"
        if not round_.skipped or id in self._ids:
            return
        label = f"{count(round_.skipped, 'more poll')} with nothing new"
        first = round_.passed[0] if round_.passed else None
        m, t = (first.m, first.t) if first is not None else (round_.request.m, None)
        self._add(
            [Row("fold", id, label, self.near, self.far, m=m, t=t, clock="" if t is None else clock(t))]
        )
        self.place |= {said.m: id for said in round_.passed}

    def _arrow(self, said: Said, label: str, lines: Any, tone: Any) -> None:
        source, target = (self.near, self.far) if said.dir == "c2s" else (self.far, self.near)
        status = str(said.status) if said.status is not None and said.kind in ("response", "error") else ""
        self._add([Row("arrow", said.m, label, source, target, tone, said.m, said.t, clock(said.t), status, lines,
                       self._seen(said))])  # fmt: skip
        self.place[said.m] = self.rows[-1].id

    def _note(self, said: Said) -> None:
        self._arrow(said, *labels.note(said, self.redact))

    def _notes(self, notes: list[Said]) -> None:
        for run in fold.runs(notes, self.unfold):
            if len(run) == 1:
                self._note(run[0])
                continue
            source, target = (self.near, self.far) if run[0].dir == "c2s" else (self.far, self.near)
            said, seen = run[0], f"{run[0].m} to {run[-1].m}"
            self._add([Row("fold", f"{said.m}.fold", fold.summary(run), source, target, "note", said.m, said.t,
                           clock(said.t), seen=seen)])  # fmt: skip
            for note in run:
                self.place[note.m] = self.rows[-1].id

    def _insert(self, said: Said) -> None:
        """A row where the clock puts it among those that are there."""
        self._note(said)
        row = self.rows.pop()
        before = [i for i, other in enumerate(self.rows) if other.t is not None and other.t <= said.t]
        self.rows.insert(before[-1] + 1 if before else len(self.rows), row)

    def _close(self) -> None:
        """How it ended when no final answer says so."""
        detail = self.detail
        last = max(
            (s.t for r in detail.rounds for s in (r.request, r.answer) if s is not None), default=detail.t
        )
        since = duration(detail.end - last) if detail.end is not None and detail.end > last else ""
        asked = bool(detail.rounds and detail.rounds[-1].state == "asked")
        text = {
            "open": f"no {'answer of the client' if asked else 'answer'} yet when the capture ends"
            + (f", {since} later" if since else ""),
            "abandoned": f"never answered; the client went on{f' for {since}' if since else ''}",
            "lost": "the stream was cut before an answer came",
            "cancelled": "cancelled by the client",
        }.get(detail.outcome)
        if text:
            at = self.near if asked or detail.outcome == "abandoned" else self.far
            self._add([Row("end", "end", text, at, tone="cancel")])

    def _hop(self, hop: OperationDetail, depth: int) -> None:
        """The share of a further channel: its arrows stand among the others in order of time."""
        inner = _Builder(hop, self.redact, self.unfold)
        inner.near = f"gateway{depth}"
        inner.far = f"gateway{depth + 1}" if depth < len(self.detail.hops) else "server"
        inner.upstream = True
        for number, round_ in enumerate(inner.detail.rounds, 1):
            inner._round(number, round_)
        self.rows = _by_time([*self.rows, *inner.rows])
        self.place |= inner.place
        self.states |= inner.states
        self.ribbons.adopt(inner.ribbons)

    # ---- the whole

    def _scene(self) -> Scene:
        detail = self.detail
        if any(r.request.dir == "s2c" for r in detail.rounds):  # these lie inside the call they belong to
            self.rows = _by_time(self.rows)
        index = {row.id: i for i, row in enumerate(self.rows)}
        scene = Scene(
            detail.id, title(detail, self.redact), subtitle(detail), self._participants(), self.rows
        )
        for span, first, last in self.spans:
            span.first, span.last = sorted((index[first], index[last]))
            scene.spans.append(span)
        for span in scene.spans:
            span.depth = sum(s.first < span.first <= s.last for s in scene.spans)  # those still under way
        scene.ribbons = self.ribbons.drawn(self.place, index)
        scene.marks = [self._mark(n, finding, index) for n, finding in enumerate(detail.findings, 1)]
        return scene

    def _participants(self) -> list[Participant]:
        detail = self.detail
        found = [Participant(side, side) for side in SIDES if side in self.behind.sides]
        found.append(Participant("client", "client", visible(self.redact.text(detail.client))))
        channels = [detail.channel, *(hop.channel for hop in detail.hops[:-1])]
        for n, channel in enumerate(channels if detail.hops else [], 1):
            found.append(Participant(f"gateway{n}", "gateway", visible(channel)))
        server = detail.hops[-1].server or detail.hops[-1].channel if detail.hops else detail.server
        return [*found, Participant("server", "server", visible(self.redact.text(server)))]

    def _mark(self, n: int, finding: FindingDetail, index: dict[str, int]) -> Mark:
        places = [index.get(self.place.get(name, "")) for name in (finding.at, *finding.also)]
        row = next((place for place in places if place is not None), None)
        if row is not None:
            self.rows[row].marks.append(n)
        saw, expected = (
            ""
            if value is None or told(value, finding.text)
            else questions.short(self.redact.value(self._without_states(value)))
            for value in (finding.saw, finding.expected)
        )
        text = visible(self.redact.text(finding.text))
        return Mark(n, finding.level, finding.party, finding.rule, text, finding.at, row, saw, expected,
                    finding.rule_source, finding.keyword)  # fmt: skip

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
        body = self.redact.value(self._without_states(said.body))
        try:
            text = json.dumps(body, ensure_ascii=False, indent=1, default=repr)
        except (ValueError, RecursionError):
            text = ""
        return visible(f"{said.m} {text if len(text) <= _SEEN else text[:_SEEN] + '…'}", keep="\n")


def _linked(link: LinkDetail) -> str:
    """Why a retry was linked, and how it differs from what it should have been."""
    words = [", ".join(_EVIDENCE.get(e, visible(e)) for e in link.evidence)]
    if link.grade == "ambiguous":
        words = [f"takes up one of {several(link.candidates)}"]
    return "; ".join(word for word in [*map(visible, link.differences[:3]), *words] if word)


def _length(rounds: list[RoundDetail]) -> float:
    last = rounds[-1]
    return (last.answer.t if last.answer is not None else last.request.t) - rounds[0].request.t


def _by_time(rows: list[Row]) -> list[Row]:
    """The rows by the clock. Of those without a time a question, and how it ended, stay behind what stands before
    them; waiting and answers stay before the message that brought the answer."""
    latest, coming, times = 0.0, float("inf"), [0.0] * len(rows)
    for i, row in enumerate(rows):
        times[i] = latest = row.t if row.t is not None else latest
    for i in range(len(rows) - 1, -1, -1):
        row = rows[i]
        coming = row.t if row.t is not None else coming
        if row.t is None and row.kind != "ask" and row.id != "end" and coming < float("inf"):
            times[i] = coming
    return [rows[i] for i in sorted(range(len(rows)), key=times.__getitem__)]


__all__ = ["ROUNDS", "asks", "build"]

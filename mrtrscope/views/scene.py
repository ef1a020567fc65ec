"""The scene: what a picture of one operation says, as pure data. Every writer draws this and nothing else.

`OperationDetail` is what the builder (`build`) is given; `Scene` is what it makes. All text in a scene is ready to be
shown: secrets are hidden, unseen characters spelled out; it is not yet escaped for any language. A scene knows order,
never positions: those are `layout`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

# ---- what goes in ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Said:
    """One message.

    m        "m3"                         t       seconds
    dir      "c2s" or "s2c"               kind    as in `wire.events`
    body     the parsed JSON value        status  HTTP status it came with, None on stdio
    """

    m: str
    t: float
    dir: str
    kind: str
    body: Any
    status: int | None = None

    def member(self, name: str) -> dict[str, Any]:
        """`params`, `result` or `error` when it is an object, else an empty dict."""
        value = self.body.get(name) if isinstance(self.body, dict) else None
        return value if isinstance(value, dict) else {}

    @property
    def method(self) -> str:
        value = self.body.get("method") if isinstance(self.body, dict) else None
        return value if isinstance(value, str) else ""

    @property
    def id(self) -> Any:
        return self.body.get("id") if isinstance(self.body, dict) else None


@dataclass(slots=True)
class LinkDetail:
    """How a retry was joined to the answer it takes up; fields as in `model.Link`."""

    to: str | None
    grade: str
    evidence: list[str] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


@dataclass(slots=True)
class RoundDetail:
    """One exchange; `notes` are the notifications on its stream, `status` is that of an answer without text.

    label    what stands at its frame instead of its number
    skipped  how many alike before it are not drawn     passed  their messages
    """

    request: Said
    answer: Said | None = None
    notes: list[Said] = field(default_factory=list)
    link: LinkDetail | None = None
    state: str = ""
    status: int | None = None
    label: str = ""
    skipped: int = 0
    passed: list[Said] = field(default_factory=list)


@dataclass(slots=True)
class FindingDetail:
    """A finding about a message of this operation; fields as in `model.Finding`."""

    rule: str
    level: str
    party: str
    at: str
    text: str
    also: list[str] = field(default_factory=list)
    saw: Any = None
    expected: Any = None
    rule_source: str = ""
    keyword: str = ""
    path: str = ""


@dataclass(slots=True)
class OperationDetail:
    """All that is known of one operation. `hops` are its shares on further channels, outermost first; `inner` is what
    is drawn beside its rounds: questions in the old way, polls and answers of a task."""

    id: str
    kind: str
    channel: str
    method: str
    target: str | None
    outcome: str
    t: float
    server_time: float
    waiting: float
    total: float
    rounds: list[RoundDetail]
    attached: list[Said] = field(default_factory=list)
    findings: list[FindingDetail] = field(default_factory=list)
    client: str = ""
    server: str = ""
    era: str = ""
    hops: list[OperationDetail] = field(default_factory=list)
    inner: list[RoundDetail] = field(default_factory=list)
    end: float | None = None  # when the capture, or this client's part of it, ended


# ---- what comes out --------------------------------------------------------------------------------------------------

Side = Literal["user", "model", "files", "client", "gateway", "server"]
Tone = Literal["request", "asked", "complete", "error", "note", "question", "reply", "cancel"]


@dataclass(slots=True)
class Participant:
    """One column. `name` is what it calls itself, "" when it did not say."""

    id: str
    side: Side
    name: str = ""


@dataclass(slots=True)
class Line:
    """One line under an arrow or on a card.

    kind   "text" prose (may be folded into several lines), "item" name and value, "more" what was left out,
           "hint" said in grey
    """

    kind: Literal["text", "item", "more", "hint"]
    text: str
    name: str = ""


@dataclass(slots=True)
class Row:
    """One thing that happened.

    kind      "arrow": a message; "ask" and "reply": what went on behind the client, which no capture shows; "fold":
              several messages in one row; "rounds": several rounds in one; "gap": time went by; "end": nothing more
    id        stable and unique in the scene; that of an arrow is its message's
    m         the message it tells of     t, clock   when, None and "" where nobody can know
    label     over the arrow              lines      under it, or on its card
    seen      what stands beside it as a tooltip: the message in full (bounded)
    marks     numbers of findings
    """

    kind: Literal["arrow", "ask", "reply", "fold", "rounds", "gap", "end"]
    id: str
    label: str
    source: str = ""
    target: str = ""
    tone: Tone = "note"
    m: str = ""
    t: float | None = None
    clock: str = ""
    status: str = ""
    lines: list[Line] = field(default_factory=list)
    seen: str = ""
    marks: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Span:
    """A frame around rows `first` to `last` (indices, inclusive): a round."""

    id: str
    label: str
    first: int
    last: int
    grade: str = ""
    words: str = ""
    depth: int = 0


@dataclass(slots=True)
class Ribbon:
    """A state on its way: issued by the answer in row `start`, back with the request in row `stop`.

    fate     "kept": came back equal; "changed": came back otherwise; "dropped": a retry without it; "invented": no such
             state was issued (`start` is None); "held": never came back (`stop` is None); "unclear": one of several
    color    0, 1, 2, …: equal for equal states     color_after   of what came back, when "changed"
    label    shortened state     words   the difference, or "equal"     seen   tooltip
    """

    id: str
    start: int | None
    stop: int | None
    fate: Literal["kept", "changed", "dropped", "invented", "held", "unclear"]
    color: int
    label: str
    words: str
    color_after: int = 0
    label_after: str = ""
    seen: str = ""


@dataclass(slots=True)
class Mark:
    """A finding. `row` is the index of the row it stands at, None when none of them is concerned."""

    n: int
    level: str
    party: str
    rule: str
    text: str
    at: str
    row: int | None = None
    saw: str = ""
    expected: str = ""
    source: str = ""
    keyword: str = ""


@dataclass(slots=True)
class Scene:
    """What a picture says."""

    id: str
    title: str
    subtitle: str
    participants: list[Participant] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    ribbons: list[Ribbon] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    page: int = 1
    pages: int = 1

    def worst(self, row: Row, most: int = 4) -> tuple[list[Mark], int]:
        """The findings that are marked at a row, the worst first, and how many more there are."""
        order = {"must": 0, "should": 1}
        marks = sorted(
            (self.marks[n - 1] for n in row.marks), key=lambda mark: (order.get(mark.level, 2), mark.n)
        )
        return marks[:most], max(0, len(marks) - most)

    def participant(self, id: str) -> Participant:
        """The participant of that id."""
        return next(p for p in self.participants if p.id == id)

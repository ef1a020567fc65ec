"""What we hand out: the pydantic models behind every `--format json`, the store's readers and the views.

They describe our output, never the traffic. Numbers (`m1`, `op1`, `f1`) are ranks in order of time, worked out when
reading; keys are permanent. Times: `t` seconds since the Unix epoch (or of the transcript), durations seconds.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Source(_Model):
    """Place in the file that was read, counted as the corpus does: a line (stdio), or a flow and an event of it."""

    file: str
    line: int | None = None
    flow: int | None = None
    event: int | None = None
    offset: int | None = None  # byte in a journal


class Message(_Model):
    """One JSON-RPC value."""

    m: str  # m1, m2, …
    key: str
    t: float
    channel: str
    client: str  # id of the TCP connection or process
    dir: Literal["c2s", "s2c"]
    kind: Literal["request", "response", "error", "notification", "invalid"]
    id: Any = None  # as sent; null when absent, see id_text
    id_text: str | None = None
    method: str | None = None
    target: str | None = None
    operation: str | None = None  # op1, …
    exchange: str | None = None  # m-number of its request
    frames: list[str] = []
    source: Source
    size: int  # bytes of its text
    era: str = "unknown"
    oddities: list[str] = []
    http: int | None = None  # number of the HTTP exchange in its journal
    status: int | None = None  # HTTP status it came with


class Link(_Model):
    """How a retry was joined to the result that it takes up."""

    to: str | None  # m-number of the answer
    grade: Literal["exact", "inferred", "suspect", "ambiguous"]
    evidence: list[str]
    candidates: list[str]
    total: int = 0  # how many candidates there are; the list stops at 256
    differences: list[str] = []  # in words


class Round(_Model):
    """One exchange of an operation."""

    request: str
    answer: str | None
    link: Link | None
    state: str = ""  # waiting, answered, asked, failed, cancelled, lost
    asks: list[str] = []  # keys of inputRequests
    t: float = 0.0
    t_answer: float | None = None
    era: str = "unknown"
    client: str = ""


class Times(_Model):
    server: float
    waiting: float
    total: float


class State(_Model):
    """A state of a task, and when it was first seen in it."""

    t: float
    state: str


class Task(_Model):
    """What a call turned into that was answered with a task. Its polls and answers stand in `attached`."""

    id: str
    polls: int = 0
    updates: int = 0
    states: list[State] = []  # as they were seen to change, the last 128
    declared: bool = True  # the client said that it can follow a task; else it may not know of this one


class Subscription(_Model):
    """A stream that was asked for."""

    acknowledged: float | None = None  # when
    delivered: dict[str, int] = {}  # notifications by method
    ended: str = ""  # "result", "error", "cancelled", "closed", "lost"; "" while it is open
    by: Literal["", "client", "server"] = ""


class Within(_Model):
    """The call in which a server asked its own request, or the call of a host that a gateway made this one for, or the
    operation that began the conversation with an agent that this one is of, or that was lost before and asked anew."""

    operation: str | None  # None when ambiguous
    grade: Literal["exact", "inferred", "ambiguous"]
    evidence: list[str]
    candidates: list[str] = []


class Operation(_Model):
    """What the user meant: one exchange, or a chain of them."""

    id: str  # op1, …
    key: str
    t: float
    kind: str
    channel: str
    method: str
    target: str | None
    outcome: Literal["complete", "error", "open", "abandoned", "cancelled", "lost"]
    tool_error: bool = False  # its final result says isError
    rounds: list[Round]
    attached: list[str] = []
    task: Task | None = None
    subscription: Subscription | None = None
    within: Within | None = None  # a server's own request: the call it was asked in
    nested: list[str] = []  # server's own requests that were asked in this call
    hop_of: Within | None = None  # a gateway's call: the call of its host that it was made for
    hops: list[str] = []  # calls that a gateway made for this one
    again_of: Within | None = None  # the same request was lost with its answer before: this is its repeat
    context: str | None = None  # of an agent (A2A): its contextId
    conversation: Within | None = (
        None  # the operation that was the first of that context, where this one is not
    )
    times: Times
    findings: int
    worst: Literal["must", "should", "info"] | None = None
    worst_count: int = 0  # how many of them are of the worst level


class Finding(_Model):
    """One rule, one subject, the party at fault, what was seen, what was expected."""

    id: str  # stable over re-reading
    rule: str
    level: Literal["must", "should", "info"]
    keyword: str
    party: Literal["client", "server", "either"]
    at: str  # m3, or f12 for something that is no message
    also: list[str] = []
    operation: str | None = None
    channel: str
    t: float
    saw: Any = None
    expected: Any = None
    text: str
    path: str = ""  # what tells it apart from others of its rule at this message: a JSON path, a header name
    rule_source: str  # page of the specification
    source: Source
    provisional: bool = False
    because: str | None = None  # id of the finding that this one follows from
    count: int = 1


class RuleVerdict(_Model):
    """A rule that the traffic of a channel put to the test."""

    rule: str
    tested: int  # how often its sentence applied and could be decided
    findings: int


class Verdict(_Model):
    """What the traffic of one channel says about every rule."""

    channel: str
    exercised: int
    broken: list[RuleVerdict]
    noted: list[RuleVerdict]  # no breach, but something worth knowing
    kept: list[RuleVerdict]
    no_occasion: list[str]


class Tried(_Model):
    """A step by which clients found out what a server speaks."""

    what: Literal["server/discover", "initialize"]
    offered: str
    outcome: str  # "served", "error -32601", "HTTP 404", "no answer", "cut off", "given up"
    chosen: str = ""  # the revision agreed on, or those that the server lists
    t: float
    n: int = 1  # how often the same


class Channel(_Model):
    """One server side."""

    name: str
    transport: str
    era: str
    messages: int
    operations: int
    findings: int
    server: str = ""
    clients: list[str] = []
    speaks: dict[str, int] = {}  # revision: how many answered requests
    tried: list[Tried] = []

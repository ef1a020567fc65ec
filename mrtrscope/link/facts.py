"""What `link` makes of messages: exchanges, what a round asked, links, operations. Plain slotted classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mrtrscope.wire.events import ABSENT, HttpExchange, Message, Peer

if TYPE_CHECKING:
    from mrtrscope.link.tools import Tool

META = "io.modelcontextprotocol/"
META_VERSION = META + "protocolVersion"
META_CAPABILITIES = META + "clientCapabilities"
META_CLIENT_INFO = META + "clientInfo"
META_SERVER_INFO = META + "serverInfo"  # of a result

MODERN, LEGACY, UNKNOWN = "modern", "legacy", "unknown"
A2A = "a2a"  # the era of what is no MCP but A2A over JSON-RPC: no rule of MCP applies
MODERN_SINCE = "2026-07-28"
MRTR_METHODS = ("tools/call", "prompts/get", "resources/read")

# Outcomes of an operation, as DESIGN words them.
COMPLETE, FAILED, CANCELLED, LOST, OPEN, ABANDONED = (
    "complete",
    "error",
    "cancelled",
    "lost",
    "open",
    "abandoned",
)

# Grades of a link.
EXACT, INFERRED, SUSPECT, AMBIGUOUS = "exact", "inferred", "suspect", "ambiguous"


class Client:
    """What is known of who sent a request; see "client" in DESIGN.

    peer        id of the TCP connection or process
    credential  16-byte digest of Authorization (salted per capture), b"" when there was none
    info        clientInfo as canonical JSON, "" when absent
    host        client address without its port, "" when unknown
    subject     digest of the issuer and subject that a bearer JWT names, b"" when it is none
    """

    __slots__ = ("credential", "host", "info", "peer", "subject")

    def __init__(
        self, peer: str, credential: bytes = b"", info: str = "", host: str = "", subject: bytes = b""
    ) -> None:
        self.peer = peer
        self.credential = credential
        self.info = info
        self.host = host
        self.subject = subject

    def surely_same(self, other: Client) -> bool:
        if self.peer == other.peer:
            return True
        mine = (self.credential, self.info, self.host)
        return all(mine) and mine == (other.credential, other.info, other.host)

    def surely_other(self, other: Client) -> bool:
        return bool(self.credential and other.credential and self.credential != other.credential)


class Difference:
    """One way in which a retry differs from what it should have been.

    what   "state-changed", "state-dropped", "state-invented", "state-moved", "state-stale", "arguments-changed"
    text   in words: "padding lost", "cut after 120 of 212 bytes", …
    """

    __slots__ = ("text", "what")

    def __init__(self, what: str, text: str) -> None:
        self.what = what
        self.text = text


class Chain:
    """What a chain of rounds amounted to up to one `input_required` result; goes with it into `Memory`, so that a rule
    sees the same whether the earlier rounds were a moment or a million messages ago.

    rounds     how many input_required results so far, this one included
    ids        id_text of every request of the chain (the last 256)
    asked      key -> digest of the question last asked under it (at most 256 keys), this result included
    answered   key -> digest of the question that was answered under it
    changed    keys of this result that were answered before and ask something else now, for the first time
    reused     all keys that ever did         unasked   all keys that were answered without being asked (256 of each)
    repeats    how many times in a row the same questions came again after every key was answered acceptably
    quick      how many state-only results in a row were retried within 20 ms
    kinds      methods of all questions so far ("elicitation/create", …)
    loops      how many rounds in a row before this one sampled with tools and stopped for one
    agreed     the user agreed to open an address (URL mode) in an earlier round
    first      key of the first request's message          arguments   digest of its arguments
    """

    __slots__ = (
        "agreed", "answered", "arguments", "asked", "changed", "first", "ids", "kinds", "loops", "quick", "repeats",
        "reused", "rounds", "unasked",
    )  # fmt: skip

    rounds: int
    ids: list[str]
    asked: dict[str, str]
    answered: dict[str, str]
    changed: list[str]
    reused: list[str]
    unasked: list[str]
    repeats: int
    quick: int
    kinds: list[str]
    loops: int
    agreed: bool
    first: str
    arguments: str


class Ask:
    """One `input_required` result, kept for the retries that may take it up (also long after).

    key           key of the answer message             exchange  key of the request it answered
    operation     key of the operation                  round     0 for the first exchange of the chain
    t             when the answer arrived, microseconds
    method, target, arguments   of the request (target: name or uri; arguments: {} when absent)
    id_text       of the request                        client    who sent the request
    state         requestState: ABSENT, or any JSON value (a str when the server kept the rules)
    questions     inputRequests when it is an object, else {}
    capabilities  clientCapabilities that the request declared, None when it declared none
    chain         what came before it
    """

    __slots__ = (
        "arguments", "capabilities", "chain", "client", "exchange", "id_text", "key", "method", "operation",
        "questions", "round", "state", "t", "target",
    )  # fmt: skip

    key: str
    exchange: str
    operation: str
    round: int
    t: int
    method: str
    target: str
    arguments: Any
    id_text: str | None
    client: Client
    state: Any
    questions: dict[str, Any]
    capabilities: dict[str, Any] | None
    chain: Chain


class Common:
    """What all results that stand first have in common: certain, whichever of them a retry takes up.

    questions  key -> question, those that each asks in the same words
    keys       that each asks            asked   that any asks
    same_id    each goes back to a request with the id of the retry
    """

    __slots__ = ("asked", "keys", "questions", "same_id")

    questions: dict[str, Any]
    keys: list[str]
    asked: list[str]
    same_id: bool

    @property
    def whole(self) -> bool:
        """They all ask the very same."""
        return len(self.questions) == len(self.keys) == len(self.asked)


class Link:
    """How a retry was joined to the result it takes up.

    to          key of the `input_required` answer, None when ambiguous
    ask         the result itself, None when ambiguous
    grade       "exact", "inferred", "suspect", "ambiguous"
    evidence    what agreed, strongest first: "state", "no-state", "keys", "arguments", "client"
    candidates  keys of the answers that stand first (at most 256), `total` how many there are
    differences what a suspect link differs in, and changed arguments of an exact one
    among       of an ambiguous one: the latest candidate, where all are rounds of one operation (that much is certain)
    common      of an ambiguous one: what all candidates have in common, None where that is not known
    strength    3: state equal (or both have none and keys agree); 2: arguments equal and keys meet, or arguments equal
                and a state never issued; 1: less. See `chain_and_link` in the rule catalogue.
    """

    __slots__ = (
        "among", "ask", "candidates", "common", "differences", "evidence", "grade", "strength", "to", "total",
    )  # fmt: skip

    to: str | None
    ask: Ask | None
    among: Ask | None
    common: Common | None
    grade: str
    evidence: tuple[str, ...]
    candidates: tuple[str, ...]
    total: int
    differences: tuple[Difference, ...]
    strength: int

    @property
    def chain(self) -> Ask | None:
        """A result of the operation that the retry goes on with: the one it takes up, or one of its candidates."""
        return self.ask if self.ask is not None else self.among


class Progress:
    """The progress notifications of one exchange.

    last, previous   value of the latest one and of the one before, None while there is none
    fast             how many seconds in a row had more than 50 of them
    ids              ids of the last event-stream events that carried one: a resumed stream tells them again
    again            the latest one was told before
    second, seconds  the second of the latest one, and how many came in it
    """

    __slots__ = ("again", "fast", "ids", "last", "previous", "second", "seconds")

    def __init__(self) -> None:
        self.last: float | None = None
        self.previous: float | None = None
        self.fast = 0
        self.ids: list[str] = []
        self.again = False
        self.second = 0
        self.seconds = 0


class Exchange:
    """A request and all that answers it. Its key is that of the request.

    request       the request message
    answer        the first final response, None while there is none
    extra         further responses to it (at most 16 kept)
    notes         notifications and other messages on its stream, in order (at most 256 kept, `noted` counts all)
    dir           "c2s", or "s2c" when a server asked in the old way
    method        "" when it is no string          target  name or uri, "" when there is none
    era           "modern", "legacy", "unknown", "a2a", of this request     version  declared or negotiated, "" unknown
    capabilities  what the client declared for this request (legacy: in initialize), None when nothing was seen
    client        who sent it
    state         WAITING, ANSWERED, ASKED, FAILED, CANCELLED, LOST (see `pairing.NEXT`)
    ask           what its answer asks when it is `input_required` to an MRTR method, else None
    link          set on a retry
    stranger      without a link: the result that its state or answers come from, of another client or target
    twin          key of another retry that gave the very same answers at the same moment, else ""
    remarks       what `link` noticed beside the ordinary, None when nothing; see `link.remarks`
    progress      what its progress notifications said so far, None while there was none
    tool          the definition that a tools/call is held to, None when none was seen; see `link.tools`
    operation     the operation it belongs to
    part          "" for a round of it, else what it is beside the rounds: see `link.statuses`
    """

    __slots__ = (
        "answer", "ask", "cancel", "capabilities", "client", "dir", "era", "extra", "http", "key", "link", "method",
        "noted", "notes", "operation", "part", "peer", "progress", "remarks", "request", "state", "stranger", "t",
        "t_end", "target", "tool", "twin", "version",
    )  # fmt: skip

    key: str
    t: int
    request: Message
    answer: Message | None
    extra: list[Message]
    notes: list[Message]
    noted: int
    dir: str
    method: str
    target: str
    era: str
    version: str
    capabilities: dict[str, Any] | None
    client: Client
    peer: Peer
    http: HttpExchange | None
    state: str
    t_end: int | None
    cancel: Message | None
    ask: Ask | None
    link: Link | None
    stranger: Ask | None
    twin: str
    remarks: dict[str, Any] | None
    progress: Progress | None
    tool: Tool | None
    operation: Operation
    part: str

    @property
    def arguments(self) -> Any:
        """params.arguments, {} when absent (the two mean the same)."""
        return self.request.params.get("arguments", {})

    @property
    def request_state(self) -> Any:
        """params.requestState of the request, ABSENT when it has none."""
        return self.request.params.get("requestState", ABSENT)

    @property
    def answers(self) -> Any:
        """params.inputResponses of the request, ABSENT when it has none."""
        return self.request.params.get("inputResponses", ABSENT)


class Operation:
    """What the user meant: one exchange, or a chain of them. Its key is that of its first request.

    kind      "single", "mrtr", "legacy", "task", "a2a", "subscription"
    last      the exchange that came to it last, None when the operation was taken up again from `Memory`
    count     how many rounds it has altogether (what the earlier ones were stands in `Ask.chain`)
    open      how many of them wait for an answer
    outcome   see the constants above
    server, waiting   microseconds spent in the server, and between a question and its retry
    more      what its kind has beside that, None for nothing; JSON values: see `link.longs`, `link.nested`, `hops`,
              `again`
    """

    __slots__ = (
        "channel", "count", "key", "kind", "last", "method", "more", "open", "outcome", "server", "t", "t_end",
        "target", "waiting",
    )  # fmt: skip

    key: str
    t: int
    t_end: int
    kind: str
    channel: str
    method: str
    target: str
    last: Exchange | None
    count: int
    open: int
    outcome: str
    server: int
    waiting: int
    more: dict[str, Any] | None

    def at_present(self, outcome: str) -> Operation:
        """A copy that says how the operation stands now; see `Pipeline.finish`."""
        copy = Operation()
        for name in Operation.__slots__:
            setattr(copy, name, getattr(self, name))
        copy.outcome = outcome
        return copy

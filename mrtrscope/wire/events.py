"""What `wire` makes of frames: messages, and everything else that was seen and is no message.

All of these are plain slotted classes, not pydantic models: millions of them are made. Nothing here is ever raised;
a broken message is a `Message` with `oddities`, text that is no message is a `NonMessage`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final


class _Absent:
    """The value of a member that is not there; JSON null is None."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = _Absent()

REQUEST, RESPONSE, ERROR, NOTIFICATION, INVALID = "request", "response", "error", "notification", "invalid"


class Peer:
    """One TCP connection or one wrapped process: everything in it certainly has the same two ends.

    id          permanent: ``journal:lane number`` of the connection or process
    transport   "stdio" or "http"
    address     the client's address ("127.0.0.1:50312"), "" when unknown or stdio
    whole       True when the recording certainly begins with the first byte (a wrapped process)
    """

    __slots__ = ("address", "id", "transport", "whole")

    def __init__(self, id: str, transport: str, address: str = "", whole: bool = False) -> None:
        self.id = id
        self.transport = transport
        self.address = address
        self.whole = whole


class HttpExchange:
    """One HTTP request and its answer, as far as they were seen; filled in while frames arrive.

    Header lists keep order, spelling and repetition; names and values are str, one character a byte (latin-1).
    Times are microseconds, None until it happened.
    """

    __slots__ = (
        "channel", "closed_by", "cut", "error", "facts", "flow", "http", "informational", "key", "method",
        "number", "ours", "peer", "place", "reason", "request_headers", "request_size", "response_headers",
        "response_http", "response_size", "status", "t", "t_end", "t_request_end", "t_response", "url",
    )  # fmt: skip

    def __init__(self, key: str, number: int, peer: Peer, channel: str, t: int) -> None:
        self.key = key  # permanent key of its first frame
        self.number = number  # running number in its journal; `flow` of a transcript when it has one
        self.peer = peer
        self.channel = channel
        self.t = t
        self.flow = ""  # mitmproxy's flow id
        self.method = ""
        self.url = ""
        self.http = ""
        self.request_headers: list[tuple[str, str]] = []
        self.request_size = 0
        self.t_request_end: int | None = None
        self.status: int | None = None
        self.reason = ""
        self.response_http = ""
        self.response_headers: list[tuple[str, str]] = []
        self.response_size = 0
        self.t_response: int | None = None
        self.t_end: int | None = None
        self.closed_by = "open"  # "server", "client": that side, in good order or not; "upstream", "us"
        self.error = ""  # what the recorder or transcript says went wrong
        self.informational: list[int] = []  # 1xx statuses before the final one
        self.ours = False  # the answer was made by the proxy that records: blamed on nobody
        self.cut = False  # part of it is missing from the capture
        self.place: dict[str, int] | None = None
        # Remarks, gone with the exchange. `wire` puts what the recorder told: "host" ("rewritten"), "mode", "via",
        # "replay", "edited" (the head as passed on), "answered" (status the proxy gave instead); and "request-head",
        # "answer-head": lists of what was odd about heads out of relayed bytes; "framing": "request" or "answer" -> why
        # it cannot be told for certain where its body ends. The rest is of link and rules.
        self.facts: dict[str, Any] = {}

    def __snapshot__(self) -> dict[str, Any]:
        """Every field, for a checkpoint; once it is over, of credentials only that there were some.

        While it goes on they are needed: whose request it is may still have to be told.
        """
        fields = {name: getattr(self, name) for name in self.__slots__}
        if self.t_end is None:
            return fields
        for name in ("request_headers", "response_headers"):
            fields[name] = [(k, _kept(k.lower(), v)) for k, v in fields[name]]
        fields["url"] = _TOKENS.sub(r"\1…", self.url)
        return fields

    def request_header(self, name: str) -> str | None:
        """First value of a request header by lower-case name, None when absent."""
        return _first(self.request_headers, name)

    def response_header(self, name: str) -> str | None:
        """First value of an answer header by lower-case name, None when absent."""
        return _first(self.response_headers, name)

    def request_header_all(self, name: str) -> list[str]:
        return [v for k, v in self.request_headers if k.lower() == name]

    def response_header_all(self, name: str) -> list[str]:
        return [v for k, v in self.response_headers if k.lower() == name]


_SECRETS = frozenset({
    "authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate", "cookie", "set-cookie",
    "x-api-key", "api-key", "x-auth-token", "x-access-token", "access-token",
})  # fmt: skip
_TOKENS = re.compile(
    r"([?&;#](?:[a-z_]*token|code|state|client_secret|assertion|password|api_?key|key|sig|signature)=)[^&;#]+",
    re.I,
)
_SESSION = "\0#"  # no header has this in it


@lru_cache(4096)
def session_token(id: str) -> str:
    """Stands for an MCP session id, wherever two are compared; also when it stands for one already."""
    return (
        id
        if id.startswith(_SESSION)
        else _SESSION + blake2b(id.encode("utf-8", "replace"), digest_size=16).hexdigest()
    )


def _kept(name: str, value: str) -> str:
    """The value of a header as a checkpoint has it."""
    if name == "mcp-session-id":
        return session_token(value)
    return _hidden(value) if name in _SECRETS else value


def _hidden(value: str) -> str:
    """A credential without its secret: the scheme stays."""
    scheme, space, _ = value.partition(" ")
    return f"{scheme} …" if space and scheme.isalpha() else "…"


def _first(headers: list[tuple[str, str]], name: str) -> str | None:
    for key, value in headers:
        if key.lower() == name:
            return value
    return None


class Event:
    """What `Message`, `NonMessage` and `Signal` have in common.

    key      permanent, ``journal:offset`` of the byte it begins with; unique
    journal, offset, part   the same in pieces; order within one time is (journal, offset, part)
    t        microseconds; of the frame that completed it
    channel  see DESIGN: name of the process, or scheme://host:port/path of the upstream
    dir      "c2s" or "s2c"
    lane     lane of the frame; with `journal` unique
    http     the HTTP exchange it belongs to, None on stdio
    place    where a transcript has it: {"line": n}, {"flow": n} or {"flow": n, "event": k}; None for a journal
    cut      True when bytes of it are missing from the capture
    edited   True when it was changed on the way by a person at the proxy: blamed on nobody

    What is in `_derived` is worked out when it is first asked for, and a plain field from then on.
    """

    __slots__ = (
        "channel", "cut", "dir", "edited", "http", "journal", "key", "lane", "offset", "part", "peer", "place", "t",
    )  # fmt: skip
    _derived: tuple[str, ...] = ("key",)

    key: str
    journal: str
    offset: int
    part: int
    t: int
    channel: str
    dir: str
    lane: str
    peer: Peer
    http: HttpExchange | None
    place: dict[str, int] | None
    cut: bool
    edited: bool

    if not TYPE_CHECKING:  # or every misspelt field would be one

        def __getattr__(self, name: str) -> Any:
            if name == "key":
                key = f"{self.journal}:{self.offset}"
                self.key = f"{key}.{self.part}" if self.part else key
                return self.key
            raise AttributeError(f"{type(self).__name__} has no {name!r}")

    def __snapshot__(self) -> dict[str, Any]:
        """The fields that are not derived of others, for a checkpoint."""
        names = [name for base in type(self).__mro__ for name in getattr(base, "__slots__", ())]
        return {
            name: getattr(self, name) for name in names if name not in self._derived and hasattr(self, name)
        }

    def move(self, part: int) -> None:
        """It stands at another part of its place than was thought."""
        self.part = part
        self.key = f"{self.journal}:{self.offset}.{part}" if part else f"{self.journal}:{self.offset}"

    @property
    def order(self) -> tuple[int, str, int, int]:
        """Messages, findings and operations are numbered in this order."""
        return (self.t, self.journal, self.offset, self.part)


class SseEvent:
    """The event of an event stream that carried a message: its fields as sent, None where absent."""

    __slots__ = ("event", "id", "index", "retry")

    def __init__(self, index: int, event: str | None, id: str | None, retry: str | None) -> None:
        self.index = index
        self.event = event
        self.id = id
        self.retry = retry


_MEMBERS = frozenset({"params", "result", "error"})


class Message(Event):
    """One JSON-RPC value. `kind` is told by its members alone.

    request       has a method and an id member (null included)      response  has a result, no method
    notification  has a method and no id                             error     has an error, no method and no result
    invalid       an object (or batch element) that is none of these; still counted as a message

    body      the parsed value, nearly always a dict; duplicate keys: the last one
    raw       its text as bytes, without line ending
    id        parsed id (int, str, float, None, …), ABSENT when there is no id member
    id_text   JSON text of the id normalised for comparison, type kept ('1', '"1"', '1.0'), None when absent;
              wide integers are exact; a key made of it is never equal for 1, "1", True and 1.0
    method    str, None when absent or no string
    oddities  tuple of (kind, detail): "duplicate-key" (JSON path of the object / the key), "invalid-utf8", "bom",
              "nan", "lone-surrogate", "too-deep", "too-long", "wide-number", "content-length-framing",
              "carriage-return", "trailing-data"
    batch     None, or (index, size, key of the first element): elements of a batch are messages of their own
    sse       the event that carried it, None otherwise
    frames    keys of the frames it was cut out of, in order
    before    its text as it came, where somebody edited it on the way (`raw` is what was passed on then); else empty
    params, meta, result, error   what the body has of that name (`meta`: `_meta` of params) when that is an object,
              else an empty dict (do not change them)
    spelled, declares   what `link.canonical` made of its arguments and of its `_meta`, None before it was asked
    """

    __slots__ = (
        "batch", "before", "body", "declares", "error", "frames", "id", "id_text", "kind", "meta", "method",
        "oddities", "params", "raw", "result", "spelled", "sse",
    )  # fmt: skip
    _derived = ("key", "params", "meta", "result", "error", "before", "spelled", "declares")

    kind: str
    body: Any
    raw: bytes
    id: Any
    id_text: str | None
    method: str | None
    oddities: tuple[tuple[str, str], ...]
    batch: tuple[int, int, str] | None
    sse: SseEvent | None
    frames: tuple[str, ...]
    params: dict[str, Any]
    meta: dict[str, Any]
    result: dict[str, Any]
    error: dict[str, Any]
    before: bytes
    spelled: str | None
    declares: bytes | None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == "before":
                return b""
            if name in _MEMBERS:
                found = self.body.get(name) if type(self.body) is dict else None
            elif name == "meta":
                found = self.params.get("_meta")
            elif name in ("spelled", "declares"):
                return None
            else:
                return super().__getattr__(name)
            if type(found) is not dict:
                found = {}
            setattr(self, name, found)
            return found

    def __repr__(self) -> str:
        return f"Message({self.key} {self.dir} {self.kind} {self.method} id={self.id_text})"


# Why something is no message: HTTP around it is damaged (`HttpExchange.facts["framing"]`).
FRAMING = "framing"


class NonMessage(Event):
    """Text in the place of a message that is none: a noise line, an event whose data is no JSON-RPC, a body.

    raw   at most the first 4 KiB      size  whole size in bytes
    why   "not-json", "not-an-object", "empty-batch", "blank-line", "too-long", "too-deep", "not-json-rpc",
          "other-content-type", "length-header", FRAMING
    body  the parsed value when it was JSON, else ABSENT
    counts   True when it counts as one of the capture's `non_messages` (blank lines and stderr do not)
    """

    __slots__ = ("body", "counts", "raw", "size", "sse", "why")

    raw: bytes
    size: int
    why: str
    body: Any
    counts: bool
    sse: SseEvent | None


# Signals: what happened that carries no text of its own.
HTTP_REQUEST = "http-request"  # the head of a request is complete; event.http has it
HTTP_REQUEST_END = "http-request-end"  # its body ended; detail: {"size": n}
HTTP_RESPONSE = "http-response"  # the head of the final answer
HTTP_END = "http-end"  # the exchange ended, in good order or not; event.http.closed_by, .error
HTTP_UNREADABLE = "http-unreadable"  # bytes where a head should be; detail: {"bytes": n, "preview": str}
SSE_EVENT = "sse-event"  # no message: priming, ping, other type; detail: {event, id, retry, data}
SSE_COMMENT = "sse-comment"  # detail: {"text": str}
SSE_UNDELIVERED = "sse-undelivered"  # event text that no blank line closed; detail: {"size": n}
STDERR = "stderr"  # text on a process's stderr; detail: {"text": str} (first 4 KiB of the read)
OPENED = "opened"  # a process started or a connection opened
LANE_END = "lane-end"  # end of a stdio lane; detail: {"lane": role, "by": …}
EXIT = "exit"  # a process ended; detail: {"code": n} or {"signal": n}; more in `frames`
EDITED = "edited"  # events were changed at the proxy after they came; detail: {"keys": […], "now": […]}
GAP = "gap"  # the recorder lost something on this lane; detail: {"bytes": n, "why": str}


class Signal(Event):
    """Something that happened and is no text in the place of a message; `what` is one of the names above."""

    __slots__ = ("detail", "what")

    what: str
    detail: dict[str, Any]

    def __repr__(self) -> str:
        return f"Signal({self.key} {self.what} {self.detail})"

"""The records of the taps, and who ended an exchange, as functions over mitmproxy's flows. Standard library only.

Flows are known by shape, not by class, so that this module (and its tests) need no mitmproxy.
"""

from __future__ import annotations

from collections.abc import Callable
from json import JSONEncoder
from time import monotonic_ns
from typing import Any

from mrtrscope.frames import NOTE
from mrtrscope.recorder import Journal

HELD = 1 << 20
"""Bodies up to this size are left to mitmproxy, which passes them on when they are complete."""

KILLED = "Connection killed."
"""What mitmproxy writes into a flow that a person or an addon killed."""

_CAN_READ = 1  # bit of mitmproxy's ConnectionState
_SELF = "0z"  # lane of what the recorder says about itself
_NOTES = 1000  # more than this many remarks of one kind help nobody
TOOK_1XX = "mitmproxy took a 1xx answer for the final one"

_json = JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode

Record = tuple[str, str, int, bytes]  # lane, kind, monotonic ns, payload
Fields = tuple[tuple[bytes, bytes], ...]


def payload(value: dict[str, Any]) -> bytes:
    """JSON, as `open`, `head`, `end`, `gap` and `note` records carry it."""
    return _json(value).encode("utf-8", "backslashreplace")


BY_CLIENT, BY_SERVER, BY_US = (payload({"by": who}) for who in ("client", "server", "us"))


def pairs(fields: Fields) -> list[list[str]]:
    """Header fields as text, one character a byte."""
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in fields]


def field_value(fields: Fields, wanted: bytes) -> bytes | None:
    """The first value of a header, by its lower-case name."""
    for name, value in fields:
        if len(name) == len(wanted) and name.lower() == wanted:
            return value
    return None


def may_be_held(length: bytes) -> bool:
    """Whether an announced length is one that mitmproxy may hold back."""
    return length.isdigit() and len(length) <= 7 and int(length) <= HELD


def is_event_stream(fields: Fields) -> bool:
    """Whether the content type says event stream."""
    return (field_value(fields, b"content-type") or b"").lstrip()[:17].lower() == b"text/event-stream"


def address(peername: Any) -> str:
    """``host:port`` of a socket address, IPv6 in brackets; "" when there is none."""
    if not peername:
        return ""
    host, port = str(peername[0]), peername[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def guarded[T: Recorder](hook: Callable[[T, Any], None]) -> Callable[[T, Any], None]:
    """A hook that fails is counted and noted; it never changes what becomes of the traffic."""

    def call(self: T, subject: Any) -> None:
        try:
            hook(self, subject)
        except Exception as e:
            self.failed(hook.__name__, e)

    return call


class FlowIds:
    """Which flow a lane belongs to, for as many of the latest flows as `limit` says, and only while `wanted`."""

    def __init__(self, limit: int = 20_000) -> None:
        self.wanted = True
        self._limit = limit
        self._by_number: dict[int, str] = {}

    def add(self, number: int, flow_id: str) -> None:
        """Remember a flow."""
        if self.wanted:
            self._by_number[number] = flow_id
            if len(self._by_number) > self._limit:
                del self._by_number[next(iter(self._by_number))]

    def of_lane(self, lane: str) -> str | None:
        """The id of the flow that a lane belongs to, None when it is not known (any more)."""
        number = lane[:-1]
        return self._by_number.get(int(number)) if number.isdecimal() else None


class Recorder:
    """What both taps need: a journal, numbers that are unique in it, flow ids, and a count of our own failures."""

    def __init__(self, journal: Journal, numbers: Callable[[], int], ids: FlowIds) -> None:
        self.journal = journal
        self.failures = 0
        self._next = numbers
        self._ids = ids
        self._notes = 0

    def failed(self, where: str, error: Exception) -> None:
        """Count a failure of our own, and say in the journal that something may be missing."""
        self.failures += 1
        self.note({"failed": where, "error": type(error).__name__})

    def note(self, what: dict[str, Any]) -> None:
        """Keep a remark that belongs to no exchange."""
        self._notes += 1
        if self._notes <= _NOTES:
            self.journal.append(_SELF, NOTE, monotonic_ns(), payload(what))


def upstream_of(data: Any) -> str:
    """``scheme://host:port`` that a request goes to."""
    return f"{data.scheme.decode('latin-1')}://{address((data.host, data.port))}"


def request_head(flow: Any) -> dict[str, Any]:
    """The head of a request, as its `head` record has it."""
    data = flow.request.data
    path = data.path.decode("latin-1")
    return {
        "method": data.method.decode("latin-1"),
        "url": upstream_of(data) + (path if path[:1] == "/" else "/" + path),
        "http": data.http_version.decode("latin-1"),
        "headers": pairs(data.headers.fields),
    }


def end_payload(usual: bytes, by: str, trailers: Any) -> bytes:
    """An end in good order."""
    return payload({"by": by, "trailers": pairs(trailers.fields)}) if trailers else usual


def without_expect(fields: Fields) -> list[tuple[bytes, bytes]]:
    """mitmproxy answers ``Expect: 100-continue`` itself and takes the header away; nobody edited anything."""
    return [f for f in fields if f[0].lower() != b"expect"]


def held_back(what: str) -> bytes:
    """The gap for the part of a body that mitmproxy held and then dropped."""
    why = f"mitmproxy held the {what} until it was complete, which it never was"
    return payload({"bytes": 0, "frames": 1, "why": why})


def _readable(connection: Any) -> bool:
    return bool(connection.state.value & _CAN_READ)


_REFUSALS = (
    "HTTP/1 protocol error",
    "HTTP/2 protocol error",
    "Cannot parse HTTP",
    "unexpected server response",
)


def ended_by(flow: Any, answered: bool) -> str:
    """Who ended the exchange; "us" wherever mitmproxy refused something: nobody is blamed for its taste.

    answered   the head of an answer came
    """
    error = str(flow.error.msg)
    closed = "closed" in error or "isconnected" in error
    if error == KILLED:
        return "us"
    if closed and not _readable(flow.client_conn):
        return "client"
    if closed and not _readable(flow.server_conn):
        return "server"
    if error.startswith(
        "stream reset"
    ):  # mitmproxy says so of both sides; with one HTTP/2 side it was that one
        if flow.server_conn.alpn != b"h2":
            return "client"
        if flow.client_conn.alpn != b"h2":
            return "server"
        return "client" if "CANCEL" in error else "open"
    if error.startswith(_REFUSALS) or "mitmproxy" in error or "refusing" in error or answered:
        return "us"
    request = flow.request
    return "upstream" if request.timestamp_end is not None or request.stream else "us"

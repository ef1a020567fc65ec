"""Helpers of the tests of `wire`: frames by hand, chunkings, and events as plain values that can be compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mrtrscope.frames import DATA, END, GAP, HEAD, OPEN, Frame
from mrtrscope.wire.events import ABSENT, Event, HttpExchange, Message, NonMessage, Signal
from mrtrscope.wire.reader import Reader

Step = tuple[str, str, bytes | dict[str, Any]]  # lane, kind, payload

SECOND = 1_000_000


def whole(data: bytes) -> Iterator[bytes]:
    yield data


def bytewise(data: bytes) -> Iterator[bytes]:
    for n in range(len(data)):
        yield data[n : n + 1]


def sevens(data: bytes) -> Iterator[bytes]:
    for n in range(0, len(data), 7):
        yield data[n : n + 7]


CHUNKINGS: list[Callable[[bytes], Iterator[bytes]]] = [whole, bytewise, sevens]


def journal(steps: Iterable[Step], name: str = "j", start: int = 100) -> list[Frame]:
    """Frames a millisecond apart, with offsets as a journal would give them."""
    frames, offset = [], start
    for n, (lane, kind, payload) in enumerate(steps):
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        frames.append(Frame(name, offset, n, SECOND + 1000 * n, lane, kind, data))
        offset += len(data) + 20
    return frames


def data(lane: str, *chunks: bytes) -> list[Step]:
    return [(lane, DATA, chunk) for chunk in chunks]


def read(
    frames: Iterable[Frame], header: dict[str, Any] | None = None, reader: Reader | None = None
) -> list[Event]:
    reader = reader or Reader()
    reader.source("j", header or {"how": "wrap", "channel": "server"})
    return [event for frame in frames for event in reader.feed(frame)]


def read_steps(steps: Iterable[Step], header: dict[str, Any] | None = None) -> list[Event]:
    return read(journal(steps), header)


def messages(events: Iterable[Event]) -> list[Message]:
    return [event for event in events if type(event) is Message]


def others(events: Iterable[Event]) -> list[NonMessage]:
    return [event for event in events if type(event) is NonMessage]


def signals(events: Iterable[Event], what: str | None = None) -> list[Signal]:
    return [event for event in events if type(event) is Signal and (what is None or event.what == what)]


def exchange(http: HttpExchange | None) -> dict[str, Any] | None:
    """What is known of an exchange in the end."""
    if http is None:
        return None
    shown = {name: getattr(http, name) for name in http.__slots__ if name != "peer"}
    return shown | {"peer": http.peer.id}


def told(event: Event, places: bool = True) -> dict[str, Any]:
    """An event as plain values. Without `places`: only what does not depend on how the bytes were chunked."""
    shown: dict[str, Any] = {"type": type(event).__name__}
    for kind in type(event).__mro__:
        for name in getattr(kind, "__slots__", ()):
            value = getattr(event, name)
            if name == "peer":
                value = value.id
            elif name == "http":
                value = value.key if value is not None else None
            elif name == "sse" and value is not None:
                value = (value.index, value.event, value.id, value.retry)
            elif value is ABSENT:
                value = "absent"
            shown[name] = value
    if not places:
        for name in ("t", "key", "offset", "part", "frames", "http", "batch"):
            shown.pop(name, None)
    return json.loads(json.dumps(shown, default=repr))  # type: ignore[no-any-return]


OPENED: Step = ("1c", OPEN, {"client": "127.0.0.1:5000", "upstream": "127.0.0.1:8000"})
RELAY = {"how": "relay", "channel": "http://127.0.0.1:8000"}


def post(body: bytes, *headers: str, target: str = "/mcp", length: int | None = None) -> bytes:
    lines = [f"POST {target} HTTP/1.1", "Host: h", "Content-Type: application/json", *headers]
    lines.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answer(body: bytes, *headers: str, status: str = "200 OK", kind: str = "application/json") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", *headers, f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def rpc(id: Any = 1, method: str = "tools/call", **params: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": id, "method": method, "params": params}, separators=(",", ":")
    ).encode()


def result(id: Any = 1, **members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": members}, separators=(",", ":")).encode()


__all__ = [
    "CHUNKINGS", "DATA", "END", "GAP", "HEAD", "OPEN", "OPENED", "RELAY", "SECOND", "Step", "answer", "bytewise",
    "chunked", "data", "exchange", "journal", "messages", "others", "post", "read", "read_steps", "result", "rpc",
    "sevens", "signals", "told", "whole",
]  # fmt: skip

"""Event streams of a session of earlier revisions: ids of events, what is sent twice, how a stream is taken up again.

A stream is `HttpExchange.facts["stream"]`. Streams that take each other up have one *root*, the key of the first. A GET
with Last-Event-ID has `facts["resume"]`: {"id": that id, "root": of the stream it was sent on, "" when unknown, "last":
the last id delivered there, "retry": ms asked for there, "since": µs since that stream ended, None while it is open}.
What is odd about the event that a message came in is `Stream.odd`, kind -> key of the other message:

    reused   its id was used before, with other contents     foreign  it is told again on a stream of another root
    copied   the same message came on another stream         unprimed it is the first event of the stream
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

from mrtrscope.link.memory import Memory, digest
from mrtrscope.wire.events import HttpExchange, Message, Signal

STREAMS, TOLD = 16, 32
AT_ONCE = 1_000_000  # µs within which equal notifications on two streams are one that was sent twice


class Stream:
    """One event stream.

    key, root    of its HTTP exchange, of the stream it goes on with        method   "POST" or "GET"
    resumed      it was asked for with a Last-Event-ID
    events       how many were seen              first_id   the first one had an id and no data
    last, last_t the id delivered last, when     retry      ms, the latest asked for, None for none
    answered     a response came on it           end        when it ended, 0 while it is open; `by` who closed it
    at, odd      key of the latest message, what is odd about its event
    """

    __slots__ = (
        "answered", "at", "by", "end", "events", "key", "last", "last_t", "method", "named", "odd", "of", "primed",
        "resumed", "retry", "root",
    )  # fmt: skip

    def __init__(self, http: HttpExchange, of: Streams, named: bool) -> None:
        resume = http.facts.get("resume")
        self.key = http.key
        self.method = http.method
        self.resumed = resume is not None
        self.root = (resume["root"] if resume is not None else "") or http.key
        self.of = of
        self.named = named  # the session has an id, so that its streams are known to be one client's
        self.events = self.last_t = self.end = 0
        self.last = self.at = self.by = ""
        self.retry: int | None = None
        self.primed = self.answered = False
        self.odd: dict[str, str] = {}

    def event(self, signal: Signal) -> None:
        """An event that carries no message."""
        if signal.what != "sse-event":
            return
        self.events += 1
        id, data = signal.detail.get("id"), signal.detail.get("data")
        if self.events == 1 and id and not data:
            self.primed = True
        self._named(id, signal.detail.get("retry"), signal.t)
        if id:
            self.of.event(self, id, data or "", signal.key)

    def message(self, message: Message) -> None:
        """An event that carries a message."""
        sse = message.sse
        self.events += 1
        self.at, self.odd = message.key, {}
        if self.events == 1 and not self.resumed and self.method == "POST":
            self.odd["unprimed"] = ""
        if sse is not None:
            self._named(sse.id, sse.retry, message.t)
            if sse.id:
                self.odd.update(self.of.event(self, sse.id, message.raw, message.key))
        if message.kind in ("response", "error"):
            self.answered = True
        elif self.named and not self.resumed:
            copy = self.of.copied(self, message)
            if copy:
                self.odd["copied"] = copy

    def _named(self, id: str | None, retry: str | None, t: int) -> None:
        if id:
            self.last, self.last_t = id, t
        if retry and retry.isascii() and retry.isdigit() and len(retry) < 10:
            self.retry = int(retry)

    def ends(self, http: HttpExchange, t: int) -> None:
        self.end, self.by = t, http.closed_by


class Streams:
    """The latest streams of a session; the ids of its events are kept for ever in `Memory`.

    scope    names the session                 streams  by key
    over     its client asked for its end, so that the streams are closed for good
    told     digest of a notification or request of the server -> [stream, root, key, t]
    """

    def __init__(self, memory: Memory, scope: str) -> None:
        self._memory = memory
        self.scope = scope
        self.over = False
        self.streams: OrderedDict[str, Stream] = OrderedDict()
        self.told: OrderedDict[str, list[Any]] = OrderedDict()

    def opened(self, http: HttpExchange, named: bool) -> None:
        """An event stream begins."""
        stream = Stream(http, self, named)
        http.facts["stream"] = stream
        self.streams[http.key] = stream
        if len(self.streams) > STREAMS:
            # Nobody takes up a stream that brought its response.
            over = (key for key, one in self.streams.items() if one.answered and one.end)
            del self.streams[next(over, next(iter(self.streams)))]

    def event(self, stream: Stream, id: str, data: str | bytes, key: str) -> dict[str, str]:
        """An event with an id; what is odd about it."""
        contents = digest(data).hex()
        known = self._known(id)
        if known is None:
            row = json.dumps([contents, stream.root, key])
            self._memory.set("event", digest(self.scope, id), row)
            return {}
        if stream.resumed:
            return {"foreign": known[2]} if known[1] != stream.root and known[0] == contents else {}
        return {"reused": known[2]} if known[0] != contents else {}

    def _known(self, id: str) -> list[str] | None:
        """[digest of what the event with this id carried, root of its stream, key of its message]."""
        text = self._memory.get("event", digest(self.scope, id))
        found: list[str] | None = json.loads(text) if text is not None else None
        return found

    def copied(self, stream: Stream, message: Message) -> str:
        """Key of the same message on another stream that was open at the same time, "" for none."""
        text = digest(message.raw).hex()
        before = self.told.pop(text, None)
        self.told[text] = [stream.key, stream.root, message.key, message.t]
        if len(self.told) > TOLD:
            self.told.popitem(last=False)
        if before is None or before[1] == stream.root or before[0] == stream.key:
            return ""
        other = self.streams.get(before[0])
        if other is None or (other.end and other.end < message.t):
            return ""
        if message.kind == "notification" and message.t - before[3] > AT_ONCE:
            return ""
        return str(before[2])

    def resumes(self, http: HttpExchange, id: str, t: int) -> None:
        """A request with a Last-Event-ID."""
        known = self._known(id)
        root = known[1] if known is not None else ""
        line = [stream for stream in self.streams.values() if stream.root == root and stream.last]
        latest = max(line, key=lambda stream: stream.last_t, default=None)
        ends = [stream.end for stream in self.streams.values() if stream.root == root]
        retry = next((s.retry for s in reversed(self.streams.values()) if s.root == root and s.retry), None)
        ended = max(ends) if ends and all(ends) else None
        http.facts["resume"] = {
            "id": id,
            "root": root,
            "last": latest.last if latest is not None else "",
            "retry": retry,
            "since": t - ended if ended is not None else None,
        }


def stream_of(message: Message) -> Stream | None:
    """The stream that a message came on, when what is odd about its event is at hand."""
    stream: Stream | None = message.http.facts.get("stream") if message.http is not None else None
    return stream if stream is not None and stream.at == message.key else None

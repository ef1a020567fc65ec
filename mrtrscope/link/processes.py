"""What is known of the processes of a stdio channel: how each began, what its client said last, how it ended.

Held as `Channel.processes`, by `Peer.id`; the last `KEPT` of a channel.
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.session import Channel
from mrtrscope.wire.events import Message, Peer, Signal

KEPT = 64
RENEWED_WITHIN = 60_000_000  # microseconds
LISTENS = 64  # open subscriptions of one process that are known

LISTEN, DISCOVER = "subscriptions/listen", "server/discover"
RECOGNISED = (-32020, -32021, -32022)  # errors that only a server of this revision sends


class Process:
    """One run of a stdio server.

    t          when it was seen first                      whole   recorded from its start
    calls      how many tools/call it was sent             requests   how many requests of any kind
    first      method of the first request             last    when the last request came
    info       who sent it: clientInfo as text
    listens    id -> key, of subscriptions that are open; `listened` is True once there was one
    said       what the client sent last: "request", "notification", "response", "unreadable", "" for nothing
    said_key, said_t   which message, and when
    unread     texts of the client that nobody can answer by an id, less the answers without one
    excused    the latest answer without an id stands for one of these
    cancel     the latest cancellation that names nothing open: key, `cancel_id` what it names, `cancel_t`
    eof, exit  when its stdin was closed by the client, when it ended
    code, signal   how it ended
    sent, sent_t, by   the signal that its wrapper was sent before, when, and by whom ("" unknown); see `frames`
    probe      of a server/discover that was its first request: "open", "served", "refused" as by an older server
    handshake  it was sent initialize
    gapped     something of it is missing                told   that a subscription was not renewed
    """

    __slots__ = (
        "by", "calls", "cancel", "cancel_id", "cancel_t", "code", "eof", "excused", "exit", "first", "gapped",
        "handshake", "info", "last", "listened", "listens", "probe", "requests", "said", "said_key", "said_t", "sent",
        "sent_t", "signal", "t", "told", "unread", "whole",
    )  # fmt: skip

    def __init__(self, t: int, whole: bool) -> None:
        self.t = t
        self.whole = whole
        self.calls = 0
        self.requests = 0
        self.first = ""
        self.info = ""
        self.last = t
        self.listens: dict[str, str] = {}
        self.listened = False
        self.said = ""
        self.said_key = ""
        self.said_t = 0
        self.unread = 0
        self.excused = False
        self.cancel = ""
        self.cancel_id: str | None = None
        self.cancel_t = 0
        self.eof: int | None = None
        self.exit: int | None = None
        self.code: int | None = None
        self.signal: int | None = None
        self.sent: int | None = None
        self.sent_t = 0
        self.by = ""
        self.gapped = False
        self.told = False
        self.probe = ""
        self.handshake = False

    @property
    def known(self) -> bool:
        """Whether everything that was said is in the recording."""
        return self.whole and not self.gapped

    def heard(self, message: Message) -> None:
        """The client sent a message."""
        kind = message.kind
        if (kind == "request" and message.batch is None and type(message.id) in (int, str)) or (
            kind in ("notification", "response") and message.batch is None
        ):
            self.said = kind
        else:
            self.unreadable(message.key, message.t)
            return
        self.said_key, self.said_t = message.key, message.t

    def unreadable(self, key: str, t: int) -> None:
        """The client sent something that has no single valid id."""
        self.said, self.said_key, self.said_t = "unreadable", key, t
        self.unread += 1

    def requested(self, exchange: Exchange) -> bool:
        """The client sent a request; True when it is the first of a process recorded from its start."""
        self.requests += 1
        self.last = exchange.t
        if exchange.method == "tools/call":
            self.calls += 1
        elif exchange.method == LISTEN:
            self.listened = True
            if len(self.listens) < LISTENS:
                self.listens[exchange.request.id_text or ""] = exchange.key
        elif exchange.method == "initialize":
            self.handshake = True
        if self.first:
            return False
        self.first = exchange.method or "?"
        self.info = exchange.client.info
        if self.first == DISCOVER:
            self.probe = "open"
        return self.known

    def answered(self, exchange: Exchange) -> None:
        """A request got its answer, or was cancelled."""
        if exchange.method == LISTEN:
            self.listens.pop(exchange.request.id_text or "", None)
        elif exchange.method == DISCOVER and self.probe == "open" and exchange.answer is not None:
            code = exchange.answer.error.get("code")
            self.probe = "refused" if exchange.answer.kind == "error" and code not in RECOGNISED else "served"

    def answered_without_id(self) -> None:
        """An answer without an id came: it may stand for one of the unreadable texts."""
        self.excused = self.unread > 0
        self.unread -= self.excused

    def cancelled_in_vain(self, message: Message, named: str | None) -> None:
        """A cancellation that names no open request."""
        self.cancel, self.cancel_id, self.cancel_t = message.key, named, message.t


def process_of(channel: Channel, peer: Peer, t: int) -> Process:
    """The process at the other end of a stdio peer."""
    found = channel.processes.get(peer.id)
    if found is None:
        found = channel.processes[peer.id] = Process(t, peer.whole)
        if len(channel.processes) > KEPT:
            channel.processes.popitem(last=False)
    return found


def not_renewed(channel: Channel, process: Process, t: int) -> str:
    """Key of a subscription that was open when the process before this one ended, "" when there is none.

    Only when this one has run for a minute and got requests, but none to listen; and only once.
    """
    if process.told or process.listened or t - process.t < RENEWED_WITHIN:
        return ""
    before = [p for p in channel.processes.values() if p.exit is not None and p.exit <= process.t]
    if not before or not before[-1].listens:
        return ""
    process.told = True
    return next(iter(before[-1].listens.values()))


def ended(process: Process, signal: Signal) -> None:
    """The process ended, as the wrapper saw it."""
    process.exit = signal.t
    process.code = _number(signal.detail.get("code"))
    process.signal = _number(signal.detail.get("signal"))
    process.sent = _number(signal.detail.get("sent"))
    process.sent_t = signal.t - (_number(signal.detail.get("ago")) or 0)
    process.by = signal.detail.get("by", "")


def _number(value: Any) -> int | None:
    return value if type(value) is int else None

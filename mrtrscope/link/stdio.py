"""Watches stdio channels: what their processes do, and which lines are no message; see `processes` and `lines`."""

from __future__ import annotations

from typing import Protocol

from mrtrscope.link.facts import Exchange
from mrtrscope.link.lines import Lines
from mrtrscope.link.pairing import CANCEL, CUT
from mrtrscope.link.processes import DISCOVER, LISTEN, Process, ended, not_renewed, process_of
from mrtrscope.link.remarks import remark
from mrtrscope.link.session import Sessions
from mrtrscope.wire import events as ev
from mrtrscope.wire.events import Event, Message, NonMessage, Signal


class LineSink(Protocol):
    """Who is told of lines that can be judged."""

    def line(self, event: NonMessage) -> None: ...


class Stdio:
    """Told by the linker of everything that happens without HTTP."""

    def __init__(self, sessions: Sessions, sink: LineSink) -> None:
        self._sessions = sessions
        self._sink = sink
        self.lines = Lines()

    def process(self, event: Event) -> Process:
        """The process that something was said to, or by."""
        return process_of(self._sessions.channel(event.channel, event.peer.transport), event.peer, event.t)

    def message(self, message: Message) -> None:
        if self.lines.runs:
            self._decided(message)
        if message.dir == "c2s":
            self.process(message).heard(message)

    def requested(self, exchange: Exchange, repeats: str) -> None:
        """A client sent a request; `repeats`: key of one that asks the same and still waits."""
        process = self.process(exchange.request)
        if process.requested(exchange):
            remark(exchange, "first")
        elif not process.listened and not process.told:
            channel = self._sessions.channel(exchange.request.channel, "stdio")
            lost = len(channel.processes) > 1 and not_renewed(channel, process, exchange.t)
            if lost:
                remark(exchange, "unsubscribed", lost)
        if repeats and exchange.link is None:
            remark(exchange, "repeats", repeats)

    def text(self, event: NonMessage) -> None:
        if event.dir == "c2s" and event.why != "blank-line":
            self.process(event).unreadable(event.key, event.t)
        for line in self.lines.take(event):
            self._sink.line(line)

    def signal(self, signal: Signal) -> None:
        process = self.process(signal)
        if signal.what == ev.EXIT:
            ended(process, signal)
        elif signal.what == ev.GAP:
            process.gapped = True
            self._decided(signal)
        elif signal.what == ev.LANE_END:
            self._decided(signal)
            by_client = signal.detail.get("by") in ("client", "", None)
            if (
                signal.detail.get("lane") == "i"
                and by_client
                and process.eof is None
                and process.exit is None
            ):
                process.eof = signal.t

    def cut_off(self, exchange: Exchange) -> str:
        """What happened to a request that waits while nobody is left to answer. A subscription is open until somebody
        ends it: a client does by closing stdin, as it does over HTTP by closing the stream."""
        if exchange.method == LISTEN and exchange.dir == "c2s" and exchange.http is None:
            return CANCEL if self.process(exchange.request).eof is not None else CUT
        return CUT

    def over(self, exchange: Exchange) -> None:
        """An exchange was answered or cancelled."""
        if exchange.method in (LISTEN, DISCOVER) and exchange.dir == "c2s":
            self.process(exchange.request).answered(exchange)

    def _decided(self, event: Event) -> None:
        for line in self.lines.ended(event.journal, event.lane):
            self._sink.line(line)

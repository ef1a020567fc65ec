"""Everybody who is told what the linker sees beside linking: offers, HTTP, subscriptions, tasks, older sessions.

Each of them keeps facts for rules; the linker calls these methods for all of them. Of what is said to agents (A2A) only
`conversations` is told: nobody else could make anything of it.
"""

from __future__ import annotations

from mrtrscope.link import agents
from mrtrscope.link.again import Again
from mrtrscope.link.conversations import Conversations
from mrtrscope.link.deferred import SHOWN, Deferred
from mrtrscope.link.facts import A2A, Exchange
from mrtrscope.link.legacy import Legacy
from mrtrscope.link.logs import Logs
from mrtrscope.link.memory import Memory
from mrtrscope.link.offers import Offers
from mrtrscope.link.session import Channel, Sessions
from mrtrscope.link.subscriptions import Subscriptions
from mrtrscope.link.tasks import TOLD, Tasks
from mrtrscope.link.web import Web
from mrtrscope.wire.events import GAP, Message, NonMessage, Signal


class Watchers:
    """Hands on what happened, in order."""

    def __init__(self, memory: Memory, sessions: Sessions) -> None:
        self._sessions = sessions
        self.offers = Offers(memory)
        self.web = Web(memory, sessions)
        self.subscriptions = Subscriptions(memory)
        self.logs = Logs()
        self.tasks = Tasks(memory)
        self.deferred = Deferred(memory)
        self.legacy = Legacy(memory)
        self.conversations = Conversations(memory)
        self.again = Again()

    def posted(self, message: Message) -> None:
        """A client's message of any kind came by HTTP."""
        self.web.posted(message)
        if message.http is not None and agents.speaks(message):
            message.http.facts[A2A] = True  # also where it makes no exchange, as with a null id

    def streamed(self, message: Message) -> None:
        """A server's message of any kind came by HTTP."""
        self.legacy.streamed(message)

    def requested(self, channel: Channel, exchange: Exchange) -> None:
        """A request of either side was linked."""
        if exchange.era == A2A:
            self.conversations.requested(exchange)
            return
        self.legacy.requested(channel, exchange)
        self.offers.requested(channel, exchange)
        if exchange.dir == "c2s":
            self.logs.requested(channel, exchange)
            self.subscriptions.requested(channel, exchange)
            self.tasks.requested(channel, exchange)
            self.web.requested(channel, exchange)
            self.again.requested(exchange)
            self.deferred.updated(exchange)
        else:
            self.deferred.requested(exchange)

    def answered(self, channel: Channel, exchange: Exchange, answer: Message) -> None:
        """The first final answer to a request of either side."""
        if exchange.era == A2A:
            self.conversations.said(exchange, answer)
            return
        before = self.subscriptions.list_before(exchange, answer)
        self.offers.answered(channel, exchange, answer)
        if before is not None:
            self.subscriptions.listed(channel, exchange, answer, before)
        if exchange.dir == "c2s":
            self.legacy.answered(channel, exchange, answer)
            self.tasks.answered(channel, exchange, answer)
            if exchange.method == SHOWN:
                self.deferred.shown(answer, answer.result)
            self.web.answered(channel, exchange, answer)
        else:
            self.deferred.answered(exchange)

    def followed(self, exchange: Exchange, message: Message) -> None:
        """One more answer to a request of a client."""
        if exchange.era == A2A:
            self.conversations.said(exchange, message)

    def ended(self, channel: Channel, exchange: Exchange) -> None:
        """An exchange was answered, cancelled, or cut off."""
        if exchange.era == A2A:
            return
        self.legacy.ended(channel, exchange)
        if exchange.dir == "c2s":
            self.logs.ended(channel, exchange)
            self.subscriptions.ended(channel, exchange)
            self.again.ended(exchange)

    def told(self, channel: Channel, message: Message, exchange: Exchange | None) -> None:
        """A notification of either side but cancellations; `exchange`: what it belongs to."""
        self.offers.heard(message)
        if message.dir == "s2c":
            self.logs.told(channel, message, exchange)
            self.subscriptions.told(channel, message, exchange)
            self.tasks.told(channel, message)
            if message.method == TOLD:
                self.deferred.shown(message, message.params)
            self.web.notified(message, exchange)
        else:
            self.legacy.told(channel, message)

    def heard(self, event: Signal | NonMessage, exchange: Exchange | None) -> None:
        """A signal, or text that is no message; `exchange`: that of its HTTP exchange."""
        if event.http is not None:
            self.web.heard(event, exchange)
        if type(event) is Signal:
            if event.what == GAP and event.peer.transport != "stdio":
                for known in self._sessions.channels.values():
                    known.facts["gapped"] = True
            if event.http is not None:
                channel = self._sessions.channels.get(event.http.channel)
                if channel is not None and "sessions" in channel.facts:
                    self.legacy.heard(channel, event, event.http, exchange)
            self.offers.heard(event)

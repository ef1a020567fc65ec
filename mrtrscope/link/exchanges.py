"""A request becomes an exchange: everything that is known of it before anybody answers."""

from __future__ import annotations

from mrtrscope.link.facts import LEGACY, MODERN, UNKNOWN, Exchange
from mrtrscope.link.operations import target_of
from mrtrscope.link.pairing import WAITING
from mrtrscope.link.runs import run_of
from mrtrscope.link.session import Channel, Sessions
from mrtrscope.wire.events import Message


def begin(request: Message) -> Exchange:
    """The exchange that a request begins; era, client, link and operation are still to be told."""
    exchange = Exchange()
    exchange.key, exchange.t = request.key, request.t
    exchange.request, exchange.extra, exchange.notes, exchange.noted = request, [], [], 0
    exchange.dir, exchange.method = request.dir, request.method or ""
    exchange.http, exchange.peer = request.http, request.peer
    exchange.target = target_of(exchange.method, request.params)
    exchange.state, exchange.t_end = WAITING, None
    exchange.answer = exchange.cancel = exchange.ask = exchange.link = exchange.stranger = None
    exchange.twin = exchange.part = ""
    exchange.remarks = exchange.progress = exchange.tool = None
    return exchange


def asked_by_server(exchange: Exchange, on: Exchange | None, sessions: Sessions, channel: Channel) -> None:
    """A server's own request has the era of the stream it came on (`on`), and its client is who reads that stream."""
    message = exchange.request
    declared = sessions.declared(message)
    exchange.capabilities = declared.capabilities
    exchange.client = on.client if on is not None else sessions.client(message, declared)
    if on is not None:
        exchange.era, exchange.version = on.era, on.version
        exchange.capabilities = on.capabilities
    elif declared.era == LEGACY:
        exchange.era, exchange.version = declared.era, declared.version
    else:
        run = run_of(channel, exchange)
        modern = run.modern and not run.initialized
        exchange.era, exchange.version = (MODERN, "") if modern else (UNKNOWN, "")

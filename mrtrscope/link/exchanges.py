"""A request becomes an exchange: everything that is known of it before anybody answers."""

from __future__ import annotations

from mrtrscope.link.facts import Exchange
from mrtrscope.link.operations import target_of
from mrtrscope.link.pairing import WAITING
from mrtrscope.wire.events import Message


def begin(request: Message) -> Exchange:
    """The exchange that a request begins; era, client, link and operation are still to be told."""
    exchange = Exchange()
    exchange.request, exchange.extra, exchange.notes, exchange.noted = request, [], [], 0
    exchange.dir, exchange.method = request.dir, request.method or ""
    exchange.http, exchange.peer = request.http, request.peer
    exchange.target = target_of(exchange.method, request.params)
    exchange.state, exchange.t_end = WAITING, None
    exchange.answer = exchange.cancel = exchange.ask = exchange.link = exchange.stranger = None
    exchange.twin = exchange.part = ""
    exchange.remarks = exchange.progress = exchange.tool = None
    return exchange

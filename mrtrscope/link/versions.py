"""What a client does after its modern request was refused: the next version it tries, or a handshake of the older era.

`refused` says of a client the last error -32020, -32021 or -32022 (over HTTP also -32601 with 404) that it got and did
not yet react to; `falls` how often in a row it went back to initialize after a modern request had failed.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mrtrscope.link.facts import MODERN, Client, Exchange
from mrtrscope.link.processes import RECOGNISED
from mrtrscope.link.remarks import remark
from mrtrscope.wire.events import Message

CLIENTS = 1024
VERSIONS = 64


class Versions:
    """Kept by what certainly names a client: its connection, or credential, address and clientInfo together."""

    def __init__(self) -> None:
        self.refused: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.falls: OrderedDict[str, list[int]] = (
            OrderedDict()
        )  # [a modern request failed since, how many falls]

    def answered(self, exchange: Exchange, answer: Message) -> None:
        """A modern request of a client got its answer."""
        channel = exchange.request.channel
        if answer.kind == "response":
            if self.falls:
                for name in _names(channel, exchange.client):
                    self.falls.pop(name, None)
            return
        self.failed(exchange)
        code = answer.error.get("code")
        status = answer.http.status if answer.http is not None else None
        if code in RECOGNISED or (code == -32601 and status == 404):
            data = answer.error.get("data")
            listed = data.get("supported") if type(data) is dict else None
            record = {
                "key": answer.key,
                "t": answer.t,
                "code": code,
                "method": exchange.method,
                "supported": [v for v in listed[:VERSIONS] if type(v) is str] if type(listed) is list else [],
            }
            for name in _names(channel, exchange.client):
                _put(self.refused, name, record)

    def failed(self, exchange: Exchange) -> None:
        """A modern request of a client was refused, with or without a message."""
        for name in _names(exchange.request.channel, exchange.client):
            record = self.falls.get(name)
            if record is None:
                _put(self.falls, name, [1, 0])
            else:
                record[0] = 1

    def requested(self, exchange: Exchange) -> None:
        """A client sent a request."""
        handshake = exchange.method == "initialize"
        if not handshake and (not self.refused or exchange.era != MODERN):
            return
        names = _names(exchange.request.channel, exchange.client)
        for record in [self.refused.pop(name, None) for name in names]:
            if record is not None:
                remark(exchange, "refused", record)
        if handshake:
            for name in names:
                falls = self.falls.get(name)
                if falls is not None and falls[0]:
                    falls[0] = 0
                    falls[1] += 1
                    remark(exchange, "fallbacks", falls[1])


def _names(channel: str, client: Client) -> tuple[str, ...]:
    if client.credential and client.info and client.host:
        known = "\0".join((channel, client.credential.hex(), client.host, client.info))
        return f"{channel}\0{client.peer}", known
    return (f"{channel}\0{client.peer}",)


def _put(table: OrderedDict[str, Any], name: str, value: Any) -> None:
    table[name] = value
    table.move_to_end(name)
    if len(table) > CLIENTS:
        table.popitem(last=False)

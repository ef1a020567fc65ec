"""How many questions of each kind a client was asked and answered; `Channel.facts["questions"]`, by `Client.peer`."""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.session import Channel

CLIENTS, KINDS = 256, 16


def note_asked(channel: Channel, exchange: Exchange) -> None:
    """An `input_required` result went to the client."""
    for question in exchange.ask.questions.values() if exchange.ask is not None else ():
        _count(channel, exchange, question, 0)


def note_answered(channel: Channel, exchange: Exchange) -> None:
    """A retry came."""
    ask = exchange.link.ask if exchange.link is not None else None
    answers = exchange.answers
    if ask is not None and type(answers) is dict:
        for key, question in ask.questions.items():
            if key in answers:
                _count(channel, exchange, question, 1)


def _count(channel: Channel, exchange: Exchange, question: Any, which: int) -> None:
    method = question.get("method") if type(question) is dict else None
    if type(method) is not str:
        return
    clients = channel.facts.setdefault("questions", {})
    kinds = clients.setdefault(exchange.client.peer, {})
    if method in kinds or len(kinds) < KINDS:
        kinds.setdefault(method, [0, 0])[which] += 1
    if len(clients) > CLIENTS:
        del clients[next(iter(clients))]

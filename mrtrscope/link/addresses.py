"""Web addresses that a server names, and whether somebody fetched them in the same capture.

An elicitation may send the user to an address, a schema may refer to one; neither is to be fetched without being asked.
That shows only where the other traffic of the client's machine passes the same recorder. An HTTP request for such an
address has in `event.http.facts`:

    question    {"key", "t", "host", "action"}: the newest elicitation that names it, and the answer ("" not yet)
    reference   {"key", "t", "host"}: the newest tools/list answer with a schema that refers to it
"""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.memory import Memory, digest
from mrtrscope.wire.events import HttpExchange, Message

QUESTION, REFERENCE, FETCHED = "asked-url", "ref-url", "ref-fetched"
LIMIT = 8192  # characters of an address
ELICITATION = "elicitation/create"


class Addresses:
    """Files addresses; `named` says whether there is any."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.named = False

    def asked(self, exchange: Exchange, message: Message, params: Any) -> None:
        """A question of a server; only elicitations in URL mode have an address."""
        url = _address(params)
        if url:
            self._file(QUESTION, url, exchange, message)

    def answered(self, params: Any, answer: Any) -> None:
        """The client's answer to it."""
        url = _address(params)
        found = self._memory.get(QUESTION, _digest(url)) if url else None
        if found is not None and type(answer) is dict:
            action = answer.get("action")
            record = json.loads(found) | {"action": action if type(action) is str else ""}
            self._memory.set(QUESTION, _digest(url), json.dumps(record))

    def referred(self, exchange: Exchange, message: Message, refs: list[str]) -> None:
        """Schemas in a list of tools refer to these."""
        for url in refs:
            if len(url) <= LIMIT:
                self._file(REFERENCE, url, exchange, message)

    def _file(self, space: str, url: str, exchange: Exchange, message: Message) -> None:
        self.named = True
        record = {"key": message.key, "t": message.t, "host": exchange.client.host, "action": ""}
        self._memory.set(space, _digest(url), json.dumps(record))

    def fetched(self, http: HttpExchange) -> None:
        """An HTTP request whose head is complete."""
        if not self.named or http.method not in ("GET", "HEAD") or len(http.url) > LIMIT:
            return
        host = http.peer.address.rpartition(":")[0]
        for space, name in ((QUESTION, "question"), (REFERENCE, "reference")):
            text = self._memory.get(space, _digest(http.url))
            record = json.loads(text) if text is not None else None
            if record is not None and record["host"] == host and record["t"] <= http.t:
                http.facts[name] = record
                if space == REFERENCE:
                    self._memory.set(FETCHED, _digest(http.url), "1")


def was_fetched(memory: Memory, url: str) -> bool:
    """Whether a document that a schema refers to was fetched by a client in this capture."""
    return memory.get(FETCHED, _digest(url)) is not None


def _address(params: Any) -> str:
    if type(params) is not dict or params.get("mode") != "url":
        return ""
    url = params.get("url")
    return url if type(url) is str and len(url) <= LIMIT else ""


def _digest(url: str) -> bytes:
    return digest("address", url.partition("#")[0])

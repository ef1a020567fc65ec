"""Who was asked, in few bytes: what decides between results that are equal in all else, however many there are.

Servers that issue constants make hundreds of equal results, and each of them is a candidate for each retry. So beside
its key stands the name of its client, and what that name means is remembered once.
"""

from __future__ import annotations

import json

from mrtrscope.link.canonical import compact
from mrtrscope.link.facts import Ask, Client
from mrtrscope.link.memory import Memory, digest

SPACE = "client"
AT_HAND = 1024
# Signed keys that stand beside others: they are read again with each one that joins them.
MANY_AT_HAND = 16_384
_Parts = tuple[str, bytes, str, str, bytes]


class Signed:
    """The key of a result, its client, and what stands for its questions."""

    __slots__ = ("asks", "client", "key")

    def __init__(self, key: str, asks: str, client: Client) -> None:
        self.key = key
        self.asks = asks
        self.client = client


class Clients:
    """Writes and reads signed keys."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._names: dict[_Parts, str] = {}
        self._known: dict[str, Client] = {}
        self._read: dict[str, Signed] = {}

    def signed(self, ask: Ask) -> str:
        """The text that stands for a result in a file."""
        client = ask.client
        parts = (client.peer, client.credential, client.info, client.host, client.subject)
        name = self._names.get(parts)
        if name is None:
            name = digest(*parts).hex()[:16]
            if len(self._names) >= AT_HAND:
                self._names.clear()
            self._names[parts] = name
            self._memory.set(SPACE, digest(name), compact(to_list(client)))
        words = ask.chain.asked
        asks = digest(*[f"{key}\n{words.get(key)}" for key in sorted(ask.questions)]).hex()[:16]
        return f"{ask.key}\n{asks}\n{name}"

    def read_all(self, texts: list[str]) -> list[Signed]:
        """What `signed` wrote, of many."""
        if len(texts) == 1:
            return [self.read(texts[0])]
        found = [*map(self._read.get, texts)]
        signed = [one or self.read(text) for one, text in zip(found, texts, strict=True)]
        if None in found:
            if len(self._read) + len(texts) > MANY_AT_HAND:
                self._read.clear()
            self._read.update(zip(texts, signed, strict=True))
        return signed

    def read(self, text: str) -> Signed:
        """What `signed` wrote."""
        key, asks, name = text.rsplit("\n", 2)
        client = self._known.get(name)
        if client is None:
            if len(self._known) >= AT_HAND:
                self._known.clear()
            found = self._memory.get(SPACE, digest(name))
            assert found is not None  # written before its name
            client = self._known[name] = from_list(json.loads(found))
        return Signed(key, asks, client)


def to_list(client: Client) -> list[str]:
    """A client as JSON."""
    return [client.peer, client.credential.hex(), client.info, client.host, client.subject.hex()]


def from_list(fields: list[str]) -> Client:
    """The client that `to_list` wrote."""
    peer, credential, info, host, subject = fields
    return Client(peer, bytes.fromhex(credential), info, host, bytes.fromhex(subject))

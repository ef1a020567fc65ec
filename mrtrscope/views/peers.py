"""What the two sides call themselves: in the messages of an operation, else where they introduced themselves.

In the older revisions a name is told once, in `initialize` and its answer; in the newer one a server may tell it in
`server/discover` alone. Which introduction is that of an operation's client is never guessed: of the same process or
connection, of the same session, or all there are say the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mrtrscope.link.facts import META_CLIENT_INFO, META_SERVER_INFO
from mrtrscope.store.bodies import fetch
from mrtrscope.store.reader import Store
from mrtrscope.wire.events import Event, Message

if TYPE_CHECKING:
    from mrtrscope import model

_NEAR = 16  # introductions of a channel that are looked at for one operation, the last before it


class Met(NamedTuple):
    """Where somebody introduced himself: number of the operation, its two messages, whose it was."""

    op: int
    request: str
    answer: str | None
    client: str


class Names(NamedTuple):
    """What was said there, and in which session."""

    client: str = ""
    server: str = ""
    session: str = ""


class Peers:
    """Looks introductions up, each once; one for each reading of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._met: dict[str, list[Met]] | None = None
        self._known: dict[str, Names] = {}  # by the number of the request

    def look(self, operations: Iterable[model.Operation]) -> None:
        """Read the introductions that these may need, all in one go."""
        wanted = {
            met.request: met for operation in operations for met in self._near(operation)
            if met.request not in self._known
        }  # fmt: skip
        if not wanted:
            return
        texts = fetch(self._store, (m for met in wanted.values() for m in (met.request, met.answer) if m))
        for m, met in wanted.items():
            self._known[m] = _said(texts.get(m), texts.get(met.answer or ""))

    def names(self, operation: model.Operation, texts: Mapping[str, Event]) -> tuple[str, str]:
        """Client and server of an operation that was looked for; "" for who never said a name."""
        own = [texts[m] for m in _messages(operation) if m in texts]
        client = next((name for event in own if (name := _client(event))), "")
        server = next((name for event in own if (name := _server(event))), "")
        if client and server:
            return client, server
        near = [self._known.get(met.request, Names()) for met in self._near(operation)]
        served = next((names.server for names in reversed(near) if names.server), "")
        return client or self._greeted(operation, near, own), server or served

    def _greeted(self, operation: model.Operation, near: list[Names], own: list[Event]) -> str:
        """What the client of this operation called itself."""
        mine = operation.rounds[0].client if operation.rounds else ""
        for met, names in zip(reversed(self._near(operation)), reversed(near), strict=True):
            if met.client == mine and names.client:
                return names.client
        session = next((name for event in own if (name := _session(event))), "")
        if session:
            return next((n.client for n in reversed(near) if n.session == session and n.client), "")
        found = {names.client for names in near}
        return found.pop() if len(found) == 1 else ""

    def _near(self, operation: model.Operation) -> list[Met]:
        if self._met is None:
            self._met = {}
            for channel, told in self._store.introductions():
                self._met.setdefault(channel, []).append(Met(*told))
        met = self._met.get(operation.channel, [])
        last = bisect_right(met, int(operation.id[2:]), key=lambda one: one.op)
        near = met[max(0, last - _NEAR) : last]
        mine = operation.rounds[0].client if operation.rounds else ""
        of_mine = [one for one in near if one.client == mine]
        return of_mine[-1:] or near


def _messages(operation: model.Operation) -> Iterable[str]:
    """The numbers of its messages."""
    for one in operation.rounds:
        yield one.request
        if one.answer is not None:
            yield one.answer
    yield from operation.attached


def _said(request: Event | None, answer: Event | None) -> Names:
    session = ""
    if answer is not None and answer.http is not None:
        session = answer.http.response_header("mcp-session-id") or ""
    return Names(_client(request), _server(answer), session)


def _session(event: Event) -> str:
    return (event.http.request_header("mcp-session-id") or "") if event.http is not None else ""


def _client(event: Event | None) -> str:
    """The name of the client in a request."""
    params = _member(event, "params")
    return _name(_inside(params, "_meta").get(META_CLIENT_INFO)) or _name(params.get("clientInfo"))


def _server(event: Event | None) -> str:
    """The name of the server in an answer."""
    result = _member(event, "result")
    return _name(_inside(result, "_meta").get(META_SERVER_INFO)) or _name(result.get("serverInfo"))


def _member(event: Event | None, name: str) -> dict[str, Any]:
    return _inside(event.body, name) if isinstance(event, Message) and isinstance(event.body, dict) else {}


def _inside(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _name(info: Any) -> str:
    if not isinstance(info, dict) or not isinstance(info.get("name"), str):
        return ""
    version = info.get("version")
    return f"{info['name']} {version}" if isinstance(version, str) else str(info["name"])

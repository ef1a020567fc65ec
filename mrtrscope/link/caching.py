"""How results that may be cached are fetched, fetched again and handed on; remarks of exchanges (`link.remarks`):

refetch     a request: {"times", "since": key of the answer, "ttl"}: asked for so often while that answer was fresh
polled      a request: {"times", "ttl"}: so many times in a row asked for again just as the ttl ran out
bad_cursor  a request: {"key", "same"}: goes on in a chain of pages of which a cursor was refused, with that cursor or
            another one
scopes      an answer, a page: {"was", "key"}: cacheScope of the page before, where it was another one
personal    an answer: keys of earlier ones: public, though it depends on the credential who asks
shared      an answer out of a cache: {"key", "sure"}: the private answer to another credential that it is
misfit      an answer out of a cache: key of the answer to other params that it is
stale       an answer to tools/call: {"changed", "list"}: the tool went away with a change that the client was told of
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import MODERN, Client, Exchange
from mrtrscope.link.listings import LISTS, newest
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.remarks import remark
from mrtrscope.link.servers import CACHEABLE
from mrtrscope.link.tools import CALL, LIST, scope_of_lists
from mrtrscope.wire.events import Message

KEPT, CURSORS, RECENT = 1024, 64, 3
TIMES = 3  # requests within one ttl that are worth a word
LONG_TTL = 10_000  # ms; a shorter one runs out before anybody notices
POLLS, TOLERANCE = 5, 0.02  # intervals in a row, and how near to the ttl they are
INVALID_PARAMS = -32602
NEAR = 2_000_000  # µs by which an age may be out, which counts whole seconds
BODY_LIMIT = 1 << 18  # bytes of an answer that is compared
TOOLS_CHANGED = "notifications/tools/list_changed"


class Caching:
    """State of it: bounded, or in `Memory`.

    fetches   client, method and params -> {"t", "ttl", "key", "times", "last", "polls"}
    chains    client and method -> cursors given since the last request from the start
    refused   client and method -> {"cursor", "chain", "key"} of a cursor that was refused
    changed   client -> [t, key] of a change of the tools that it was told of and did not look at
    told      channel and notification -> when a change was announced last
    seen      scope, method and params -> the last public answers: [credential, digest, t, key, ttl]
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self.fetches: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.chains: OrderedDict[str, list[str]] = OrderedDict()
        self.refused: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.changed: OrderedDict[str, list[Any]] = OrderedDict()
        self.told: OrderedDict[str, int] = OrderedDict()
        self.seen: OrderedDict[str, list[list[Any]]] = OrderedDict()

    def announced(self, message: Message, exchange: Exchange | None) -> None:
        """A server told of a change; `exchange` is the subscription that it came on."""
        _keep(self.told, f"{message.channel}\0{message.method}", message.t)
        if message.method == TOOLS_CHANGED:
            whom = f"{message.channel}\0{message.peer.id}"
            if exchange is not None:
                whom = _client_of(message.channel, exchange.client)
            _keep(self.changed, whom, [message.t, message.key])

    def requested(self, exchange: Exchange) -> None:
        """A modern request of a client for something that may be cached."""
        whom, method = _client_of(exchange.request.channel, exchange.client), exchange.method
        if method == LIST:
            self.changed.pop(whom, None)
        params = exchange.request.params
        if method in LISTS and self.refused:
            record = self.refused.pop(f"{whom}\0{method}", None)
            cursor = params.get("cursor")
            if record is not None and type(cursor) is str:
                same = cursor == record["cursor"]
                if same or cursor in record["chain"]:
                    remark(exchange, "bad_cursor", {"key": record["key"], "same": same})
        if exchange.link is not None or "inputResponses" in params or "requestState" in params:
            return
        key = _fetch(exchange, whom)
        record = self.fetches.get(key)
        if record is None:
            return
        if self.told.get(f"{exchange.request.channel}\0{_announcement(method)}", 0) > record["t"]:
            del self.fetches[key]
        else:
            self._again(exchange, record)

    def _again(self, exchange: Exchange, record: dict[str, Any]) -> None:
        ttl, t = record["ttl"] * 1000, exchange.t
        if record["ttl"] >= LONG_TTL and t - record["t"] < ttl:
            record["times"] += 1
            if record["times"] == TIMES:
                seen = {"times": TIMES, "since": record["key"], "ttl": record["ttl"]}
                remark(exchange, "refetch", seen)
        if record["ttl"] and abs(t - record["last"] - ttl) <= TOLERANCE * ttl:
            record["polls"] += 1
            if record["polls"] == POLLS:
                remark(exchange, "polled", {"times": POLLS, "ttl": record["ttl"]})
        else:
            record["polls"] = 0
        record["last"] = t

    def answered(self, exchange: Exchange, answer: Message) -> None:
        """The first final answer to a modern request; of tools/call only refusals matter."""
        method = exchange.method
        if method == CALL:
            if self.changed:
                self._stale(exchange, answer)
            return
        whom = _client_of(exchange.request.channel, exchange.client)
        if answer.kind != "response":
            self.fetches.pop(_fetch(exchange, whom), None)
            if method in LISTS and answer.error.get("code") == INVALID_PARAMS:
                self._refuse(exchange, answer, whom)
            return
        result = answer.result
        if result.get("resultType", "complete") != "complete":
            return
        if method in LISTS:
            self._page(exchange, answer, whom)
        self._fetched(exchange, answer, whom)
        http = exchange.http
        if http is not None and exchange.client.credential and len(answer.raw) <= BODY_LIMIT:
            self._credentials(exchange, answer, http.facts.get("hit") is True)

    # -- pages

    def _refuse(self, exchange: Exchange, answer: Message, whom: str) -> None:
        cursor = exchange.request.params.get("cursor")
        if type(cursor) is str:
            chain = self.chains.get(f"{whom}\0{exchange.method}", [])
            record = {"cursor": cursor, "chain": list(chain), "key": answer.key}
            _keep(self.refused, f"{whom}\0{exchange.method}", record)

    def _page(self, exchange: Exchange, answer: Message, whom: str) -> None:
        method, client = exchange.method, exchange.client
        cursor, following = exchange.request.params.get("cursor"), answer.result.get("nextCursor")
        scope = answer.result.get("cacheScope")
        where = (*scope_of_lists(exchange), method)
        if type(cursor) is str and type(scope) is str:
            text = self._memory.get("page-scope", digest(*where, cursor))
            if text is not None:
                was, key, *row = json.loads(text)
                if type(was) is str and was != scope and _read(row).surely_same(client):
                    remark(exchange, "scopes", {"was": was, "key": key})
        chain = self.chains.get(f"{whom}\0{method}", []) if type(cursor) is str else []
        if type(following) is str:
            _keep(self.chains, f"{whom}\0{method}", [*chain, following][-CURSORS:])
            said = scope if type(scope) is str else None  # then what a former listing said counts no more
            text = json.dumps(
                [said, answer.key, client.peer, client.credential.hex(), client.info, client.host]
            )
            self._memory.set("page-scope", digest(*where, following), text)

    # -- freshness

    def _fetched(self, exchange: Exchange, answer: Message, whom: str) -> None:
        ttl = answer.result.get("ttlMs")
        ttl = ttl if type(ttl) is int and 0 <= ttl < 1 << 53 else 0
        key = _fetch(exchange, whom)
        record = self.fetches.get(key)
        if record is None:
            record = {"polls": 0, "last": exchange.t}
        elif record["ttl"] >= LONG_TTL and answer.t - record["t"] < record["ttl"] * 1000:
            return  # still within the first one
        _keep(self.fetches, key, record | {"t": answer.t, "ttl": ttl, "key": answer.key, "times": 1})

    # -- who gets what

    def _credentials(self, exchange: Exchange, answer: Message, hit: bool) -> None:
        result, mine = answer.result, exchange.client.credential.hex()
        scope = result.get("cacheScope")
        if not hit and scope not in ("public", "private"):
            return
        params = {k: v for k, v in exchange.request.params.items() if k != "_meta"}
        asked = digest(exchange.request.channel, exchange.method, canonical(params)).hex()
        body = digest(canonical({k: v for k, v in result.items() if k not in ("_meta", "ttlMs")})).hex()
        by_body = digest("cached", exchange.request.channel, body)
        own = digest("cached-for", exchange.request.channel, body, mine, asked)
        if hit:
            text = self._memory.get("cached", by_body)
            if text is not None and self._memory.get("cached-for", own) is None:
                self._hit(exchange, answer, json.loads(text), mine, asked)
        else:
            if self._memory.get("cached", by_body) is None:
                self._memory.set("cached", by_body, json.dumps([mine, asked, answer.key, answer.t]))
            self._memory.set("cached-for", own, "1")
        if scope == "public":
            self._public(exchange, answer, asked, body)

    def _hit(self, exchange: Exchange, answer: Message, first: list[Any], mine: str, asked: str) -> None:
        credential, params, key, t = first
        age = exchange.http.response_header("age") if exchange.http is not None else None
        sure = (
            age is not None
            and age.isdigit()
            and len(age) < 9
            and abs(answer.t - int(age) * 1_000_000 - t) <= NEAR
        )
        if credential != mine and answer.result.get("cacheScope") == "private":
            remark(exchange, "shared", {"key": key, "sure": sure})
        if params != asked and _names_another(exchange, answer):
            remark(exchange, "misfit", key)

    def _public(self, exchange: Exchange, answer: Message, asked: str, body: str) -> None:
        ttl = answer.result.get("ttlMs")
        row = [exchange.client.credential.hex(), body, answer.t, answer.key, ttl if type(ttl) is int else 0]
        seen = [*self.seen.get(asked, []), row][-RECENT:]
        _keep(self.seen, asked, seen)
        if len(seen) == RECENT:
            (a, body_a, t, key_a, ttl_a), (b, body_b, _, key_b, _), (c, body_c, now, _, _) = seen
            if a == c != b and body_a == body_c != body_b and now - t <= ttl_a * 1000:
                remark(exchange, "personal", [key_a, key_b])

    def _stale(self, exchange: Exchange, answer: Message) -> None:
        change = self.changed.get(_client_of(exchange.request.channel, exchange.client))
        tool = exchange.tool
        if change is None or tool is None or tool.t > change[0]:
            return
        listed = newest(self._memory, exchange, LIST)
        gone = listed is not None and listed["t"] > change[0] and exchange.target not in listed["names"]
        if gone or answer.error.get("code") == INVALID_PARAMS:
            remark(exchange, "stale", {"changed": change[1], "list": tool.key})


def cacheable(exchange: Exchange) -> bool:
    """Whether the exchange concerns this module."""
    return exchange.era == MODERN and (exchange.method in CACHEABLE or exchange.method == CALL)


def _fetch(exchange: Exchange, whom: str) -> str:
    params = {k: v for k, v in exchange.request.params.items() if k != "_meta"}
    return f"{whom}\0{digest(exchange.method, canonical(params)).hex()}"


def _client_of(channel: str, client: Client) -> str:
    """What certainly names a client, for longer than a connection where possible."""
    if client.credential and client.info and client.host:
        return f"{channel}\0{client.credential.hex()} {client.host} {client.info}"
    return f"{channel}\0{client.peer}"


def _announcement(method: str) -> str:
    """What a change of such a result is announced with."""
    entry = LISTS.get(method)
    return entry[2] if entry is not None else "notifications/resources/updated"


def _names_another(exchange: Exchange, answer: Message) -> bool:
    """The contents name themselves, and not what was asked for."""
    contents = answer.result.get("contents")
    uris = [c.get("uri") for c in contents if type(c) is dict] if type(contents) is list else []
    return exchange.method == "resources/read" and bool(uris) and exchange.target not in uris


def _read(row: list[str]) -> Client:
    return Client(row[0], bytes.fromhex(row[1]), row[2], row[3])


def _keep(table: OrderedDict[str, Any], key: str, value: Any) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > KEPT:
        table.popitem(last=False)

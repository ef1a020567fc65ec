"""Authorization as it shows in plain HTTP beside the messages: who asks for what, and how tokens are used.

`discovery` and `grants` say what is kept of the two halves of a flow. Here is decided which exchange is a step of one,
and how an MCP request shows its credential; that is `http.facts["auth"]` with the step "use":

    query        names of parameters that hold a token       header   another header that does
    bare         key of an earlier request of this client that was served with a token, while this one has none
    expired      seconds since the token's exp        audience   its aud, when that names other hosts only
    elsewhere    [channel, key] of another MCP server that got the same token
    meant        [resource, key] that the token was asked for, when that is another server
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from typing import Any

from mrtrscope.link.challenges import plain_url
from mrtrscope.link.discovery import Discovery
from mrtrscope.link.facts import Exchange
from mrtrscope.link.grants import AUTHORIZE, FORM_LIMIT, REGISTER, TOKEN, Grants
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.origins import Address, loopback, parameters, split
from mrtrscope.link.session import Sessions
from mrtrscope.link.tokens import bearer, claims
from mrtrscope.wire.events import ABSENT, HttpExchange, Message, NonMessage, Signal

KEPT = 1024
LATE = 300  # seconds after its end for which a token may still pass: clocks differ
WALL_CLOCK = 1_000_000_000_000_000  # µs; an earlier time is none of a clock on the wall
OTHER_HEADERS = frozenset(
    {"access-token", "x-access-token", "x-auth-token", "x-token", "token", "x-authorization"}
)
QUERY = ("access_token", "token")
AUDIENCES = 16

_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,}")
_SCOPED = re.compile(r"\bscopes?\b|(?:need|requir|miss|lack)\w*\W+[\w.-]+:[\w.-]+", re.I)


class Auth:
    """Called for what happens in HTTP, whether or not it has to do with MCP.

    authorized   connection and channel -> key of the first request on it that was served with a token
    known        credential and channel -> exp of the token, 0 when it has none, and what else its use shows
    """

    def __init__(self, memory: Memory, sessions: Sessions) -> None:
        self._memory = memory
        self._sessions = sessions
        self.discovery = Discovery(sessions, memory)
        self.grants = Grants(self.discovery, sessions)
        self.authorized: OrderedDict[str, str] = OrderedDict()
        self.known: OrderedDict[str, dict[str, Any]] = OrderedDict()

    # -- what is no MCP message

    def asks(self, event: Signal, mcp: bool) -> None:
        """The head of a request came; `mcp`: its channel has spoken MCP before."""
        http = event.http
        assert http is not None
        if http.method == "POST":
            return
        if mcp:
            self._bare(http, event.peer.id)
            return
        address = split(http.url)
        if http.method != "GET" or address is None or self.discovery.asks(event, http, address):
            return
        self._visits(http, address, event.key)

    def _visits(self, http: HttpExchange, address: Address, key: str) -> None:
        url = plain_url(http.url)
        endpoint = self.discovery.endpoints.get(url)
        if endpoint is not None and endpoint["name"] == AUTHORIZE:
            self.grants.authorizes(http, endpoint, address.query, key)
        elif url in self.grants.by_redirect and self.grants.comes_back(http, address.query, key):
            pass
        elif http.url in self.grants.documents:
            http.facts["auth"] = {"step": "document", "faults": []}

    def text(self, event: NonMessage) -> None:
        """A body that is no MCP message."""
        http = event.http
        assert http is not None
        step = http.facts.get("auth")
        if event.dir == "c2s":
            endpoint = self.discovery.endpoints.get(plain_url(http.url))
            if http.method != "POST" or endpoint is None:
                return
            form = event.raw.decode("utf-8", "replace")
            if endpoint["name"] == REGISTER:
                self.grants.registers(http, endpoint, event.body, event.key)
            elif endpoint["name"] == TOKEN:
                self.grants.exchanges(http, endpoint, form, event.size <= FORM_LIMIT and not event.cut)
            else:
                self.grants.authorizes(http, endpoint, form, event.key)
        elif step is not None:
            self._answered(http, step["step"], event)

    def _answered(self, http: HttpExchange, step: str, event: NonMessage) -> None:
        if step in ("resource-metadata", "server-metadata"):
            self.discovery.answered(http, event.body, event.key)
        elif step == "register":
            self.grants.registered_as(http, event.body)
        elif step == "token":
            self.grants.exchanged(http, event.body, event.key)
        elif step == "document":
            self.grants.document(http, event.body, event.key)
        elif step == "challenge" and _SCOPED.search(event.raw.decode("utf-8", "replace")):
            http.facts["auth"]["scoped"] = True

    def headed(self, event: Signal, exchange: Exchange | None) -> None:
        """The head of an answer came."""
        http = event.http
        assert http is not None
        if http.status in (401, 403) and ("posted" in http.facts or exchange is not None):
            use = http.facts.get("auth")
            self.discovery.challenged(event, http, exchange)
            if use is not None:
                http.facts["auth"]["use"] = use
            if http.status == 403 and exchange is not None:
                self._step_up(http, exchange, event.key)

    def ended(self, event: Signal) -> None:
        """An exchange is over."""
        http = event.http
        assert http is not None
        step = http.facts.get("auth")
        if step is None:
            return
        if step["step"] == "authorize":
            self.grants.redirected(http, event.key)
        elif step["step"] == "resource-metadata" and "listed" not in step and "failed" not in step:
            self.discovery.answered(http, ABSENT, event.key)  # an answer without a body

    def _step_up(self, http: HttpExchange, exchange: Exchange, key: str) -> None:
        challenge = http.facts["auth"]["challenge"]
        if challenge is None or challenge[3] != "insufficient_scope" or challenge[2] is None:
            return
        found = self.discovery.resource(http.channel)
        request = digest(
            exchange.method, exchange.target, json.dumps(exchange.arguments, sort_keys=True, default=str)
        ).hex()
        times = found.get("ups", {}).get(request, 0) + 1
        found["ups"] = {request: times}
        found["step_up"] = {"scopes": challenge[2], "key": key, "times": times}

    # -- how tokens are used

    def requested(self, exchange: Exchange) -> None:
        """An MCP request was linked."""
        http, client = exchange.http, exchange.client
        assert http is not None
        if "?" in http.url:
            self._in_query(http)
        if not client.credential:
            self._bare(http, client.peer)
            return
        name = f"{client.credential.hex()}\0{http.channel}"
        found = self.known.get(name)
        if found is None:
            found = self._first_use(exchange, client.credential.hex())
            keep_known(self.known, name, found)
        if found["exp"] or found["audience"]:
            self._judged_later(http, exchange.t, found)

    def posted(self, message: Message) -> None:
        """Another message of a client came; requests come as `requested`."""
        http = message.http
        if self.authorized and http is not None and http.request_header("authorization") is None:
            self._bare(http, message.peer.id)

    def served(self, exchange: Exchange) -> None:
        """A request got a result."""
        client, http = exchange.client, exchange.http
        if client.credential and http is not None:
            name = f"{client.peer}\0{http.channel}"
            if name not in self.authorized:
                keep_known(self.authorized, name, exchange.key)
                self.discovery.resource(http.channel)["authorized"] += 1

    def _bare(self, http: HttpExchange, peer: str) -> None:
        key = self.authorized.get(f"{peer}\0{http.channel}") if self.authorized else None
        if key is not None and http.request_header("authorization") is None:
            _use(http, "bare", key)
        found = self.discovery.resources.get(http.channel)
        if found is not None and found["challenge"] is not None:
            name = next((n for n, _ in http.request_headers if n.lower() in OTHER_HEADERS), None)
            if name is not None and http.request_header("authorization") is None:
                _use(http, "header", name)

    def _in_query(self, http: HttpExchange) -> None:
        address = split(http.url)
        said = parameters(address.query) if address is not None else {}
        found = [name for name in QUERY if _TOKEN.fullmatch(said.get(name, ""))]
        if found:
            _use(http, "query", found)

    def _first_use(self, exchange: Exchange, credential: str) -> dict[str, Any]:
        """A credential comes to a channel for the first time: what it says, and where else it went."""
        http = exchange.http
        assert http is not None
        header = http.request_header("authorization") or ""
        found: dict[str, Any] = {"exp": 0, "audience": []}
        if not bearer(header):
            return found
        claimed = claims(header)
        exp: Any = claimed.get("exp")
        if type(exp) in (int, float) and 0 < exp < 1e12:
            found["exp"] = int(exp)
        aud = claimed.get("aud")
        named = [a for a in (aud[:AUDIENCES] if type(aud) is list else [aud]) if type(a) is str]
        hosts = {a.host for a in map(split, named) if a is not None and a.host}
        if (
            hosts
            and len(hosts) == len(set(named))
            and not any(_same_host(h, own) for h in hosts for own in _hosts(http))
        ):
            found["audience"] = [name[:300] for name in named]
        self._elsewhere(http, exchange.key, credential)
        asked = self.grants.issued.get(self._sessions.secret(header))
        if asked is not None and not _same_server(asked[0], http):
            _use(http, "meant", asked)
        return found

    def _elsewhere(self, http: HttpExchange, key: str, credential: str) -> None:
        rows, _ = self._memory.find("token-at", digest("token-at", credential), AUDIENCES)
        mine = _place(http.channel)
        for row in rows:
            channel, at = json.loads(row)
            if _place(channel) != mine:
                _use(http, "elsewhere", [channel, at])
                break
        self._memory.add("token-at", digest("token-at", credential), json.dumps([http.channel, key]))

    def _judged_later(self, http: HttpExchange, t: int, found: dict[str, Any]) -> None:
        if found["audience"]:
            _use(http, "audience", found["audience"])
        if found["exp"] and t > WALL_CLOCK and t // 1_000_000 - found["exp"] > LATE:
            _use(http, "expired", t // 1_000_000 - found["exp"])


def _use(http: HttpExchange, what: str, value: Any) -> None:
    http.facts.setdefault("auth", {"step": "use"})[what] = value


def keep_known[V](table: OrderedDict[str, V], key: str, value: V) -> None:
    table[key] = value
    if len(table) > KEPT:
        table.popitem(last=False)


def _hosts(http: HttpExchange) -> set[str]:
    """The host that a request went to, by its address and by its own word (a recorder may stand in between)."""
    found = {split(http.channel), split(f"http://{http.request_header('host') or ''}")}
    return {address.host for address in found if address is not None}


def _same_host(a: str, b: str) -> bool:
    return a == b or (loopback(a) and loopback(b))


def _place(channel: str) -> str:
    address = split(channel)
    if address is None:
        return channel
    return f"loopback:{address.port}" if loopback(address.host) else address.authority


def _same_server(resource: str, http: HttpExchange) -> bool:
    """Whether a resource is on the server that a request went to, as far as its authority says."""
    meant = split(resource)
    if meant is None or not meant.host:
        return True  # no absolute URI: another rule's business
    own = {split(http.channel), split(f"{meant.scheme}://{http.request_header('host') or ''}")}
    return any(address is not None and _place_of(address) == _place_of(meant) for address in own)


def _place_of(address: Address) -> str:
    authority = address.authority
    return authority.replace(address.host, "loopback", 1) if loopback(address.host) else authority

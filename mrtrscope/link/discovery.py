"""Authorization, the first half: challenges, and the documents that say where to go.

Kept are addresses, scopes and times, by MCP endpoint (its channel), by issuer, and by the endpoints of authorization
servers. The facts about one HTTP exchange stand in `http.facts["auth"]`, a dict with `step`:

    challenge      a 401 or 403: `status`, `challenge` (a list, see `challenges.Challenge`) or None, `authorized`,
                   `era`, `scoped`: its body speaks of scopes
    resource-metadata   `early`: the document that should have been asked for first, `why`: key of the challenge;
                   `certain`: only one client is about; `listed`: what authorization_servers says (ABSENT), `scopes`,
                   `era`, `known`: MCP is spoken at its origin; `failed`: keys of 401s that name no document, where
                   none is to be found
    server-metadata     `before`: the document that should have been asked for first; of the answer `openid`, `pkce`,
                   `unsafe`: endpoints that are not https, `era`, `guessed`: nobody named this issuer

`Channel.facts`: `unnamed`, the first 401 that names no document, until somebody looks for one; `probes`, [request,
address] of requests for another document than the one that the challenge names, until that is asked for; `auth_era`,
the era of what was challenged; `auth_version`, the oldest revision of it that is an earlier one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from mrtrscope.link.challenges import (
    OPENID,
    challenge_of,
    is_resource_document,
    is_server_document,
    plain_url,
    resource_documents,
    scopes,
    server_documents,
)
from mrtrscope.link.facts import LEGACY, MODERN, MODERN_SINCE, UNKNOWN, Exchange
from mrtrscope.link.memory import Memory, digest
from mrtrscope.link.origins import Address, loopback, split
from mrtrscope.link.session import Sessions
from mrtrscope.wire.events import ABSENT, HttpExchange, Signal

KEPT = 256
LISTED = 16  # entries of a list of servers or clients that are looked at
DISCOVERED_SINCE = "2025-06-18"  # before, there were no documents about resources
RECENT = 600_000_000  # µs for which a document that was fetched is why the next one is
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "registration_endpoint")


OLDEST = ("challenged", digest("oldest"))  # where `Memory` keeps the oldest revision that was challenged


def version_of(memory: Memory, step: dict[str, Any]) -> str:
    """The earliest revision that a step of an authorization may be of, "" for one of 2026-07-28 or an unknown one."""
    return "" if step.get("era") == MODERN else memory.get(*OLDEST) or ""


class Discovery:
    """What is known of endpoints and servers.

    resources   channel -> {"origin", "era", "challenge": [key, t, metadata, scopes] or None, "tried": document ->
                status (0: no answer yet), "infos": of clients, "scopes": of its document or None, "document": its key,
                "named": the resource it names,
                "authorized": how many connections were served with a token}, and of `grants` "step_up", "ups"
    issuers     issuer -> {"t", "era", "resources", "tried", "found", "guessed"}
    documents   address -> [[issuer, index], …]
    endpoints   address -> {"name", "issuer", "said", "key", "pkce", "iss", "scopes", "era", "guessed"}
    """

    def __init__(self, sessions: Sessions, memory: Memory) -> None:
        self._sessions = sessions
        self._memory = memory
        self.resources: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.issuers: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.documents: OrderedDict[str, list[list[Any]]] = OrderedDict()
        self.endpoints: OrderedDict[str, dict[str, Any]] = OrderedDict()

    # -- MCP endpoints

    def resource(self, channel: str) -> dict[str, Any]:
        """The record of an MCP endpoint, made when there is none."""
        found = self.resources.get(channel)
        if found is None:
            address = split(channel)
            found = {
                "origin": address.origin if address is not None else "", "era": UNKNOWN, "challenge": None, "tried": {},
                "infos": [], "named": "", "scopes": None, "document": "", "authorized": 0,
            }  # fmt: skip
            keep(self.resources, channel, found)
        return found

    def _older(self, version: str, facts: dict[str, Any]) -> None:
        """A client of an earlier revision was challenged: whoever comes for a token may be one of the oldest."""
        facts["auth_version"] = min(version, facts.get("auth_version", version))
        if version < (self._memory.get(*OLDEST) or MODERN_SINCE):
            self._memory.set(*OLDEST, version)

    def challenged(self, event: Signal, http: HttpExchange, exchange: Exchange | None) -> None:
        """An MCP request got 401 or 403."""
        challenge = challenge_of(http)
        found, facts = self.resource(http.channel), self._sessions.channel(http.channel, "http").facts
        if exchange is not None:
            found["era"] = (
                exchange.era if exchange.era == MODERN or exchange.version >= DISCOVERED_SINCE else UNKNOWN
            )
            facts["auth_era"] = found["era"]
            if exchange.era == LEGACY and exchange.version:
                self._older(exchange.version, facts)
            if exchange.client.info not in found["infos"] and len(found["infos"]) < LISTED:
                found["infos"].append(exchange.client.info)
        if http.status == 401 and challenge is not None:
            found["challenge"] = [event.key, http.t, challenge.metadata, challenge.scopes]
            if challenge.metadata is None and not found["tried"]:
                facts.setdefault("unnamed", spot(event))
            for n, url in enumerate(server_documents(found["origin"])):
                self._file(url, found["origin"], n)  # where the oldest revisions looked
            self._issuer(found["origin"], http.t, found["era"], http.channel, guessed=True)
        http.facts["auth"] = {
            "step": "challenge", "status": http.status, "challenge": list(challenge) if challenge is not None else None,
            "authorized": http.request_header("authorization") is not None, "era": found["era"], "scoped": False,
        }  # fmt: skip

    # -- their documents

    def asks(self, event: Signal, http: HttpExchange, address: Address) -> bool:
        """A GET whose head came; True when it is for a document of authorization."""
        url = plain_url(http.url)
        named = self._named(url)
        if named or is_resource_document(address):
            self._asks_resource(event, http, address, url, named)
        elif is_server_document(address) and (
            url in self.documents or http.request_header("mcp-protocol-version") is not None
        ):
            self._asks_server(http, url)
        else:
            return False
        return True

    def _named(self, url: str) -> list[str]:
        """The MCP endpoints whose challenge names this document."""
        return [
            channel
            for channel, r in self.resources.items()
            if r["challenge"] is not None
            and r["challenge"][2] is not None
            and plain_url(r["challenge"][2]) == url
        ]

    def _asks_resource(
        self, event: Signal, http: HttpExchange, address: Address, url: str, named: list[str]
    ) -> None:
        step: dict[str, Any] = {"step": "resource-metadata", "url": url, "early": "", "why": ""}
        channels = named or [
            channel
            for channel, r in self.resources.items()
            if r["origin"] == address.origin and url in resource_documents(channel)
        ]
        for channel in channels:
            found, facts = self.resources[channel], self._sessions.channel(channel, "http").facts
            challenge, where = found["challenge"], resource_documents(channel)
            facts.pop("unnamed", None)
            if challenge is not None and http.t - challenge[1] <= RECENT:
                meant = plain_url(challenge[2] or "")
                if meant and meant != url and meant not in found["tried"]:
                    facts["probes"] = [*facts.get("probes", []), [spot(event), challenge[2]]][:LISTED]
                elif challenge[2] is None and url == where[-1] != where[0] and where[0] not in found["tried"]:
                    step["early"], step["why"] = where[0], challenge[0]
            if "probes" in facts:
                facts["probes"] = [probe for probe in facts["probes"] if plain_url(probe[1]) != url]
            found["tried"].setdefault(url, 0)
        step["channels"], step["era"] = channels, self.resources[channels[0]]["era"] if channels else UNKNOWN
        # with several clients about, nobody knows whose request it is
        step["certain"] = len({info for c in channels for info in self.resources[c]["infos"]}) <= 1
        http.facts["auth"] = step

    def _asks_server(self, http: HttpExchange, url: str) -> None:
        step: dict[str, Any] = {"step": "server-metadata", "url": url, "before": "", "issuer": ""}
        http.facts["auth"] = step
        for issuer, index in self.documents.get(url, ()):
            found = self.issuers.get(issuer)
            if found is None or http.t - found["t"] > RECENT:
                continue
            step["issuer"] = issuer
            missed = [u for u in server_documents(issuer)[:index] if u not in found["tried"]]
            if missed and not found["found"]:
                step["before"] = missed[0]
            if url not in found["tried"]:
                found["tried"].append(url)

    def answered(self, http: HttpExchange, body: Any, key: str) -> None:
        """The answer to it is complete; `body` is ABSENT when it is no JSON."""
        step = http.facts["auth"]
        good = 200 <= (http.status or 0) < 300 and type(body) is dict
        if step["step"] == "resource-metadata":
            self._resource_document(http, step, body if good else None, key)
        elif good:
            self._server_document(http, step, body, key)

    def _resource_document(
        self, http: HttpExchange, step: dict[str, Any], body: dict[str, Any] | None, key: str
    ) -> None:
        channels, origin = step["channels"], split(step["url"])
        for channel in channels:
            self.resources[channel]["tried"][step["url"]] = http.status or 0
        if body is None:
            step["failed"] = [self.resources[c]["challenge"][0] for c in channels if self._nowhere(c)]
            return
        meant = body.get("resource")
        if not channels and type(meant) is str and plain_url(meant):
            named = plain_url(meant)
            channels = [c for c in self.resources if c.rstrip("/") == named.rstrip("/")] or [named]
        here = origin.origin if origin is not None else ""
        known = bool(step["channels"]) or http.request_header("mcp-protocol-version") is not None
        known = known or "mcp" in step["url"] or any(r["origin"] == here for r in self.resources.values())
        listed = body.get("authorization_servers", ABSENT)
        servers = [s for s in listed[:LISTED] if type(s) is str] if type(listed) is list else []
        step["known"], step["listed"] = (
            known,
            listed if listed is ABSENT else list(servers) if servers else listed,
        )
        step["scopes"] = scopes(body["scopes_supported"]) if "scopes_supported" in body else None
        if not known:
            return
        era = UNKNOWN
        for channel in channels:
            found = self.resource(channel)
            found["scopes"], found["document"] = step["scopes"], key
            found["named"] = meant if type(meant) is str else ""
            era = found["era"] if found["era"] != UNKNOWN else era
            for issuer in servers:
                self._issuer(issuer, http.t, found["era"], channel)
        step["era"] = era
        for issuer in servers:
            for n, url in enumerate(server_documents(issuer)):
                self._file(url, issuer, n)

    def _nowhere(self, channel: str) -> bool:
        """A challenge that names no document, and all places where it may stand answered that there is none."""
        found = self.resources[channel]
        challenge = found["challenge"]
        if challenge is None or challenge[2] is not None:
            return False
        return all(found["tried"].get(url) == 404 for url in resource_documents(channel))

    def _issuer(self, issuer: str, t: int, era: str, channel: str, guessed: bool = False) -> None:
        found = self.issuers.get(issuer)
        if found is None or (found["guessed"] and not guessed):
            found = {"t": t, "era": era, "resources": [], "tried": [], "found": False, "guessed": guessed}
            keep(self.issuers, issuer, found)
        if not found["found"] and t - found["t"] > RECENT:
            found["tried"] = []
        found["t"] = t
        found["era"] = era if era != UNKNOWN else found["era"]
        if channel not in found["resources"] and len(found["resources"]) < LISTED:
            found["resources"].append(channel)

    def _file(self, url: str, issuer: str, index: int) -> None:
        rows = [row for row in self.documents.get(url, []) if row[0] != issuer]
        keep(self.documents, url, [*rows, [issuer, index]][-LISTED:])

    # -- authorization servers

    def _server_document(
        self, http: HttpExchange, step: dict[str, Any], body: dict[str, Any], key: str
    ) -> None:
        url, issuer = step["url"], step["issuer"]
        said = body.get("issuer")
        guessed = True
        era = UNKNOWN
        for name, _ in self.documents.get(url, ()):
            found = self.issuers.get(name)
            if found is not None:
                found["found"] = True
                if not found["guessed"] and (guessed or said == name):
                    issuer, guessed = name, False
                era = found["era"] if found["era"] != UNKNOWN else era
        methods = body.get("code_challenge_methods_supported")
        pkce = scopes(methods) if methods is not None else None
        step.update(openid=OPENID in url, pkce=pkce, era=era, unsafe=_unsafe(body), guessed=guessed)
        named = said if type(said) is str else ""
        for name in ENDPOINTS:
            where = plain_url(body[name]) if type(body.get(name)) is str else ""
            if where:
                keep(self.endpoints, where, {
                    "name": name, "issuer": issuer or named, "guessed": guessed, "said": named, "key": key,
                    "pkce": pkce, "era": era, "told": False,
                    "iss": body.get("authorization_response_iss_parameter_supported") is True,
                    "scopes": scopes(body.get("scopes_supported")),
                })  # fmt: skip

    def resources_of(self, issuer: str) -> list[str]:
        """Channels of the MCP endpoints that name an issuer."""
        found = self.issuers.get(issuer)
        return [c for c in found["resources"] if c in self.resources] if found is not None else []


def _unsafe(body: dict[str, Any]) -> list[str]:
    """Members that name an endpoint over plain HTTP on another machine."""
    found = []
    for name, value in body.items():
        address = split(value) if name.endswith("_endpoint") and type(value) is str else None
        if address is not None and address.scheme == "http" and not loopback(address.host):
            found.append(name[:64])
    return found[:LISTED]


def spot(event: Signal) -> Signal:
    """Where an event was, without its HTTP exchange, so that it can be kept."""
    kept = Signal()
    for name in ("channel", "dir", "journal", "lane", "offset", "part", "peer", "place", "t", "what"):
        setattr(kept, name, getattr(event, name))
    kept.cut, kept.edited, kept.http, kept.detail = False, False, None, {}
    return kept


def keep[V](table: OrderedDict[str, V], key: str, value: V) -> None:
    """Put a value into a bounded table, as its newest."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > KEPT:
        table.popitem(last=False)

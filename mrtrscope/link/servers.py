"""What a server shows of itself in its answers to modern requests; held in `Run.facts`: another run is another server.

discover           credential (hex, "" for none) -> {"capabilities", "key", "t"}: the last server/discover result
versions           {"list", "key", "t"}: versions it said it supports, in discover or in an error -32022
typed, named       True once a result had a resultType, a serverInfo
served             True once it answered a modern request as this revision says
discover_refused   the answer (a Message) that refused server/discover, until it served something
names              digests of the clientInfo of the first clients that asked for a list
shown              method, parameters and credential -> [[client, result], …], the last four, as digests
traits             trait of the older era -> key of the answer that showed it first
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import META_SERVER_INFO, Exchange
from mrtrscope.link.memory import digest
from mrtrscope.link.processes import DISCOVER
from mrtrscope.link.remarks import remark
from mrtrscope.link.runs import Placed, Run, named, run_of
from mrtrscope.link.session import Channel
from mrtrscope.wire.events import Message

CACHEABLE = frozenset({
    "server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read",
})  # fmt: skip
LISTS = CACHEABLE - {"resources/read"}
CREDENTIALS, VERSIONS, NAMES, SHOWN = 64, 64, 16, 256

UNSUPPORTED_VERSION, METHOD_NOT_FOUND = -32022, -32601
_OLD_CODES = (-32002, -32042)


def advertised(channel: Channel, exchange: Exchange) -> dict[str, Any] | None:
    """The capabilities that the server's last discover result had, for the credential of this exchange; None when no
    such result was seen."""
    found = discovered(channel, exchange)
    if found is None:
        return None
    capabilities: dict[str, Any] = found["capabilities"]
    return capabilities


def discovered(channel: Channel, exchange: Exchange) -> dict[str, Any] | None:
    """{"capabilities", "key", "t"} of that result."""
    found: dict[str, Any] | None = (
        run_of(channel, exchange).facts.get("discover", {}).get(exchange.client.credential.hex())
    )
    return found


def supported(channel: Channel, of: Placed) -> dict[str, Any] | None:
    """{"list", "key", "t"} of the versions that the server of an event named last, None when it named none."""
    found: dict[str, Any] | None = run_of(channel, of).facts.get("versions")
    return found


def served(channel: Channel, of: Placed) -> bool:
    """Whether the server of an event answered a modern request as this revision says."""
    return "served" in run_of(channel, of).facts


def note_answer(channel: Channel, exchange: Exchange, answer: Message) -> None:
    """The first answer to a modern request of a client."""
    meta = answer.result.get("_meta")
    if type(meta) is dict and META_SERVER_INFO in meta:
        run = named(channel, exchange, meta[META_SERVER_INFO], answer.t, exchange.method == DISCOVER)
        run.facts["named"] = True
    else:
        run = run_of(channel, exchange)
    run.modern += 1
    if answer.kind == "response":
        _note_result(run.facts, exchange, answer)
    else:
        _note_error(run.facts, exchange, answer)
    traits = _traits(exchange, answer)
    if traits or "traits" in run.facts:
        _note_traits(run.facts, exchange, answer, traits)


def note_handshake(channel: Channel, exchange: Exchange, answer: Message) -> Run:
    """A handshake succeeded; the run of the server that said so."""
    run = named(channel, exchange, answer.result.get("serverInfo"), answer.t, True)
    run.initialized += 1
    return run


def _note_result(facts: dict[str, Any], exchange: Exchange, answer: Message) -> None:
    result = answer.result
    if "resultType" in result:
        facts["typed"] = facts["served"] = True
        if "discover_refused" in facts:
            facts["discover_lacking"] = facts.pop("discover_refused")
            remark(exchange, "discover")
    if exchange.method in LISTS and exchange.client.info:
        _note_shown(facts, exchange, result)
    if exchange.method == DISCOVER:
        capabilities = result.get("capabilities")
        if type(capabilities) is dict:
            seen = facts.setdefault("discover", {})
            credential = exchange.client.credential.hex()
            seen.pop(credential, None)
            seen[credential] = {"capabilities": capabilities, "key": answer.key, "t": answer.t}
            if len(seen) > CREDENTIALS:
                del seen[next(iter(seen))]
        _note_versions(facts, result.get("supportedVersions"), answer)


def _note_shown(facts: dict[str, Any], exchange: Exchange, result: dict[str, Any]) -> None:
    """Whether a list depends on the name of the client: told when two of them see it by turns, each its own."""
    names = facts.setdefault("names", [])
    client = digest(exchange.client.info).hex()
    if client not in names:
        if len(names) >= NAMES:
            return
        names.append(client)
    if len(names) < 2:
        return  # nothing to compare with, as nearly everywhere
    params = {k: v for k, v in exchange.request.params.items() if k != "_meta"}
    key = digest(exchange.method, canonical(params), exchange.client.credential).hex()
    content = canonical({k: v for k, v in result.items() if k not in ("_meta", "ttlMs")})
    shown = facts.setdefault("shown", {})
    latest = [*shown.pop(key, [])[-3:], [client, digest(content).hex()]]
    shown[key] = latest
    if len(shown) > SHOWN:
        del shown[next(iter(shown))]
    if len(latest) == 4 and _by_turns(*latest):
        remark(exchange, "by name")


def _by_turns(a: list[str], b: list[str], c: list[str], d: list[str]) -> bool:
    return a == c and b == d and a[0] != b[0] and a[1] != b[1]


def _note_error(facts: dict[str, Any], exchange: Exchange, answer: Message) -> None:
    code = answer.error.get("code")
    if code == UNSUPPORTED_VERSION:
        data = answer.error.get("data")
        _note_versions(facts, data.get("supported") if type(data) is dict else None, answer)
    elif exchange.method == DISCOVER and not_found(answer) and "served" not in facts:
        facts["discover_refused"] = answer


def note_refusal(channel: Channel, exchange: Exchange) -> None:
    """HTTP ended a modern request without a message for an answer."""
    http = exchange.http
    if exchange.method == DISCOVER and http is not None and http.status == 404 and not http.ours:
        run_of(channel, exchange).facts["discover_refused"] = exchange.request


def not_found(answer: Message) -> bool:
    """An error that says there is no such method, by its code or by HTTP."""
    code = answer.error.get("code")
    return code == METHOD_NOT_FOUND or (answer.http is not None and answer.http.status == 404)


def _note_versions(facts: dict[str, Any], versions: Any, answer: Message) -> None:
    if type(versions) is list and versions and all(type(v) is str for v in versions[:VERSIONS]):
        facts["versions"] = {"list": versions[:VERSIONS], "key": answer.key, "t": answer.t}


def _traits(exchange: Exchange, answer: Message) -> list[str]:
    if answer.kind != "response":
        return [f"error {answer.error['code']}"] if answer.error.get("code") in _OLD_CODES else []
    result, found = answer.result, []
    if "resultType" not in result:
        found.append("no resultType")
    if (
        exchange.method in CACHEABLE
        and result.get("resultType", "complete") == "complete"
        and ("ttlMs" not in result or "cacheScope" not in result)
    ):
        found.append("no caching hints")
    return found


def _note_traits(facts: dict[str, Any], exchange: Exchange, answer: Message, traits: list[str]) -> None:
    if answer.http is not None and answer.http.response_header("mcp-session-id") is not None:
        traits.append("Mcp-Session-Id")
    seen = facts.setdefault("traits", {})
    before = len(seen)
    for trait in traits:
        seen.setdefault(trait.partition(" -")[0], answer.key)
    if before < 2 <= len(seen):
        remark(exchange, "mixed", list(seen))

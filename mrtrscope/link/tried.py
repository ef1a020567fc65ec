"""What the clients of a channel tried before they could talk, and which revisions were spoken then.

`Channel.facts`:

tried    the first `STEPS` different steps, in order: {"what": "server/discover" or "initialize", "offered", "outcome",
         "chosen", "key", "t", "n"}. outcome: "served", "error -32601", "HTTP 404", "no answer", "cut off", "given up";
         chosen: the revision of a handshake, or those that a discover result lists; n: how often the same again
trying   key of a request that is not answered yet -> its step
speaks   revision -> how many requests that declared it, or whose session had agreed on it, were answered
"""

from __future__ import annotations

from typing import Any

from mrtrscope.link.facts import A2A, Exchange
from mrtrscope.link.processes import DISCOVER
from mrtrscope.link.session import Channel

STEPS, TRYING, VERSIONS, TEXT = 8, 32, 16, 64
INITIALIZE = "initialize"


def requested(channel: Channel, exchange: Exchange) -> None:
    """A client sent a request."""
    if exchange.method not in (DISCOVER, INITIALIZE):
        return
    params = exchange.request.params
    offered = params.get("protocolVersion") if exchange.method == INITIALIZE else exchange.version
    step = {
        "what": exchange.method, "offered": _text(offered), "outcome": "no answer", "chosen": "", "key": exchange.key,
        "t": exchange.t, "n": 1,
    }  # fmt: skip
    trying = channel.facts.setdefault("trying", {})
    trying[exchange.key] = step
    if len(trying) > TRYING:
        _keep(channel, trying.pop(next(iter(trying))))


def ended(channel: Channel, exchange: Exchange) -> None:
    """A client's request was answered, or will not be."""
    version = exchange.version
    if exchange.method == INITIALIZE and exchange.answer is not None:
        version = _text(
            exchange.answer.result.get("protocolVersion")
        )  # what was agreed on, not what was offered
    if version and exchange.state in ("answered", "asked"):
        speaks = channel.facts.setdefault("speaks", {})
        version = ("A2A " if exchange.era == A2A else "") + version[:TEXT]
        if version in speaks or len(speaks) < VERSIONS:
            speaks[version] = speaks.get(version, 0) + 1
    step = channel.facts.get("trying", {}).pop(exchange.key, None)
    if step is not None:
        step["outcome"], step["chosen"] = _outcome(exchange)
        _keep(channel, step)


def _outcome(exchange: Exchange) -> tuple[str, str]:
    answer, http = exchange.answer, exchange.http
    if answer is not None and answer.kind == "error":
        return f"error {_text(answer.error.get('code'))}", ""
    if answer is not None:
        listed = answer.result.get("supportedVersions")
        if exchange.method == DISCOVER:
            return "served", _text(", ".join(map(str, listed[:4]))) if type(listed) is list else ""
        return "served", _text(answer.result.get("protocolVersion"))
    if http is not None and http.status is not None and http.status >= 400:
        return f"HTTP {http.status}", ""
    return ("given up" if exchange.state == "cancelled" else "cut off"), ""


def _keep(channel: Channel, step: dict[str, Any]) -> None:
    tried = channel.facts.setdefault("tried", [])
    for other in tried:
        if all(other[name] == step[name] for name in ("what", "offered", "outcome", "chosen")):
            other["n"] += 1
            return
    if len(tried) < STEPS:
        tried.append(step)


def story(channel: Channel) -> dict[str, Any]:
    """All of it, as JSON values: steps without an answer stand where they began."""
    facts = channel.facts
    tried = [*facts.get("tried", ()), *list(facts.get("trying", {}).values())[:STEPS]]
    return {"tried": sorted(tried, key=lambda step: step["t"]), "speaks": facts.get("speaks", {})}


def _text(value: Any) -> str:
    return str(value)[:TEXT] if type(value) in (str, int, float) else ""

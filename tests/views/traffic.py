"""Operations out of real traffic (transcripts), by a small loader that stands in for store and linker.

It links by equal state only, so that the views can be tested without the rest.
"""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

from mrtrscope.views.scene import LinkDetail, OperationDetail, RoundDetail, Said


def messages(path: Path) -> list[Said]:
    """Every JSON-RPC message of a transcript of either form, in order of time."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = data.decode("utf-8", "replace")
    records = (
        json.loads(text)
        if text.lstrip().startswith("[")
        else [json.loads(line) for line in text.split("\n") if line]
    )
    found: list[tuple[float, str, Any, int | None]] = []
    for record in records:
        if "request" in record:
            found += _http(record)
        elif record.get("dir") in ("c2s", "s2c"):
            found.append((record["t"], record["dir"], _json(record.get("line", "")), None))
    found = [item for item in found if isinstance(item[2], dict)]
    found.sort(key=lambda item: item[0])
    return [
        Said(f"m{n}", t, dir, _kind(body), body, status) for n, (t, dir, body, status) in enumerate(found, 1)
    ]


def _http(record: dict[str, Any]) -> list[tuple[float, str, Any, int | None]]:
    out = [(record["t"], "c2s", _json(record["request"].get("body") or ""), None)]
    response = record.get("response") or {}
    text, t = "", record["t"]
    for chunk in response.get("chunks", []):
        text, t = text + chunk.get("data", ""), chunk["t"]
        while "\n\n" in text:
            event, text = text.split("\n\n", 1)
            lines = [line[5:].strip() for line in event.split("\n") if line.startswith("data:")]
            out.append((t, "s2c", _json("\n".join(lines)), response.get("status")))
    out.append((t, "s2c", _json(text), response.get("status")))
    return out


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _kind(body: dict[str, Any]) -> str:
    if "method" in body:
        return "request" if "id" in body else "notification"
    return "error" if "error" in body else "response"


def operations(path: Path) -> list[OperationDetail]:
    """The operations of a transcript, retries put to the round whose state they bring back."""
    rounds: list[RoundDetail] = []
    chains: list[list[RoundDetail]] = []
    by_id: dict[str, RoundDetail] = {}
    issued: dict[str, tuple[list[RoundDetail], str]] = {}
    names = {"client": "", "server": ""}
    for said in messages(path):
        if said.kind == "request" and said.dir == "c2s":
            state = said.member("params").get("requestState")
            chain, m = issued.get(json.dumps(state), ([], "")) if state is not None else ([], "")
            round_ = RoundDetail(said)
            if chain:
                round_.link = LinkDetail(m, "exact", ["state", "keys", "arguments", "client"], [m])
            chain.append(round_)
            if len(chain) == 1:
                chains.append(chain)
            rounds.append(round_)
            by_id[json.dumps(said.id)] = round_
            info = said.member("params").get("_meta", {}).get("io.modelcontextprotocol/clientInfo", {})
            names["client"] = f"{info.get('name', '')} {info.get('version', '')}".strip() or names["client"]
        elif said.kind in ("response", "error") and said.dir == "s2c" and json.dumps(said.id) in by_id:
            round_ = by_id[json.dumps(said.id)]
            round_.answer = said
            result = said.member("result")
            info = result.get("_meta", {}).get("io.modelcontextprotocol/serverInfo", {})
            names["server"] = f"{info.get('name', '')} {info.get('version', '')}".strip() or names["server"]
            round_.state = "asked" if result.get("resultType") == "input_required" else "answered"
            if "requestState" in result:
                chain = next(c for c in chains if any(r is round_ for r in c))
                issued[json.dumps(result["requestState"])] = (chain, said.m)
        elif said.kind == "notification" and said.dir == "s2c" and rounds:
            rounds[-1].notes.append(said)
    return [operation(f"op{n}", chain, path.name, names) for n, chain in enumerate(chains, 1)]


def operation(
    id: str, rounds: list[RoundDetail], channel: str = "test", names: dict[str, str] | None = None
) -> OperationDetail:
    """An operation made of rounds; outcome and times follow from them."""
    names = names or {"client": "atlas-cli 3.1.0", "server": "ferry-desk 0.9.4"}
    first, last = rounds[0].request, rounds[-1]
    answered = last.answer
    outcome = "complete"
    if answered is None:
        outcome = "open"
    elif answered.kind == "error":
        outcome = "error"
    elif last.state == "asked":
        outcome = "abandoned"
    server = sum(r.answer.t - r.request.t for r in rounds if r.answer)
    waiting = sum(b.request.t - a.answer.t for a, b in itertools.pairwise(rounds) if a.answer)
    params = first.member("params")
    target = params.get("name", params.get("uri"))
    total = (answered.t if answered else last.request.t) - first.t
    return OperationDetail(
        id, "mrtr" if len(rounds) > 1 else "single", channel, first.method, target if isinstance(target, str) else None,
        outcome, first.t, server, waiting, total, rounds, client=names["client"], server=names["server"], era="modern",
    )  # fmt: skip

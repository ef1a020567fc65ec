"""Inputs for pictures: operations made from real traffic (transcripts) by a small loader, and hand-made odd ones.

The loader links by equal state only and is no substitute for `link`; it lets the views be tested without a store.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from mrtrscope.views.scene import FindingDetail, LinkDetail, OperationDetail, RoundDetail, Said


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
    waiting = sum(b.request.t - a.answer.t for a, b in zip(rounds, rounds[1:], strict=False) if a.answer)
    params = first.member("params")
    target = params.get("name", params.get("uri"))
    total = (answered.t if answered else last.request.t) - first.t
    return OperationDetail(
        id, "mrtr" if len(rounds) > 1 else "single", channel, first.method, target if isinstance(target, str) else None,
        outcome, first.t, server, waiting, total, rounds, client=names["client"], server=names["server"], era="modern",
    )  # fmt: skip


# ---- hand-made --------------------------------------------------------------------------------------------------------

T0 = 1_795_977_037.5


class Script:
    """Writes an operation down message by message: `ask`, `retry`, `done`."""

    def __init__(
        self, name: str = "deploy", arguments: Any = None, t: float = T0, status: int | None = 200
    ) -> None:
        self.name, self.arguments, self.t, self.status = name, arguments or {"env": "prod"}, t, status
        self.n, self.id = 0, 0
        self.rounds: list[RoundDetail] = []
        self._request({})

    def said(self, dir: str, kind: str, body: Any, after: float) -> Said:
        self.n += 1
        self.t += after
        status = self.status if dir == "s2c" else None
        return Said(f"m{self.n}", self.t, dir, kind, {"jsonrpc": "2.0", **body}, status)

    def _request(self, extra: dict[str, Any], after: float = 0.0, link: LinkDetail | None = None) -> None:
        self.id += 1
        params = {"name": self.name, "arguments": self.arguments, **extra}
        said = self.said("c2s", "request", {"id": self.id, "method": "tools/call", "params": params}, after)
        self.rounds.append(RoundDetail(said, link=link, state="waiting"))

    def note(self, method: str, after: float = 0.05, **params: Any) -> Script:
        self.rounds[-1].notes.append(
            self.said("s2c", "notification", {"method": method, "params": params}, after)
        )
        return self

    def ask(self, requests: Any = None, state: Any = None, after: float = 0.0042) -> Script:
        result: dict[str, Any] = {"resultType": "input_required"}
        if requests is not None:
            result["inputRequests"] = requests
        if state is not None:
            result["requestState"] = state
        return self._answer("response", {"id": self.id, "result": result}, after, "asked")

    def _answer(self, kind: str, body: dict[str, Any], after: float, state: str) -> Script:
        self.rounds[-1].answer = self.said("s2c", kind, body, after)
        self.rounds[-1].state = state
        return self

    def retry(self, responses: Any = None, state: Any = None, after: float = 12.4, grade: str = "exact",
              evidence: tuple[str, ...] = ("state", "keys", "arguments", "client"), differences: tuple[str, ...] = (),
              to: str | None = None) -> Script:  # fmt: skip
        asked = to or next(r.answer.m for r in reversed(self.rounds) if r.answer)
        link = LinkDetail(asked, grade, list(evidence), [asked], list(differences))
        extra = {k: v for k, v in (("inputResponses", responses), ("requestState", state)) if v is not None}
        self._request(extra, after, link)
        return self

    def done(self, text: str = "deployed to prod", after: float = 0.0031) -> Script:
        content = [{"type": "text", "text": text}]
        return self._answer(
            "response",
            {"id": self.id, "result": {"resultType": "complete", "content": content}},
            after,
            "answered",
        )

    def fail(self, code: int, message: str, after: float = 0.002) -> Script:
        return self._answer(
            "error", {"id": self.id, "error": {"code": code, "message": message}}, after, "failed"
        )

    def detail(
        self, id: str = "op1", findings: list[FindingDetail] | None = None, **more: Any
    ) -> OperationDetail:
        made = operation(id, self.rounds, "https://ferry.example.test/mcp")
        made.findings = findings or []
        for name, value in more.items():
            setattr(made, name, value)
        return made


CONFIRM = {"confirm": {"method": "elicitation/create", "params": {
    "mode": "form", "message": "Deploy to prod?", "requestedSchema": {"type": "object", "required": ["confirm"], "properties": {
        "confirm": {"type": "boolean", "description": "Proceed with the deployment?"},
        "password": {"type": "string", "title": "Deploy password"},
        "region": {"type": "string", "enum": ["eu-north", "eu-west", "us-east"], "default": "eu-north"}}}}}}  # fmt: skip
ACCEPT = {
    "confirm": {
        "action": "accept",
        "content": {"confirm": True, "password": "hunter2-and-more", "region": "eu-north"},
    }
}
STATE = "v1.RhcTWU7Oe47b5hQXHyelKj9TzotMGvWBQg7tGkf7zuBKQpXT_f6T0EJeh1l5QZMXqrR1V1dBaJdYnOhKwAhNLx2MqyTlqZlHngf6v_0vEle0syyO=="
SECOND = "v1.9c0Nf1rmTok3nQQHyelKj9TzotMGvWBQg7tGkf7zuBKQpXT_f6T0EJeh1l5Qab"


def one_round() -> OperationDetail:
    """A call that is answered at once, with progress on its stream."""
    script = Script("thumbnail", {"path": "/srv/photos/2026/lofoten.jpg", "width": 320})
    for i in range(12):
        script.note("notifications/progress", progressToken=1, progress=i * 100 / 11, total=100, after=0.11)
    script.note("notifications/message", level="info", data="wrote 320 × 213").note(
        "notifications/message", level="warning", data="no EXIF"
    )
    return script.done("/srv/photos/2026/.thumbs/lofoten.jpg").detail()


def asks_once() -> OperationDetail:
    """One question to the user, answered."""
    return Script().ask(CONFIRM, STATE).retry(ACCEPT, STATE).done().detail()


def five_rounds() -> OperationDetail:
    """User, model and roots are asked, one round brings a state only."""
    script = Script("plan_trip", {"city": "Tromsø", "days": 4})
    script.ask(CONFIRM, STATE).retry(ACCEPT, STATE, 8.1)
    script.ask(
        {
            "sample": {
                "method": "sampling/createMessage",
                "params": {
                    "maxTokens": 400,
                    "systemPrompt": "You plan trips.",
                    "messages": [
                        {
                            "role": "user",
                            "content": {
                                "type": "text",
                                "text": "Suggest four days in Tromsø in winter, with one rest day.",
                            },
                        }
                    ],
                },
            }
        },
        SECOND,
    )
    script.retry(
        {
            "sample": {
                "role": "assistant",
                "model": "small-3",
                "content": {"type": "text", "text": "Day 1: arrive, walk the harbour. Day 2: whales."},
            }
        },
        SECOND,
        2.3,
    )
    script.ask({"roots": {"method": "roots/list"}}, "trip:3")
    script.retry(
        {"roots": {"roots": [{"uri": "file:///home/kari/trips"}, {"uri": "file:///home/kari/photos"}]}},
        "trip:3",
        0.02,
    )
    script.ask(None, "trip:4", 0.9).retry(None, "trip:4", 1.5, evidence=("state", "arguments", "client"))
    return script.done("Four days planned").detail()


def broken_state() -> OperationDetail:
    """The state comes back without its padding; the server refuses it."""
    script = Script().ask(CONFIRM, STATE)
    script.retry(
        ACCEPT,
        STATE.rstrip("="),
        grade="suspect",
        evidence=("keys", "arguments", "client"),
        differences=("padding lost: 2 of 122 characters",),
    )
    script.fail(-32602, "requestState: signature does not match")
    return script.detail(findings=[
        FindingDetail("mrtr/state-echoed-verbatim", "must", "client", "m3", "requestState came back changed: padding lost", ["m2"],
                      STATE.rstrip("="), STATE, "basic/patterns/mrtr#client-requirements", "must"),
        FindingDetail("mrtr/error-code", "should", "server", "m4", "the error does not say which field was wrong", [], -32602, None,
                      "basic/patterns/mrtr#errors", "should"),
        FindingDetail("mrtr/capability-note", "info", "either", "m2", "the client declared no elicitation mode", [], None, None,
                      "client/elicitation#capabilities", "advisory"),
    ])  # fmt: skip


def abandoned() -> OperationDetail:
    """Asked and never answered."""
    made = Script().ask(CONFIRM, STATE).detail()
    made.end = made.t + 73
    return made


def forty_fields() -> OperationDetail:
    """A form that no person wants to fill in."""
    kinds = [{"type": "string"}, {"type": "integer", "minimum": 0, "maximum": 99}, {"type": "boolean", "default": False},
             {"type": "string", "enum": ["a", "b", "c"]}, {"type": "string", "format": "email", "title": "Where we can reach you"}]  # fmt: skip
    fields = {f"field_{i:02}": kinds[i % 5] for i in range(40)}
    form = {"form": {"method": "elicitation/create", "params": {"message": "Everything about you.", "requestedSchema": {
        "type": "object", "properties": fields, "required": list(fields)[:10]}}}}  # fmt: skip
    answer = {"form": {"action": "accept", "content": {name: "x" for name in fields}}}
    return Script("register", {}).ask(form, STATE).retry(answer, STATE, 312.0).done("thank you").detail()


def scripts() -> OperationDetail:
    """Chinese, Arabic, Hebrew, Thai, emoji, combining marks."""
    question = {"确认": {"method": "elicitation/create", "params": {"message": "هل تريد نشر الإصدار الجديد على خادم الإنتاج الآن؟", "requestedSchema": {
        "type": "object", "required": ["城市"], "properties": {"城市": {"type": "string", "title": "您要部署到哪个城市的服务器?"},
        "اسم": {"type": "string", "title": "اسم المستخدم"}, "emoji": {"type": "string", "enum": ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇳🇴", "👍🏽"]},
        "ไทย": {"type": "string", "title": "ภาษาไทยมีวรรณยุกต์"}}}}}}  # fmt: skip
    answer = {
        "确认": {
            "action": "accept",
            "content": {
                "城市": "北京市海淀区中关村",
                "اسم": "محمد بن عبد الله",
                "emoji": "👩‍👩‍👧‍👦",
                "ไทย": "สวัสดีชาวโลก",
            },
        }
    }
    script = Script(
        "部署到生产环境 نشر", {"目标": "生产环境服务器集群甲", "שם": "שלום עולם", "Zalgo": "Z̸̡͎̼̙̼̩͇̏͐̈́̑̕a̷l̴g̶o̵"}
    )
    return (
        script.ask(question, "狀態-état-☃")
        .retry(answer, "狀態-état-☃")
        .done("已部署到生产环境。تم النشر بنجاح")
        .detail(client="智能助手 1.0", server="خادم النشر")
    )


def long_labels() -> OperationDetail:
    """Names and texts without end."""
    name = "a_tool_with_an_extremely_long_name_" * 6
    words = "Please confirm that you really, really want to do this very long thing. " * 12
    form = {"k" * 90: {"method": "elicitation/create", "params": {"message": words, "requestedSchema": {"type": "object", "properties": {
        "n" * 120: {"type": "string", "title": words}}}}}}  # fmt: skip
    answer = {"k" * 90: {"action": "accept", "content": {"n" * 120: words}}}
    script = Script(name, {"uri": "https://example.test/" + "path/" * 80, "x" * 200: "y" * 5000})
    return (
        script.ask(form, STATE * 20)
        .retry(answer, STATE * 20)
        .done(words)
        .detail(client="c" * 120, server="s" * 120)
    )


def many_arrows(n: int = 1000) -> OperationDetail:
    """A stream of notifications of ever other kinds, n arrows in all when unfolded."""
    script = Script("scan", {"depth": 9}, status=None)
    for i in range(n - 2):
        if i % 3:
            script.note("notifications/progress", progress=i, total=n, progressToken=1, message=f"step {i}")
        else:
            script.note("notifications/message", level="debug", data=f"line {i}")
    return script.done("scanned").detail()


def many_rounds(n: int = 60) -> OperationDetail:
    """A server that asks and asks."""
    script = Script("interview", {"about": "you"})
    for i in range(n - 1):
        script.ask(CONFIRM, f"step-{i}").retry(ACCEPT, f"step-{i}", 1.5)
    return script.done("that was all").detail()


def fork() -> OperationDetail:
    """One question taken up twice: the second time is a fork."""
    script = Script().ask(CONFIRM, STATE).retry(ACCEPT, STATE, 3.0).done()
    script.retry({"confirm": {"action": "decline"}}, STATE, 4.0, to="m2")
    return script.done("nothing done").detail()


ALL = {
    "one-round": one_round, "asks-once": asks_once, "five-rounds": five_rounds, "broken-state": broken_state,
    "abandoned": abandoned, "forty-fields": forty_fields, "scripts": scripts, "long-labels": long_labels,
    "many-rounds": many_rounds, "fork": fork,
}  # fmt: skip

"""Hand-made operations for pictures: the ordinary, the broken, the endless, and every script."""

from __future__ import annotations

from typing import Any

from mrtrscope.views.scene import FindingDetail, LinkDetail, OperationDetail, RoundDetail, Said
from tests.views.traffic import operation

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

    def retry(
        self,
        responses: Any = None,
        state: Any = None,
        after: float = 12.4,
        grade: str = "exact",
        evidence: tuple[str, ...] = ("state", "keys", "arguments", "client"),
        differences: tuple[str, ...] = (),
        to: str | None = None,
    ) -> Script:
        asked = to or next(r.answer.m for r in reversed(self.rounds) if r.answer)
        link = LinkDetail(asked, grade, list(evidence), [asked], list(differences))
        extra = {k: v for k, v in (("inputResponses", responses), ("requestState", state)) if v is not None}
        self._request(extra, after, link)
        return self

    def again(self, after: float) -> Script:
        self._request({}, after)
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


CONFIRM = {
    "confirm": {
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Deploy to prod?",
            "requestedSchema": {
                "type": "object",
                "required": ["confirm"],
                "properties": {
                    "confirm": {"type": "boolean", "description": "Proceed with the deployment?"},
                    "password": {"type": "string", "title": "Deploy password"},
                    "region": {
                        "type": "string",
                        "enum": ["eu-north", "eu-west", "us-east"],
                        "default": "eu-north",
                    },
                },
            },
        },
    }
}
ACCEPT = {
    "confirm": {
        "action": "accept",
        "content": {"confirm": True, "password": "hunter2-and-more", "region": "eu-north"},
    }
}
STATE = "v1.RhcTWU7Oe47b5hQXHyelKj9TzotMGvWBQg7tGkf7zuBKQpXT_f6T0EJeh1l5QZMXqrR1V1dBaJdYnOhKwAhNLx2MqyTl=="
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
        differences=("padding lost: 2 of 103 characters",),
    )
    script.fail(-32602, "requestState: signature does not match")
    return script.detail(
        findings=[
            FindingDetail(
                "mrtr/state-echoed-verbatim",
                "must",
                "client",
                "m3",
                "requestState came back changed: padding lost",
                ["m2"],
                STATE.rstrip("="),
                STATE,
                "basic/patterns/mrtr#client-requirements",
                "must",
            ),
            FindingDetail(
                "mrtr/error-code",
                "should",
                "server",
                "m4",
                "the error does not say which field was wrong",
                [],
                -32602,
                None,
                "basic/patterns/mrtr#errors",
                "should",
            ),
            FindingDetail(
                "mrtr/capability-note",
                "info",
                "either",
                "m2",
                "the client declared no elicitation mode",
                [],
                None,
                None,
                "client/elicitation#capabilities",
                "advisory",
            ),
        ]
    )


def abandoned() -> OperationDetail:
    """Asked and never answered."""
    made = Script().ask(CONFIRM, STATE).detail()
    made.end = made.t + 73
    return made


def forty_fields() -> OperationDetail:
    """A form that no person wants to fill in."""
    kinds = [
        {"type": "string"},
        {"type": "integer", "minimum": 0, "maximum": 99},
        {"type": "boolean", "default": False},
        {"type": "string", "enum": ["a", "b", "c"]},
        {"type": "string", "format": "email", "title": "Where we can reach you"},
    ]
    fields = {f"field_{i:02}": kinds[i % 5] for i in range(40)}
    form = {
        "form": {
            "method": "elicitation/create",
            "params": {
                "message": "Everything about you.",
                "requestedSchema": {"type": "object", "properties": fields, "required": list(fields)[:10]},
            },
        }
    }
    answer = {"form": {"action": "accept", "content": dict.fromkeys(fields, "x")}}
    return Script("register", {}).ask(form, STATE).retry(answer, STATE, 312.0).done("thank you").detail()


def scripts() -> OperationDetail:
    """Chinese, Arabic, Hebrew, Thai, emoji, combining marks."""
    question = {
        "确认": {
            "method": "elicitation/create",
            "params": {
                "message": "هل تريد نشر الإصدار الجديد على خادم الإنتاج الآن؟",
                "requestedSchema": {
                    "type": "object",
                    "required": ["城市"],
                    "properties": {
                        "城市": {"type": "string", "title": "您要部署到哪个城市的服务器?"},
                        "اسم": {"type": "string", "title": "اسم المستخدم"},
                        "emoji": {"type": "string", "enum": ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇳🇴", "👍🏽"]},
                        "ไทย": {"type": "string", "title": "ภาษาไทยมีวรรณยุกต์"},
                    },
                },
            },
        }
    }
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
    form = {
        "k" * 90: {
            "method": "elicitation/create",
            "params": {
                "message": words,
                "requestedSchema": {
                    "type": "object",
                    "properties": {"n" * 120: {"type": "string", "title": words}},
                },
            },
        }
    }
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
    "one-round": one_round,
    "asks-once": asks_once,
    "five-rounds": five_rounds,
    "broken-state": broken_state,
    "abandoned": abandoned,
    "forty-fields": forty_fields,
    "scripts": scripts,
    "long-labels": long_labels,
    "many-rounds": many_rounds,
    "fork": fork,
}

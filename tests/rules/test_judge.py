"""Who is shown to the rules, what is kept of what they say, and that none of them can cost a message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mrtrscope.link.facts import Exchange
from mrtrscope.link.linker import Linker
from mrtrscope.link.memory import DictMemory
from mrtrscope.link.session import Channel
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules import catalogue
from mrtrscope.rules import registry as reg
from mrtrscope.rules.context import SAW_LIMIT, Context, Finding, bounded, finding_id
from mrtrscope.rules.judge import Judge, channel_era, silent
from mrtrscope.wire.events import HttpExchange, Message, Peer

PEER = Peer("j:0", "stdio", whole=True)
CHANNEL = Channel("files", "stdio")


def message(body: dict[str, Any], dir: str = "c2s", **fields: Any) -> Message:
    m = Message()
    m.journal, m.offset, m.part, m.t, m.channel, m.dir, m.lane = "j", 0, 0, 5, "files", dir, "0i"
    m.peer, m.http, m.place, m.cut, m.edited = PEER, None, None, False, False
    m.kind, m.body, m.raw, m.id, m.id_text = "notification", body, b"", None, None
    m.method, m.oddities, m.batch, m.sse, m.frames = body.get("method"), (), None, None, ()
    for name, value in fields.items():
        setattr(m, name, value)
    return m


def made(check: Callable[[Any, Context], Iterator[Finding]], **fields: Any) -> reg.Rule:
    """A rule of its own, beside the registry."""
    entry = catalogue.ENTRIES["mrtr/at-least-one-field"]
    return reg.Rule(**{
        "id": entry["id"], "level": "must", "fault": "server", "on": frozenset({"message"}), "eras": reg.ANY_ERA,
        "methods": None, "signals": None, "dirs": None, "transports": reg.BOTH_TRANSPORTS, "exercised": frozenset(),
        "source": "", "title": "Wrong", "doc": "", "entry": entry, "order": 0, "last": False, "facet": None,
        "check": check,
    } | fields)  # fmt: skip


def always(subject: Any, ctx: Context) -> Iterator[Finding]:
    ctx.tested()
    yield ctx.finding(subject, saw=1)


def breaks(subject: Any, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(subject, path="before")
    raise KeyError("resultType")


def test_findings_and_counts_are_taken_once() -> None:
    judge = Judge([made(always)])
    judge.on_message(message({"method": "x"}), "notification", None, CHANNEL)
    found, tested = judge.take()
    assert [f.rule for f in found] == ["mrtr/at-least-one-field"]
    assert tested == {("files", "mrtr/at-least-one-field"): 1}
    assert judge.take() == ([], {})


@pytest.mark.parametrize("fields", [{"cut": True}, {"edited": True}])
def test_what_is_cut_or_edited_is_shown_to_no_rule(fields: dict[str, Any]) -> None:
    judge = Judge([made(always)])
    judge.on_message(message({"method": "x"}, **fields), "notification", None, CHANNEL)
    assert judge.take() == ([], {})


def test_what_the_recording_proxy_said_itself_is_silent_and_what_it_answered_is_not() -> None:
    http = HttpExchange("j:0", 0, PEER, "files", 0)
    http.ours = True
    assert silent(message({}, "s2c", http=http))
    assert not silent(message({}, "c2s", http=http))


def test_an_exception_costs_one_rule_its_word_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judge, "strict", False)
    judge = Judge([made(breaks), made(always, id="other", order=1)])
    for _ in range(2):
        judge.on_message(message({"method": "x"}), "notification", None, CHANNEL)
    assert [f.rule for f in judge.findings] == ["mrtr/at-least-one-field", "other"] * 2
    assert judge.failures == {"mrtr/at-least-one-field": [2, "KeyError: 'resultType'", "j:0"]}


def test_in_tests_an_exception_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judge, "strict", True)
    with pytest.raises(KeyError):
        Judge([made(breaks)]).on_message(message({}), "notification", None, CHANNEL)


def test_elements_of_a_batch_meet_only_the_rules_about_batches() -> None:
    about_batches = made(always, on=frozenset({"batch"}), id="batches", order=1)
    judge = Judge([made(always), about_batches])
    judge.on_message(message({"method": "x"}, batch=(0, 2, "j:0")), "notification", None, CHANNEL)
    assert [f.rule for f in judge.findings] == ["batches"]


def test_a_batch_of_the_revision_that_had_them_is_ordinary() -> None:
    judge = Judge([made(always)])
    exchange = Exchange()
    exchange.version, exchange.era, exchange.link, exchange.method = "2025-03-26", "legacy", None, "ping"
    exchange.request = request = message({"method": "ping"}, batch=(0, 2, "j:0"))
    exchange.key, exchange.t = request.key, request.t
    exchange.remarks = None
    exchange.operation = type("Op", (), {"key": "j:0"})()  # type: ignore[assignment]
    judge.on_message(request, "request", exchange, CHANNEL)
    assert len(judge.findings) == 1


def test_the_present_is_told_and_not_kept() -> None:
    def once(channel: Channel, ctx: Context) -> Iterator[Finding]:
        ctx.tested()
        if ctx.first("said"):
            yield ctx.finding(message({}))

    judge = Judge([made(once, on=frozenset({"channel"}))])
    for _ in range(2):  # asked again, the answer is the same
        (found,) = judge.present([], [CHANNEL])
        assert found.provisional
    assert judge.take() == ([], {})


def test_first_is_said_once_for_each_thing_and_remembered_outside() -> None:
    def once(subject: Message, ctx: Context) -> Iterator[Finding]:
        if ctx.first(subject.method or ""):
            yield ctx.finding(subject)

    memory = DictMemory()
    for judge in (Judge([made(once)], memory), Judge([made(once)], memory)):
        for method in ("a", "b", "a"):
            judge.on_message(message({"method": method}), "notification", None, CHANNEL)
    assert len(judge.findings) == 0
    assert len(memory._one) == 2


@pytest.mark.parametrize(
    ("modern", "initialized", "era"),
    [(1, 0, "modern"), (0, 1, "legacy"), (1, 1, "unknown"), (0, 0, "unknown")],
)
def test_a_channel_has_an_era_only_when_it_has_one(modern: int, initialized: int, era: str) -> None:
    channel = Channel("files", "stdio")
    channel.modern, channel.initialized = modern, initialized
    assert channel_era(channel) == era


def test_ids_of_findings_are_stable_and_tell_paths_apart() -> None:
    assert finding_id("a/b", "j:0") == finding_id("a/b", "j:0") != finding_id("a/b", "j:0", "/x")
    assert len(finding_id("a/b", "j:0", "\ud800")) == 16


def test_what_a_finding_saw_is_bounded() -> None:
    assert bounded("x" * SAW_LIMIT) == "x" * SAW_LIMIT
    assert bounded("x" * (SAW_LIMIT + 1)) == "x" * SAW_LIMIT + f"… ({SAW_LIMIT + 1} characters)"
    small = {"a": [1, None, 2.5, True]}
    assert bounded(small) is small
    assert str(bounded(list(range(5000)))).startswith("[0, 1, 2") and len(bounded(list(range(5000)))) < 2100


def test_the_pipeline_uses_the_registered_rules() -> None:
    pipeline = Pipeline(DictMemory())
    assert pipeline.judge is not None and isinstance(pipeline.linker, Linker)

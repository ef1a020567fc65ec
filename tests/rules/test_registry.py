"""What the decorator refuses, and how the rules that can apply to a subject are found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from mrtrscope.rules import registry as reg
from mrtrscope.rules.context import Context, Finding
from mrtrscope.rules.registry import BadRule, Selector, rule

PAGE = "2026-07-28/basic/patterns/mrtr"
GOOD: dict[str, Any] = {
    "id": "mrtr/at-least-one-field",
    "level": "must",
    "fault": "server",
    "on": "asked",
    "source": PAGE + "#server-requirements-basic-workflow item 6",
}


@pytest.fixture(autouse=True)
def an_empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reg, "RULES", {})


def declare(doc: str = "Wrong.\n\nWhy it matters: it does.", **changed: Any) -> reg.Rule:
    fields = GOOD | changed

    def check(subject: Any, ctx: Context) -> Iterator[Finding]:
        yield from ()

    check.__doc__ = doc
    rule(fields.pop("id"), **fields)(check)
    return next(reversed(reg.RULES.values()))


def test_a_rule_knows_its_title_and_takes_what_is_not_said_from_the_catalogue() -> None:
    found = declare()
    assert (found.title, found.transports, found.eras) == ("Wrong", {"http", "stdio"}, {"modern"})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id": "mrtr/no-such-rule"}, "not in the catalogue"),
        ({"level": "should"}, "catalogue says must/server, rule says should/server"),
        ({"fault": "client"}, "rule says must/client"),
        ({"source": PAGE + "#elsewhere"}, "is none of"),
        ({"on": ("asked", "whenever")}, r"unknown trigger \['whenever'\]"),
        ({"on": "signal", "signals": ("thunder",)}, r"unknown signal \['thunder'\]"),
        ({"doc": "Wrong."}, "Why it matters"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRule, match=said):
        declare(**changed)


def test_an_id_is_taken_once() -> None:
    declare()
    with pytest.raises(BadRule, match="registered twice"):
        declare()


def test_every_narrowing_narrows() -> None:
    asked = declare(methods=("tools/call",), dirs=("s2c",))
    select = Selector([asked])

    def found(
        trigger: str = "asked", dir: str = "s2c", era: str = "modern", name: str = "tools/call"
    ) -> bool:
        return select.matching((trigger,), dir, era, "http", name) == (asked,)

    assert found()
    assert not found(trigger="result")
    assert not found(dir="c2s")
    assert not found(era="unknown")
    assert not found(name="prompts/get")
    assert select.matching(("message", "asked"), "s2c", "modern", "http", "tools/call") == (asked,)


def test_signals_narrow_signals_alone() -> None:
    ended = declare(on=("signal", "asked"), signals=("http-end",), methods=("tools/call",))
    select = Selector([ended])
    assert select.matching(("signal",), "s2c", "modern", "http", "http-end") == (ended,)
    assert select.matching(("signal",), "s2c", "modern", "http", "exit") == ()
    assert select.matching(("asked",), "s2c", "modern", "http", "tools/call") == (ended,)


def test_rules_that_give_way_come_last() -> None:
    catch_all = declare(last=True)
    other = declare(
        id="mrtr/request-state-is-string", source=PAGE + "#server-requirements-basic-workflow item 3"
    )
    assert Selector([catch_all, other]).matching(("asked",), "", "modern", "", "") == (other, catch_all)


def test_a_peer_that_invents_methods_makes_no_memory_grow() -> None:
    select = Selector([declare()])
    for n in range(100):
        select.matching(("asked",), "s2c", "modern", "http", f"vendor/{n}")
    assert len(select._cache) == 1

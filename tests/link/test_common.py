"""What is certain of a retry that fits several results alike."""

from __future__ import annotations

import pytest

from mrtrscope.link import common
from mrtrscope.link.facts import AMBIGUOUS, Common, Exchange

from .world import ELICIT, World, accept, link_of

OTHER = {"method": "elicitation/create", "params": {"message": "Stop?", "mode": "form"}}


def what(retry: Exchange) -> Common:
    link = link_of(retry)
    assert link.grade == AMBIGUOUS
    assert link.common is not None
    return link.common


def twins(*keys: tuple[str, ...], state: str = "s") -> World:
    w = World()
    for n in range(len(keys)):
        w.call(n)
    for n, asked in enumerate(keys):
        w.ask(n, *asked, state=state)
    return w


def test_equal_results_ask_the_very_same_however_many_they_are() -> None:
    w = twins(*[("a", "b")] * (common.NEAR + 5))
    found = what(w.call(100, state="s", answers=accept("a", "b")))
    assert found.questions == {"a": ELICIT, "b": ELICIT}
    assert found.whole


def test_keys_that_each_asks_and_keys_that_any_asks() -> None:
    w = twins(("a", "b"), ("a", "c"))
    found = what(w.call(100, state="s", answers=accept("a")))
    assert (found.keys, found.asked, list(found.questions)) == (["a"], ["a", "b", "c"], ["a"])
    assert not found.whole


@pytest.mark.parametrize("many", [2, common.NEAR + 1])
def test_a_question_in_other_words_is_not_certain(many: int) -> None:
    w = World()
    for n in range(many):
        w.call(n)
    for n in range(many):
        w.ask(n, state="s", questions={"a": OTHER if n else ELICIT, "b": ELICIT})
    retry = w.call(100, state="s", answers=accept("a", "b"))
    if many > common.NEAR:
        assert link_of(retry).common is None
    else:
        found = what(retry)
        assert (found.keys, list(found.questions)) == (["a", "b"], ["b"])


def test_an_id_counts_where_each_goes_back_to_it() -> None:
    w = World()
    for _ in range(2):
        w.call(1)
        w.ask(1, "a", state="s")
    assert what(w.call(1, state="s", answers=accept("a"))).same_id
    w = twins(("a",), ("a",))
    assert not what(w.call(1, state="s", answers=accept("a"))).same_id


def test_a_state_of_another_tool_has_nothing_in_common() -> None:
    w = World()
    for n, name in enumerate(("one", "two")):
        w.call(n, name)
        w.ask(n, "a", state="s")
    link = link_of(w.call(9, "three", state="s", answers=accept("a")))
    assert (link.grade, link.common) == (AMBIGUOUS, None)


@pytest.mark.parametrize(
    ("issued", "named"),
    [(("x", "y"), ["state-changed"]), ((None, None), ["state-invented"]), (("x", None), [])],
)
def test_a_state_that_none_of_them_carried(issued: tuple[str | None, ...], named: list[str]) -> None:
    w = World()
    for n, state in enumerate(issued):
        w.call(n)
        w.ask(n, "a", **({} if state is None else {"state": state}))
    retry = w.call(9, state="made up, and quite another text", answers=accept("a"))
    assert [difference.what for difference in link_of(retry).differences] == named


def test_a_state_out_of_an_untyped_result_was_neither_changed_nor_invented() -> None:
    w = World()
    w.call(1)
    w.ask(1, "a", state="x")
    w.call(2)
    w.say("s2c", {"jsonrpc": "2.0", "id": 2, "result": {"inputRequests": {"a": ELICIT}, "requestState": "y"}})
    assert w.call(3, state="y", answers=accept("a")).link is None

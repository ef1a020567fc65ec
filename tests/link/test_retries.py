"""Which result a retry takes up: one test a story, then an oracle that looks at everything."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link.asks import dump, load
from mrtrscope.link.canonical import canonical
from mrtrscope.link.facts import AMBIGUOUS, EXACT, INFERRED, SUSPECT, Ask
from mrtrscope.wire.events import ABSENT

from .world import World, accept, link_of


def test_an_echoed_state_links_exactly_and_joins_the_operation() -> None:
    w = World()
    first = w.call(1, arguments={"env": "prod"})
    asked = w.ask(1, "ok", state="s1")
    retry = w.call(2, arguments={"env": "prod"}, state="s1", answers=accept("ok"))
    w.done(2)
    link = link_of(retry)
    assert (link.to, link.grade, link.strength) == (asked.key, EXACT, 3)
    assert link.evidence == ("state", "keys", "arguments")
    assert link.candidates == (asked.key,)
    assert retry.operation is first.operation
    assert (first.operation.kind, first.operation.count, first.operation.outcome) == ("mrtr", 2, "complete")


def test_without_a_state_equal_keys_and_arguments_infer_the_link() -> None:
    w = World()
    w.call(1, arguments={"a": 1})
    asked = w.ask(1, "ok")
    retry = w.call(2, arguments={"a": 1}, answers=accept("ok"))
    assert (link_of(retry).to, link_of(retry).grade) == (asked.key, INFERRED)


def test_without_a_state_other_arguments_are_no_retry() -> None:
    w = World()
    w.call(1, arguments={"a": 1})
    w.ask(1, "ok")
    assert w.call(2, arguments={"a": 2}, answers=accept("ok")).link is None


def test_a_state_only_round_links_by_its_state() -> None:
    w = World()
    w.call(1)
    asked = w.ask(1, state="queue:1")
    retry = w.call(2, state="queue:1")
    assert (link_of(retry).to, link_of(retry).grade) == (asked.key, EXACT)


def test_a_call_with_neither_state_nor_answers_is_a_fresh_one() -> None:
    w = World()
    first = w.call(1)
    w.ask(1, state="queue:1")
    second = w.call(2)
    assert second.link is None
    assert second.operation is not first.operation


def test_a_constant_state_is_told_apart_by_arguments() -> None:
    w = World()
    asked = {}
    for n in range(3):
        w.call(n, arguments={"n": n})
        asked[n] = w.ask(n, "ok", state="confirm")
    for n in range(3):
        retry = w.call(10 + n, arguments={"n": n}, state="confirm", answers=accept("ok"))
        assert (link_of(retry).to, link_of(retry).grade) == (asked[n].key, EXACT)


def test_twins_with_a_constant_state_are_ambiguous_and_all_are_listed() -> None:
    w = World()
    asked = []
    for n in range(3):
        w.call(n, arguments={"x": 1})
        asked.append(w.ask(n, "ok", state="confirm").key)
    retry = w.call(9, arguments={"x": 1}, state="confirm", answers=accept("ok"))
    link = link_of(retry)
    assert (link.grade, link.to, link.ask) == (AMBIGUOUS, None, None)
    assert (list(link.candidates), link.total) == (asked, 3)
    assert retry.operation.key == retry.key


def test_age_never_decides_an_answered_twin_stays_a_candidate() -> None:
    w = World()
    w.call(1, arguments={"x": 1})
    w.ask(1, "ok", state="confirm")
    w.call(2, arguments={"x": 1}, state="confirm", answers=accept("ok"))
    w.done(2)
    w.call(3, arguments={"x": 1})
    w.ask(3, "ok", state="confirm")
    assert link_of(w.call(4, arguments={"x": 1}, state="confirm", answers=accept("ok"))).grade == AMBIGUOUS


@pytest.mark.parametrize("state", [ABSENT, "", "go on"])
@pytest.mark.parametrize("keys", [("ok",), ()])
def test_a_round_that_repeats_an_earlier_one_leaves_the_operation_certain(
    keys: tuple[str, ...], state: Any
) -> None:
    if not keys and state is ABSENT:
        return  # nothing asked and nothing issued: the retry is a fresh call
    w = World()
    answers = accept(*keys) if keys else ABSENT
    first = w.call(1)
    asked = [w.ask(1, *keys, state=state).key]
    for n in (2, 3, 4):
        retry = w.call(n, state=state, answers=answers)
        assert retry.operation is first.operation
        asked.append(w.ask(n, *keys, state=state).key)
    last = w.call(5, state=state, answers=answers)
    w.done(5)
    link = link_of(last)
    assert (link.grade, link.to, link.ask, list(link.candidates)) == (AMBIGUOUS, None, None, asked)
    assert (first.operation.kind, first.operation.count, first.operation.outcome) == ("mrtr", 5, "complete")
    assert last.operation is first.operation
    assert retry.ask is not None
    assert (retry.ask.chain.rounds, retry.ask.chain.ids) == (4, ["1", "2", "3", "4"])


def test_twins_in_two_processes_are_told_apart_by_their_client() -> None:
    w = World()
    w.call(1, process="a")
    first = w.ask(1, "ok", state="confirm", process="a")
    w.call(1, process="b")
    second = w.ask(1, "ok", state="confirm", process="b")
    for process, asked in (("b", second), ("a", first)):
        link = link_of(w.call(2, state="confirm", answers=accept("ok"), process=process))
        assert (link.to, link.grade, link.evidence[-1]) == (asked.key, EXACT, "client")


def test_a_retry_from_another_process_is_linked_all_the_same() -> None:
    w = World()
    w.call(1, process="a")
    asked = w.ask(1, "ok", state="s-1", process="a")
    assert link_of(w.call(1, state="s-1", answers=accept("ok"), process="b")).to == asked.key


def test_another_channel_has_nothing_to_do_with_it() -> None:
    w = World()
    w.call(1, channel="front", process="a")
    w.ask(1, "ok", state="s-1", channel="front", process="a")
    assert w.call(2, state="s-1", answers=accept("ok"), channel="back", process="b").link is None


def test_a_replay_and_a_fork_of_an_answered_round_link_exactly() -> None:
    w = World()
    w.call(1)
    asked = w.ask(1, "ok", state="s-1")
    for n in (2, 3):
        retry = w.call(n, state="s-1", answers=accept("ok"))
        w.done(n)
        assert (link_of(retry).to, link_of(retry).grade) == (asked.key, EXACT)
    assert retry.operation.count == 3


@pytest.mark.parametrize(
    ("came", "what", "words"),
    [
        ("v1.abcdefgX", "state-changed", "one character changed, number 11 of 11"),
        ("v1.abcd", "state-changed", "cut after 7 of 11 bytes"),
        ("V1.ABCDEFGH", "state-changed", "turned into upper case"),
        (None, "state-changed", "JSON type null came back where string was issued"),
        ("", "state-changed", "came back empty; 11 bytes were issued"),
    ],
)
def test_a_changed_state_is_suspect_and_explained(came: Any, what: str, words: str) -> None:
    w = World()
    w.call(1, arguments={"x": 1})
    asked = w.ask(1, "ok", state="v1.abcdefgh")
    link = link_of(w.call(2, arguments={"x": 1}, state=came, answers=accept("ok")))
    assert (link.to, link.grade) == (asked.key, SUSPECT)
    assert [(d.what, d.text) for d in link.differences] == [(what, words)]


def test_a_changed_state_still_tells_twins_apart() -> None:
    w = World()
    asked = []
    for n, state in enumerate(("Qm9iMTIz+w==", "QWxpY2U5+g==")):
        w.call(n, arguments={"x": 1})
        asked.append(w.ask(n, "ok", state=state).key)
    link = link_of(w.call(9, arguments={"x": 1}, state="QWxpY2U5+g", answers=accept("ok")))
    assert (link.to, link.grade) == (asked[1], SUSPECT)
    assert [d.text for d in link.differences] == ["padding lost"]


def test_a_dropped_state_is_suspect() -> None:
    w = World()
    w.call(1, arguments={"x": 1})
    asked = w.ask(1, "ok", state="s-1")
    link = link_of(w.call(2, arguments={"x": 1}, answers=accept("ok")))
    assert (link.to, link.grade, link.differences[0].what) == (asked.key, SUSPECT, "state-dropped")


def test_without_a_state_a_round_that_issued_none_comes_before_one_with_the_very_keys() -> None:
    w = World()
    w.call(1, arguments={"x": 1})
    first = w.ask(1, "ok", state="s-1")
    w.call(2, arguments={"x": 1}, state="s-1", answers=accept("ok"))
    second = w.ask(2, "ok", "more")
    link = link_of(w.call(3, arguments={"x": 1}, answers=accept("ok")))
    assert (link.to, link.grade, link.differences) == (second.key, INFERRED, ())
    assert first.key not in link.candidates


def test_an_invented_state_is_suspect() -> None:
    w = World()
    w.call(1, arguments={"x": 1})
    asked = w.ask(1, "ok")
    link = link_of(w.call(2, arguments={"x": 1}, state="mine", answers=accept("ok")))
    assert (link.to, link.grade, link.differences[0].what) == (asked.key, SUSPECT, "state-invented")


def test_a_state_moved_to_another_tool_is_suspect_but_another_operation() -> None:
    w = World()
    first = w.call(1, "deploy")
    asked = w.ask(1, "ok", state="s-1")
    moved = w.call(2, "list_logs", state="s-1")
    link = link_of(moved)
    assert (link.to, link.grade, link.differences[0].what) == (asked.key, SUSPECT, "state-moved")
    assert link.differences[0].text == "this state was issued for tools/call deploy"
    assert moved.operation is not first.operation


def test_a_constant_issued_to_this_target_too_is_not_moved() -> None:
    w = World()
    w.call(1, "deploy")
    w.ask(1, "ok", state="confirm")
    w.call(2, "remove")
    asked = w.ask(2, "ok", state="confirm")
    assert link_of(w.call(3, "remove", state="confirm", answers=accept("ok"))).to == asked.key


def test_the_state_of_an_older_round_with_the_answers_of_a_newer_one_is_stale() -> None:
    w = World()
    w.call(1)
    w.ask(1, "a", state="s1")
    w.call(2, state="s1", answers=accept("a"))
    asked = w.ask(2, "b", state="s2")
    link = link_of(w.call(3, state="s1", answers=accept("b")))
    assert (link.to, link.grade, link.differences[0].what) == (asked.key, SUSPECT, "state-stale")


def test_a_state_carried_into_a_round_that_issued_none_is_invented() -> None:
    w = World()
    w.call(1)
    w.ask(1, "a", state="s1")
    w.call(2, state="s1", answers=accept("a"))
    asked = w.ask(2, "b")
    link = link_of(w.call(3, state="s1", answers=accept("b")))
    assert (link.to, link.grade, link.differences[0].what) == (asked.key, SUSPECT, "state-invented")


def test_changed_arguments_with_an_echoed_state_are_named_by_their_path() -> None:
    w = World()
    w.call(1, arguments={"to": {"iban": "X", "amount": 10}})
    w.ask(1, "ok", state="s-1")
    link = link_of(
        w.call(2, arguments={"to": {"iban": "X", "amount": 1000}}, state="s-1", answers=accept("ok"))
    )
    assert link.grade == EXACT
    assert [(d.what, d.text) for d in link.differences] == [
        ("arguments-changed", "arguments changed at /to/amount")
    ]


def test_some_keys_unanswered_is_still_the_same_round() -> None:
    w = World()
    w.call(1)
    asked = w.ask(1, "a", "b", state="s-1")
    assert link_of(w.call(2, state="s-1", answers=accept("a"))).to == asked.key


def test_an_ask_survives_its_text() -> None:
    w = World()
    w.call(1, arguments={"x": [1, 2.5, None]})
    w.ask(1, "ok", state="s\u2028 \ud800")
    ask = w.exchanges[next(iter(w.exchanges))].ask
    assert isinstance(ask, Ask)
    again = load(dump(ask))
    assert dump(again) == dump(ask)
    assert again.state == ask.state


# -- an oracle: look at everything, rank as DESIGN says


def _oracle(asks: list[dict[str, Any]], retry: dict[str, Any]) -> tuple[str, list[str]]:
    """Grade and keys of those that stand first, for retries that carry a state issued for their target."""
    same = [
        a for a in asks if a["name"] == retry["name"] and canonical(a["state"]) == canonical(retry["state"])
    ]

    def rank(a: dict[str, Any]) -> tuple[bool, bool, bool, bool]:
        meet = bool(set(a["keys"]) & set(retry["keys"]))
        return (
            a["keys"] == retry["keys"],
            meet,
            a["arguments"] == retry["arguments"],
            a["process"] == retry["process"],
        )

    best = max(map(rank, same))
    first = [a["key"] for a in same if rank(a) == best]
    return (EXACT if len(first) == 1 else AMBIGUOUS), first


ASK = st.fixed_dictionaries({
    "name": st.sampled_from(["deploy", "order"]),
    "state": st.sampled_from(["s1", "s2", ""]),
    "keys": st.sampled_from([("a",), ("b",), ("a", "b")]),
    "arguments": st.sampled_from([{}, {"n": 1}]),
    "process": st.sampled_from(["p", "q"]),
})  # fmt: skip


@given(st.lists(ASK, min_size=1, max_size=12), ASK)
def test_the_files_find_what_looking_at_everything_finds(
    asks: list[dict[str, Any]], retry: dict[str, Any]
) -> None:
    w = World()
    for n, a in enumerate(asks):
        w.call(n, a["name"], a["arguments"], process=a["process"])
        a["key"] = w.ask(n, *a["keys"], state=a["state"], process=a["process"]).key
    exchange = w.call(
        99,
        retry["name"],
        retry["arguments"],
        state=retry["state"],
        answers=accept(*retry["keys"]),
        process=retry["process"],
    )
    issued = [a for a in asks if (a["name"], a["state"]) == (retry["name"], retry["state"])]
    if not any(set(a["keys"]) & set(retry["keys"]) for a in issued):
        return  # another state, or a stale one: the stories above
    grade, first = _oracle(asks, retry)
    link = link_of(exchange)
    assert link.grade == grade
    assert list(link.candidates) == first


@given(st.lists(ASK, max_size=6), ASK, st.sampled_from([ABSENT, None, 3, {}, "s1", "zz"]), st.booleans())
def test_no_retry_however_odd_raises_or_links_to_another_target_as_sure(
    asks: list[dict[str, Any]], retry: dict[str, Any], state: Any, answered: bool
) -> None:
    w = World()
    for n, a in enumerate(asks):
        w.call(n, a["name"], a["arguments"])
        w.ask(n, *a["keys"], state=a["state"])
    answers = accept(*retry["keys"]) if answered else ABSENT
    link = w.call(99, retry["name"], retry["arguments"], state=state, answers=answers).link
    if link is not None and link.ask is not None and link.grade in (EXACT, INFERRED):
        assert link.ask.target == retry["name"]


def test_empty_answers_take_up_a_result_that_asked_for_nothing() -> None:
    """`inputRequests: {}` without a state is lawful, and these are its answers; each round of a wait is one more."""
    w = World()
    first = w.call(1, arguments={"a": 1})
    asked = w.ask(1, questions={})
    retry = w.call(2, arguments={"a": 1}, answers={})
    assert (link_of(retry).to, link_of(retry).grade) == (asked.key, INFERRED)
    w.ask(2, questions={})
    again = w.call(3, arguments={"a": 1}, answers={})
    assert again.operation is first.operation
    assert w.call(4, arguments={"a": 2}, answers={}).link is None


def test_empty_answers_take_up_no_questions() -> None:
    """A client that writes the member into every call is not told from one that left out all answers."""
    w = World()
    w.call(1)
    w.ask(1, "ok")
    assert w.call(2, answers={}).link is None


def test_empty_answers_of_a_client_that_always_writes_them_say_nothing() -> None:
    w = World()
    w.call(1, answers={})
    w.ask(1, questions={})
    assert w.call(2, answers={}).link is None


@pytest.mark.parametrize("answers", [None, 0, [], ""])
def test_what_is_no_map_of_answers_takes_up_nothing(answers: Any) -> None:
    w = World()
    w.call(1)
    w.ask(1, questions={})
    assert w.call(2, answers=answers).link is None

"""Which question a retry takes up, held to the plain way of finding it: look at all of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrtrscope.replay import Recording
from mrtrscope.replay.recording import Step
from mrtrscope.replay.waiting import SLACK, Asked, Waiting
from mrtrscope.wire.events import ABSENT
from tests.replay.world import FORM, YES, asks, call, recording

MOST = 20


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """Five calls that ask: two with one state, two without any, one with another key."""
    made: Recording = recording(
        tmp_path_factory.mktemp("asks"), call(1, "a"), asks(1, "s"), call(2, "b"), asks(2, "s"), call(3, "a"), asks(3),
        call(4, "b"), asks(4), call(5, "a"), asks(5, "s", other=FORM),
    )  # fmt: skip
    return made.firsts


moves = st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.sampled_from("xyz")), max_size=200)


@given(moves)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
def test_the_best_is_the_one_that_a_search_through_all_would_find(
    steps: list[Step], did: list[tuple[bool, int, str]]
) -> None:
    waiting, every = Waiting(MOST), list[Asked]()
    answers = {"q": YES}
    for asking, n, client in did:
        step = steps[n]
        if asking:
            waiting.add(step, client)
            every.append(next(reversed(waiting)))
            del every[:-MOST]
            continue
        assert step.exchange.answer is not None
        state: Any = step.exchange.answer.result.get("requestState", ABSENT)
        fitting = [
            one
            for one in every
            if one.key == step.key
            and one.state == Asked(step, "", 0).state
            and (state is not ABSENT or "q" in one.questions)
        ]
        expected = min(fitting, key=lambda one: (one.client != client, one.taken, one.number), default=None)
        found = waiting.best(state, step.key, client, answers)
        assert found is expected
        if found is not None:
            waiting.took(found)
    assert len(waiting) == len(every)


def test_what_is_taken_up_for_ever_takes_no_more_room(steps: list[Step]) -> None:
    waiting = Waiting(MOST)
    for _ in range(3 * MOST):
        for client in "xy":
            waiting.add(steps[0], client)
    for _ in range(10 * SLACK):
        found = waiting.best("s", steps[0].key, "x", {})
        assert found is not None
        assert found.client == "x"
        waiting.took(found)
    (alike,) = waiting._groups[found.state].values()
    assert len(alike._all) + sum(map(len, alike._of.values())) <= 2 * (2 * MOST + SLACK) + SLACK

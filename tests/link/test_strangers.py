"""Whose state, whose answers: what is told of requests that take up nothing of their own."""

from __future__ import annotations

import base64
import json

from mrtrscope.link.memory import DictMemory
from mrtrscope.link.session import subject_of

from .world import World, accept


def jwt(**claims: str) -> str:
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"Bearer e30.{body}.c2ln"


def test_answers_to_what_only_another_target_was_asked() -> None:
    w = World()
    w.call(1, "deploy")
    asked = w.ask(1, "ok")
    foreign = w.call(2, "list_logs", answers=accept("ok"))
    assert foreign.link is None and foreign.stranger is not None
    assert (foreign.stranger.key, foreign.stranger.target) == (asked.key, "deploy")


def test_a_target_that_was_ever_asked_may_mean_its_own_question() -> None:
    w = World()
    w.call(1, "deploy")
    w.ask(1, "ok")
    w.call(2, "list_logs")
    w.ask(2, "other")
    assert w.call(3, "list_logs", answers=accept("ok")).stranger is None


def test_what_is_asked_again_and_again_is_filed_once_for_each_target_and_client() -> None:
    memory = DictMemory()
    w = World(memory)
    for n, (target, process) in enumerate([("deploy", "p"), ("deploy", "p"), ("work", "p"), ("deploy", "q")]):
        last = w.call(n, target, process=process)
        w.ask(n, "ok", process=process)
    foreign = w.call(9, "list_logs", answers=accept("ok"), process="q")
    assert foreign.stranger is not None and foreign.stranger.exchange == last.key
    assert sum(len(keys) for (space, _), keys in memory._many.items() if space == "asked-keys") == 3


def test_another_client_may_answer_a_question_from_before_the_capture() -> None:
    w = World()
    w.call(1, "deploy")
    w.ask(1, "ok")
    assert w.call(2, "list_logs", answers=accept("ok"), process="q").stranger is None


def test_a_second_retry_with_the_very_same_form_at_the_same_moment() -> None:
    w = World()
    w.call(1, "deploy")
    w.call(2, "deploy")
    w.ask(1, "ok", state="s-1")
    w.ask(2, "ok", state="s-2")
    first = w.call(3, "deploy", answers=accept("ok"), state="s-1", at=9.0)
    second = w.call(4, "deploy", answers=accept("ok"), state="s-2", at=9.04)
    late = w.call(5, "deploy", answers=accept("ok"), state="s-1", at=9.2)
    assert (first.twin, second.twin, late.twin) == ("", first.key, "")


def test_subjects_of_bearer_tokens() -> None:
    ann, salt = subject_of(jwt(sub="ann", iss="i"), b"s"), b"s"
    assert len(ann) == 16
    assert subject_of(jwt(sub="ann", iss="i", jti="fresh"), salt) == ann
    assert subject_of(jwt(sub="bob", iss="i"), salt) != ann != subject_of(jwt(sub="ann", iss="j"), salt)
    assert subject_of(jwt(sub="ann", iss="i"), b"other") != ann
    for opaque in (
        "",
        "Bearer abc",
        "Bearer a.b.c",
        "Basic dXNlcjpwdw==",
        "Bearer e30.W10.x",
        "Bearer a." + "A" * 20000 + ".c",
    ):
        assert subject_of(opaque, salt) == b""


def test_the_facts_survive_in_memory_alone() -> None:
    memory = DictMemory()
    before = World(memory)
    before.call(1, "deploy")
    asked = before.ask(1, "ok")
    after = World(memory)
    foreign = after.call(2, "list_logs", answers=accept("ok"))
    assert foreign.stranger is not None and foreign.stranger.key == asked.key

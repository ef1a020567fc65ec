"""Conversations with agents, told under the list."""

from __future__ import annotations

from mrtrscope import model
from mrtrscope.views.about import about
from mrtrscope.views.talks import NAMED, TALKS, Talks


def operation(n: int, first: int | None = None) -> model.Operation:
    joined = None
    if first is not None:
        joined = model.Within(
            operation=f"op{first}", grade="inferred", evidence=["context"], candidates=[f"op{first}"]
        )
    return model.Operation(
        id=f"op{n}", key=f"j:{n}", t=n, kind="a2a", channel="agent", method="SendMessage", target=None,
        outcome="complete", rounds=[], times=model.Times(server=0, waiting=0, total=0), findings=0,
        context="c", conversation=joined,
    )  # fmt: skip


def told(*rows: model.Operation) -> list[str]:
    talks = Talks()
    assert list(talks.seen(rows)) == list(rows)
    return list(talks.lines())


def test_operations_of_one_context_stand_on_one_line() -> None:
    assert told(operation(1), operation(2, 1), operation(3), operation(4, 1)) == [
        "one conversation: op1, op2, op4; inferred (the same contextId)"
    ]


def test_where_there_is_no_conversation_nothing_is_said() -> None:
    assert told(operation(1), operation(2)) == []


def test_of_a_long_conversation_the_first_are_named() -> None:
    (line,) = told(operation(1), *(operation(n, 1) for n in range(2, NAMED + 10)))
    assert line.endswith(f"op{NAMED} and 9 more; inferred (the same contextId)")


def test_so_many_conversations_are_kept() -> None:
    rows = [operation(2 * n + 1, 2 * n) for n in range(1, TALKS + 3)]
    lines = told(*rows)
    assert (len(lines), lines[-1]) == (TALKS + 1, "… and 2 operations of other conversations")


def test_an_operation_says_which_conversation_it_is_of() -> None:
    assert list(about(operation(4, 1))) == [
        "of the conversation that began with op1: inferred (the same contextId)"
    ]

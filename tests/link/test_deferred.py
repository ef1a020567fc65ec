"""Questions that a client answers with a task: which one a `tasks/result` brings the answer to."""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.link.facts import Exchange
from mrtrscope.link.memory import DictMemory

from .test_longs import META, handshake
from .world import ELICIT, World, accept

TASK = {"ttl": 60000}


def asked(w: World, id: str, message: str, task: str, **how: Any) -> str:
    """A question, answered with a task; its key."""
    params = {"message": message, "requestedSchema": {"type": "object", "properties": {}}, "task": TASK}
    body = {"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}
    key = w.say("s2c", body, **how).key
    made = {"taskId": task, "status": "working", "ttl": 60000}
    w.say("c2s", {"jsonrpc": "2.0", "id": id, "result": {"task": made}}, **how)
    return key


def fetched(w: World, id: str, task: Any, method: str = "tasks/result", **how: Any) -> Exchange:
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {"taskId": task}}
    return w.exchanges[w.say("s2c", body, **how).key]


def question_of(exchange: Exchange) -> tuple[str, str] | None:
    """(key, message) of the question."""
    found = (exchange.remarks or {}).get("deferred")
    return None if found is None else (found["key"], found["question"]["params"]["message"])


def test_the_result_of_a_task_answers_the_question_that_made_it() -> None:
    w = World()
    handshake(w)
    key, other = asked(w, "a", "Which size?", "t-1"), asked(w, "b", "Which colour?", "t-2")
    assert question_of(fetched(w, "c", "t-2")) == (other, "Which colour?")
    assert question_of(fetched(w, "d", "t-1")) == (key, "Which size?")
    assert question_of(fetched(w, "e", "t-1")) == (key, "Which size?")


def test_it_is_known_however_late_it_is_fetched() -> None:
    memory = DictMemory()
    w = World(memory)
    handshake(w)
    key = asked(w, "a", "Which size?", "t-1")
    later = World(memory)  # another run of the analysis
    assert question_of(fetched(later, "c", "t-1")) == (key, "Which size?")


def test_only_what_a_task_stands_for_is_kept() -> None:
    w = World()
    handshake(w)
    params = {"message": "Which size?", "task": TASK}
    w.say("s2c", {"jsonrpc": "2.0", "id": "a", "method": "elicitation/create", "params": params})
    w.say("c2s", {"jsonrpc": "2.0", "id": "a", "result": {"action": "decline", "taskId": "t-1"}})
    for n, task in enumerate(("t-1", "t-9", 7, None, "")):
        assert question_of(fetched(w, f"c{n}", task)) is None
    asked(w, "b", "Which colour?", "t-2")
    assert question_of(fetched(w, "d", "t-2", "tasks/get")) is None


def test_two_processes_may_use_one_name() -> None:
    w = World()
    handshake(w)
    mine = asked(w, "a", "Which size?", "t-1", process="p")
    other = asked(w, "a", "Which colour?", "t-1", process="q")
    assert question_of(fetched(w, "b", "t-1", process="p")) == (mine, "Which size?")
    assert question_of(fetched(w, "b", "t-1", process="q")) == (other, "Which colour?")
    assert question_of(fetched(w, "b", "t-1", process="r")) is None
    alone = asked(w, "c", "How many?", "t-3", process="p")
    assert question_of(fetched(w, "d", "t-3", process="r")) == (alone, "How many?")


def test_a_name_used_twice_leads_to_neither_question() -> None:
    w = World()
    handshake(w)
    asked(w, "a", "Which size?", "t-1")
    asked(w, "b", "Which colour?", "t-1")
    asked(w, "c", "How many?", "t-1")
    assert question_of(fetched(w, "d", "t-1")) is None


def test_what_was_withdrawn_has_no_answer() -> None:
    w = World()
    handshake(w)
    asked(w, "a", "Which size?", "t-1")
    fetched(w, "b", "t-1", "tasks/cancel")
    w.say("c2s", {"jsonrpc": "2.0", "id": "b", "result": {"taskId": "t-1", "status": "cancelled"}})
    assert question_of(fetched(w, "c", "t-1")) is None


def test_a_remark_can_be_written_down() -> None:
    w = World()
    handshake(w)
    asked(w, "a", "\ud800", "t-1")
    remarks = fetched(w, "b", "t-1").remarks
    assert json.loads(json.dumps(remarks)) == remarks


def shown(w: World, id: int, task: str, questions: Any, **how: Any) -> str:
    """A poll that shows what a task asks; the key of its answer."""
    params = {"taskId": task, "_meta": META}
    w.say("c2s", {"jsonrpc": "2.0", "id": id, "method": "tasks/get", "params": params}, **how)
    result = {
        "resultType": "complete",
        "taskId": task,
        "status": "input_required",
        "inputRequests": questions,
    }
    return w.say("s2c", {"jsonrpc": "2.0", "id": id, "result": result}, **how).key


def due(w: World, id: int, task: str, *keys: str, **how: Any) -> dict[str, Any]:
    """What an update of the task answers."""
    params = {"taskId": task, "inputResponses": accept(*keys), "_meta": META}
    body = {"jsonrpc": "2.0", "id": id, "method": "tasks/update", "params": params}
    found: dict[str, Any] = (w.exchanges[w.say("c2s", body, **how).key].remarks or {}).get("due", {})
    return found


def test_an_update_answers_what_the_task_showed() -> None:
    w = World()
    first = shown(w, 1, "t", {"a": ELICIT, "b": {"method": "roots/list"}})
    assert due(w, 2, "t", "a") == {"a": [first, ELICIT]}
    again = shown(w, 3, "t", {"a": {"method": "roots/list"}, "c": "no question"})
    assert due(w, 4, "t", "a", "b", "c", "d") == {
        "a": [again, {"method": "roots/list"}], "b": [first, {"method": "roots/list"}],
    }  # fmt: skip
    assert due(w, 5, "other", "a") == {} == due(w, 6, "t", "a", process="q")


def test_a_notification_shows_what_a_task_asks() -> None:
    w = World()
    params = {"taskId": "t", "status": "input_required", "inputRequests": {"a": ELICIT}}
    told = w.say("s2c", {"jsonrpc": "2.0", "method": "notifications/tasks", "params": params}).key
    assert due(w, 1, "t", "a") == {"a": [told, ELICIT]}


def test_odd_questions_of_a_task_are_none() -> None:
    w = World()
    for n, odd in enumerate((None, [], "a", {"a": None})):
        shown(w, n, "t", odd)
    assert due(w, 9, "t", "a") == {}

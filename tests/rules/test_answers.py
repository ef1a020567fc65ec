"""Is it an answer of the kind that was asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link.memory import DictMemory
from mrtrscope.pipeline import Pipeline
from mrtrscope.rules.answers import accepted, faults, faults_of_schema, ordinary, refused, wrapped
from mrtrscope.rules.examples import cases_of
from tests.feeding import feed

ELICIT, SAMPLE, ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
ACCEPT = {"action": "accept", "content": {"n": 1.5, "s": "x", "l": ["a"]}}
MODEL = {"role": "assistant", "content": {"type": "text", "text": "Bergen"}, "model": "m-1"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("method", "value", "wrong"),
    [
        (ELICIT, ACCEPT, set()),
        (ELICIT, {"action": "decline", "resultType": "complete", "_meta": {}}, set()),
        (ELICIT, {"action": "reject"}, {"action"}),
        (ELICIT, {"roots": []}, {"action"}),
        (ELICIT, {"action": "accept", "content": {"n": None, "o": {}}}, set()),  # has rules of its own
        (ELICIT, 12345, {""}),
        (ELICIT, None, {""}),
        (ROOTS, {"roots": [{"uri": "file:///x"}]}, set()),
        (ROOTS, {"roots": {}}, {"roots"}),
        (ROOTS, {"action": "decline"}, {"roots"}),
        (SAMPLE, MODEL, set()),
        (SAMPLE, MODEL | {"content": [{"type": "text", "text": "x"}]}, set()),
        (SAMPLE, MODEL | {"content": {"type": "song"}}, {"content"}),
        (SAMPLE, {"action": "accept", "content": {"text": "x"}}, {"content", "model", "role"}),
    ],
)
def test_faults_name_the_member(method: str, value: Any, wrong: set[str]) -> None:
    found = faults(method, value)
    assert set(found) == wrong and all(found.values())


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"jsonrpc": "2.0", "id": 1, "result": ACCEPT}, "a JSON-RPC response"),
        ({"method": ELICIT, "result": ACCEPT}, "a {method, result} pair"),
        ({"error": {"code": -1, "message": "no"}}, "an error object"),
        ({"action": "accept", "content": {"error": {"code": 1}}}, ""),
        ({"error": "text"}, ""),
        ([], ""),
    ],
)
def test_wrapped_looks_at_the_top_only(value: Any, what: str) -> None:
    assert wrapped(value) == what


def test_a_refusal_is_sound_and_gives_nothing() -> None:
    assert refused(ELICIT, {"action": "cancel"}) and not accepted(ELICIT, {"action": "cancel"})
    assert accepted(ELICIT, ACCEPT) and not refused(ROOTS, {"action": "decline"})
    assert not accepted("tools/call", {})


@given(st.sampled_from([ELICIT, SAMPLE, ROOTS]), JSON)
def test_any_value_is_judged_without_an_exception(method: str, value: Any) -> None:
    assert isinstance(faults(method, value), dict)
    assert isinstance(wrapped(value), str)


def _near(*, usual: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with some of the usual members, each nearly always as it should be, and rarely one more."""
    members = {name: usually | JSON for name, usually in usual.items()}
    return st.fixed_dictionaries({}, optional={**members, "_meta": JSON, "resultType": JSON})


BLOCKS = _near(usual={"type": st.just("text"), "text": st.text()})
FOLDERS = _near(
    usual={"uri": st.sampled_from(["file:///", "file:///a b", "file://h/x", "file:///é"]), "name": st.text()}
)
NEARLY: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    ELICIT: _near(
        usual={"action": st.sampled_from(["accept", "decline", "cancel"]), "content": st.just({"n": 1})}
    ),
    SAMPLE: _near(
        usual={
            "role": st.sampled_from(["user", "assistant"]),
            "model": st.text(),
            "stopReason": st.text(),
            "content": BLOCKS,
        }
    ),
    ROOTS: _near(usual={"roots": st.lists(FOLDERS, max_size=3)}),
}


@given(st.sampled_from([ELICIT, SAMPLE, ROOTS]).flatmap(lambda m: st.tuples(st.just(m), NEARLY[m] | BLOCKS)))
def test_the_quick_yes_is_never_given_to_what_the_schema_refuses(pair: tuple[str, dict[str, Any]]) -> None:
    method, value = pair
    assert not ordinary(method, value) or faults_of_schema(method, value) == {}


@pytest.mark.parametrize(
    ("method", "value"),
    [
        (ELICIT, ACCEPT),
        (ELICIT, {"action": "decline"}),
        (SAMPLE, MODEL),
        (ROOTS, {"roots": [{"uri": "file:///srv"}]}),
    ],
)
def test_the_usual_answers_get_the_quick_yes(method: str, value: dict[str, Any]) -> None:
    assert ordinary(method, value)


@pytest.mark.parametrize(("answer", "loaded"), [(ACCEPT, False), ({"action": "reject"}, True)])
def test_the_schema_package_is_loaded_with_the_first_odd_answer(answer: dict[str, Any], loaded: bool) -> None:
    code = (
        "import sys; from mrtrscope.rules.registry import load; from mrtrscope.rules.answers import faults; load();"
        f"faults({ELICIT!r}, {answer!r}); print('mcp_types' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == str(loaded)


def test_a_finding_about_the_result_of_a_task_names_the_question(tmp_path: Path) -> None:
    (case,) = [one for one in cases_of("elicitation/action-valid") if one.name == "violates-task"]
    file = tmp_path / "case.jsonl"
    file.write_text(case.transcript("stdio")[0], encoding="utf-8")
    pipeline = Pipeline(DictMemory(), salt=b"salt")
    feed(pipeline, file)
    batch = pipeline.drain()
    (found,) = [f for f in batch.findings if f.rule == "elicitation/action-valid"]
    (question,) = [m.key for m, _, _ in batch.messages if m.method == ELICIT]
    assert (found.party, found.path, found.also) == ("client", "/result/action", (question,))

"""Is it an answer of the kind that was asked for."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.rules.answers import accepted, faults, refused, wrapped

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


def test_the_schema_package_is_loaded_with_the_first_answer() -> None:
    code = "import sys; from mrtrscope.rules.registry import load; load(); print('mcp_types' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "False"

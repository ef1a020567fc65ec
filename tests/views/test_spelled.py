"""Message texts keep their spelling; only what has to go is written anew."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.views.redact import Redactor
from mrtrscope.views.spelled import rewritten
from tests.views import nasty

NAMES = st.sampled_from(["a", "password", "type"]) | st.text()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda x: st.lists(x, max_size=4) | st.dictionaries(NAMES, x, max_size=4),
    max_leaves=20,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"a" : 1.0,\n "b":1e5, "a":-0}', '{"a" : 1.0,\n "b":1e5, "a":-0}'),
        ('{"password" : "one-secret"}', '{"password" : "‹hidden 1›"}'),
        ('{"password":"first","password":"second"}', '{"password":"‹hidden 1›","password":"‹hidden 2›"}'),
        (r'{"pass\u0077ord":"one-secret"}', r'{"pass\u0077ord":"‹hidden 1›"}'),
        (r'{"token":"one-\u0073ecret","t":"one-secret"}', '{"token":"‹hidden 1›","t":"‹hidden 1›"}'),
        ('{"auth":{"user":"kari","n":[1,null]}}', '{"auth":{"user":"‹hidden 1›","n":["‹hidden 2›",null]}}'),
        ('{"pin":{"type":"string","title":"PIN"}}', '{"pin":{"type":"string","title":"PIN"}}'),
        ('{"pin":12345678901234567890123}', '{"pin":"‹hidden 1›"}'),
        ('{"password":null,"token":""}', '{"password":null,"token":""}'),
        ('[{"secret":[["deeply"]]}]', '[{"secret":[["‹hidden 1›"]]}]'),
        ('"a plain string"', '"a plain string"'),
        ('{"text":"{\\"password\\": \\"inside-a-string\\"}"}', '{"text":"{\\"password\\": \\"‹hidden 1›\\"}"}'),
    ],
)  # fmt: skip
def test_what_is_hidden_and_what_stays(text: str, shown: str) -> None:
    assert rewritten(text, Redactor()) == shown
    assert rewritten(text, Redactor(raw=True)) == text


def test_a_state_is_shortened_to_what_tells_it_from_others() -> None:
    state = "eyJhbGciOiJIUzI1NiJ9" * 4
    shown = json.loads(rewritten(json.dumps({"requestState": state}), Redactor()))["requestState"]
    assert state not in shown
    assert shown.startswith("eyJhbG…NiJ9 #") and shown.endswith("(80 characters)")


@pytest.mark.parametrize(
    "text",
    ['{"password":"one-secret"', "password: one-secret\n", '{"a":"x" "password":"one-secret"}}',
     "[debug] api_key=one-secret ok", '{password:"one-secret"}'],
)  # fmt: skip
def test_text_that_is_no_json_is_treated_as_prose(text: str) -> None:
    assert "one-secret" not in rewritten(text, Redactor())


def test_a_value_named_once_is_hidden_wherever_it_stands() -> None:
    redact = Redactor()
    rewritten('{"password":"tulip-42"}', redact)
    assert rewritten('{"text":"you said tulip-42, not tulip-421"}', redact) == (
        '{"text":"you said ‹hidden 1›, not tulip-421"}'
    )


@given(JSON)
def test_json_stays_json_and_agrees_with_what_values_show(value: Any) -> None:
    text = json.dumps(value)
    assert json.loads(rewritten(text, Redactor())) == json.loads(
        json.dumps(Redactor().value(json.loads(text)))
    )


@given(st.text() | st.sampled_from(nasty.ALL))
def test_any_text_gives_a_text(text: str) -> None:
    assert isinstance(rewritten(text, Redactor()), str)

"""What is hidden, what is not, and that equal values get equal stand-ins."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.views.redact import Redactor, is_secret_name, may_name_a_secret
from mrtrscope.views.spelled import rewritten


@pytest.mark.parametrize(
    "name",
    ["password", "Password", "user_password", "passphrase", "pwd", "api_key", "apiKey",
     "X-API-Key", "access_token", "token", "refreshToken", "authorization", "Authorization", "Cookie", "Set-Cookie",
     "client_secret", "pin", "otp", "cvv", "ssn", "session_id", "private_key",
     "Mcp-Session-Token", "credential", "card number"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["name", "progressToken", "maxTokens", "message", "city", "author", "keyboard", "compass", "panel", "country_code",
     "spin",
     "shopping", "requestState", "description", ""],
)  # fmt: skip
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


KEY = "sk_" + "live_" + "abcdefghij0123456789"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"use {JWT} please", JWT),
        ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
        ("key " + KEY, KEY),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
        ("postgres://kari:s3cret-word@db/x", "s3cret-word"),
        ("https://a.test/cb?code=abc123def&state=1", "abc123def"),
        ("-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----", "MIIabc"),
    ],
)
def test_secrets_in_running_text(text: str, secret: str) -> None:
    redactor = Redactor()
    assert secret not in redactor.text(text)
    assert "‹hidden 1›" in redactor.text(text)
    assert Redactor(raw=True).text(text) == text


def test_equal_values_have_equal_stand_ins() -> None:
    redactor = Redactor()
    shown = redactor.value(
        {"password": "one-secret", "again": {"password": "one-secret"}, "token": "another"}
    )
    assert shown == {"password": "‹hidden 1›", "again": {"password": "‹hidden 1›"}, "token": "‹hidden 2›"}
    assert list(redactor.hidden) == ["‹hidden 1›", "‹hidden 2›"]
    assert "one-secret" not in str(redactor.hidden)


def test_what_a_secret_member_holds_is_hidden_at_any_depth() -> None:
    assert Redactor().value({"credentials": {"user": "kari", "list": ["x", 3, None]}}) == {
        "credentials": {"user": "‹hidden 1›", "list": ["‹hidden 2›", "‹hidden 3›", None]}
    }


def test_a_form_field_named_password_is_described() -> None:
    form = {"password": {"type": "string", "title": "Deploy password"}}
    assert Redactor().value(form) == form


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_raw_changes_nothing_and_hiding_keeps_the_shape(value: Any) -> None:
    assert Redactor(raw=True).value(value) == value
    shown = Redactor().value(value)
    assert type(shown) is type(value) or isinstance(shown, str)


@pytest.mark.parametrize(
    "text", ["no Bearer challenge", "Basic realm", "error code: -32602", '"code": -32602']
)
def test_words_that_are_no_secrets_stay(text: str) -> None:
    assert Redactor().prose(text) == text


def test_the_code_of_an_error_stays_and_another_code_does_not() -> None:
    redact = Redactor()
    for code in (-32600, -32600.0, "-32600"):
        assert redact.value({"code": code}) == {"code": code}
    assert redact.value({"code": "482915"}) != {"code": "482915"}
    assert "482915" not in redact.prose("your code: 482915")


@pytest.mark.parametrize("name", ["password", "pass_phrase", "PIN", "x-api-key", "Set-Cookie",
                                  "sessionId", "cardNumber", "one_time_code", "code", "code_verifier", "iban",
                                  "client_assertion", "refreshToken"])  # fmt: skip
def test_no_secret_name_is_passed_over(name: str) -> None:
    assert is_secret_name(name)
    assert may_name_a_secret(json.dumps({"progressToken": 1, name: "x"}))
    assert not Redactor().leaves(json.dumps({name: "x"}))
    assert not may_name_a_secret(json.dumps({"progressToken": 1, "name": "x"}))


def test_a_question_called_password_hides_the_answer_and_nothing_else() -> None:
    asked = {"password": {"method": "elicitation/create", "params": {"message": "Say it", "requestedSchema": {
        "type": "object", "properties": {"value": {"type": "string"}}}}}}  # fmt: skip
    given = {"password": {"action": "accept", "content": {"value": "1234"}}}
    for body in ({"result": {"inputRequests": asked}}, {"params": {"inputResponses": given}}):
        redact = Redactor()
        shown = redact.value(body)
        assert json.loads(rewritten(json.dumps(body), redact)) == shown
        assert "1234" not in json.dumps(shown)
        assert shown == body or shown["params"]["inputResponses"]["password"] == {
            "action": "accept", "content": {"value": "‹hidden 1›"},
        }  # fmt: skip
        assert (
            redact.text("an object to accept, as elicitation/create")
            == "an object to accept, as elicitation/create"
        )


def test_words_of_the_protocol_are_not_hidden_everywhere_for_standing_in_a_secret_once() -> None:
    redact = Redactor()
    assert redact.value({"credentials": {"kind": "object", "word": "tulip-42"}}) == {
        "credentials": {"kind": "‹hidden 1›", "word": "‹hidden 2›"}
    }
    assert redact.text("an object, tulip-42") == "an object, ‹hidden 2›"


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_1"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" + JWT, "x‹hidden 1›"),
        ("eyJ." + JWT, "eyJ.‹hidden 1›"),
        ("eyJeyJ " + JWT, "eyJeyJ ‹hidden 1›"),
        ("eyJaaaaaaaaaa.bb." + JWT, "eyJaaaaaaaaaa.bb.‹hidden 1›"),
        ("eyJ-sk-live_abcdefghijklmnopqrst-eyJ", "eyJ-‹hidden 1›"),
        ("eyJ-Basic dXNlcjpwYXNzMTIzNDU2Nzg=", "eyJ-‹hidden 1›"),
    ],
)
def test_what_only_begins_like_a_token_hides_none(text: str, shown: str) -> None:
    assert Redactor().text(text) == shown


@pytest.mark.parametrize("unit", ["eyJ", "eyJaaaaaaaaa", "eyJ.", "-eyJ-"])
def test_a_text_of_beginnings_takes_no_time(unit: str) -> None:
    text = unit * (600_000 // len(unit))
    started = time.process_time()
    assert Redactor().text(text) == text
    assert time.process_time() - started < 60  # minutes, when each beginning is looked at to the end

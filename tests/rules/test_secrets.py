"""What asks for a secret, what looks like one, and what only stands beside one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.rules import secrets

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJlLW9mLXNvbWUta2luZA"


@pytest.mark.parametrize(
    ("name", "phrase"),
    [
        ("password", "password"),
        ("userPassword", "password"),
        ("API_KEY", "api key"),
        ("Your API key", "api key"),
        ("clientSecret", "client secret"),
        ("OTP", "otp"),
        ("card-number", "card number"),
        ("apiKeyName", ""),
        ("passwordHint", ""),
        ("token limit", ""),
        ("max_tokens", ""),
        ("pinned", ""),
        ("secret santa", ""),
        ("email", ""),
        ("username", ""),
        ("option", ""),
    ],
)
def test_names_that_ask_for_a_secret(name: str, phrase: str) -> None:
    assert secrets.asks_for_secret(name) == phrase


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Please enter your password", "password"),
        ("Paste the API key of the project here.", "api key"),
        ("Do not enter your password here", ""),
        ("Reset your password?", ""),
        ("We never ask you to provide a password.", ""),
        ("Enter the name. Your password stays as it is.", ""),
    ],
)
def test_sentences_that_tell_somebody_to_give_one(text: str, phrase: str) -> None:
    assert secrets.tells_to_give_secret(text) == phrase


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "a key with a well-known prefix"),
        ("AKIAIOSFODNN7EXAMPLE", "a key with a well-known prefix"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE", "a private key"),
        (JWT, "a JWT"),
        ("4111 1111 1111 1111", ""),
        ("4539578763621486", "a card number"),
        ("4539578763621487", ""),
        ("sk-short", ""),
        ("a task-sk-abcdefghijklmnopqrstuvwx", ""),
        (7, ""),
    ],
)
def test_values_that_look_like_one(value: object, kind: str) -> None:
    assert secrets.secret_kind(value) == kind


def test_credentials_are_found_with_their_place() -> None:
    value = {"a": [{"access_token": "Zk3vQ9x7Lm2Pq8Rt5Wy1"}, {"note": "access_token"}], "b": JWT}
    assert sorted(secrets.credentials_in(value)) == [
        (("a", 0, "access_token"), "a value named access_token"),
        (("b",), "a JWT"),
    ]


@given(st.text(max_size=200))
def test_any_text_gets_an_answer(text: str) -> None:
    assert isinstance(secrets.asks_for_secret(text), str)
    assert isinstance(secrets.asks_for_private_data(text), str)
    assert isinstance(secrets.tells_to_give_secret(text), str)
    assert isinstance(secrets.secret_kind(text), str)
    assert secrets.high_entropy(text) in (True, False)

"""Headers, addresses and documents of authorization, taken apart."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link.challenges import (
    basic_user,
    challenges,
    plain_url,
    resource_documents,
    s256,
    scopes,
    server_documents,
)
from mrtrscope.link.origins import Address, loopback, parameters, split
from mrtrscope.link.tokens import bearer, claims


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("Bearer", [("bearer", {})]),
        (
            'Bearer realm="a \\"b\\"", scope="x y",error=invalid_token',
            [("bearer", {"realm": 'a "b"', "scope": "x y", "error": "invalid_token"})],
        ),
        (
            'DPoP algs="ES256", Bearer scope=read',
            [("dpop", {"algs": "ES256"}), ("bearer", {"scope": "read"})],
        ),
        ('BEARER Scope = "x"', [("bearer", {"scope": "x"})]),
        ('Basic realm=x, scope="y"', [("basic", {"realm": "x", "scope": "y"})]),
        ('Bearer scope="a", scope="b"', [("bearer", {"scope": "a"})]),
        ("", []),
    ],
)
def test_a_challenge_is_a_scheme_and_its_parameters(header: str, found: object) -> None:
    assert challenges(header) == found


@given(st.text(alphabet='abB=",\\ \t-é\x00') | st.text())
def test_any_header_is_read_without_an_exception(header: str) -> None:
    for scheme, fields in challenges(header):
        assert scheme == scheme.lower() and all(name == name.lower() for name in fields)


def test_a_header_of_quotes_alone_takes_no_time() -> None:
    assert challenges('a="' * 20_000)


def test_a_header_of_separators_alone_takes_no_time() -> None:
    started = time.process_time()
    for _ in range(200):
        assert challenges("Bearer a=b" + ",\t" * 8_000 + '"') == [("bearer", {"a": "b"})]
    assert time.process_time() - started < 60  # a second each, when every separator is a beginning


def test_documents_stand_where_the_specification_says() -> None:
    at = "https://as.example/.well-known/"
    assert server_documents("https://AS.example") == [
        f"{at}oauth-authorization-server", f"{at}openid-configuration",
    ]  # fmt: skip
    assert server_documents("https://as.example/t1/") == [
        f"{at}oauth-authorization-server/t1",
        f"{at}openid-configuration/t1",
        "https://as.example/t1/.well-known/openid-configuration",
    ]
    assert server_documents("urn:x") == server_documents("no address") == []
    root = "https://s.example:8443/.well-known/oauth-protected-resource"
    assert resource_documents("https://s.example:8443/mcp") == [f"{root}/mcp", root]
    assert resource_documents("https://s.example:8443/") == [root]


def test_s256_is_that_of_rfc_7636() -> None:
    assert (
        s256("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )


@pytest.mark.parametrize(
    ("value", "found"),
    [("a b a", ["a", "b"]), (["a", 1, "b"], ["a", "b"]), (None, []), ({"a": 1}, []), (" ", [])],
)
def test_scopes_are_words_each_once(value: object, found: list[str]) -> None:
    assert scopes(value) == found


def test_basic_credentials_name_the_client_and_no_secret() -> None:
    assert basic_user("Basic YzE6c2VjcmV0") == "c1"
    assert basic_user("basic YzE6c2VjcmV0") == "c1"
    assert basic_user("Basic ???") is basic_user("Bearer x") is basic_user(None) is None


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("HTTPS://S.Example:443/a?b#c", Address("https", "s.example", "443", "/a", "b", "#c")),
        ("http://u:p@[::1]:8000", Address("http", "[::1]", "8000", "", "", "")),
        ("com.app:/cb", Address("com.app", "", "", "/cb", "", "")),
        ("s.example/mcp", None),
        ("http://x:notaport/", None),
        ("", None),
    ],
)
def test_an_address_in_pieces(url: str, found: Address | None) -> None:
    assert split(url) == found


def test_default_ports_and_case_make_no_difference() -> None:
    assert (
        plain_url("HTTPS://S.example:443/mcp?x")
        == plain_url("https://s.example/mcp#y")
        == "https://s.example/mcp"
    )
    assert plain_url("https://s.example") == "https://s.example/"


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.1.2.3", "[::1]", "a.localhost"]
)
def test_hosts_of_this_machine(host: str) -> None:
    assert loopback(host)
    assert not loopback(f"{host}.example.com")


def test_parameters_keep_the_first_value_and_a_bound() -> None:
    assert parameters("a=1&a=2&b=%C3%A9+x&c") == {"a": "1", "b": "é x", "c": ""}
    assert parameters("&".join(f"k{n}=1" for n in range(1000))) == {}


@given(st.text() | st.text(alphabet="ey.=-_AQ"))
def test_any_credential_is_read_without_an_exception(text: str) -> None:
    assert type(claims(f"Bearer {text}")) is dict
    assert type(bearer(text)) is str
    assert split(text) is None or type(plain_url(text)) is str


def test_claims_are_those_of_a_jwt_under_bearer_or_dpop() -> None:
    token = "e30.eyJzdWIiOiJ1MSJ9.c2ln"
    assert claims(f"Bearer {token}") == claims(f"DPoP {token}") == {"sub": "u1"}
    assert claims(token) == claims(f"Basic {token}") == claims("Bearer a.b") == {}

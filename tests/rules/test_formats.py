"""Formats: what the standards allow is allowed, and any text gets an answer."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.rules import formats
from mrtrscope.rules.roots import traversal
from mrtrscope.rules.urls import near, url_fault


@pytest.mark.parametrize(
    ("uri", "fault"),
    [
        ("file:///srv/a%20b.txt", ""),
        ("acme://report/7?x=1#y", ""),
        ("urn:isbn:0451450523", ""),
        ("mailto:ann@example.org", ""),
        ("http://[::1]:80/", ""),
        ("C:\\data\\a.txt", "is a file path, not a URI"),
        ("C:/data/a.txt", "is a file path: one letter is no scheme"),
        ("m://plain", ""),
        ("x:y", ""),
        ("/srv/a.txt", "has no scheme"),
        ("", "has no scheme"),
        ("file:///a b", "has white space"),
        ("file:///ä", "has characters outside ASCII"),
        ("file:///a%2", "has a percent sign without two hex digits behind it"),
        ("file:///{a}", "has the character '{'"),
    ],
)
def test_uris(uri: str, fault: str) -> None:
    assert formats.uri_fault(uri) == fault


@pytest.mark.parametrize(
    ("template", "sound"),
    [
        ("file:///{path}", True),
        ("file:///{+path}{?line,column*}{#x:3}", True),
        ("no expressions", True),
        ("file:///{path", False),
        ("file:///path}", False),
        ("file:///{{path}}", False),
        ("file:///{!path}", False),
        ("file:///{}", False),
    ],
)
def test_templates(template: str, sound: bool) -> None:
    assert (formats.template_fault(template) == "") is sound


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("2026-07-28T10:00:00Z", True),
        ("2026-07-28t10:00:00.123z", True),
        ("2026-07-28T10:00:00+02:00", True),
        ("2016-12-31T23:59:60Z", True),
        ("2026-07-28T10:00:00", False),
        ("2026-13-28T10:00:00Z", False),
        ("2026-07-28", False),
    ],
)
def test_date_times(text: str, right: bool) -> None:
    assert formats.is_date_time(text) is right


@pytest.mark.parametrize(
    ("text", "right"), [("2024-02-29", True), ("2026-02-29", False), ("28.7.2026", False)]
)
def test_dates(text: str, right: bool) -> None:
    assert formats.is_date(text) is right


@pytest.mark.parametrize(
    "text", ["2026", "2026-07", "20260728T1000Z", "2026-07-28T10:00:00.5+01:00", "2026-W31-2"]
)
def test_iso_8601_has_many_forms(text: str) -> None:
    assert formats.is_iso_8601(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", ""),
        ("AAEC", ""),
        ("AAE=", ""),
        ("AAE", "padding is missing"),
        ("AAEC\nAAEC", "line breaks"),
        ("data:image/png;base64,AAEC", "a data: URI, not bare Base64"),
        ("__8-", "base64url, not Base64"),
        ("a b!", "has characters that Base64 does not know"),
    ],
)
def test_base64(text: str, fault: str) -> None:
    assert formats.base64_fault(text) == fault


@given(st.binary(max_size=50))
def test_what_is_encoded_is_base64(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert formats.base64_fault(text) == "" and formats.decoded(text) == data


@pytest.mark.parametrize(
    ("text", "right"), [("image/png", True), ("text/plain; charset=utf-8", True), ("wav", False)]
)
def test_media_types(text: str, right: bool) -> None:
    assert formats.is_media_type(text) is right


@pytest.mark.parametrize(
    ("url", "sound"),
    [
        ("https://example.org/a b?q=ü", True),
        ("https://example.org:8443", True),
        ("myapp://open/page", True),
        ("https://", False),
        ("https:///path", False),
        ("//example.org/", False),
        ("mailto:ann@example.org", False),
        ("https://example.org:port/", False),
        ("https://exa mple.org/", False),
        ("https://[::1/", False),
    ],
)
def test_urls(url: str, sound: bool) -> None:
    assert (url_fault(url) == "") is sound


@pytest.mark.parametrize(
    ("host", "is_near"),
    [
        ("localhost", True), ("127.3.2.1", True), ("::1", True), ("10.0.0.9", True), ("shop.test", True),
        ("printer.local", True), ("example.org", False), ("8.8.8.8", False), ("localhost.example.org", False),
    ],
)  # fmt: skip
def test_hosts_of_this_machine_and_network(host: str, is_near: bool) -> None:
    assert near(host) is is_near


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("file:///a/../b", "a dot segment"),
        ("file:///a/%2e%2e/b", "an encoded dot segment"),
        ("file:///a%2Fb", "an encoded separator"),
        ("file:///a..b/...", ""),
        ("file://../a", ""),
        ("file:///a?x=../b", ""),
    ],
)
def test_dot_segments(uri: str, found: str) -> None:
    assert traversal(uri) == found


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(text: str) -> None:
    for check in (formats.uri_fault, formats.template_fault, formats.base64_fault, url_fault, traversal):
        assert isinstance(check(text), str)
    for ask in (
        formats.is_date,
        formats.is_date_time,
        formats.is_iso_8601,
        formats.is_email,
        formats.is_media_type,
    ):
        assert ask(text) in (True, False)
    assert near(text) in (True, False)

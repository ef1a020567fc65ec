"""Single values of headers, and what one look at a request head finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mrtrscope.link.heads import BOTH_TYPES, decoded, foreign, safe, unlisted

TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",)))


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("", True), ("get_weather", True), ("a b", True), ("a\tb", True), ("~", True),
        (" a", False), ("a ", False), ("\ta", False), ("é", False), ("\x7f", False), ("a\nb", False),
        ("=?base64?x?=", False), ("=?base64?", True), ("=?BASE64?x?=", True),
    ],
)  # fmt: skip
def test_what_may_stand_in_a_header_as_it_is(value: str, plain: bool) -> None:
    assert safe(value) is plain


@pytest.mark.parametrize(
    ("header", "meant", "form"),
    [
        ("plain", "plain", "plain"),
        ("=?base64?w7xiZXI=?=", "über", "encoded"),
        ("=?base64??=", "", "encoded"),
        ("=?Base64?w7xiZXI=?=", "über", "miscased"),
        ("=?Base64?x?=", "=?Base64?x?=", "plain"),
        ("=?base64?w7xiZXI?=", "=?base64?w7xiZXI?=", "broken"),
        ("=?base64?w7xiZXJ=?=", "=?base64?w7xiZXJ=?=", "broken"),  # not canonical: bits behind the last byte
        ("=?base64?_-8=?=", "=?base64?_-8=?=", "broken"),
        ("=?base64?/w==?=", "=?base64?/w==?=", "broken"),  # no UTF-8
        ("=?utf-8?q?x?=", "=?utf-8?q?x?=", "plain"),
    ],
)
def test_what_a_header_stands_for(header: str, meant: str, form: str) -> None:
    assert decoded(header) == (meant, form)


@given(TEXT)
def test_every_value_comes_back_from_its_encoded_form(value: str) -> None:
    import base64

    encoded = f"=?base64?{base64.b64encode(value.encode()).decode()}?="
    assert decoded(encoded) == (value, "encoded")


@given(st.text())
def test_any_header_is_read_without_an_exception(text: str) -> None:
    assert decoded(text)[1] in ("plain", "encoded", "miscased", "broken")
    assert set(unlisted(text)) <= set(BOTH_TYPES)
    assert foreign(text, text, "http://127.0.0.1:8000/mcp") in (True, False)


@pytest.mark.parametrize(
    ("accept", "missing"),
    [
        ("application/json, text/event-stream", ()),
        ("TEXT/EVENT-STREAM;q=0.1,application/json;charset=utf-8", ()),
        ("application/json", ("text/event-stream",)),
        ("text/event-stream;q=0.000, application/json; q=1", ("text/event-stream",)),
        ("*/*", BOTH_TYPES),
        (None, BOTH_TYPES),
    ],
)
def test_types_that_are_not_listed(accept: str | None, missing: tuple[str, ...]) -> None:
    assert unlisted(accept) == missing


@pytest.mark.parametrize(
    ("origin", "host", "channel", "told"),
    [
        ("https://evil.example", "localhost:8000", "http://127.0.0.1:8000/mcp", True),
        ("http://localhost:6274", "localhost:8000", "http://127.0.0.1:8000/mcp", False),
        ("http://[::1]:6274", "localhost:8000", "http://127.0.0.1:8000/mcp", False),
        (
            "https://app.example",
            "app.example",
            "http://127.0.0.1:8000/mcp",
            False,
        ),  # behind a gateway of its own
        ("https://app.example", "mcp.example", "https://mcp.example/mcp", False),  # its policy
        ("null", "localhost:8000", "http://127.0.0.1:8000/mcp", False),
        ("vscode-webview://abc", "localhost:8000", "http://127.0.0.1:8000/mcp", False),
    ],
)
def test_a_page_from_elsewhere(origin: str, host: str, channel: str, told: bool) -> None:
    assert foreign(origin, host, channel) is told

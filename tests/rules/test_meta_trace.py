"""Values of the trace context and of baggage, with what the two recommendations say."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.rules.meta_trace import baggage_fault, parent_fault, state_fault

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        (f"00-{TRACE}-{SPAN}-01", ""),
        (f"00-{TRACE}-{SPAN}-ff", ""),
        (f"01-{TRACE}-{SPAN}-01-what-ever", ""),
        (f"00-{TRACE}-{SPAN}-01-more", "has more than four fields"),
        (f"ff-{TRACE}-{SPAN}-01", "has the version ff, which is forbidden"),
        (f"00-{'0' * 32}-{SPAN}-01", "has an id of zeros only"),
        (f"00-{TRACE}-{'0' * 16}-01", "has an id of zeros only"),
        (f"00-{TRACE.upper()}-{SPAN}-01", "is no version-traceid-parentid-flags in lower-case hex"),
        (f"00-{TRACE}-{SPAN}-1", "is no version-traceid-parentid-flags in lower-case hex"),
        (f"00-{TRACE}-{SPAN}-01\n", "is no version-traceid-parentid-flags in lower-case hex"),
        ("", "is no version-traceid-parentid-flags in lower-case hex"),
        (7, "is no string"),
    ],
)
def test_traceparent(value: Any, wrong: str) -> None:
    assert parent_fault(value) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("acme=1", ""),
        ("acme=1, tenant@sys=a:b ,,9x=y", ""),
        ("", ""),
        (",".join(f"k{n}=1" for n in range(32)), ""),
        (",".join(f"k{n}=1" for n in range(33)), "has more than 32 members"),
        ("acme", "has a member that is no key=value"),
        ("Acme=1", "has a member that is no key=value"),
        ("acme=", "has a member that is no key=value"),
        ("acme=a=b", "has a member that is no key=value"),
        ("acme=é", "has a member that is no key=value"),
        ("acme=1,acme=2", "has the same key twice"),
        (None, "is no string"),
    ],
)
def test_tracestate(value: Any, wrong: str) -> None:
    assert state_fault(value) == wrong


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("userId=ann", ""),
        ("userId = ann , tier=gold;ttl=5;signed", ""),
        ("empty=", ""),
        ("a=b=c", ""),
        ("tier", "has a member without ="),
        ("", "has a member without ="),
        ("user id=ann", "has a key with characters that no token has"),
        ("=ann", "has a key with characters that no token has"),
        ('name="ann"', "has a value with characters that must be encoded"),
        ("name=a b", "has a value with characters that must be encoded"),
        ("name=a;b c", "has a property that cannot be read"),
        ("name=a;", "has a property that cannot be read"),
        (["a=b"], "is no string"),
    ],
)
def test_baggage(value: Any, wrong: str) -> None:
    assert baggage_fault(value) == wrong

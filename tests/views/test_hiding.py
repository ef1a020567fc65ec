"""What is handed on holds no credential, and equal ones can still be told to be equal."""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.views.hiding import Hiding


def exchange(token: str) -> dict[str, Any]:
    heads = [["Authorization", f"Bearer {token}"], ["Cookie", "a=1"], ["X-Api-Key", token], ["Accept", "*/*"]]
    return {
        "t": 1.0,
        "request": {"method": "POST", "url": f"http://x/mcp?token={token}", "headers": heads},
        "response": {"status": 200, "headers": [["Set-Cookie", "sid=secret-cookie"], ["Server", "x"]]},
    }


def test_credentials_become_digests() -> None:
    hiding = Hiding({"a.mrj": {"mono": 1}})
    first, again, other = (hiding.line(exchange(t)) for t in ("secret-one", "secret-one", "secret-two"))
    assert first == again and first != other
    assert "secret" not in json.dumps([first, other])
    names = [name for name, _ in first["request"]["headers"]]
    assert names == ["Authorization", "Cookie", "X-Api-Key", "Accept"]
    assert first["request"]["headers"][0][1].startswith("Bearer hidden-")
    assert first["request"]["headers"][3] == ["Accept", "*/*"] and first["response"]["headers"][1] == [
        "Server",
        "x",
    ]


def test_another_capture_has_other_digests() -> None:
    one, other = (Hiding({"a.mrj": {"mono": n}}).line(exchange("secret-one")) for n in (1, 2))
    assert one["request"]["headers"][0] != other["request"]["headers"][0]


def test_what_is_no_exchange_is_left_alone() -> None:
    line = {"t": 1.0, "dir": "c2s", "line": "{}"}
    assert Hiding({}).line(line) == line
    unanswered = exchange("secret-one") | {"response": None}
    assert Hiding({}).line(unanswered)["response"] is None

"""Short forms of HTTP exchanges become the lines of a transcript that they stand for."""

from __future__ import annotations

import json
from typing import Any

from mrtrscope.rules.examples import Case
from mrtrscope.rules.plain_http import expanded

AS = "https://as.example"


def lines(*rows: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[Any, list[str]]]:
    case = Case(
        "auth/pkce-s256", "violates-x", "\n".join(map(json.dumps, [{"case": "Something"}, *rows])) + "\n"
    )
    assert case.transports(["http"]) == ["http"]
    text, expected = case.transcript("http")
    return [json.loads(line) for line in text.splitlines()], expected


def test_a_get_with_a_query_and_a_redirection() -> None:
    where = {
        "get": f"{AS}/authorize",
        "query": {"a": "b c"},
        "status": 302,
        "reply": {"Location": "http://x/"},
    }
    assert expanded({**where, "t": 3, "expect": True}) == {
        "http": {
            "conn": 1,
            "request": {
                "method": "GET", "url": f"{AS}/authorize?a=b+c", "http": "HTTP/1.1",
                "headers": [["Host", "as.example"]], "body": "",
            },
            "response": {"status": 302, "headers": [["Location", "http://x/"]], "chunks": []},
            "closed_by": "server",
        },
        "t": 3,
        "expect": True,
    }  # fmt: skip


def test_forms_and_json_say_what_they_are() -> None:
    form = expanded({"post": f"{AS}/token", "form": {"grant_type": "x"}, "answer": {"a": 1}})["http"]
    assert form["request"]["body"] == "grant_type=x"
    assert ["Content-Type", "application/x-www-form-urlencoded"] in form["request"]["headers"]
    assert form["response"]["headers"] == [["Content-Type", "application/json"]]
    assert form["response"]["chunks"] == [{"data": '{"a": 1}'}]
    posted = expanded({"post": f"{AS}/register", "json": {"b": 2}, "headers": {"X": ["1", "2"]}})["http"]
    assert posted["request"]["body"] == '{"b": 2}'
    assert [value for name, value in posted["request"]["headers"] if name == "X"] == ["1", "2"]


def test_other_lines_stay_as_they_are() -> None:
    line = {"c2s": {"id": 1}, "status": 401}
    assert expanded(line) is line


def test_a_request_may_be_answered_by_http_alone() -> None:
    call = {"c2s": {"id": 1, "method": "tools/list"}, "url": "https://s.example/mcp", "status": 401}
    (row,), expected = lines(
        {**call, "reply": {"WWW-Authenticate": "Bearer"}, "answer": "no", "expect": {"event": 0}}
    )
    assert row["request"]["url"] == "https://s.example/mcp"
    assert ["Host", "s.example"] in row["request"]["headers"]
    assert row["response"] == {
        "status": 401, "headers": [["WWW-Authenticate", "Bearer"]], "chunks": [{"data": "no"}], "t": 0.0,
    }  # fmt: skip
    assert row["closed_by"] == "server"
    assert expected == {(("event", 0), ("flow", 0)): ["auth/pkce-s256"]}

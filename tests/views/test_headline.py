"""The line over a picture says how a call ended."""

from __future__ import annotations

from mrtrscope.views.build import build
from mrtrscope.views.headline import title
from mrtrscope.views.redact import Redactor
from mrtrscope.views.scene import RoundDetail, Said
from tests.views import scenes


def test_a_tool_that_failed_is_no_plain_success() -> None:
    made = scenes.broken_state()
    made.outcome = "complete"
    answer = made.rounds[-1].answer
    assert answer is not None
    answer.body = {"jsonrpc": "2.0", "id": 2, "result": {"content": [], "resultType": "complete"}}
    assert ": complete after 2 rounds" in title(made, Redactor())
    answer.body["result"]["isError"] = True
    assert ": complete, isError after 2 rounds" in title(made, Redactor())


def test_a_gateway_shows_what_the_server_was_answered() -> None:
    made, upstream = scenes.one_round(), scenes.one_round()
    ask = {"method": "elicitation/create", "params": {"message": "Which size?", "requestedSchema": {}}}
    answer = {"action": "accept", "content": {"size": "M", "token": "abcdefgh"}}
    upstream.inner = [
        RoundDetail(
            Said("m8", 2.0, "s2c", "request", {"jsonrpc": "2.0", "id": 0, **ask}),
            Said("m9", 3.0, "c2s", "response", {"jsonrpc": "2.0", "id": 0, "result": answer}),
        )
    ]
    made.hops = [upstream]
    row = next(row for row in build(made).rows if row.m == "m9")
    assert (row.label, [(line.name, line.text) for line in row.lines]) == (
        "result, accept  id 0", [("size", '"M"'), ("token", "‹hidden 1›")],
    )  # fmt: skip

"""The line over a picture says how a call ended."""

from __future__ import annotations

from mrtrscope.views.headline import title
from mrtrscope.views.redact import Redactor
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

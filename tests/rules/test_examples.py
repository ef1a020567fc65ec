"""A case in short form becomes the transcript it stands for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mrtrscope.rules.examples import Case, cases_of

META = "io.modelcontextprotocol/"


def case(*lines: dict[str, Any], **head: Any) -> Case:
    rows = [{"case": "Something", **head}, *lines]
    return Case("mrtr/at-least-one-field", "violates-x", "\n".join(map(json.dumps, rows)) + "\n")


def rows(case: Case, transport: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in case.transcript(transport)[0].splitlines()]


CALL = {"c2s": {"id": 1, "method": "tools/call", "params": {"name": "deploy"}}}
DONE = {"s2c": {"id": 1, "result": {"resultType": "complete", "content": []}}}
PROGRESS = {"s2c": {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}}


def test_a_modern_request_gets_what_every_one_must_carry() -> None:
    (row,) = rows(case(CALL, capabilities={"roots": {}}), "stdio")
    body = json.loads(row["line"])
    assert (row["t"], row["dir"], body["jsonrpc"]) == (0.0, "c2s", "2.0")
    assert body["params"]["_meta"][META + "protocolVersion"] == "2026-07-28"
    assert body["params"]["_meta"][META + "clientCapabilities"] == {"roots": {}}


def test_what_a_case_says_itself_stays() -> None:
    own = {
        "c2s": {
            "id": 1,
            "method": "tools/call",
            "params": {"_meta": {META + "protocolVersion": "2027-01-01"}},
        }
    }
    (row,) = rows(case(own), "stdio")
    assert json.loads(row["line"])["params"]["_meta"][META + "protocolVersion"] == "2027-01-01"


def test_an_ellipsis_stands_for_ordinary_params() -> None:
    questions = {
        "a": {"method": "elicitation/create", "params": "… Sure?"},
        "b": {"method": "sampling/createMessage", "params": "…"},
        "c": {"method": "roots/list"},
        "d": "text",
    }
    ask = {"s2c": {"id": 1, "result": {"resultType": "input_required", "inputRequests": questions}}}
    got = json.loads(rows(case(CALL, ask), "stdio")[1]["line"])["result"]["inputRequests"]
    assert got["a"]["params"]["message"] == "Sure?" and got["a"]["params"]["mode"] == "form"
    assert got["b"]["params"]["maxTokens"] == 20
    assert (got["c"], got["d"]) == (questions["c"], "text")


def test_raw_lines_and_text_are_sent_as_they_stand() -> None:
    got = rows(case({"c2s": {"id": 1, "method": "x"}, "raw": True}, {"s2c": "no json"}), "stdio")
    assert [row["line"] for row in got] == ['{"id": 1, "method": "x"}', "no json"]


def test_times_go_on_by_a_tenth_of_a_second_from_the_last_that_was_said() -> None:
    got = rows(case(CALL, {**DONE, "t": 5}, CALL), "stdio")
    assert [row["t"] for row in got] == [0.0, 5, 5.1]


def test_marks_are_places_in_the_transcript() -> None:
    marked = case(CALL, {**PROGRESS, "expect": ["progress/known-token"]}, {**DONE, "expect": True})
    assert marked.transcript("stdio")[1] == {
        (("line", 1),): ["progress/known-token"],
        (("line", 2),): ["mrtr/at-least-one-field"],
    }
    assert marked.transcript("http")[1] == {
        (("event", 0), ("flow", 0)): ["progress/known-token"],
        (("event", 1), ("flow", 0)): ["mrtr/at-least-one-field"],
    }


def test_over_http_one_answer_is_json_and_several_are_a_stream() -> None:
    (one,), (several,) = rows(case(CALL, DONE), "http"), rows(case(CALL, PROGRESS, DONE), "http")
    assert ["Content-Type", "application/json"] in one["response"]["headers"]
    assert ["Content-Type", "text/event-stream"] in several["response"]["headers"]
    assert [c["data"][:6] for c in several["response"]["chunks"]] == ["data: ", "data: "]
    sent = dict(one["request"]["headers"])
    assert (sent["MCP-Protocol-Version"], sent["Mcp-Method"], sent["Mcp-Name"]) == (
        "2026-07-28",
        "tools/call",
        "deploy",
    )


def test_headers_can_be_changed_left_out_and_sent_twice() -> None:
    changed = {**CALL, "headers": {"mcp-name": None, "ACCEPT": "*/*", "X": ["1", "2"]}}
    sent = rows(case(changed), "http")[0]["request"]["headers"]
    assert [v for k, v in sent if k.lower() == "accept"] == ["*/*"]
    assert [v for k, v in sent if k == "X"] == ["1", "2"]
    assert "mcp-name" not in {k.lower() for k, _ in sent}


def test_answers_find_their_request_by_id_then_the_latest_that_is_open() -> None:
    second = {"c2s": {"id": 2, "method": "tools/list"}}
    got = rows(case(CALL, second, {**PROGRESS, "on": 1}, PROGRESS, DONE), "http")
    assert [len(row["response"]["chunks"]) for row in got] == [2, 1]
    assert [row["closed_by"] for row in got] == ["server", "server"]


def test_a_request_without_an_answer_stays_open_and_a_notification_is_accepted() -> None:
    asked, told = rows(case(CALL, {"c2s": {"method": "notifications/cancelled"}}), "http")
    assert (asked["response"], asked["closed_by"]) == (None, "open")
    assert (told["response"]["status"], told["closed_by"]) == (202, "server")


def test_error_codes_bring_their_http_status() -> None:
    refused = {"s2c": {"id": 1, "error": {"code": -32601, "message": "no such method"}}}
    assert rows(case(CALL, refused), "http")[0]["response"]["status"] == 404
    assert rows(case(CALL, {**refused, "status": 200}), "http")[0]["response"]["status"] == 200


def test_shorthands_for_the_beginning_of_a_session() -> None:
    old = rows(case({"handshake": "2025-11-25", "server": {"tools": {}}}, era="2025-11-25"), "stdio")
    assert [json.loads(r["line"]).get("method", "result") for r in old] == [
        "initialize", "result", "notifications/initialized",
    ]  # fmt: skip
    new = rows(case({"discover": {"tools": {}}}), "stdio")
    assert json.loads(new[1]["line"])["result"]["capabilities"] == {"tools": {}}


@pytest.mark.parametrize(("head", "known", "runs"), [
    ({}, ["http", "stdio"], ["http", "stdio"]),
    ({}, ["stdio"], ["stdio"]),
    ({"transport": "http"}, ["http", "stdio"], ["http"]),
])  # fmt: skip
def test_a_case_runs_wherever_its_rule_does(head: dict[str, Any], known: list[str], runs: list[str]) -> None:
    assert case(CALL, **head).transports(known) == runs


def test_violating_cases_come_first_and_an_unknown_rule_has_none() -> None:
    names = [c.name for c in cases_of("mrtr/at-least-one-field")]
    assert names == sorted(names, key=lambda name: not name.startswith("violates-"))
    assert cases_of("mrtr/no-such-rule") == []

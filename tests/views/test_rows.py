"""Tables and findings as text: whole lines, and nothing in them that was not meant."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope import model
from mrtrscope.views.rows import findings, messages, operations
from mrtrscope.views.table import Cell, Column, table

T = 1_795_978_912.1


def operation(**changed: Any) -> model.Operation:
    given: dict[str, Any] = {
        "id": "op1", "key": "a:1", "t": T, "kind": "mrtr", "channel": "demo", "method": "tools/call",
        "target": "deploy", "outcome": "complete", "rounds": [],
        "times": model.Times(server=0.01, waiting=3, total=3.01), "findings": 0,
    }  # fmt: skip
    return model.Operation(**given | changed)


def message(**changed: Any) -> model.Message:
    given: dict[str, Any] = {
        "m": "m1", "key": "a:1", "t": T, "channel": "demo", "client": "a:0", "dir": "c2s", "kind": "request", "id": 1,
        "id_text": "1", "method": "tools/call", "target": "deploy", "operation": "op1", "size": 420,
        "source": model.Source(file="a", offset=1),
    }  # fmt: skip
    return model.Message(**given | changed)


def finding(**changed: Any) -> model.Finding:
    given: dict[str, Any] = {
        "id": "x", "rule": "mrtr/new-request-id", "level": "must", "keyword": "must", "party": "client", "at": "m3",
        "also": ["m1", "m2"], "operation": "op1", "channel": "demo", "t": T, "saw": {"id": 1}, "expected": "another id",
        "text": "the retry has the id of an earlier round", "rule_source": "2026-07-28/x#y",
        "source": model.Source(file="a", offset=1),
    }  # fmt: skip
    return model.Finding(**given | changed)


def test_operations() -> None:
    rows = [
        operation(),
        operation(id="op12", t=T + 90_000, kind="single", target=None, outcome="lost", findings=2, worst="should",
                  worst_count=2, times=model.Times(server=1.5, waiting=0, total=1.5)),
    ]  # fmt: skip
    assert list(operations(rows, None, False)) == [
        "id    when          channel  method      target  kind    rounds  outcome   server  waiting   total  findings",
        "2026-11-29 UTC",
        "op1   19:01:52.100  demo     tools/call  deploy  mrtr         0  complete   10 ms   3.00 s  3.01 s         -",
        "2026-11-30 UTC",
        "op12  20:01:52.100  demo     tools/call          single       0  lost      1.50 s        -  1.50 s  2 should",
    ]


def test_wide_characters_take_their_room_and_unseen_ones_are_spelled_out() -> None:
    rows = [operation(target="天気\x1b[2J"), operation(target="e\u0301"), operation(target="plain")]
    shown = list(operations(rows, None, False))
    assert [line.partition("tools/call")[2].partition("mrtr")[0] for line in shown[2:]] == [
        "  天気\\x1b[2J  ", "  e\u0301            ", "  plain        ",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("width", "last"),
    [
        (150, "op1  19:01:52.100  https://a-rather…com:8443/mcp  tools/call  note://"),
        (80, "op1  https:/…3/mcp  tools/call  note:/…xxxxx       0  complete  3.01 s         -"),
        (40, "op1  http…mcp  tools/c…  note…xxx       0  complete         -"),
    ],
)
def test_a_narrow_terminal_cuts_what_can_give_way_and_drops_the_rest(width: int, last: str) -> None:
    rows = [operation(channel="https://a-rather-long-name.example.com:8443/mcp", target="note://" + "x" * 50)]
    lines = list(operations(rows, width, False))
    assert lines[2].startswith(last)
    assert width < 80 or max(map(len, lines)) <= width
    assert "…" not in list(operations(rows, None, False))[2]


def test_nothing_says_so() -> None:
    assert list(operations([], None, False)) == ["No operations: nothing was asked in this capture."]
    assert list(messages([], {"non_messages": 0}, None, False)) == ["No messages."]


def test_messages_and_what_is_none() -> None:
    rows = [
        message(),
        message(
            m="m2", dir="s2c", kind="response", method=None, target=None, status=200, oddities=["bom", "nan"]
        ),
    ]
    assert list(messages(rows, {"non_messages": 2, "undelivered": 0, "gaps": 1}, None, False)) == [
        "m   when          channel     kind      id  method      target  operation  status   size  odd",
        "2026-11-29 UTC",
        "m1  19:01:52.100  demo     →  request   1   tools/call  deploy  op1                420 B",
        "m2  19:01:52.100  demo     ←  response  1                       op1           200  420 B  bom, nan",
        "(text that is no message: 2; gaps in the recording: 1)",
    ]


def test_a_finding_says_who_where_what() -> None:
    shown = findings(
        [finding()], {"must": 1, "should": 0, "info": 2}, {"operations": 3, "messages": 1}, None, False,
        about=lambda at: {"m3": "request 1 tools/call"}[at],
    )  # fmt: skip
    assert list(shown) == [
        "mrtr/new-request-id  must  client  m3, request 1 tools/call: the retry has the id of an earlier round",
        '    saw {"id": 1}',
        "    expected another id",
        "    see also m1 and m2",
        "    2026-07-28/x#y; operation op1",
        "1 must and 2 notes in 3 operations and 1 message; 1 must by the client.",
    ]


def test_whose_client_it_was_is_told_where_there_are_several_channels() -> None:
    shown = list(findings([finding()], {"must": 1}, {}, None, False, named=True))
    assert shown[0].startswith("mrtr/new-request-id  must  client of demo  m3: the retry")


def test_many_of_one_rule_are_counted() -> None:
    rows = [finding(at=f"m{n}", saw=None, expected=None, also=[]) for n in range(5)]
    shown = list(findings(rows, {"must": 5}, {}, None, False, each=2))
    assert sum(line.startswith("mrtr/") for line in shown) == 2
    assert shown[-2:] == [
        "… and 3 more of mrtr/new-request-id (--all prints them)",
        "5 must in 0 operations and 0 messages; 5 must by the client.",
    ]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (["client must", "client must", "server must"], "; 2 must by the client, 1 must by the server."),
        (["server should", "client must", "client should", "server info"],
         "; 1 must and 1 should by the client, 1 should by the server."),
        (["either must"], "; 1 must by one of the two."),
        (["client info"], "."),
    ],
)  # fmt: skip
def test_the_end_says_who_broke_how_much(broken: list[str], said: str) -> None:
    rows = [finding(party=party, level=level) for party, level in map(str.split, broken)]
    last = list(findings(rows, {"must": 1}, {}, None, False, each=1))[-1]
    assert last == f"1 must in 0 operations and 0 messages{said}"


def test_no_findings() -> None:
    shown = list(findings([], {}, {"operations": 1, "messages": 2}, None, False))
    assert shown == ["No findings in 1 operation and 2 messages."]


def test_a_long_table_is_written_while_it_is_read() -> None:
    def rows() -> Any:
        for n in range(2000):
            taken.append(n)
            yield [Cell(str(n)), Cell("x" * (n // 1000 * 50))]

    taken: list[int] = []
    lines = table([Column("n", right=True), Column("x")], rows(), None, False)
    assert next(lines) == "  n"
    assert len(taken) == 500
    assert list(lines)[-1] == "1999"

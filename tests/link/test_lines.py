"""Lines that are no message: judged one by one, or as the parts of one."""

from __future__ import annotations

import json

from mrtrscope.link.lines import LINES, SPLIT, Lines
from mrtrscope.wire.events import ABSENT, NonMessage


def line(text: str, why: str = "not-json", lane: str = "0o", size: int | None = None) -> NonMessage:
    event = NonMessage()
    event.journal, event.offset, event.part, event.t, event.lane, event.dir = "j", 0, 0, 1, lane, "s2c"
    event.raw, event.why, event.body, event.cut, event.edited = text.encode(), why, ABSENT, False, False
    event.size = len(event.raw) if size is None else size
    return event


def feed(lines: Lines, *events: NonMessage) -> list[list[NonMessage]]:
    return [lines.take(event) for event in events]


def test_words_are_judged_at_once() -> None:
    lines = Lines()
    for text, why in (
        ("listening", "not-json"),
        ("{}", "not-json-rpc"),
        ("", "blank-line"),
        ("[INFO] x", "not-json"),
    ):
        event = line(text, why)
        assert lines.take(event) == [event]
    assert lines.runs == {} and lines.held() == []


def test_a_printed_message_is_one_event() -> None:
    lines = Lines()
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"a": ["}", "\\", 1]}}, indent=2)
    events = [line(part) for part in text.split("\n")]
    *before, last = feed(lines, *events)
    assert before == [[]] * (len(events) - 1)
    assert last == [events[0]]
    assert (events[0].why, events[0].body) == (SPLIT, json.loads(text))
    assert lines.held() == []


def test_printed_json_that_is_no_message_is_many_lines() -> None:
    lines = Lines()
    events = [line("{"), line('  "step": 3', "not-json"), line("", "blank-line"), line("}")]
    assert feed(lines, *events)[-1] == events
    assert {event.why for event in events} == {"not-json", "blank-line"}


def test_what_cannot_be_a_part_ends_the_run() -> None:
    lines = Lines()
    for text in ('an "open string', "}}", "x" * 10):
        events = [line("{"), line(text, size=5000 if text[0] == "x" else None)]
        assert feed(lines, *events) == [[], events]
    assert lines.runs == {}


def test_a_message_or_the_end_decides() -> None:
    lines = Lines()
    first, other = line("{ broken"), line("[", lane="1o")
    assert feed(lines, first, other) == [[], []]
    assert lines.held() == [first, other]
    assert lines.ended("j", "0o") == [first]
    assert lines.ended("j", "0o") == []
    assert lines.held() == [other]


def test_a_run_is_bounded() -> None:
    lines = Lines()
    events = [line("{" if n == 0 else '"a": 1,') for n in range(LINES + 1)]
    assert feed(lines, *events)[-1] == events

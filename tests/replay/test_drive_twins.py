"""`replay drive` of a server that issues one state for equal calls: which question a retry takes up cannot be told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import mrtrscope
from tests.replay.world import asks, call, capture, said, served

pytestmark = pytest.mark.live

DAY = {"method": "elicitation/create", "params": {"mode": "form", "message": "Day?", "requestedSchema": {
    "type": "object", "properties": {"day": {"type": "string"}}}}}  # fmt: skip
FRIDAY = {"day": {"action": "accept", "content": {"day": "Friday"}}}


def test_a_retry_that_fits_two_questions_is_played_after_the_one_that_none_took_up(tmp_path: Path) -> None:
    messages = []
    for id in (1, 3):
        again = call(id + 1, "book", {"people": 2}, requestState="people=2", inputResponses=FRIDAY)
        messages += [
            call(id, "book", {"people": 2}),
            asks(id, "people=2", day=DAY),
            again,
            said(id + 1, "booked"),
        ]
    recorded = capture(tmp_path / "recorded", *messages)
    ops = json.loads(mrtrscope("list", recorded, "--format", "json").stdout)["operations"]
    assert [(op["kind"], len(op["rounds"])) for op in ops] == [("mrtr", 2), ("mrtr", 1), ("single", 1)]
    with served(recorded, tmp_path / "stand") as url:
        done = mrtrscope("replay", "drive", recorded, "--capture", tmp_path / "driven", "--target", url)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "3 of 3 operations passed."), done.stdout

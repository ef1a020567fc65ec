"""What is told of a drive shows no state at length, wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest

from mrtrscope.replay.report import value
from mrtrscope.views.redact import Redactor

STATE = "v1.aQ7pL0zX9" * 12


@pytest.mark.parametrize(
    ("found", "path"),
    [
        (STATE, "/result/requestState"),
        ({"requestState": STATE}, "/result"),
        ({"result": {"requestState": STATE}}, ""),
    ],
)
def test_a_state_is_shortened(found: Any, path: str) -> None:
    shown = value(found, path, Redactor())
    assert STATE not in shown and "v1.aQ7…pL0zX9"[:6] in shown and len(shown) < 60

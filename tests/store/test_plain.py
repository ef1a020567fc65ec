"""Plain rows say what the models say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mrtrscope import analyse, model
from mrtrscope.store import plain
from tests.captures import recorded
from tests.conftest import ROOT, SAMPLES

CLASSES = [
    name for name, made in vars(plain).items() if isinstance(made, type) and made.__module__ == plain.__name__
]


@pytest.mark.parametrize("name", [name for name in CLASSES if name != "Row"])
def test_defaults_are_those_of_the_model(name: str) -> None:
    fields = getattr(model, name).model_fields
    wanted = {
        key: field.get_default(call_default_factory=True)
        for key, field in fields.items()
        if not field.is_required()
    }
    assert getattr(plain, name).defaults == wanted


def test_rows_are_the_same(tmp_path: Path) -> None:
    recorded(tmp_path, requests=30)
    for capture in (tmp_path, SAMPLES / "sample-demo"):
        with analyse.bring_up_to_date(capture) as full, analyse.bring_up_to_date(capture, plain=True) as bare:
            for name in ("messages", "operations", "findings", "channels"):
                for one, other in zip(getattr(full, name)(), getattr(bare, name)(), strict=True):
                    assert {key: _plain(value) for key, value in vars(other).items()} == one.model_dump()


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in vars(value).items()} if isinstance(value, plain.Row) else value


def test_one_picture_loads_neither_pydantic_nor_the_analysis(tmp_path: Path) -> None:
    recorded(tmp_path, requests=5)
    code = (
        f"import sys\nfrom mrtrscope.cli import run\n"
        f"run(['diagram', {str(tmp_path)!r}, 'op1', '-o', {str(tmp_path / 'x.svg')!r}])\n"
        "slow = ('pydantic', 'sqlite_utils', 'mrtrscope.pipeline', 'mrtrscope.rules.registry', 'jinja2', 'mitmproxy')\n"
        "print([name for name in slow if name in sys.modules])"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
        )
    assert done.stdout.splitlines()[-1] == "[]"

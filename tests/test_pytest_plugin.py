"""The fixtures, in the tests of somebody else: the examples of docs/replay.md, run by a pytest of their own."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mrtrscope.pytest_plugin import PRINTED
from tests.captures import Line, journal
from tests.conftest import ROOT, SAMPLES

pytestmark = pytest.mark.live

DOCUMENT = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
EXAMPLES = dict(
    re.findall(r"^<!-- test: (\w+) -->\n```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
)


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(code, encoding="utf-8")
    (folder / "captures").symlink_to(SAMPLES)
    known = any(
        p.value == "mrtrscope.pytest_plugin" for p in importlib.metadata.entry_points(group="pytest11")
    )
    load = [] if known else ["-p", "mrtrscope.pytest_plugin"]
    return subprocess.run(
        [
            sys.executable, "-m", "pytest", *load, "-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", ".",
            "test_it.py",
        ],
        cwd=folder, capture_output=True, text=True, timeout=240,
    )  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_document_passes(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, EXAMPLES[name])
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_the_document_has_an_example_of_each_fixture() -> None:
    text = "\n".join(EXAMPLES.values())
    assert all(name in text for name in ("mrtr_serve(", "mrtr_serve.command(", "mrtr_record(", "mrtr_clean("))


def test_a_breach_fails_the_test_and_is_named(tmp_path: Path) -> None:
    done = run(
        tmp_path, 'def test_it(mrtr_clean):\n    mrtr_clean("captures/sample-stdio", party="client")\n'
    )
    assert done.returncode == 1
    assert "3 findings in captures/sample-stdio:" in done.stdout
    assert "mrtr/new-request-id  must  client  m46" in done.stdout
    assert (
        "mrtr/all-keys-answered  must  client  m50, request 5 tools/call: no answer for the key"
        in done.stdout
    )
    assert '    saw ["size"]' in done.stdout and '    expected ["day", "size"]' in done.stdout


def test_a_breach_is_told_in_bounds_and_without_secrets(tmp_path: Path) -> None:
    secret = "kq7XplanetS"
    call = {"name": "login", "arguments": {"password": secret}}
    lines: list[Line] = [(1000, "c2s", _line(jsonrpc="2.0", id=1, method="tools/call", params=call))]
    lines += [
        (2000 + n, "c2s", _line(jsonrpc=f"{secret} {'x' * 5000}", id=2 + n, method="ping")) for n in range(40)
    ]
    journal(tmp_path / "made", lines).close()
    done = run(tmp_path, 'def test_it(mrtr_clean):\n    mrtr_clean("made")\n')
    assert done.returncode == 1
    assert secret not in done.stdout and "‹hidden 1›" in done.stdout
    assert f"… and {40 - PRINTED} more; `mrtrscope check made --all` prints them" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 500


def _line(**members: object) -> bytes:
    return json.dumps(members).encode()


def test_what_is_ignored_does_not_fail(tmp_path: Path) -> None:
    code = 'def test_it(mrtr_clean):\n    mrtr_clean("captures/sample-stdio", ignore=["mrtr"])\n'
    assert run(tmp_path, code).returncode == 0


def test_an_empty_session_is_not_clean(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_it(mrtr_record, mrtr_clean):\n    mrtr_clean(mrtr_record())\n")
    assert done.returncode == 1
    assert "nothing was recorded in " in done.stdout


def test_nothing_is_loaded_before_a_fixture_is_used() -> None:
    code = (
        "import sys, pytest\nbefore = set(sys.modules)\nimport mrtrscope.pytest_plugin\n"
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('_')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['mrtrscope', 'mrtrscope.pytest_plugin']"

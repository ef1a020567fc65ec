"""The demo as a user runs it: what it prints, what it leaves, and that it leaves nothing running."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import LIMIT, ROOT, mrtrscope, wait_until

DEMO = [sys.executable, "-m", "mrtrscope", "demo", "--capture"]

EXPECTED = {
    ("server/discover", None, 1): 1,
    ("tools/list", None, 1): 2,
    (
        "tools/call",
        "book_table",
        2,
    ): 5,  # Friday, Saturday and Sunday; Monday and Tuesday of the broken client
    ("tools/call", "order_cake", 3): 1,
    ("tools/call", "order_cake", 2): 1,  # of the broken client
    ("prompts/get", "invitation", 2): 1,
    ("resources/read", "menu://spring", 2): 1,
    ("tools/call", "bake", 1): 1,
}


@pytest.fixture(scope="module")
def shown(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Path, subprocess.CompletedProcess[str]]]:
    """The demo, run once for all tests that look at what it did."""
    capture = tmp_path_factory.mktemp("demo") / "capture"
    done = subprocess.run(
        [*DEMO, str(capture)], capture_output=True, text=True, encoding="utf-8", timeout=LIMIT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    yield capture, done


Shown = tuple[Path, subprocess.CompletedProcess[str]]


@pytest.mark.live
def test_it_ends_well(shown: Shown) -> None:
    _, done = shown
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.live
def test_it_prints_operations_findings_and_where_the_pictures_are(shown: Shown) -> None:
    capture, done = shown
    headings = re.findall(
        r"^(Operations|Findings|Capture|Pictures|Broken|Next|Report)", done.stdout, re.MULTILINE
    )
    assert headings == ["Operations", "Findings", "Capture", "Pictures", "Broken", "Next", "Report"]
    pictures = sorted(path.name for path in (capture / "pictures").iterdir())
    assert f"Report     {capture / 'report.html'}\n" in done.stdout and (capture / "report.html").is_file()
    assert f"Pictures   {capture / 'pictures'}: {len(pictures)}," in done.stdout
    broken = re.findall(r"^(?:Broken| {6})     (op\d+)\.svg +([a-z/-]+)  ", done.stdout, re.MULTILINE)
    assert len(broken) == 6 and broken[0][1] == "mrtr/state-echoed-verbatim"
    assert f"Next       mrtrscope show {capture} {broken[0][0]}\n" in done.stdout
    several = [o["id"] for o in operations(capture) if len(o["rounds"]) > 1]
    assert pictures == sorted(f"{op}.svg" for op in several)
    assert all((capture / "pictures" / name).read_text(encoding="utf-8").startswith("<") for name in pictures)


@pytest.mark.live
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_operation_of_the_client_is_one_line(shown: Shown, transport: str) -> None:
    capture, _ = shown
    mine = [o for o in operations(capture) if o["channel"].startswith("http") == (transport == "http")]
    counts: dict[tuple[str, str, int], int] = {}
    for operation in mine:
        key = (operation["method"], operation["target"], len(operation["rounds"]))
        counts[key] = counts.get(key, 0) + 1
    assert counts == EXPECTED


@pytest.mark.live
def test_the_broken_client_is_caught_and_nobody_else_is(shown: Shown) -> None:
    capture, _ = shown
    found = json.loads(mrtrscope("check", capture, "--format", "json").stdout)["findings"]
    serious = sorted((f["rule"], f["party"]) for f in found if f["level"] != "info")
    broken = ["mrtr/all-keys-answered", "mrtr/new-request-id", "mrtr/state-echoed-verbatim"]
    assert serious == [(rule, "client") for rule in broken for _transport in ("stdio", "http")]


@pytest.mark.live
def test_only_its_owner_can_read_what_it_left(shown: Shown) -> None:
    capture, _ = shown
    open_to_others = [path for path in [capture, *capture.rglob("*")] if path.stat().st_mode & 0o077]
    assert open_to_others == []


def operations(capture: Path) -> list[dict]:  # type: ignore[type-arg]
    done = mrtrscope("list", capture, "--format", "json")
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout)["operations"])


SEED = int.from_bytes(os.urandom(2))
MOMENTS = [
    (name, random.Random(SEED + i).uniform(0.1, 8.0))
    for i, name in enumerate(["INT", "TERM", "HUP", "KILL", "INT", "TERM"])
]


@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "moment"), MOMENTS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(MOMENTS)]
)
def test_interrupted_at_any_moment_it_leaves_nothing_running(
    tmp_path: Path, no_survivors: Callable[[], list[str]], name: str, moment: float
) -> None:
    number = signal.Signals[f"SIG{name}"]
    with subprocess.Popen(
        [*DEMO, str(tmp_path / "capture")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},  # a killed one cannot clear away its own folder there
    ) as demo:
        try:
            demo.wait(moment)
        except subprocess.TimeoutExpired:
            demo.send_signal(number)
        demo.communicate(timeout=LIMIT)
    print(f"seed {SEED}: {name} after {moment:.2f} s, exit code {demo.returncode}")
    assert demo.returncode in (0, 128 + number, -number)
    wait_until(lambda: no_survivors() == [], why=f"{name} after {moment:.2f} s")
    journals = tmp_path / "capture" / "journals"
    if any(journals.glob("*.mrj")):
        done = mrtrscope("list", tmp_path / "capture")
        assert done.returncode == 0, done.stderr


def test_without_the_sdk_it_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from mrtrscope.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "demo", "--capture", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode != 0
    assert done.stderr == (
        "Error: the demo's client and server are built on the official SDK: pip install 'mrtrscope[demo]'\n"
    )
    assert done.stdout == ""


def test_it_records_into_no_folder_that_has_something_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    done = mrtrscope("demo", "--capture", tmp_path)
    assert done.returncode == 2
    assert f"Error: {tmp_path} is not empty; name a new folder with --capture." in done.stderr

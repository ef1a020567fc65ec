"""`mrtrscope diagram`, as a user calls it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SAMPLES, mrtrscope

ODD = ROOT / "tests" / "views" / "data" / "131-names-that-break-diagrams.jsonl"
DEMO = SAMPLES / "sample-demo"


def test_one_operation_to_standard_output() -> None:
    done = mrtrscope("diagram", ODD, "op1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith('<?xml version="1.0"') and done.stdout.endswith("</svg>\n")


@pytest.mark.parametrize(
    ("name", "start"),
    [("x.svg", b"<?xml"), ("x.png", b"\x89PNG"), ("x.dot", b"// Positions"), ("x.mmd", b"sequenceDiagram"),
     ("x.puml", b"@startuml"), ("x.txt", b"tools/call pay;now")],
)  # fmt: skip
def test_the_name_of_the_file_says_the_format(name: str, start: bytes, tmp_path: Path) -> None:
    done = mrtrscope("diagram", ODD, "op1", "-o", tmp_path / name)
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("name", "said"),
    [("x.gif", "x.gif: nothing is written as .gif; known endings are .svg, .png, .dot, .gv, .mmd, .mermaid, .puml, "
               ".txt, and --format says the form under any other name."),
     ("picturs/x.svg", "picturs: no such folder; make it first, or name another.")],
)  # fmt: skip
def test_a_name_that_cannot_be_meant_is_refused(name: str, said: str, tmp_path: Path) -> None:
    done = mrtrscope("diagram", ODD, "op1", "-o", tmp_path / name)
    assert done.returncode == 2 and said in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("id", ["OP1", "1"])
def test_an_id_is_known_however_it_is_written(id: str) -> None:
    assert (
        mrtrscope("diagram", ODD, id, "--format", "text").stdout
        == mrtrscope("diagram", ODD, "op1", "--format", "text").stdout
    )


def test_a_message_stands_for_its_operation() -> None:
    assert (
        mrtrscope("diagram", ODD, "m2", "--format", "text").stdout
        == mrtrscope("diagram", ODD, "op1", "--format", "text").stdout
    )


def test_all_go_into_a_folder(tmp_path: Path) -> None:
    done = mrtrscope("diagram", ODD, "--all", "--format", "mermaid", "-o", tmp_path / "new")
    assert done.returncode == 0
    assert done.stderr == f"18 pictures in {tmp_path / 'new'}\n"
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(f"op{n}.mmd" for n in range(1, 19))


def test_the_demo_capture_in_every_theme(tmp_path: Path) -> None:
    seen = set()
    for theme in ("light", "dark", "print"):
        done = mrtrscope("diagram", DEMO, "op1", "--theme", theme, "-o", tmp_path / f"{theme}.svg")
        assert done.returncode == 0, done.stderr
        seen.add((tmp_path / f"{theme}.svg").read_bytes())
    assert len(seen) == 3


def test_a_session_names_its_channel(tmp_path: Path) -> None:
    done = mrtrscope("diagram", ODD, "--session", "--format", "text")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) >= 18 + 3
    many = mrtrscope("diagram", DEMO, "--session")
    assert many.returncode == 2
    assert "Say which channel; there are: " in many.stderr


@pytest.mark.parametrize("id", ["op4", "4", "m9"])
def test_an_operation_stands_for_the_session_it_is_of(id: str) -> None:
    shown = json.loads(mrtrscope("list", DEMO, "--format", "json").stdout)["operations"]
    channel = shown[3]["channel"]
    assert shown[3]["id"] == "op4" and any(one["channel"] != channel for one in shown)
    named = mrtrscope("diagram", DEMO, channel, "--session", "--format", "text")
    assert named.returncode == 0
    done = mrtrscope("diagram", DEMO, id, "--session", "--format", "text")
    assert (done.returncode, done.stdout) == (0, named.stdout)


@pytest.mark.parametrize("args", [["op4"], ["op4", "--session"]])
def test_a_picture_wider_than_asked_for_says_so_once(args: list[str], tmp_path: Path) -> None:
    output = tmp_path / "narrow.svg"
    done = mrtrscope("diagram", DEMO, *args, "--width", "100", "-o", output)
    assert done.returncode == 0
    told = re.fullmatch(r"--width 100 is less than the columns need; drawn ([0-9]+) wide\.\n", done.stderr)
    assert told, done.stderr
    assert f'width="{told[1]}"' in output.read_text(encoding="utf-8")
    assert mrtrscope("diagram", DEMO, *args, "--width", told[1], "-o", output).stderr == ""


def test_a_text_is_as_wide_as_asked_for() -> None:
    done = mrtrscope("diagram", DEMO, "op4", "--width", "72", "--format", "text")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 72


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["op99"], "There is no operation 'op99' in this capture; mrtrscope list shows what there is."),
        (["m9999"], "There is no operation 'm9999' in this capture; mrtrscope list shows what there is."),
        ([], "Name one operation (op1), or give --all or --session; mrtrscope list shows what there is."),
        (
            ["op1", "--all"],
            "Name one operation (op1), or give --all or --session; mrtrscope list shows what there is.",
        ),
        (["--all"], "--all writes many files: name a folder with -o."),
        (["--session", "nobody"], "There is no channel 'nobody'; there are: "),
        (
            ["--session", "--format", "mermaid"],
            "A session is drawn as svg, png, dot or text, not as mermaid.",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_line(args: list[str], said: str) -> None:
    done = mrtrscope("diagram", ODD, *args)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_a_file_that_cannot_be_written_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    done = mrtrscope("diagram", ODD, "op1", "-o", tmp_path / "file" / "x.svg")
    assert done.returncode == 2
    assert done.stderr.startswith(f"Error: {tmp_path}/file")


def test_what_hides_nothing_is_for_its_owner_alone(tmp_path: Path) -> None:
    old = tmp_path / "op1.svg"
    old.write_text("x" * 1_000_000, encoding="utf-8")
    old.chmod(0o644)
    plain, bare = tmp_path / "plain.svg", tmp_path / "raw"
    assert mrtrscope("diagram", ODD, "op1", "-o", plain).returncode == 0
    assert mrtrscope("diagram", ODD, "op1", "--raw", "-o", old).returncode == 0
    assert mrtrscope("diagram", ODD, "--all", "--raw", "--format", "text", "-o", bare).returncode == 0
    assert plain.stat().st_mode & 0o077 == 0o666 & ~_umask() & 0o077
    assert {path.stat().st_mode & 0o777 for path in (old, *bare.iterdir())} == {0o600}
    assert old.read_text(encoding="utf-8").endswith("</svg>\n")


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_help_has_an_example() -> None:
    assert "mrtrscope diagram captures/sample-demo op1 --format text" in mrtrscope("diagram", "--help").stdout


def test_one_picture_of_what_was_analysed_loads_nothing_large(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "sample-stdio", tmp_path / "capture")
    assert mrtrscope("diagram", tmp_path / "capture", "op4").returncode == 0
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "mrtrscope", "diagram", str(tmp_path / "capture"), "op4"],
        capture_output=True, text=True, encoding="utf-8", timeout=240,
    )  # fmt: skip
    loaded = set(re.findall(r"\|\s+(\S+)$", done.stderr, re.M))
    assert done.returncode == 0 and "mrtrscope.views.build" in loaded
    large = {
        "pydantic",
        "pydantic_core",
        "sqlite_utils",
        "jinja2",
        "mcp_types",
        "brotli",
        "asyncio",
        "mrtrscope.rules.registry",
    }
    assert loaded & large == set()

"""The repository keeps its promises: commands, generated text, versions, style, nothing of one machine."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docs import make_blocks, make_images
from tests.conftest import ROOT, absent

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def tracked() -> list[Path]:
    """Files that git knows; in an unpacked archive, which has no git, the test ends here."""
    if not (ROOT / ".git").exists():
        absent("not a git checkout")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [
        path for name in done.stdout.split(b"\0") if name and (path := ROOT / os.fsdecode(name)).is_file()
    ]


# -- the two commands


@pytest.mark.parametrize("name", ["demo", "tests"])
def test_the_readme_has_one_line_for_each_command(name: str) -> None:
    blocks = re.findall(rf"^<!-- command: {name} -->\n```sh\n(.*)\n```$", README, re.MULTILINE)
    assert len(blocks) == 1
    assert blocks[0].startswith("python3 -m venv .venv && .venv/bin/pip install -q -c constraints.txt ")
    assert blocks[0].endswith({"demo": "&& .venv/bin/mrtrscope demo", "tests": "-m pytest"}[name])


@pytest.mark.parametrize("name", ["demo", "tests"])
def test_ci_takes_the_commands_from_the_readme(name: str) -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    function = re.search(r"^command_of\(\) \{\n.*?^\}\n", text, re.MULTILINE | re.DOTALL)
    assert function
    done = subprocess.run(
        ["bash", "-c", f"{function[0]}\ncommand_of {name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"<!-- command: {name} -->\n```sh\n{done.stdout}```\n" in README
    assert f"{name}=$(command_of {name})" in text
    assert not re.search(r"pip3? install|pytest", text), "CI has commands of its own"


@pytest.mark.parametrize("document", make_blocks.DOCUMENTS)
def test_links_to_files_lead_somewhere(document: str) -> None:
    path = ROOT / document
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


# -- generated text

BLOCKS = [
    (document, match["command"], match["output"])
    for document in make_blocks.DOCUMENTS
    for match in make_blocks.BLOCK.finditer((ROOT / document).read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("document", "command", "shown"), BLOCKS, ids=[f"{d}-{c}" for d, c, _ in BLOCKS])
def test_documents_show_what_the_command_prints(document: str, command: str, shown: str) -> None:
    assert shown == f"$ {command}\n{make_blocks.run(command)}", "stale: python docs/make_blocks.py"


@pytest.mark.parametrize("document", make_blocks.DOCUMENTS)
def test_tables_in_documents_are_fresh(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for match in make_blocks.TABLE.finditer(text):
        if match["name"] == "modules":
            continue  # see the next test: a module that is not committed yet is no matter
        assert match["text"] == make_blocks.GENERATED[match["name"]](), "stale: python docs/make_blocks.py"


def test_the_architecture_names_every_module() -> None:
    """Those that were committed with it; whoever adds one runs docs/make_blocks.py."""
    shown = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z_/]+)/` \| (`.*`) \|$", shown, re.MULTILINE))
    named = {
        f"{package}/{name}.py" for package, names in rows.items() for name in re.findall(r"`(\w+)`", names)
    }
    there = {path.relative_to(ROOT).as_posix() for path in tracked() if path.suffix == ".py"}
    modules = {
        name for name in there if name.startswith(("mrtrscope/", "addons/")) and "__init__" not in name
    }
    assert modules - named == set(), "stale: python docs/make_blocks.py"
    assert {name for name in named if not (ROOT / name).is_file()} == set(), (
        "stale: python docs/make_blocks.py"
    )


@pytest.mark.parametrize("document", make_blocks.PAGES)
def test_pages_are_what_the_command_prints(document: str) -> None:
    shown = (ROOT / document).read_text(encoding="utf-8")
    assert shown == make_blocks.PAGES[document](), "stale: python docs/make_blocks.py"


@pytest.mark.parametrize("name", make_images.PICTURES)
def test_pictures_are_those_that_the_tool_draws(name: str) -> None:
    shown = (make_images.IMAGES / name).read_text(encoding="utf-8")
    assert shown == make_images.PICTURES[name](), "stale: python docs/make_images.py"


def test_every_picture_is_made_here_and_used() -> None:
    texts = "".join((ROOT / document).read_text(encoding="utf-8") for document in make_blocks.DOCUMENTS)
    names = {path.name for path in make_images.IMAGES.iterdir()}
    assert names == set(make_images.PICTURES)
    assert {name for name in names if not re.search(rf"images/{re.escape(name)}[)\"]", texts)} == set()


# -- versions


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9-]+==[A-Za-z0-9.]+", pin) for pin in pins), "a plain list: name==version"
    names = [pin.partition("==")[0] for pin in pins]
    assert names == sorted(names)
    assert len(names) == len(set(names))
    return dict(pin.split("==") for pin in pins)


def test_constraints_name_everything_that_is_installed() -> None:
    """All that our extras pull in on this machine is pinned (pip, which installs it, is as it is)."""
    pins = pinned()
    extras = PROJECT["optional-dependencies"]
    todo = [Requirement(r) for r in [*PROJECT["dependencies"], *extras["demo"], *extras["test"]]]
    seen: dict[str, str] = {}
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        if name in seen or name == "pip":
            continue
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            absent(f"{name} is not installed: pip install -c constraints.txt '.[demo,test]'")
        seen[name] = found.version
        for line in found.requires or []:
            needed = Requirement(line)
            wanted = requirement.extras or {""}
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in wanted):
                todo.append(needed)
    assert {name: pins.get(name) for name in seen} == seen


def test_the_builder_is_pinned_everywhere_alike() -> None:
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"][
        "requires"
    ]
    assert requires == [f"hatchling=={pinned()['hatchling']}"]


# -- style


@pytest.mark.parametrize(
    "check",
    [["ruff", "check", "--no-cache"], ["ruff", "format", "--no-cache", "--check"], ["mypy"]],
    ids=["lint", "format", "types"],
)
def test_style(check: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *check], cwd=ROOT, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


# -- nothing of one machine

LOCKS = re.compile(
    r"(^|[-./])(uv\.lock|poetry\.lock|pdm\.lock|pylock.*\.toml|Pipfile\.lock|package-lock\.json|yarn\.lock)$"
)
MACHINE = re.compile(
    b"|".join([
        rb"/(?:root|work)/[A-Za-z0-9_.]", rb"/tmp/[a-z]+[a-z0-9_]*/", rb"simple/index", rb"--index-url",
        *(re.escape(os.fsencode(place)) for place in {ROOT, Path.home(), Path(sys.prefix)} if len(place.parts) > 2),
    ])
)  # fmt: skip
SECRET = re.compile(
    rb"(?i)authorization: *(?:bearer|basic) [a-z0-9]|-----BEGIN [A-Z ]*PRIVATE KEY|\bsk-[a-zA-Z0-9]{20}"
)


def test_there_are_no_lock_files() -> None:
    assert [path.name for path in tracked() if LOCKS.search(path.name)] == []


def test_no_file_names_a_place_on_one_machine() -> None:
    found = {}
    for path in tracked():
        if path != Path(__file__) and (hits := MACHINE.findall(path.read_bytes())):
            found[str(path.relative_to(ROOT))] = hits[:3]
    assert found == {}


def test_sample_captures_are_small_and_hold_no_secrets() -> None:
    samples = [path for path in tracked() if path.relative_to(ROOT).parts[0] == "captures"]
    assert sum(path.stat().st_size for path in samples) < 1_000_000
    assert {
        path.name: SECRET.findall(path.read_bytes()) for path in samples if SECRET.search(path.read_bytes())
    } == {}
    assert {path.suffix for path in samples} <= {".mrj", ".md"}, (
        "journals alone: what is derived is made anew"
    )

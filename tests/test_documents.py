"""Commands in the documents work as they are written; what needs a live peer is read by its own parser."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from docs import make_blocks
from mrtrscope import cli, relay, wrap
from tests.conftest import ROOT, SAMPLES

_FENCE = re.compile(r"^```(?:sh|yaml|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(mrtrscope [a-z]+ [^`\n]+)`")
_SERVER = "from mrtrscope.demo.server import bakery\n\nbakery.run('stdio')\n"
# Commands that go on until somebody ends them, or talk to a peer; `replay drive` has its server here.
LIVE = (
    "wrap",
    "relay",
    "proxy",
    "demo",
    "watch",
    "replay serve",
    "probe",
    "replay drive my-capture --target",
)


def commands() -> dict[str, str]:
    """Command line -> the document that it stands in."""
    found: dict[str, str] = {}
    for document in make_blocks.DOCUMENTS:
        if document in make_blocks.PAGES:
            continue
        text = (ROOT / document).read_text(encoding="utf-8")
        text = make_blocks.BLOCK.sub("", text)  # those are run by tests of their own
        lines = [line for block in _FENCE.findall(text) for line in block.splitlines()]
        for line in [*lines, *_INLINE.findall(text)]:
            command = line.strip().removeprefix("- run: ").partition(" | ")[0].partition("  #")[0].strip()
            if command.endswith(" --"):
                continue  # named, not written out
            if command.startswith("mrtrscope ") and not re.search(
                r"…|\.\.\.|\b(CAPTURE|FILE|RULE|COMMAND|NAME|ID)\b", command
            ):
                found.setdefault(command, document)
    return found


COMMANDS = commands()
TOLD = [command for command in COMMANDS if command.removeprefix("mrtrscope ").startswith(LIVE)]


def test_there_are_commands_of_every_kind() -> None:
    assert len(COMMANDS) > 20
    assert {"list", "check", "diagram", "report", "wrap", "relay", "replay"} <= {
        c.split()[1] for c in COMMANDS
    }


@pytest.mark.parametrize("command", TOLD)
def test_the_options_of_a_command_are_there(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _placed(tmp_path)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command.partition(" > ")[0])[1:]
    if words[0] in ("wrap", "relay"):
        {"wrap": wrap.parse, "relay": relay.parse}[words[0]](words[1:])
        return
    group, context = cli.cli, click.Context(cli.cli)
    found: click.Command = group
    while isinstance(found, click.Group) and words:
        inner = found.get_command(context, words[0])
        assert inner is not None, f"{words[0]} is no command"
        found, words = inner, words[1:]
    found.make_context("mrtrscope", words)


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in TOLD])
def test_a_command_runs_as_it_is_written(command: str, tmp_path: Path) -> None:
    _placed(tmp_path)
    line = f"{shlex.quote(sys.executable)} -m {command}".replace(
        "-- python ", f"-- {shlex.quote(sys.executable)} "
    )
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", timeout=240
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.stdout or re.search(" > | -o | --write-", command)
    assert "Traceback" not in done.stderr and "Error" not in done.stderr


def _placed(folder: Path) -> None:
    """What the documents speak of: `my-capture`, the samples, a server, a baseline, what the demo recorded."""
    ignored = shutil.ignore_patterns("scope.db*", "*.lock")
    shutil.copytree(SAMPLES, folder / "captures", ignore=ignored)
    shutil.copytree(SAMPLES / "sample-stdio", folder / "my-capture", ignore=ignored)
    demo = Path(os.environ["XDG_STATE_HOME"]) / "mrtrscope" / "captures" / "demo"
    shutil.copytree(SAMPLES / "sample-demo", demo, ignore=ignored)
    (folder / "server.py").write_text(_SERVER, encoding="utf-8")
    (folder / "known.json").write_text('{"mrtrscope-baseline": 1, "accepted": []}', encoding="utf-8")

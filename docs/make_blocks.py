"""Writes what the tool prints into the documents, between marks.

python docs/make_blocks.py            writes
python docs/make_blocks.py --check    says what is stale

Under "<!-- run: mrtrscope list captures/sample-stdio -->" the fenced block gets command and output; what
stands between "<!-- generated: rules -->" and "<!-- end -->" is made by a function of this module.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

DOCUMENTS = ("README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md")))

# As the installed command does it: help names the program, not an interpreter.
PROGRAM = "import sys; sys.argv[0] = 'mrtrscope'; from mrtrscope.__main__ import main; main()"

BLOCK = re.compile(
    r"^<!-- run: (?P<command>[^\n]+) -->\n```text\n(?P<output>.*?)^```$", re.MULTILINE | re.DOTALL
)
TABLE = re.compile(
    r"^<!-- generated: (?P<name>[^\n]+) -->\n(?P<text>.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL
)


def run(command: str) -> str:
    """What a command of ours prints on stdout when started in the repository; exit code 0 or 1.

    ` | head -n N` and ` | tail -n N` behind it are understood, and nothing else that a shell would do.
    """
    whole, _, part = command.partition(" | ")
    program, *arguments = shlex.split(whole)
    assert program == "mrtrscope", f"documents run mrtrscope only, not {program}"
    with tempfile.TemporaryDirectory() as home:
        private = {f"XDG_{name}_HOME": home for name in ("STATE", "CACHE", "CONFIG", "DATA")}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=60,
            env=os.environ | private | {"COLUMNS": "100", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise RuntimeError(f"{command}: exit code {done.returncode}\n{done.stderr}")
    lines = done.stdout.splitlines()
    if part:
        end, _, n = part.split()
        lines = {"head": lines[: int(n)], "tail": lines[-int(n) :]}[end]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def rules_table() -> str:
    """How many rules there are, by area and level."""
    from mrtrscope.rules import catalogue, registry

    counts: dict[str, Counter[str]] = {}
    for rule in registry.load().values():
        counts.setdefault(rule.id.partition("/")[0], Counter())[catalogue.SEVERITY[rule.level]] += 1
    lines = ["| area | must | should | notes | together |", "|---|---:|---:|---:|---:|"]
    for area, levels in sorted(counts.items()):
        must, should, info = (levels[level] for level in ("must", "should", "info"))
        lines.append(f"| `{area}` | {must} | {should} | {info} | {must + should + info} |")
    return "\n".join(lines) + "\n"


def modules() -> str:
    """Every module, by package; the first line of each says what it is for."""
    packages: dict[str, list[str]] = {}
    for root in ("mrtrscope", "addons"):
        for path in sorted((ROOT / root).rglob("*.py")):
            if path.name != "__init__.py":
                packages.setdefault(str(path.parent.relative_to(ROOT)), []).append(f"`{path.stem}`")
    lines = ["| package | modules |", "|---|---|"]
    lines += [f"| `{package}/` | {', '.join(names)} |" for package, names in sorted(packages.items())]
    return "\n".join(lines) + "\n"


GENERATED: dict[str, Callable[[], str]] = {"rules": rules_table, "modules": modules}


# Documents that a command prints as a whole.
PAGES: dict[str, Callable[[], str]] = {"docs/rules.md": lambda: run("mrtrscope rules --format md")}


def renewed(text: str) -> str:
    """The document with every marked block made anew."""
    text = BLOCK.sub(
        lambda m: f"<!-- run: {m['command']} -->\n```text\n$ {m['command']}\n{run(m['command'])}```", text
    )
    return TABLE.sub(lambda m: f"<!-- generated: {m['name']} -->\n{GENERATED[m['name']]()}<!-- end -->", text)


def main(arguments: list[str]) -> int:
    stale = []
    for name in DOCUMENTS:
        path = ROOT / name
        before = path.read_text(encoding="utf-8")
        after = PAGES[name]() if name in PAGES else renewed(before)
        if after != before:
            stale.append(name)
            if "--check" not in arguments:
                path.write_text(after, encoding="utf-8")
    done = "stale" if "--check" in arguments else "renewed"
    print("\n".join(f"{name}: {done}" for name in stale) or "up to date")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

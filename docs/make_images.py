"""Makes the pictures of the documents: operations from the sample captures, state machines from their tables.

python docs/make_images.py            writes
python docs/make_images.py --check    says what is stale
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docs import make_blocks

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SAMPLE = "captures/sample-stdio"

LOOKS = {"waiting": "#fff3c4", "asked": "#d8e8ff", "answered": "#d9f2dc"}
OTHER = "#f3f3f3"


def drawn(dot: str) -> str:
    """SVG of a graph, by the engine from the package index: the same bytes on every machine."""
    engine = Path(sysconfig.get_path("scripts")) / "graphviz-pure"
    done = subprocess.run(
        [str(engine), "-Tsvg"],
        input=dot,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    return done.stdout


def graph(name: str, edges: dict[tuple[str, str], list[str]], start: str) -> Iterator[str]:
    """DOT of a state machine: (from, to) -> what leads there."""
    yield f'digraph "{name}" {{'
    yield '  rankdir=LR; bgcolor="white"; nodesep=0.35; ranksep=0.9'
    yield '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=12, color="#555555"]'
    yield '  edge [fontname="Helvetica", fontsize=10, color="#555555"]'
    yield '  "" [shape=circle, width=0.12, label="", fillcolor="#555555"]'
    yield f'  "" -> "{start}" [label="request"]'
    for state in dict.fromkeys(state for edge in edges for state in edge):
        yield f'  "{state}" [fillcolor="{LOOKS.get(state, OTHER)}"]'
    for (before, after), events in edges.items():
        text = "\\n".join(events)
        yield f'  "{before}" -> "{after}" [label="{text}"]'
    yield "}"


def exchange_states() -> str:
    """The life of an exchange, from the table that `link.pairing` looks it up in."""
    from mrtrscope.link.pairing import NEXT, WAITING

    edges: dict[tuple[str, str], list[str]] = {}
    for (state, event), after in NEXT.items():
        edges.setdefault((state, after), []).append(event)
    return drawn("\n".join(graph("exchange", edges, WAITING)))


def operation(number: str, sample: str = SAMPLE, theme: str = "light") -> Callable[[], str]:
    """The diagram of one operation of a sample capture."""
    return lambda: make_blocks.run(f"mrtrscope diagram {sample} {number} --theme {theme} --format svg")


PICTURES: dict[str, Callable[[], str]] = {
    "operation.svg": operation("op4"),
    "operation-dark.svg": operation("op4", theme="dark"),
    "broken.svg": operation("op11"),
    "broken-dark.svg": operation("op11", theme="dark"),
    "exchange-states.svg": exchange_states,
    "era-legacy.svg": operation("op2", "captures/sample-legacy"),
    "era-gateway.svg": operation("op3", "captures/sample-gateway"),
    "era-gateway-modern.svg": operation("op2", "captures/sample-gateway-modern"),
    "era-task.svg": operation("op2", "captures/sample-task"),
    "era-task-legacy.svg": operation("op3", "captures/sample-task-legacy"),
    "era-agent.svg": operation("op1", "captures/sample-agent"),
    "era-subscription.svg": operation("op2", "captures/sample-subscription"),
}


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    stale = []
    for name, make in PICTURES.items():
        path, made = IMAGES / name, make()
        if not path.exists() or path.read_text(encoding="utf-8") != made:
            stale.append(name)
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(made, encoding="utf-8")
    print("\n".join(f"{name}: {'stale' if check else 'renewed'}" for name in stale) or "up to date")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

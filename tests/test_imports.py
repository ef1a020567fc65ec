"""Imports go one way; the lines of docs/architecture.md, as a table."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

# What each part may import of ours; a part is a module or a folder of `mrtrscope/`. It may import
# what those may, too: the relation is closed below.
DIRECTLY: dict[str, tuple[str, ...]] = {
    # carries traffic
    "frames": (),
    "where": (),
    "files": (),
    "recorder": ("frames",),
    "journal": ("recorder",),
    "wrap": ("recorder", "where"),
    "relay": ("recorder", "where"),
    "tap": ("recorder",),
    # judges
    "wire": ("frames",),
    "link": ("wire",),
    "rules": ("link",),
    "snapshot": ("link",),
    "pipeline": ("rules", "snapshot"),
    # reads and keeps
    "sources": ("files", "journal", "wire"),
    "model": (),
    "store": ("model", "pipeline", "sources"),
    "analyse": ("store", "where"),
    # shows and plays
    "views": ("store",),
    "replay": ("analyse", "views"),
    "demo": (),
    "pytest_plugin": ("analyse", "views"),
    "cli": ("replay", "demo", "wrap", "relay", "tap"),
    "__init__": (),
    "__main__": ("cli",),
    "addons": ("tap", "store", "where"),
}

PIECES = {
    "timeline": "journal", "tail": "journal", "marks": "journal", "tap_records": "tap", "tap_stdio": "tap",
    "child": "wrap", "called": "wrap", "pipes": "wrap", "via": "wrap", "analyser": "analyse", "connections": "relay",
    "told": "where", "renewal": "recorder", "parts": "recorder", "darwin": "recorder",
}  # fmt: skip
"""Modules that are one part with another, and may import it and be imported by it."""

CARRIERS = ("frames", "where", "recorder", "journal", "wrap", "relay", "tap")
"""Parts that import nothing but the standard library."""


def closed(part: str) -> set[str]:
    found: set[str] = set()
    todo = [part]
    while todo:
        for name in DIRECTLY[todo.pop()]:
            if name not in found:
                found.add(name)
                todo.append(name)
    return found | {part}


def part_of(module: str) -> str:
    name = module.split(".")[1] if "." in module else "__init__"
    return PIECES.get(name, name)


def sources() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / "mrtrscope").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        yield module, path
    for path in sorted((ROOT / "addons").glob("*.py")):
        yield f"addons.{path.stem}", path


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def is_module(name: str) -> bool:
    return (ROOT / "mrtrscope" / name).is_dir() or (ROOT / "mrtrscope" / f"{name}.py").is_file()


def imports(tree: ast.AST) -> Iterator[str]:
    """Names of all that is imported, inside functions too; what only the type checker sees apart."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports here name the whole module"
            yield node.module or ""
            if node.module == "mrtrscope":
                yield from (f"mrtrscope.{alias.name}" for alias in node.names if is_module(alias.name))
        elif not is_type_checking(node):
            yield from imports(node)


SOURCES = list(sources())


@pytest.mark.parametrize(("module", "path"), SOURCES, ids=[module for module, _ in SOURCES])
def test_imports_only_what_lies_below(module: str, path: Path) -> None:
    part = "addons" if module.startswith("addons.") else part_of(module)
    assert part in DIRECTLY, f"say in docs/architecture.md and here where {module} belongs"
    allowed = closed(part)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ours = {name for name in imports(tree) if name.startswith("mrtrscope.")}
    assert {name for name in ours if part_of(name) not in allowed} == set()
    if part in CARRIERS:
        theirs = {name.partition(".")[0] for name in imports(tree)} - {"mrtrscope"}
        assert theirs - sys.stdlib_module_names == set()


def test_nothing_below_imports_what_is_above() -> None:
    for part in DIRECTLY:
        for other in closed(part) - {part}:
            assert part not in closed(other), f"{part} and {other} import each other"


@pytest.mark.parametrize("module", CARRIERS)
def test_what_carries_traffic_loads_the_standard_library_alone(module: str) -> None:
    """Looked at in a fresh interpreter: also what is imported by what is imported."""
    code = (
        "import sys; before = set(sys.modules)\n"
        f"import mrtrscope.{module}\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - sys.stdlib_module_names - {'mrtrscope'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=240, check=True
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize(("module", "path"), SOURCES, ids=[module for module, _ in SOURCES])
def test_a_module_says_what_it_is_for_and_stays_small(module: str, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "its first line says what it is for"
    assert text.count("\n") <= 400, "what could move into a module of its own?"

"""Environments of their own for peers on other releases and other SDKs: made once a run, for all of its workers."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import absent


def environment(factory: pytest.TempPathFactory, name: str, *packages: str) -> str:
    """The Python of an environment with these packages; the end of the test where they cannot be installed."""
    base = factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"environment-{name}"
    home.mkdir(exist_ok=True)
    python, told = home / "bin" / "python", home / "told"
    with (home / "lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not told.exists():
            told.write_text(_made(home, python, packages), encoding="utf-8")
    if failure := told.read_text(encoding="utf-8"):
        absent(failure)
    return str(python)


def _made(home: Path, python: Path, packages: tuple[str, ...]) -> str:
    """Make it; "" or why it could not be made."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True, timeout=240)
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    ours = (sys.executable, "-m", "pip", "--python", str(python))  # spares it a pip of its own
    command = [*ours, "install", "--quiet", "--disable-pip-version-check", *packages]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    except subprocess.TimeoutExpired:
        return "the package index does not answer"
    return "" if done.returncode == 0 else f"{', '.join(packages)} cannot be installed"

"""How soon things are there: rows while a session grows, a session on disk, and the whole demo.

    python bench/soon.py                    100 messages, one demo
    python bench/soon.py --messages 1000 --demos 5

Rows: a message is written to a journal that `mrtrscope analyse --follow` reads, as a recorder writes it; the time until
a query of the database has it. Each waits for the one before, at a random moment of the follower's turn. On disk: what
a host has got from a server behind `wrap` until a reader of the journal has it. The last column is what we hold
ourselves to on a machine that has nothing else to do; no test asserts it, as a test cannot know what else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from mrtrscope.journal import read_capture  # noqa: E402
from mrtrscope.recorder import Journal  # noqa: E402

MRTRSCOPE = [sys.executable, "-m", "mrtrscope"]
PATIENCE = 120.0
ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"


def until(there: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not there():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.002)


def call(n: int) -> bytes:
    message = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "echo", "arguments": {}}}
    return json.dumps(message).encode() + b"\n"


def rows(messages: int) -> list[float]:
    """Seconds from a message's time to its row."""
    took: list[float] = []
    with tempfile.TemporaryDirectory() as capture:
        journal = Journal.create(capture, "wrap", "bench")
        journal.append("0i", "data", time.monotonic_ns(), call(0))
        follower = subprocess.Popen([*MRTRSCOPE, "analyse", capture, "--follow"], cwd=ROOT)
        path = f"file:{Path(capture, 'scope.db')}?mode=ro"

        def there(n: int) -> bool:
            try:
                with sqlite3.connect(path, uri=True) as db:
                    return bool(db.execute("select count(*) from messages").fetchone()[0] > n)
            except sqlite3.Error:
                return False

        try:
            until(lambda: there(0), "the first row")
            for n in range(1, messages + 1):
                time.sleep(random.random() / 4)
                now = time.monotonic_ns()
                journal.append("0i", "data", now, call(n))
                until(lambda n=n: there(n), "a row")  # type: ignore[misc]
                took.append((time.monotonic_ns() - now) / 1e9)
        finally:
            follower.terminate()
            follower.wait(PATIENCE)
            journal.close()
    return took


def on_disk(messages: int) -> list[float]:
    """Seconds from a host's getting an answer to its being in the journal, both directions whole."""
    took: list[float] = []
    with tempfile.TemporaryDirectory() as capture:
        command = [*MRTRSCOPE, "wrap", "--capture", capture, "--", sys.executable, "-c", ECHO]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
        assert child.stdin is not None and child.stdout is not None
        sent = 0
        for n in range(messages):
            line = call(n)
            child.stdin.write(line)
            child.stdin.flush()
            child.stdout.readline()
            began, sent = time.monotonic(), sent + len(line)
            until(
                lambda sent=sent: (
                    sum(len(f.data) for f in read_capture(capture) if f.kind == "data") == 2 * sent
                ),  # type: ignore[misc]
                "a record",
            )
            took.append(time.monotonic() - began)
        child.stdin.close()
        child.wait(PATIENCE)
        child.stdout.close()
    return took


def demos(count: int) -> list[float]:
    took = []
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            command = [*MRTRSCOPE, "demo", "--capture", str(Path(folder, "capture"))]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)
            took.append(time.monotonic() - began)
    return took


def line(name: str, took: list[float], bar: str) -> None:
    print(f"{name:42} {statistics.median(took):8.3f} {max(took):8.3f}   {bar}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=100)
    parser.add_argument("--demos", type=int, default=1)
    given = parser.parse_args()
    print(f"{os.cpu_count()} cores; load average {os.getloadavg()[0]:.1f}\n")
    print(f"{'seconds':42} {'median':>8} {'worst':>8}   held to")
    line("a message until its row is there", rows(given.messages), "worst < 1")
    line("an answer until both sides are on disk", on_disk(given.messages), "worst < 1")
    if given.demos:
        line("mrtrscope demo", demos(given.demos), "median < 20")


if __name__ == "__main__":
    main()

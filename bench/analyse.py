"""How fast a journal becomes rows, and how much memory that takes: `python bench/analyse.py [MESSAGES …]`.

Each size is analysed by a process of its own, as a command would do it, from traffic of the shape of a long recording
(`traffic`). Printed are messages a second of wall time and of CPU time, the largest resident set, and what a thousand
messages take on disk. Flat means: the last line is like the first.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.traffic import relay_journal, stdio_journal

MAKERS = {"stdio": stdio_journal, "relay": relay_journal}


def measure(capture: Path) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and largest resident set in bytes of one analysis."""
    command = [sys.executable, "-m", "mrtrscope", "analyse", str(capture)]
    started = time.perf_counter()
    pid = os.posix_spawn(sys.executable, command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    if status:
        raise SystemExit(f"analyse ended with {os.waitstatus_to_exitcode(status)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "messages", type=int, nargs="*", default=[40_000, 100_000], help="how many (default: %(default)s)"
    )
    parser.add_argument("--transport", choices=[*MAKERS, "both"], default="both")
    args = parser.parse_args()
    print(f"{'transport':10}{'messages':>10}{'per s':>10}{'per CPU s':>12}{'RSS MB':>10}{'disk MB':>10}")
    for transport in MAKERS if args.transport == "both" else [args.transport]:
        for wanted in args.messages:
            with tempfile.TemporaryDirectory() as folder:
                capture = Path(folder)
                count = MAKERS[transport](capture, wanted // 2)
                wall, cpu, rss = measure(capture)
                disk = (capture / "scope.db").stat().st_size
            speed = f"{count / wall:10,.0f}{count / cpu:12,.0f}"
            print(f"{transport:10}{count:10,}{speed}{rss / 1e6:10.1f}{disk / 1e6:10.1f}", flush=True)


if __name__ == "__main__":
    main()

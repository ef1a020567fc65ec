"""How fast a journal becomes rows, and how much memory that takes: `python bench/analyse.py [MESSAGES …]`.

Each size is analysed by a process of its own, as a command would do it, from traffic of the shape of a long recording
(`traffic`), or from a transcript rewritten as a journal (`--from`). Printed are messages a second of wall time and of
CPU time (medians of `--repeat` runs, with the slowest and the fastest), the largest resident set, and what the database
takes on disk. Flat means: the last line is like the first. `--rules mrtr` judges by the rules of that area alone,
`--rules both` by turns. `--stages` adds where the time goes, from a run of its own. A question is filed for good, so
traffic that asks costs more than traffic that does not: `--plain` says how many calls ask nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.traffic import PLAIN, relay_journal, rewritten, stdio_journal

MAKERS = {"stdio": stdio_journal, "relay": relay_journal}
RULES = {"all": "", "mrtr": "mrtr/"}  # which rules, and how their ids begin


def analyse(capture: Path, rules: str, stages: bool) -> None:
    """What the process of one measurement does; with `stages` it says at its end where the time went."""
    from mrtrscope.analyse import bring_up_to_date
    from mrtrscope.rules import registry

    for id in list(registry.load()):
        if not id.startswith(RULES[rules]):
            del registry.RULES[id]
    if stages:
        from bench import stages as clocks

        clocks.install()
    bring_up_to_date(capture).close()
    if stages:
        print(json.dumps(clocks.shares()))


def measure(capture: Path, rules: str) -> tuple[float, float, int]:
    """Wall seconds, CPU seconds and largest resident set in bytes of one analysis."""
    for path in capture.glob("scope.db*"):
        path.unlink()
    started = time.perf_counter()
    pid = os.posix_spawn(sys.executable, _command(capture, rules), os.environ)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - started
    if status:
        raise SystemExit(f"the analysis ended with {os.waitstatus_to_exitcode(status)}")
    unit = 1 if sys.platform == "darwin" else 1024
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit


def _command(capture: Path, rules: str) -> list[str]:
    return [sys.executable, __file__, "--one", str(capture), "--rules", rules]


def report(name: str, capture: Path, count: int, rules: str, repeat: int) -> None:
    """One line of the table."""
    runs = [measure(capture, rules) for _ in range(repeat)]
    wall, cpu = (statistics.median(run[n] for run in runs) for n in (0, 1))
    spread = f"{count / max(run[1] for run in runs):,.0f}–{count / min(run[1] for run in runs):,.0f}"
    rss, disk = max(run[2] for run in runs), (capture / "scope.db").stat().st_size
    speed = f"{count / wall:10,.0f}{count / cpu:12,.0f}{spread:>16}"
    print(f"{name:8}{rules:6}{count:10,}{speed}{rss / 1e6:9.1f}{disk / 1e6:9.1f}", flush=True)


def table_of_stages(name: str, capture: Path, count: int, rules: str) -> None:
    """Where the time of one analysis goes."""
    import subprocess

    for path in capture.glob("scope.db*"):
        path.unlink()
    told = subprocess.run([*_command(capture, rules), "--stages"], capture_output=True, check=True, text=True)
    shares: dict[str, float] = json.loads(told.stdout)
    whole = sum(shares.values())
    print(f"\n{name}, {rules} rules, {count:,} messages: µs of CPU a message, clocks included")
    for stage, seconds in shares.items():
        print(f"  {stage:12}{seconds / count * 1e6:8.1f}{seconds / whole:8.1%}")
    print(flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "messages", type=int, nargs="*", default=[20_000, 100_000], help="how many (default: %(default)s)"
    )
    parser.add_argument("--transport", choices=[*MAKERS, "both"], default="both")
    parser.add_argument(
        "--plain",
        type=float,
        default=PLAIN,
        metavar="SHARE",
        help="calls that ask nothing (default: %(default)s; what hosts send every day is near 1)",
    )
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="FILE", help="a transcript of one stdio session"
    )
    parser.add_argument("--rules", choices=[*RULES, "both"], default="all")
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="runs of each (default: %(default)s)"
    )
    parser.add_argument("--stages", action="store_true", help="where the time goes")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one is not None:
        analyse(args.one, args.rules, args.stages)
        return
    heads = f"{'messages':>10}{'per s':>10}{'per CPU s':>12}{'of all runs':>16}{'RSS MB':>9}{'disk MB':>9}"
    print(f"{'':8}{'rules':6}{heads}")
    names = (
        [args.source.name[:7]] if args.source else [*MAKERS] if args.transport == "both" else [args.transport]
    )
    for name in names:
        for wanted in [0] if args.source else args.messages:
            with tempfile.TemporaryDirectory() as folder:
                capture = Path(folder)
                count = (
                    rewritten(args.source, capture)
                    if args.source
                    else MAKERS[name](capture, wanted // 2, args.plain)
                )
                for rules in RULES if args.rules == "both" else [args.rules]:
                    report(name, capture, count, rules, args.repeat)
                    if args.stages:
                        table_of_stages(name, capture, count, rules)


if __name__ == "__main__":
    main()

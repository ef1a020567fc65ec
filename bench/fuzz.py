"""Coverage-guided fuzzing of wire, link and rules: `python bench/fuzz.py [SECONDS]` (default 60).

Needs `pip install atheris`. Starts from the cases of the rules, mutates frames of every kind of lane, and feeds them
through the whole pipeline with every rule on. Any exception, from a rule too, ends the run and prints the input. Inputs
are bounded, so that a run of a minute tries some ten thousand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

with atheris.instrument_imports(
    include=["mrtrscope.wire", "mrtrscope.link", "mrtrscope.rules", "mrtrscope.pipeline"]
):
    from mrtrscope.frames import DATA, END, EXIT, GAP, HEAD, OPEN, SENT, Frame
    from mrtrscope.link.memory import DictMemory
    from mrtrscope.pipeline import Pipeline
    from mrtrscope.rules.judge import Judge

Judge.strict = True
KINDS = (DATA, DATA, DATA, SENT, OPEN, HEAD, END, GAP, EXIT)
LANES = ("0i", "0o", "0e", "1c", "1s", "2q", "2a", "3q", "3a", "0z")
HEADER = {"how": "wrap", "channel": "fuzz", "target": "http://127.0.0.1:1", "whole": True}


def frames(data: bytes) -> list[Frame]:
    """Frames out of any bytes: one byte chooses lane and kind, one the length in units of sixteen, then the payload."""
    out, at, t = [], 0, 0
    while at + 2 <= len(data) and len(out) < 200:
        lane, kind = LANES[data[at] % len(LANES)], KINDS[data[at] // len(LANES) % len(KINDS)]
        size = data[at + 1] * 16
        payload = data[at + 2 : at + 2 + size]
        t += (data[at] + 1) * 1000
        out.append(Frame("fuzz", at, len(out), t, lane, kind, payload))
        at += 2 + size
    return out


def one(data: bytes) -> None:
    """One input through everything."""
    pipeline = Pipeline(DictMemory(), b"salt")
    pipeline.source("fuzz", HEADER)
    for frame in frames(data):
        pipeline.feed(frame)
    pipeline.drain()
    pipeline.finish()


def seeds(folder: Path) -> None:
    """Every case of the rules as frames, one line each."""
    for number, case in enumerate(sorted((ROOT / "mrtrscope" / "rules" / "cases").rglob("*.jsonl"))):
        out = bytearray()
        for line in case.read_bytes().splitlines():
            lane = 1 if b'"s2c"' in line[:12] else 0
            text = line.partition(b": ")[2].rstrip(b"}") + b"}\n"
            for at in range(0, len(text), 4000):
                piece = text[at : at + 4000]
                out += bytes([lane, -(-len(piece) // 16)]) + piece.ljust(-(-len(piece) // 16) * 16)
        (folder / f"{number:04}").write_bytes(bytes(out))


def main() -> None:
    import tempfile

    seconds = sys.argv[1] if len(sys.argv) > 1 else "60"
    with tempfile.TemporaryDirectory() as folder:
        seeds(Path(folder))
        options = [
            f"-max_total_time={seconds}",
            "-max_len=20000",
            "-rss_limit_mb=4096",
            "-timeout=20",
            "-print_final_stats=1",
        ]
        atheris.Setup([sys.argv[0], *options, folder], one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

"""A stdio transcript may tell of several processes, and of their ends."""

from __future__ import annotations

from pathlib import Path

from mrtrscope.sources import open_source

ROWS = """\
{"t": 0.1, "dir": "c2s", "line": "{}"}
{"t": 0.2, "dir": "eof"}
{"t": 0.3, "dir": "exit", "code": 0}
{"t": 0.4, "dir": "s2c", "process": 2, "line": "x", "nonl": true}
{"t": 0.5, "dir": "exit", "process": 2, "signal": 9}
{"t": 0.6, "dir": "c2s", "process": "three", "line": "y"}
"""


def test_ends_and_processes_become_frames(tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    file.write_text(ROWS, encoding="utf-8")
    with open_source(file) as source:
        frames = [(f.lane, f.kind, f.data, f.place) for f in source.frames()]
        assert source.trouble == []
    assert frames == [
        ("0i", "data", b"{}\n", {"line": 0}),
        ("0i", "end", b'{"by":"client"}', {"line": 1}),
        ("0z", "exit", b'{"code": 0}', {"line": 2}),
        ("2o", "data", b"x", {"line": 3}),
        ("2z", "exit", b'{"signal": 9}', {"line": 4}),
        ("0i", "data", b"y\n", {"line": 5}),
        ("2o", "end", b'{"by":"open"}', None),
    ]

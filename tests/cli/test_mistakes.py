"""What a user gets wrong, command by command: one clear line with what to do, the right exit code, no traceback."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from mrtrscope.cli import run
from tests.conftest import SAMPLES

# Command, exit code, words that say what is wrong or what to do. CAPTURE is a sound one; `text` is no capture, `dir`
# an empty folder, `no` is not there.
MISTAKES = [
    ("show CAPTURE op99", 2, "There is no op99: this capture has op1 to op13"),
    ("show CAPTURE m0", 2, "this capture has m1 to m51"),
    ("show CAPTURE f99", 2, "this capture has f1 to f10"),
    ("show CAPTURE x9", 2, "say op2, m3 or f4"),
    ("show CAPTURE ffffffffffffffff", 2, "There is no finding"),
    ("show CAPTURE m1 --hops", 2, "name one (op2)"),
    ("show CAPTURE op1 --hops", 2, "op1 has no hops"),
    ("show CAPTURE", 2, "mrtrscope list prints them"),
    ("show op1", 2, "Name a CAPTURE: there is none in"),
    ("show text op1", 3, "What can be read"),
    ("list no", 2, "record one with mrtrscope wrap"),
    ("list dir", 3, "Record one with `mrtrscope wrap"),
    ("list CAPTURE --format xml", 2, "'text', 'json'"),
    ("list CAPTURE extra", 2, "unexpected extra argument"),
    ("list --findngs", 2, "Did you mean"),
    ("messages text", 3, "What can be read"),
    ("channels text", 3, "What can be read"),
    ("check text", 3, "What can be read"),
    ("check CAPTURE --select mrtr/new-request-idd", 2, "did you mean mrtr/new-request-id"),
    ("check CAPTURE --ignore mrt", 2, "did you mean mrtr"),
    ("check CAPTURE --party host", 2, "'client', 'server'"),
    ("check CAPTURE --fail-on info", 2, "'must', 'should', 'never'"),
    ("check CAPTURE --format html", 2, "'sarif', 'junit', 'github'"),
    ("check CAPTURE --baseline no", 2, "--write-baseline FILE makes one"),
    ("check CAPTURE --baseline text", 2, "--write-baseline FILE makes one"),
    ("check CAPTURE --write-baseline no/file", 2, "no/file: No such file or directory; name another file"),
    ("check CAPTURE --verdicts --format sarif", 2, "formats text and json"),
    ("explain mrtr", 2, "mrtrscope rules --area mrtr"),
    ("explain mrtr/new-request-idd", 2, "did you mean mrtr/new-request-id"),
    ("explain zzz", 2, "`mrtrscope rules` lists them"),
    ("explain CAPTURE op99", 2, "this capture has op1 to op13"),
    ("explain CAPTURE zzz", 2, "a capture and an ID in it"),
    ("explain no m1", 2, "no: no such file or folder"),
    ("rules --area zzz", 2, "Areas: "),
    ("rules --level hard", 2, "'must', 'must-not'"),
    ("diagram CAPTURE op99", 2, "mrtrscope list shows what there is"),
    ("diagram CAPTURE", 2, "or give --all or --session"),
    ("diagram CAPTURE op1 --format bmp", 2, "'svg', 'png'"),
    ("diagram CAPTURE op1 -o dir", 2, "name another file with -o"),
    ("diagram CAPTURE no --session", 2, "there are: bakery"),
    ("report CAPTURE", 2, "-o report.html"),
    ("report CAPTURE -o r.html --only op99", 2, "mrtrscope list shows what there is"),
    ("report CAPTURE -o r.html --since soon", 2, "say 10m, 2h"),
    ("watch text", 3, "What can be read"),
    ("import no --capture into", 2, "'no' does not exist"),
    ("import text --capture into", 3, "What can be read"),
    ("export CAPTURE --jsonl", 2, "Missing option '-o'"),
    ("export text --jsonl -o out", 3, "What can be read"),
    ("replay drive CAPTURE", 2, "say which server"),
    ("replay drive CAPTURE --only op99 -- cat", 2, "shows what there is"),
    ("replay drive CAPTURE --target http://127.0.0.1:99999/mcp", 2, "a URL is wanted"),
    ("replay drive CAPTURE --target http://[::1", 2, "a URL is wanted"),
    ("replay drive CAPTURE --timeout nan -- cat", 2, "nan is no amount"),
    ("replay serve CAPTURE --stdio --speed inf", 2, "inf is no amount"),
    ("probe server CAPTURE --wait nan -- cat", 2, "nan is no amount"),
    ("diagram CAPTURE op1 --width nan", 2, "nan is no amount"),
    ("replay serve CAPTURE", 2, "either --stdio or --listen"),
    ("probe server CAPTURE", 2, "say which server"),
    ("probe client", 2, "say which client"),
    ("proxy --target ftp://x", 2, "say a URL such as"),
    ("proxy --listen x", 2, "say HOST:PORT"),
    ("demo --capture text", 2, "is a file"),
    ("shwo CAPTURE op1", 2, "did you mean show?"),
]


@pytest.mark.parametrize(("line", "code", "words"), MISTAKES, ids=[line for line, _, _ in MISTAKES])
def test_a_mistake(
    line: str,
    code: int,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("hello\n", encoding="utf-8")
    (tmp_path / "dir").mkdir()
    args = [str(SAMPLES / "sample-stdio") if word == "CAPTURE" else word for word in shlex.split(line)]
    assert run(args) == code
    out, err = capsys.readouterr()
    said = [text for text in err.splitlines() if not text.startswith("Reading ")]
    assert out == "" and len(said) <= 2 and said[0].startswith("Error: ") and words in err

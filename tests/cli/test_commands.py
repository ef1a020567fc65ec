"""Every verb says what it does and shows an example that runs; trouble is one clear line with the right exit code."""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from mrtrscope import cli
from mrtrscope.analyse import Unreadable, bring_up_to_date
from mrtrscope.cli import VERBS, run
from mrtrscope.cli.common import CannotRead, opened
from mrtrscope.sources import open_source
from tests.captures import append, call, journal, now, recorded
from tests.conftest import LIMIT, ROOT, SAMPLES, mrtrscope, wait_until
from tests.views.test_rows import finding

# Verbs that go on until somebody ends them, or start what other tests look at.
LIVE = {"demo", "wrap", "relay", "proxy"}


def command(verb: str) -> click.Command:
    found = cli.cli.get_command(click.Context(cli.cli), verb)
    assert found is not None, verb
    return found


def examples(verb: str) -> list[str]:
    text = command(verb).epilog or ""
    assert text.startswith(("Example:", "Examples:"))
    return [line.strip() for line in text.splitlines()[2:] if line.strip() and line.strip() != "\b"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_says_what_the_list_of_verbs_says(verb: str) -> None:
    if (told := VERBS[verb][2]) is not None:
        assert command(verb).get_short_help_str(200) == told
    assert examples(verb)
    assert all(example.startswith(f"mrtrscope {verb}") for example in examples(verb))


@pytest.mark.parametrize("example", [e for verb in VERBS if verb not in LIVE for e in examples(verb)])
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES, tmp_path / "captures", ignore=shutil.ignore_patterns("scope.db*", "*.lock"))
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(example)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0 and "Error" not in done.stderr


def test_help_lists_the_verbs_and_loads_none_of_them() -> None:
    code = (
        "import sys\nfrom mrtrscope.cli import run\nassert run(['--help']) == 0\n"
        "print([m for m in ('pydantic', 'sqlite_utils', 'mrtrscope.model', 'mrtrscope.cli.list_') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"
    for verb, (_, _, text) in VERBS.items():
        assert (f"  {verb} " in done.stdout) == (text is not None)


def test_what_is_current_is_shown_without_loading_the_analysis(tmp_path: Path) -> None:
    recorded(tmp_path, requests=5)
    code = (
        f"import sys\nfrom mrtrscope.cli import run\nrun(['list', {str(tmp_path)!r}])\n"
        "print([m for m in sys.modules if m.startswith(('mrtrscope.pipeline', 'mrtrscope.wire', 'mitmproxy'))])"
    )
    for loaded in (True, False):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
        assert (done.stdout.splitlines()[-1] != "[]") == loaded


USAGE = [
    (["lst"], "Error: There is no command 'lst'; did you mean list? See mrtrscope --help."),
    (["nothing-like-it"], "Error: There is no command 'nothing-like-it'; mrtrscope --help lists them. See mrtrscope"),
    (["list"], "Error: Name a CAPTURE: there is none in "),
    (["show", str(SAMPLES / "sample-stdio")], "Error: Missing argument 'ID'; mrtrscope list prints them. See "),
    (["list", "/no/such"], "Error: /no/such: no such file or folder; record one with mrtrscope wrap, relay or proxy."),
    (["check", "--fail-on", "x", "."], "Error: Invalid value for '--fail-on': 'x' is not one of 'must', "),
    (["explain", "at-least-one-feild"], "Error: There is no rule 'at-least-one-feild'; did you mean mrtr/at-least"),
    (["rules", "--area", "nonsense"], "Error: There is no area 'nonsense'. Areas: "),
    (["show", str(ROOT), "x1"], "Error: 'x1' is no ID: say op2, m3 or f4; `mrtrscope list "),
]  # fmt: skip


@pytest.mark.parametrize(("args", "says"), USAGE, ids=[" ".join(args) for args, _ in USAGE])
def test_a_users_mistake_is_one_line_and_exit_code_2(
    args: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(args) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(says) and err.count("\n") == 1


def bad(kind: str, folder: Path) -> Path:
    path = folder / kind
    if kind == "empty folder":
        path.mkdir()
    elif kind == "no journals":
        (path / "journals").mkdir(parents=True)
    elif kind == "unreadable journal":
        (path / "journals").mkdir(parents=True)
        (path / "journals" / "a.mrj").write_bytes(b"\x00" * 100)
    else:
        path.write_bytes(
            {"empty file": b"", "text": b"hello\n", "binary": os.urandom(5000), "json": b'{"a": 1}'}[kind]
        )
    return path


@pytest.mark.parametrize("verb", ["list", "messages", "check"])
@pytest.mark.parametrize(
    "kind", ["empty folder", "no journals", "unreadable journal", "empty file", "text", "binary", "json"]
)
def test_what_is_no_capture_is_said_with_exit_code_3(
    verb: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = bad(kind, tmp_path)
    assert run([verb, str(path)]) == 3
    out, err = capsys.readouterr()
    assert out == "" and err.startswith(f"Error: {path}: ") and err.count("\n") <= 2
    assert re.search("mrtrscope wrap|What can be read", err), "what to do next"


def test_a_damaged_record_is_told_and_the_rest_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = recorded(tmp_path, requests=20)
    (path,) = (tmp_path / "journals").iterdir()
    data = bytearray(path.read_bytes())
    at = data.index(b"0i data", len(data) // 2)
    data[at : at + 2] = b"??"
    path.write_bytes(data)
    for _ in range(2):
        assert run(["messages", str(tmp_path)]) == 0
        out, err = capsys.readouterr()
        assert re.fullmatch(
            rf"{path}: damaged record at byte [0-9,]+\.\n"
            r"[0-9]+ records before it and [0-9]+ after it are sound and were judged; the gap is marked\.\n",
            err,
        )
        assert len(re.findall(r"^m[0-9]+ ", out, re.M)) == len(lines) - 1
        assert "gaps in the recording: 1" in out


def test_a_torn_end_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path, requests=5)
    (path,) = (tmp_path / "journals").iterdir()
    path.write_bytes(path.read_bytes()[:-10])
    assert run(["list", str(tmp_path)]) == 0
    assert "ends within a record" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fail_on", "levels", "code"),
    [
        ("must", "must", 1),
        ("must", "should", 0),
        ("should", "should", 1),
        ("should", "info", 0),
        ("never", "must", 0),
    ],
)
def test_the_exit_code_of_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fail_on: str, levels: str, code: int
) -> None:
    recorded(tmp_path, requests=2)
    found = finding(level=levels, keyword="advisory" if levels == "info" else levels)
    monkeypatch.setattr("mrtrscope.store.reader.Store.findings", lambda self: iter([found]))
    assert run(["check", str(tmp_path), "--fail-on", fail_on]) == code


@pytest.mark.live
def test_nobody_reading_to_the_end_is_no_error(tmp_path: Path) -> None:
    recorded(tmp_path, requests=1000)
    mrtrscope("list", tmp_path)
    for args in (["messages", str(tmp_path)], ["messages", str(tmp_path), "--format", "json"], ["rules"]):
        with subprocess.Popen(
            [sys.executable, "-m", "mrtrscope", *args], stdout=-1, stderr=-1, cwd=ROOT
        ) as child:
            assert child.stdout and child.stderr
            child.stdout.readline()
            child.stdout.close()
            assert child.stderr.read() == b""
            assert child.wait(LIMIT) == 0


def test_a_capture_that_goes_while_it_is_read_is_said_in_a_line(tmp_path: Path) -> None:
    recorded(tmp_path / "c")
    with pytest.raises(CannotRead, match="no such file or folder"), opened(tmp_path / "c"):
        (tmp_path / "c").rename(tmp_path / "d")
        open_source(tmp_path / "c")


def begun(capture: Path) -> bool:
    """Whether an analyser has written what there was to write."""
    try:
        bring_up_to_date(capture, update=False).close()
    except Unreadable:
        return False
    return True


@pytest.mark.live
def test_ctrl_c_is_no_traceback(tmp_path: Path) -> None:
    made = journal(tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-m", "mrtrscope", "analyse", str(tmp_path), "--follow"], cwd=ROOT
    )
    wait_until(lambda: begun(tmp_path))
    os.kill(holder.pid, signal.SIGSTOP)  # so that whoever waits for it does
    append(made, [(now(made), "c2s", call(1))])
    waiting = subprocess.Popen(
        [sys.executable, "-m", "mrtrscope", "list", str(tmp_path)], stderr=-1, cwd=ROOT
    )
    assert waiting.stderr
    said = waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    assert said.startswith(f"Waiting for process {holder.pid}, which analyses {tmp_path}; ".encode())
    assert waiting.communicate(timeout=LIMIT)[1].strip() == b""
    assert waiting.returncode == 130
    os.kill(holder.pid, signal.SIGCONT)
    holder.terminate()
    assert holder.wait(LIMIT) == 0
    made.close()


HOSTILE = "\x1b[2J\x1b]0;title\x07\u202egnp.exe\u2028\ud800"


def test_captured_text_cannot_act_on_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = call(HOSTILE, "tools/call").replace(b'"x"', b'"\\u001b[31m"')
    answer = b'{"id":"\\u001b[5m","jsonrpc":"2.0","result":{}}'
    noise = b"\x1b[2Jnoise \xff\xfe\x9b"
    journal(tmp_path, [(1, "c2s", text), (2, "s2c", answer), (3, "s2c", noise)]).close()
    shown = (["show", id] for id in ("op1", "m1", "m2", "f1", "f2"))
    for args in (["list"], ["messages"], ["check"], *shown):
        assert run([args[0], str(tmp_path), *args[1:]]) in (0, 1)
        out, err = capsys.readouterr()
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028\ud800]", out + err)


def on_a_terminal(*args: str, **env: str) -> str:
    """What a command prints to a terminal of 60 columns."""
    leader, follower = pty.openpty()
    import fcntl
    import struct
    import termios

    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    environment = (
        {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | env
    )
    with subprocess.Popen(
        [sys.executable, "-m", "mrtrscope", *args], stdout=follower, cwd=ROOT, env=environment
    ) as child:
        os.close(follower)
        out = b""
        while True:
            try:
                more = os.read(leader, 65536)
            except OSError:
                break
            if not more:
                break
            out += more
        child.wait()
    os.close(leader)
    return out.decode()


def test_colour_and_cut_lines_only_on_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded(tmp_path, requests=20, channel="a-rather-long-name-of-a-channel")
    shown = on_a_terminal("list", str(tmp_path))
    assert "\x1b[" in shown
    plain = on_a_terminal("list", str(tmp_path), NO_COLOR="1")
    assert "\x1b[" not in plain and re.sub(r"\x1b\[[0-9;]*m", "", shown) == plain
    assert "a-rath…hannel" not in plain or "…" in plain
    assert run(["list", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and "a-rather-long-name-of-a-channel" in out and "…" not in out


@pytest.mark.live
def test_python_without_docstrings(tmp_path: Path) -> None:
    """-OO, or PYTHONOPTIMIZE=2: rules have no text, and judge all the same."""
    usual = mrtrscope("check", SAMPLES / "sample-stdio")
    for args in (["check"], ["check", "--format", "sarif"], ["report", "--format", "md"]):
        done = mrtrscope(args[0], SAMPLES / "sample-stdio", *args[1:], PYTHONOPTIMIZE="2")
        assert (done.returncode, done.stderr) == (int(args[0] == "check"), ""), args
        if args == ["check"]:
            assert done.stdout == usual.stdout
    assert mrtrscope("explain", "mrtr/new-request-id", PYTHONOPTIMIZE="2").returncode == 0

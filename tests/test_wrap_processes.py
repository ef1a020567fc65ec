"""`wrap`: starts what it was told to, and the two end as the child alone would: exit codes, signals, kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mrtrscope import wrap
from mrtrscope.journal import read_capture
from tests.conftest import LIMIT, mrtrscope, wait_until
from tests.peers.wrapped import WRAP, Wrapped, gone

pytestmark = pytest.mark.live

ECHO = ("cat",)


# what cannot start


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("no-such-command-anywhere", 127, "no-such-command-anywhere: command not found; nothing was started"),
        ("/no/such/file", 127, "/no/such/file: command not found"),
        ("/etc/passwd", 126, "/etc/passwd: cannot be started: Permission denied"),
        ("/", 126, "/: cannot be started: "),
    ],
)
def test_a_command_that_cannot_start(tmp_path: Path, command: str, code: int, says: str) -> None:
    done = mrtrscope("wrap", "--capture", tmp_path / "c", "--", command)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"mrtrscope wrap: {says}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([], "no command to run"),
        (["--"], "no command to run"),
        (["--nmae", "x", "--", "cat"], "unknown option --nmae"),
        (["--name"], "--name wants a value"),
        (["--max-size", "lots", "--", "cat"], "--max-size lots: not a size"),
    ],
)
def test_a_line_that_cannot_be_read(args: list[str], says: str) -> None:
    done = mrtrscope("wrap", *args)
    assert done.returncode == 2
    assert done.stderr.startswith(f"mrtrscope wrap: {says}")
    assert done.stderr.splitlines()[1].startswith("usage: mrtrscope wrap")


def test_options() -> None:
    options = wrap.parse(
        ["--name=a=b", "--capture", "x", "--max-size", "2M", "python", "-m", "server", "--name", "c"]
    )
    assert (options.name, options.capture, options.max_size) == ("a=b", "x", 2 << 20)
    assert options.command == ["python", "-m", "server", "--name", "c"]
    assert wrap.parse(["--", "/usr/bin/srv"]).name == ""  # see `called`
    assert wrap.parse(["--", "--odd"]).command == ["--odd"]


def test_help_with_an_example_that_runs(tmp_path: Path) -> None:
    done = mrtrscope("wrap", "--help")
    assert done.returncode == 0
    words = done.stdout.strip().splitlines()[-1].split()
    assert words[:2] == ["mrtrscope", "wrap"]
    assert mrtrscope(*words[1:], input="x\n", MRTRSCOPE_CAPTURE=str(tmp_path)).stdout == "x\n"


# exit codes and signals


@pytest.mark.parametrize("code", [0, 1, 7, 126, 127, 255])
def test_exit_codes(tmp_path: Path, code: int) -> None:
    with Wrapped(tmp_path, "sh", "-c", f"exit {code}") as it:
        assert it.finish() == (code, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_child_that_a_signal_ends(tmp_path: Path, number: signal.Signals) -> None:
    with Wrapped(tmp_path, "sh", "-c", f"kill -{number} $$") as it:
        assert it.finish()[0] == 128 + number
    assert json.loads(it.frames()[-1].data) == {"signal": number}


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1]
)
def test_a_signal_to_us_ends_the_child_and_us_in_the_same_way(tmp_path: Path, number: signal.Signals) -> None:
    with Wrapped(tmp_path, "sleep", "600", start_new_session=True) as it:
        child = it.child
        assert it.end(number) == -number
        assert gone(child)
    end = json.loads(it.frames()[-1].data)
    assert end.pop("signal") == number
    if number != signal.SIGUSR1:
        assert end.pop("sent") == number
        assert 0 <= end.pop("ago") < LIMIT * 1e6
    assert end in ({}, {"by": "client"})


@pytest.mark.parametrize("name", ["TERM", "INT", "HUP", "USR1", "USR2"])
def test_a_signal_that_the_child_handles(tmp_path: Path, name: str) -> None:
    script = f"trap 'echo got {name}; exit 8' {name}; echo ready; while :; do sleep 0.05; done"
    with Wrapped(tmp_path, "sh", "-c", script, start_new_session=True) as it:
        assert os.read(it.stdout, 100) == b"ready\n"
        assert it.end(signal.Signals[f"SIG{name}"]) == 8
        assert os.read(it.stdout, 100) == f"got {name}\n".encode()


def test_a_child_that_ignores_sigterm_is_killed_after_a_grace(tmp_path: Path) -> None:
    with Wrapped(tmp_path, "sh", "-c", "trap '' TERM; echo ready; exec sleep 600") as it:
        assert os.read(it.stdout, 100) == b"ready\n"
        child = it.child
        assert it.end(signal.SIGTERM) == 128 + signal.SIGKILL
        assert gone(child)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody says who sent a signal")
@pytest.mark.parametrize("who", ["client", "other", "a group's"])
def test_who_sent_the_signal_that_ended_us_is_kept(tmp_path: Path, who: str) -> None:
    """A client that signals its server, or somebody who ends them all: the journal can tell."""
    with Wrapped(tmp_path, "sh", "-c", "echo ready; exec sleep 600", start_new_session=True) as it:
        assert os.read(it.stdout, 100) == b"ready\n"
        child = it.child
        if who == "client":
            it.process.terminate()
        else:
            whom = "-" if who != "other" else ""
            subprocess.run(["sh", "-c", f"kill -TERM {whom}{it.process.pid}"], check=True)
        assert it.process.wait(LIMIT) in (-signal.SIGTERM, 128 + signal.SIGTERM)
        assert gone(child)
    end = json.loads(it.frames()[-1].data)
    assert end["signal"] == signal.SIGTERM
    # Of a group the child may be dead before we were told.
    assert end.get("by") == who or (who == "a group's" and end.get("by") in (None, "other"))


TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody says who sent a signal")
@pytest.mark.parametrize("by", ["key", "kill"])
def test_an_interrupt_reaches_the_child_once(tmp_path: Path, by: str) -> None:
    """From a key the terminal sends it to the child as well, from a process it comes to us alone."""
    script = (
        "import signal, time\nsignal.signal(signal.SIGINT, lambda *_: print('interrupted', flush=True))\n"
    )
    script += "print('ready', flush=True)\nwhile True: time.sleep(0.01)"
    ours, theirs = os.openpty()
    argv = [
        sys.executable,
        "-c",
        TERMINAL,
        *WRAP,
        "--capture",
        str(tmp_path),
        "--",
        sys.executable,
        "-c",
        script,
    ]
    with subprocess.Popen(argv, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        for _ in range(3):
            if by == "key":
                os.write(ours, b"\x03")
            else:
                process.send_signal(signal.SIGINT)
            assert process.stdout.readline() == b"interrupted\n"
        process.send_signal(signal.SIGTERM)
        # By the signal itself, or by the code that says so when the child was quicker to die of it than wrap.
        assert process.wait(LIMIT) in (-signal.SIGTERM, 128 + signal.SIGTERM)
        assert process.stdout.read() == b""
    os.close(ours)
    os.close(theirs)


# who dies when


def test_the_host_is_killed(tmp_path: Path) -> None:
    """The child ignores the end of its input and SIGTERM; input and output of the host stay open in this process."""
    script = "trap '' TERM; exec sleep 600"
    host = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen({[*WRAP, '--capture', str(tmp_path), '--', 'sh', '-c', script]!r})\n"
        "print(p.pid, flush=True)\ntime.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", host], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout
        wrapper = int(parent.stdout.readline())
        child = int(
            json.loads(wait_until(lambda: [f for f in read_capture(tmp_path) if f.kind == "open"])[0].data)[
                "pid"
            ]
        )
        parent.kill()
        wait_until(lambda: gone(wrapper) and gone(child))
    assert json.loads(list(read_capture(tmp_path))[-1].data) == {"signal": signal.SIGKILL}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the end of its input has to do")
def test_we_are_killed(tmp_path: Path) -> None:
    with Wrapped(tmp_path, "sleep", "600") as it:
        child = it.child
        it.end(signal.SIGKILL)
        wait_until(lambda: gone(child))


@pytest.mark.parametrize("who", ["wrapper", "child"])
@pytest.mark.parametrize("calls", [1, 40, 333])
def test_killed_at_any_moment_only_what_was_in_hand_is_missing(tmp_path: Path, who: str, calls: int) -> None:
    with Wrapped(tmp_path, *ECHO) as it:
        child = it.child
        for n in range(calls):
            it.exchange(b'{"id":%d}\n' % n)
        os.write(it.stdin, b'{"id":"in hand"}\n')
        os.kill(it.process.pid if who == "wrapper" else child, signal.SIGKILL)
        assert it.process.wait(LIMIT) == (-9 if who == "wrapper" else 137)
        wait_until(lambda: gone(child))
    sent = b"".join(b'{"id":%d}\n' % n for n in range(calls))
    in_hand = b'{"id":"in hand"}\n'
    assert (sent + in_hand).startswith(it.kept("0o"))
    assert len(it.kept("0o")) >= len(sent) - len(
        b'{"id":%d}\n' % calls
    )  # the last answer was in hand as well
    assert it.kept("0i") in (sent, sent + in_hand)
    assert [f for f in it.frames() if f.kind == "gap"] == []


def test_500_of_500_calls_are_on_disk_after_sigkill(tmp_path: Path) -> None:
    with Wrapped(tmp_path, *ECHO) as it:
        it.exchange(b'{"method":"tools/call"}\n' * 500)
        wait_until(lambda: it.kept("0i").count(b"tools/call") == it.kept("0o").count(b"tools/call") == 500)
        it.end(signal.SIGKILL)
    assert it.kept("0i").count(b"tools/call") == it.kept("0o").count(b"tools/call") == 500

"""The live view: what it shows, keys, that labels are text, and the whole of it in a terminal while traffic flows."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

from mrtrscope import analyse
from mrtrscope.views.metrics import cells
from mrtrscope.views.redact import Redactor
from mrtrscope.views.watch import keys, screen
from mrtrscope.views.watch.board import Board, Watcher, waits
from mrtrscope.views.watch.screen import View
from mrtrscope.views.words import clock
from tests import captures
from tests.conftest import LIMIT, SAMPLES, mrtrscope, wait_until
from tests.views import hostile

COLOUR = re.compile(r"\x1b\[[0-9]*m")


def board(
    capture: Path, rows: int = 10, first: int | None = None, only_open: bool = False, wall: float = 0.0
) -> Board:
    with analyse.bring_up_to_date(capture) as store:
        return Watcher(store).look(0.0, wall or store.end() or 0.0, first, rows, only_open)


def drawn(
    capture: Path, view: View | None = None, width: int = 100, height: int = 30, colours: bool = False
) -> list[str]:
    view = view or View()
    found = board(capture, screen.rows_for(height, view), view.first, view.only_open)
    return screen.lines(found, view, width, height, colours, capture.name, Redactor())


def test_the_latest_are_read_and_no_more() -> None:
    found = board(SAMPLES / "sample-demo", 5)
    assert [op.id for op in found.operations] == ["op22", "op23", "op24", "op25", "op26"]
    assert (found.total, found.messages, found.open, found.first) == (26, 102, 1, 21)
    assert found.levels["must"] == 6 and [f.at for f in found.findings][-1] == "m101"
    assert [op.id for op in board(SAMPLES / "sample-demo", 3, first=0).operations] == ["op1", "op2", "op3"]
    assert [op.id for op in board(SAMPLES / "sample-demo", 5, only_open=True).operations] == ["op26"]


def test_whom_an_operation_waits_for(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    made = captures.journal(capture, [(1000, "c2s", captures.call(1))])
    made.close()
    (one,) = board(capture).operations
    assert waits(one, one.t + 2.5) == ("waits for the server", pytest.approx(2.5))
    asked = board(SAMPLES / "sample-demo", 1).operations[0]
    words, since = waits(asked, asked.rounds[-1].t_answer + 7)  # type: ignore[operator]
    assert words == "waits for the person: day" and since == pytest.approx(7)


@pytest.mark.parametrize("width", [60, 80, 100, 200])
@pytest.mark.parametrize("colours", [False, True])
def test_a_screen_is_as_large_as_the_window(width: int, colours: bool, tmp_path: Path) -> None:
    for capture in (SAMPLES / "sample-demo", hostile.record(tmp_path / "hostile", hostile.LABELS[::7])):
        made = drawn(capture, width=width, height=24, colours=colours)
        assert len(made) == 24
        assert max(cells(COLOUR.sub("", line)) for line in made) <= width


def test_every_number_can_be_read() -> None:
    found = board(SAMPLES / "sample-demo", 1)
    found.total = 1_234_567
    found.operations[0].id = "op1234567"
    made = screen.lines(found, View(), 100, 24, False, "x", Redactor())
    assert "op1234567" in made[2].split()
    assert made[1].index("began") == made[2].index(clock(found.operations[0].t))


def test_who_is_waited_for_has_abandoned_nothing_yet() -> None:
    sample = SAMPLES / "sample-demo"
    while_it_goes_on, later = board(sample, 1), board(sample, 1, wall=2e10)
    assert while_it_goes_on.live and not later.live
    told = [(found.text, found.operation) for found in later.findings]
    assert ("nobody took up this question so far", "op26") in told
    assert not any("so far" in found.text for found in while_it_goes_on.findings)
    assert later.levels["info"] == while_it_goes_on.levels["info"] + 1


def test_no_label_acts_on_the_terminal(tmp_path: Path) -> None:
    capture = hostile.record(tmp_path / "capture")
    with analyse.bring_up_to_date(capture) as store:
        watcher = Watcher(store)
        for first in range(0, store.count("operations"), 100):
            found = watcher.look(0.0, 0.0, first, 100, False)
            for line in screen.lines(found, View(), 160, 120, True, "x", Redactor()):
                plain = COLOUR.sub("", line)
                assert not re.search(
                    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]", plain
                ), plain


def test_keys_by_name() -> None:
    assert keys.pressed(b"\x1b[A\x1b[B\x1bOAjk\x1b[6~\rq") == [
        "up",
        "down",
        "up",
        "down",
        "up",
        "page-down",
        "enter",
        "q",
    ]
    assert keys.pressed(b"\x1b") == ["escape"]
    assert keys.pressed(b"\xffz\x1b[99~") == ["other"] * 3


def test_moving_leaves_the_end_and_comes_back_to_it() -> None:
    view, found = (
        View(),
        Board(total=50, listed=50, first=40, operations=board(SAMPLES / "sample-demo").operations),
    )
    assert keys.act("up", view, found, 10) == "" and (view.place, view.first) == (48, 40)
    keys.act("page-up", view, found, 10)
    assert (view.place, view.first) == (38, 38)
    keys.act("home", view, found, 10)
    assert (view.place, view.first) == (0, 0)
    keys.act("page-down", view, found, 10)
    assert (view.place, view.first) == (10, 1)
    keys.act("end", view, found, 10)
    assert (view.place, view.first) == (None, None)
    keys.act("up", view, found, 10)
    keys.act("down", view, found, 10)
    keys.act("down", view, found, 10)
    assert view.place is None, "below the last one the view stays with what comes"


def test_opening_reading_and_closing_one() -> None:
    view, found = View(), board(SAMPLES / "sample-demo")
    assert keys.act("enter", view, found, 10) == keys.OPEN
    view.opened, view.lines = "op26", [str(n) for n in range(30)]
    keys.act("page-down", view, found, 10)
    keys.act("down", view, found, 10)
    assert screen.lines(found, view, 40, 12, False, "x", Redactor())[0] == "11"
    keys.act("end", view, found, 10)
    assert view.top == 20
    assert keys.act("d", view, found, 10) == keys.PICTURE
    assert keys.act("escape", view, found, 10) == keys.CLOSE
    view.lines = None
    assert keys.act("q", view, found, 10) == keys.QUIT


def test_help_is_left_by_any_key() -> None:
    view, found = View(), Board()
    keys.act("?", view, found, 10)
    assert "Enter" in "\n".join(screen.lines(found, view, 80, 20, False, "x", Redactor()))
    assert keys.act("other", view, found, 10) == "" and not view.help


def test_help_says_what_the_column_r_is_and_how_to_scroll() -> None:
    assert re.search(r" r +state ", screen._columns(80, board(SAMPLES / "sample-demo")))
    told = screen.lines(Board(), View(help=True), 80, 20, False, "x", Redactor())
    assert "Column r: rounds, how many requests the operation took so far." in told
    assert "In an operation the keys of the first two lines scroll it." in told
    assert all(
        len(line) <= 40 for line in screen.lines(Board(), View(help=True), 40, 20, False, "x", Redactor())
    )


def test_once_prints_and_ends() -> None:
    done = mrtrscope("watch", SAMPLES / "sample-demo", "--once")
    assert done.returncode == 0 and "\x1b" not in done.stdout
    assert "sample-demo  ·  26 operations  ·  1 open  ·  102 messages  ·  6 must, " in done.stdout


class Seen:
    """`mrtrscope watch` in a terminal of its own."""

    def __init__(self, capture: Path) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 110, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mrtrscope", "watch", str(capture)], stdin=slave, stdout=slave, stderr=slave,
            env=os.environ | {"TERM": "xterm"},
        )  # fmt: skip
        self.out = bytearray()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.out += data

    def wait(self, text: str) -> None:
        wait_until(lambda: text in self.out.decode("utf-8", "replace"), why=f"the screen says {text}")

    def press(self, key: str) -> None:
        self.out.clear()
        os.write(self.master, key.encode())


@pytest.mark.live
def test_traffic_is_seen_as_it_flows_and_the_terminal_given_back(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    made = captures.journal(capture, [(0, "c2s", captures.call(1))])
    seen = Seen(capture)
    try:
        seen.wait("waits for the server")
        captures.append(
            made, [(captures.now(made), "s2c", b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')]
        )
        seen.wait("complete")
        captures.append(made, [(captures.now(made), "c2s", captures.call(2))])
        seen.wait("op2")
        seen.press("\x1b[A")
        seen.press("\r")
        seen.wait("Round 1 of 1")
        seen.press("d")
        seen.wait("server")
        seen.press("q")
        seen.wait("Enter open")
        seen.press("q")
        assert seen.process.wait(LIMIT) == 0
        seen.wait("\x1b[?1049l")
        assert termios.tcgetattr(seen.slave) == seen.before
    finally:
        seen.process.kill()
        seen.process.wait(LIMIT)
        made.close()


@pytest.mark.live
def test_without_a_terminal_operations_are_lines(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    made = captures.journal(capture, [(0, "c2s", captures.call(1))])
    process = subprocess.Popen(
        [sys.executable, "-m", "mrtrscope", "watch", str(capture)],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        captures.append(
            made, [(captures.now(made), "s2c", b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}')]
        )
        line = process.stdout.readline().decode()
        assert line.startswith("op1") and "complete" in line and "\x1b" not in line
    finally:
        process.terminate()
        process.wait(LIMIT)
        process.stdout.close()
        made.close()

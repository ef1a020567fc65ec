"""`mrtrscope watch`: operations as they happen, in the terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mrtrscope.cli.common import colours, columns, epilog, masked, opened, print_lines
from mrtrscope.cli.newest import newest_capture_argument

if TYPE_CHECKING:
    from mrtrscope.store.reader import Store
    from mrtrscope.views.watch.board import Board, Watcher
    from mrtrscope.views.watch.screen import View
    from mrtrscope.views.watch.terminal import Terminal

TURN = 0.25  # seconds between two looks


@click.command(epilog=epilog("mrtrscope watch captures/sample-demo --once"))
@newest_capture_argument
@click.option("--once", is_flag=True, help="Print the present state and end.")
@click.option("--raw", is_flag=True, help="Show secrets and states as they are.")
def watch(capture: Path, once: bool, raw: bool) -> None:
    """Show operations as they happen.

    Each with whom it waits for and since when, and findings as they come. Keys: arrows to choose, Enter to open one, w
    for only what waits, ? for the others, q to end. Where the output is no terminal, operations are printed one a line
    when they are done.
    """
    with opened(capture) as store:
        if once:
            _once(store, capture, raw)
            return
        with _analyser(capture):
            if sys.stdout.isatty() and sys.stdin.isatty():
                _live(store, capture, raw)
            else:
                _lines(store, raw)


@contextlib.contextmanager
def _analyser(capture: Path) -> Iterator[None]:
    """Somebody reads the journals meanwhile: whoever has the lock, else a child of ours, which waits for it."""
    if not capture.is_dir():
        yield
        return
    command = [
        sys.executable,
        "-m",
        "mrtrscope",
        "analyse",
        str(capture),
        "--follow",
        "--parent-pid",
        str(os.getpid()),
    ]
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        child.terminate()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _once(store: Store, capture: Path, raw: bool) -> None:
    from mrtrscope.views import ahead
    from mrtrscope.views.watch import screen
    from mrtrscope.views.watch.board import Watcher

    view = screen.View()
    height = os.get_terminal_size(sys.stdout.fileno()).lines if sys.stdout.isatty() else 40
    watcher = Watcher(store)
    board = watcher.look(time.monotonic(), time.time(), None, screen.rows_for(height, view), False)
    made = screen.lines(
        board, view, columns() or 120, height, colours(), capture.name, ahead.redactor(store, raw)
    )
    print_lines([line for line in made[:-1] if line])


def _live(store: Store, capture: Path, raw: bool) -> None:
    """The full screen, until the person ends it."""
    from mrtrscope.views import ahead
    from mrtrscope.views.watch import keys, screen
    from mrtrscope.views.watch.board import Watcher
    from mrtrscope.views.watch.terminal import Terminal

    view, watcher = screen.View(), Watcher(store)
    with Terminal() as terminal:
        while True:
            width, height = terminal.size
            board = _look(watcher, view, screen.rows_for(height, view))
            redact = ahead.redactor(store, raw)  # what is named meanwhile is hidden from now on
            terminal.draw(screen.lines(board, view, width, height, colours(), capture.name, redact))
            for key in keys.pressed(terminal.read(TURN)):
                rows = height - 1 if view.lines is not None else screen.rows_for(height, view)
                listed = view.only_open
                todo = keys.act(key, view, board, rows)
                if view.only_open != listed:
                    board = _look(watcher, view, rows)  # other operations: the next key chooses among these
                if todo == keys.QUIT:
                    return
                if todo == keys.OPEN:
                    view.opened = _chosen(board, view)
                elif todo == keys.CLOSE:
                    view.opened, view.lines, view.picture, view.top = "", None, False, 0
                elif todo == keys.PICTURE:
                    view.picture, view.top = not view.picture, 0
            if view.opened:
                view.lines = _whole(store, view, terminal, raw)


def _look(watcher: Watcher, view: View, rows: int) -> Board:
    board = watcher.look(time.monotonic(), time.time(), view.first, rows, view.only_open)
    if view.place is not None:
        view.place = min(view.place, max(0, board.listed - 1))
    return board


def _chosen(board: Board, view: View) -> str:
    place = board.listed - 1 if view.place is None else view.place
    at = min(max(0, place - board.first), len(board.operations) - 1)
    return board.operations[at].id


def _whole(store: Store, view: View, terminal: Terminal, raw: bool) -> list[str]:
    """The lines of the operation that is open, as `show` prints them, or its picture."""
    from mrtrscope.store.bodies import fetch
    from mrtrscope.views import ahead
    from mrtrscope.views.show import Page

    width, _ = terminal.size
    operation = store.operation(view.opened)
    if operation is None:
        return [f"{view.opened} is not there any more."]
    redact = ahead.redactor(store, raw)
    if view.picture:
        from mrtrscope.views import detail
        from mrtrscope.views.diagram import Options, diagram

        found = detail.load(store, view.opened)
        pages = (
            diagram(found, "text", Options(width=width, raw=raw), redact) if found is not None else iter(())
        )
        return b"\n".join(pages).decode("utf-8").splitlines()
    rows = {row.m: row for row in store.messages(view.opened)}
    page = Page(fetch(store, rows), redact, width=width, colours=colours())
    return list(page.operation(operation, rows, list(store.findings(view.opened))))


def _lines(store: Store, raw: bool) -> None:
    """No terminal: a line for each operation when it is done, and for each finding when it is there, while somebody
    reads them."""
    from mrtrscope.cli.streams import is_read
    from mrtrscope.views.rows import finding, operations

    done: set[str] = set()
    told: set[str] = set()
    first = 1
    while is_read(sys.stdout):
        store.refresh()
        hide = masked(store, raw)
        total = store.count("operations")
        for n in range(first, total + 1):
            operation = store.operation(f"op{n}")
            if operation is None or operation.key in done or operation.outcome == "open":
                continue
            done.add(operation.key)
            print_lines(list(operations([hide.operation(operation)], None, False))[-1:])
            new = [found for found in store.findings(operation.id) if found.id not in told]
            told.update(found.id for found in new)
            for found in hide.findings(store, new):
                about = hide.redact.text(store.about(found.at))
                print_lines(finding(found, lambda at, about=about: about, None, False))  # type: ignore[misc]
        while first <= total and (one := store.operation(f"op{first}")) is not None and one.key in done:
            done.discard(one.key)
            first += 1
        time.sleep(TURN)

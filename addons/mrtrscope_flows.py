"""The analyser's child process, and what it found as comments and marks on the flows that mitmproxy shows."""

from __future__ import annotations

import asyncio
import logging
import os
import site
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mitmproxy import ctx
from mitmproxy.hooks import UpdateHook

import mrtrscope
from mrtrscope.store import flows
from mrtrscope.tap_records import FlowIds

logger = logging.getLogger(__name__)

NICE = 10  # of the analyser: traffic first
EVERY = 0.5  # seconds between two looks at the database
MARKS = {"must": ":x:", "should": ":warning:"}
GRACE = 5.0  # seconds that the analyser gets to end


class Analyser:
    """The child process that follows the journal and judges; it ends when mitmproxy does, however that happens."""

    def __init__(self, capture: str) -> None:
        self._capture = capture
        self._child: subprocess.Popen[bytes] | None = None
        self._told = False

    def start(self) -> None:
        """Start it, at a lower priority. Without it the capture is still whole.

        A process group of its own keeps the terminal's Ctrl-C away; not a session, since Linux weighs sessions
        against each other (autogroup), and a nice value then says nothing to mitmproxy's.
        """
        command = [sys.executable, "-m", "mrtrscope", "analyse", self._capture, "--follow"]
        command += ["--parent-pid", str(os.getpid())]
        try:
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                process_group=0, env=_environment(),
            )  # fmt: skip
            os.setpriority(os.PRIO_PROCESS, self._child.pid, NICE)
        except OSError as e:
            logger.warning(
                f"mrtrscope: no analyser ({e}); `mrtrscope list {self._capture}` reads the capture later."
            )

    def look(self) -> None:
        """Say once when it has ended before its time."""
        if self._child is not None and not self._told and (code := self._child.poll()) is not None:
            self._told = True
            again = f"`mrtrscope list {self._capture}` reads the capture later."
            logger.warning(f"mrtrscope: the analyser ended with code {code}; recording goes on, {again}")

    def stop(self) -> None:
        """End it. Whatever it has not read yet is read by the next command that looks at the capture."""
        child, self._child = self._child, None
        if child is None:
            return
        child.terminate()
        try:
            child.wait(GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _environment() -> dict[str, str]:
    """Lets the child find the same `mrtrscope`. An installed one it finds by itself: putting its folder first on the
    path would let whatever else is installed there hide modules of the standard library."""
    root = str(Path(mrtrscope.__file__).resolve().parent.parent)
    if root in {str(Path(p).resolve()) for p in [*site.getsitepackages(), site.getusersitepackages()]}:
        return dict(os.environ)
    path = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


class FlowNotes:
    """Puts what the analyser reports on the flows in mitmproxy's view. What a person wrote there stays."""

    def __init__(self, capture: str, journal: str, ids: FlowIds, analyser: Analyser) -> None:
        self._reader = flows.FlowNotes(Path(capture) / "scope.db", journal)
        self._ids = ids
        self._analyser = analyser
        self._ours: dict[str, tuple[str, str]] = {}  # flow id -> comment and mark that we set

    async def follow(self) -> None:
        """Look at the database now and then, for as long as mitmproxy runs."""
        view = ctx.master.addons.get("view")
        self._ids.wanted = view is not None  # mitmdump shows no flows
        while True:
            await asyncio.sleep(EVERY)
            self._analyser.look()
            if view is not None:
                try:
                    self._apply(view, self._reader.poll())
                except Exception as e:
                    logger.warning(f"mrtrscope: no comments on flows: {type(e).__name__}: {e}")
                    return

    def _apply(self, view: Any, notes: Iterable[flows.FlowNote]) -> None:
        wanted: dict[str, tuple[str, str]] = {}
        for note in notes:
            flow_id = self._ids.of_lane(note.lane)
            if flow_id is not None:
                wanted[flow_id] = _joined(wanted.get(flow_id), note)
        changed = []
        for flow_id, (comment, mark) in wanted.items():
            flow = view.get_by_id(flow_id)
            if flow is None:
                self._ours.pop(flow_id, None)
                continue
            before = self._ours.get(flow_id, ("", ""))
            if (flow.comment, flow.marked) == (comment, mark):
                continue
            if flow.comment in ("", before[0]):
                flow.comment = comment
            if flow.marked in ("", before[1]):
                flow.marked = mark
            if before != (comment, mark):
                self._ours[flow_id] = (comment, mark)
                changed.append(flow)
        if changed:
            ctx.master.addons.trigger(UpdateHook(changed))


def _joined(before: tuple[str, str] | None, note: flows.FlowNote) -> tuple[str, str]:
    """A stdio session, or a batch, has several operations in one flow: the latest, and the gravest mark."""
    text, mark = note.text(), MARKS.get(note.worst, "")
    if before is None:
        return text, mark
    return text, min(filter(None, (before[1], mark)), key=list(MARKS.values()).index, default="")

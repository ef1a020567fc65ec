"""A client that is tried: started once for each way in which a server can misbehave, and what came of each.

The first way is no misbehaviour: it is the control. A client that does not retry there, or never comes, shows nothing
by not retrying elsewhere.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mrtrscope.recorder import Journal
from mrtrscope.replay.misbehave import OverHttp, seen, steps_of
from mrtrscope.replay.started import Ended, Watcher, run
from mrtrscope.replay.ways import HTTP, KEPT, NOT_MADE, NOT_SEEN, STDIO, UNSURE, WAYS, Verdict, together

CONTROL = "well-behaved"
URL, SERVER = "{url}", "{server}"
FINAL = ("no-result-type",)  # ways whose answer has to be taken for the final result


class TriedClient:
    """Starts the client. `absent` says, once the control was tried, that there is none, and why; else ""."""

    def __init__(
        self, command: tuple[str, ...], tool: str, folder: Path, timeout: float, said: Journal | None
    ) -> None:
        self._command = command
        self._tool = tool
        self._folder = folder
        self._timeout = timeout
        self._said = said
        self._on = STDIO if any(SERVER in word for word in command) else HTTP
        self._verdicts: dict[str, Verdict] = {}
        self._ended: dict[str, Ended] = {}
        self.absent = ""
        self._watcher = Watcher()

    def close(self) -> None:
        """No more clients are started."""
        self._watcher.close()

    async def way(self, name: str) -> None:
        """Try one way; OSError when the client cannot be started."""
        way = WAYS[name]
        if self._on not in way.transports:
            self._verdicts[name] = (
                NOT_MADE,
                f"cannot be done {'over HTTP' if self._on == HTTP else 'on stdio'}",
            )
            return
        if self._on == STDIO:
            ended, journals = await self._with_command(name)
        else:
            ended, journals = await self._with_url(name)
        verdict, words = seen(way, *journals) if journals else (NOT_SEEN, "it never started the server")
        if ended.running and way.legacy and verdict != KEPT:
            words = f"waits still after {self._timeout:g} s"  # for longer than that is no breach
        if ended.running and verdict == KEPT:
            verdict, words = UNSURE, f"{words}; not at an end"
        if name in FINAL and verdict == KEPT and ended.code != 0:
            verdict, words = UNSURE, f"{words}, but did not take it for the end either"
        self._verdicts[name], self._ended[name] = (verdict, words), ended
        if name == CONTROL and not any(map(steps_of, journals)):
            self.absent = self._never(ended)

    def _never(self, ended: Ended) -> str:
        why = f", and said: {ended.why()}" if ended.why() else ""
        what = "start the server" if self._on == STDIO else "connect to the server"
        return f"{self._command[0]} did not {what}: {ended.words}{why}. Try the command by itself first."

    async def _with_url(self, name: str) -> tuple[Ended, list[Path]]:
        http = await OverHttp(WAYS[name], self._tool, self._folder).start()
        try:
            if any(URL in word for word in self._command):
                argv = [word.replace(URL, http.url) for word in self._command]
            else:
                argv = [*self._command, http.url]
            ended = await run(argv, self._timeout, self._said, len(self._ended), http.enough, self._watcher)
        finally:
            journal = await http.close()
        return ended, [journal]

    async def _with_command(self, name: str) -> tuple[Ended, list[Path]]:
        """A client may start the server more than once, to ask it first which revisions it speaks."""
        journals = self._folder / "journals"
        before = set(journals.glob("*.mrj"))
        server = shlex.join([
            sys.executable, "-m", "mrtrscope", "probe", "misbehave", name, "--tool", self._tool, "--capture",
            str(self._folder),
        ])  # fmt: skip
        argv = [word.replace(SERVER, server) for word in self._command]
        ended = await run(argv, self._timeout, self._said, len(self._ended), watcher=self._watcher)
        return ended, sorted(p for p in set(journals.glob("*.mrj")) - before if f"-{name}-" in p.name)

    def rows(self) -> dict[str, dict[str, Any]]:
        """What came of each way that was tried, by its name."""
        control, saw = self._verdicts.get(CONTROL, (KEPT, ""))
        found = {}
        for name, (verdict, words) in together(self._verdicts).items():
            if control != KEPT and verdict == KEPT and WAYS[name].wants_retry and name != CONTROL:
                verdict, words = UNSURE, f"{words}; but where nothing is wrong it {saw}"
            found[name] = row(name, verdict, words, self._ended.get(name))
        return found

    def warnings(self) -> Iterator[str]:
        """That the client fails where nothing is wrong, and how."""
        ended = self._ended.get(CONTROL)
        if ended is not None and ended.code != 0:
            why = f": {ended.why()}" if ended.why() else ""
            yield f"The client fails where nothing is wrong ({CONTROL}): {ended.words}{why}"


def row(name: str, verdict: str, words: str, ended: Ended | None = None) -> dict[str, Any]:
    """One way as it is reported."""
    from mrtrscope.replay.probe_report import level

    way = WAYS[name]
    how, why = (ended.words, ended.why() if ended.code != 0 else "") if ended is not None else ("", "")
    return {
        "way": name, "does": way.does, "rule": way.rule, "level": level(way.rule), "verdict": verdict, "saw": words,
        "ended": f"{how}: {why}" if why else how, "exit": ended.code if ended is not None else None,
        "stderr": ended.lines() if ended is not None else [],
    }  # fmt: skip

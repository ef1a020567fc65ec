"""mitmproxy's programs with our addon, as real processes, and what the addon kept."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from mrtrscope.frames import Frame
from mrtrscope.journal import read_journal
from tests.conftest import LIMIT, ROOT, wait_until

ADDON = ROOT / "addons" / "mrtrscope_addon.py"


class Mitm:
    """One running mitmdump or mitmweb."""

    def __init__(
        self, folder: Path, *args: str, addon: Path | None = ADDON, program: str = "mitmdump", **env: str
    ) -> None:
        command = [str(Path(sys.executable).with_name(program))]
        if addon:
            command += ["-s", str(addon), "--set", f"mrtrscope_capture={folder / 'capture'}"]
        command += ["--listen-host", "127.0.0.1", "--listen-port", "0", "--set", f"confdir={folder / 'conf'}"]
        lazy = (
            []
            if any("connection_strategy" in word for word in args)
            else ["--set", "connection_strategy=lazy"]
        )
        command += [*lazy, *args]
        self._run(folder, command, env, "; listening at" if addon else " listening at")

    @classmethod
    def proxy(cls, folder: Path, *args: str, options: tuple[str, ...] = (), **env: str) -> Self:
        """`mrtrscope proxy`."""
        self = cls.__new__(cls)
        command = [sys.executable, "-m", "mrtrscope", "proxy", "--capture", str(folder / "capture")]
        command += ["--listen", "127.0.0.1:0", *args, "--", "--set", f"confdir={folder / 'conf'}", *options]
        self._run(folder, command, env, "; listening at")
        return self

    def _run(self, folder: Path, command: list[str], env: dict[str, str], listening: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.capture = folder / "capture"
        self._log = folder / "log"
        self.process = self._start(command, {"PYTHONPATH": str(ROOT), **env})
        pattern = re.compile(rf"{listening} \S+?:(\d+)(, \S+|\.)?\n")
        try:
            self.port = int(wait_until(lambda: self._ready(pattern), why="no line about listening").group(1))
        except AssertionError as e:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{e}\n{self.log()}") from None

    def _start(self, command: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **env}
            )

    def _ready(self, listening: re.Pattern[str]) -> re.Match[str] | None:
        assert self.process.poll() is None, "it ended"
        return listening.search(self.log())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()

    def log(self) -> str:
        """What it printed."""
        return self._log.read_text(encoding="utf-8")

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """End it and wait."""
        self.process.send_signal(how)
        try:
            return self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def frames(self) -> list[Frame]:
        """Everything recorded so far."""
        return [f for path in sorted((self.capture / "journals").glob("*.mrj")) for f in read_journal(path)]

    def exchange(self, path: str) -> Exchange:
        """The latest exchange for a path, once its answer has ended."""

        def ended() -> Exchange | None:
            frames = self.frames()
            heads = [f for f in frames if f.kind == "head" and f.lane.endswith("q")]
            numbers = [f.lane[:-1] for f in heads if json.loads(f.data)["url"].endswith(path)]
            if not numbers:
                return None
            found = Exchange([f for f in frames if f.lane[:-1] == numbers[-1]])
            return found if "end" in found.kinds("a") else None

        return wait_until(ended, why=f"{path} was not recorded to its end")


class Exchange:
    """The frames of one exchange."""

    def __init__(self, frames: list[Frame]) -> None:
        self.frames = frames

    def kinds(self, role: str) -> list[str]:
        """Kinds of the frames of a lane, in order."""
        return [f.kind for f in self.frames if f.lane.endswith(role)]

    def json(self, role: str, kind: str) -> dict[str, Any]:
        """The payload of the only frame of that kind."""
        (frame,) = [f for f in self.frames if f.lane.endswith(role) and f.kind == kind]
        value: dict[str, Any] = json.loads(frame.data)
        return value

    def body(self, role: str, kind: str = "data") -> bytes:
        """All bytes of a lane."""
        return b"".join(f.data for f in self.frames if f.lane.endswith(role) and f.kind == kind)

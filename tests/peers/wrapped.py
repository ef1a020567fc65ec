"""Real sessions of `mrtrscope wrap`: starting one, talking through it, and what it kept."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Self

from mrtrscope.frames import Frame
from mrtrscope.journal import read_capture
from tests.conftest import LIMIT

WRAP = (sys.executable, "-m", "mrtrscope", "wrap")


def wrapped(capture: Path, name: str, *command: str) -> list[str]:
    """What a host starts in place of the command of a server."""
    return [*WRAP, "--capture", str(capture), "--name", name, "--", *command]


class Wrapped:
    """One running `mrtrscope wrap`; `ulimit` is a limit that the shell sets for it first."""

    def __init__(
        self, capture: Path, *command: str, options: tuple[str, ...] = (), ulimit: str = "", **popen: Any
    ) -> None:
        self.capture = capture
        argv = [*WRAP, "--capture", str(capture), *options, "--", *command]
        if ulimit:
            argv = ["sh", "-c", f"ulimit {ulimit}; exec {shlex.join(argv)}"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(argv, **{"stdin": pipe, "stdout": pipe, "stderr": pipe, **popen})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass

    @property
    def stdin(self) -> int:
        assert self.process.stdin
        return self.process.stdin.fileno()

    @property
    def stdout(self) -> int:
        assert self.process.stdout
        return self.process.stdout.fileno()

    @property
    def child(self) -> int:
        """The process id of what is wrapped, as the journal says it."""
        import json

        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            opened = [f for f in read_capture(self.capture) if f.kind == "open"]
            if opened:
                return int(json.loads(opened[-1].data)["pid"])
            time.sleep(0.005)
        raise AssertionError("no open record")

    def exchange(self, data: bytes, want: int = -1, step: int = 1 << 20) -> bytes:
        """Write all of it while reading, in writes of at most `step`, until `want` bytes came back."""
        want = len(data) if want < 0 else want
        os.set_blocking(self.stdin, False)
        view, got, end = memoryview(data), bytearray(), time.monotonic() + LIMIT
        while len(got) < want or view:
            left = end - time.monotonic()
            assert left > 0, f"{len(got)} of {want} bytes came back, {len(view)} not sent"
            ready, writable, _ = select.select([self.stdout], [self.stdin] if view else [], [], left)
            if writable:
                try:
                    view = view[os.write(self.stdin, view[:step]) :]
                except BlockingIOError:
                    pass
            if ready:
                more = os.read(self.stdout, 1 << 20)
                assert more, f"it ended after {len(got)} of {want} bytes"
                got += more
        return bytes(got)

    def finish(self, data: bytes = b"") -> tuple[int, bytes, bytes]:
        """Send the last bytes, close its input and wait for its end: exit code, rest of its output, stderr."""
        out, err = self.process.communicate(data or None, timeout=LIMIT)
        return self.process.returncode, out, err

    def end(self, how: signal.Signals) -> int:
        """Send a signal and wait."""
        self.process.send_signal(how)
        return self.process.wait(LIMIT)

    def frames(self) -> list[Frame]:
        return list(read_capture(self.capture))

    def kept(self, lane: str) -> bytes:
        """All bytes kept of a lane."""
        return b"".join(f.data for f in self.frames() if f.lane == lane and f.kind == "data")


def gone(pid: int) -> bool:
    """Whether a process has ended, or is only waiting to be fetched."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        if sys.platform == "linux":
            return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False

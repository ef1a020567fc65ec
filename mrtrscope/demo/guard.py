"""Runs one command that must not outlive whoever started it: it hangs on our stdin, and ends when that does.

python guard.py COMMAND ARGS…

The command gets a session of its own, so that a Ctrl-C at the terminal does not reach it, and as its stdin
a pipe that ends when ours does. It is then told to end by SIGTERM, and after a grace the whole session is
killed. However the starter went, by SIGKILL even, the kernel has closed its end of the pipe.
Standard library only.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

GRACE = 4.0  # seconds from SIGTERM to SIGKILL


def _signal_session(child: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(child.pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # all of it is gone; macOS says EPERM of a group of zombies


def main(command: list[str]) -> int:
    # Caught and passed over: only the pipe says when to end. Unlike SIG_IGN, a handler is not inherited.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    child = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    assert child.stdin
    while child.poll() is None:
        ready, _, _ = select.select([0, woken], [], [])
        if woken in ready:
            os.read(woken, 64)
        if 0 in ready and not os.read(0, 4096):
            child.stdin.close()
            _signal_session(child, signal.SIGTERM)
            try:
                child.wait(GRACE)
            except subprocess.TimeoutExpired:
                pass
            break
    _signal_session(child, signal.SIGKILL)  # also what it left behind in its session
    code = child.wait()
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

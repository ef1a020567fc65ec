"""Where a capture goes when the command line does not say. Standard library only; `wrap` starts with it."""

import os
import time


def default_capture() -> str:
    """$MRTRSCOPE_CAPTURE, else $XDG_STATE_HOME/mrtrscope/captures/<date>."""
    given = os.environ.get("MRTRSCOPE_CAPTURE")
    return given or os.path.join(captures_home(), time.strftime("%Y-%m-%d"))


def captures_home() -> str:
    """The folder of the captures that nobody named: $XDG_STATE_HOME/mrtrscope/captures."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # the XDG specification says to ignore it then
        # where nobody's home is known, as in a container, "/" is, not a folder that is called "~"
        state = os.path.join("/", os.path.expanduser("~").removeprefix("~"), ".local", "state")
    return os.path.join(state, "mrtrscope", "captures")


def capture_dir(given: str | None) -> str:
    """The capture folder, absolute. A path that was not on the command line is printed once, on stderr."""
    if given:
        return os.path.abspath(given)
    path = os.path.abspath(default_capture())
    say(f"mrtrscope: recording to {path}")
    return path


def fresh_dir(given: str | None, what: str) -> str:
    """The same for traffic that we make ourselves (`what`: "drive", "probe"): where no folder is named, one of its own
    for each run, so that it is not mixed with what others recorded that day."""
    if given or os.environ.get("MRTRSCOPE_CAPTURE"):
        return capture_dir(given)
    wanted = os.path.join(os.path.abspath(captures_home()), f"{time.strftime('%Y-%m-%dT%H%M%S')}-{what}")
    path, n = wanted, 1
    while os.path.lexists(path):
        n += 1
        path = f"{wanted}-{n}"
    say(f"mrtrscope: recording to {path}")
    return path


def say(text: str) -> None:
    """One line on stderr, whatever state stderr is in."""
    try:
        os.write(2, f"{text}\n".encode(errors="backslashreplace"))
    except OSError:
        pass


def show(text: str) -> int:
    """What was asked for, on stdout; the exit code. That nobody reads it to the end is no error."""
    try:
        data = text.encode()
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        pass
    except OSError as e:
        say(f"mrtrscope: standard output cannot be written: {e.strerror}")
        return 2
    return 0


def size(text: str) -> int:
    """Bytes from "500", "64K", "200M", "2G"; ValueError when it is none of these."""
    unit = {"K": 10, "M": 20, "G": 30, "T": 40}.get(text[-1:].upper())
    number = int(text[:-1]) << unit if unit else int(text)
    if number <= 0:
        raise ValueError(text)
    return number

"""Relays TCP connections to a plain HTTP server on this machine, unread and untouched, and keeps their bytes.

``mrtrscope relay --target HOST:PORT``. HTTP is read out of the bytes later, by the analysis; `connections` carries
them. Standard library only.
"""

import os
import socket
from errno import EADDRINUSE

from mrtrscope.connections import Address, Found, Relay, text_of, written
from mrtrscope.recorder import Journal
from mrtrscope.told import Notices, why_not
from mrtrscope.where import capture_dir, say, size

USAGE = "usage: mrtrscope relay [--capture DIR] --target HOST:PORT [--listen HOST:PORT] [--max-size SIZE]"
HELP = f"""{USAGE}

Passes plain HTTP on to a server and records it, byte for byte, at little more cost than none. For https and for
watching in mitmproxy there is mrtrscope proxy.

  --target HOST:PORT   the server
  --listen HOST:PORT   where clients connect (default: a free port of 127.0.0.1, printed)
  --capture DIR        capture folder (default: $MRTRSCOPE_CAPTURE, else a folder of the day)
  --max-size SIZE      stop recording, never traffic, at this size: 500M, 2G
  --allow-remote       listen on an address that other machines can reach

Ends with ctrl-c. Exits with 2 when this line cannot be read, or the port is in use.

Example:
  mrtrscope relay --target 127.0.0.1:9000 --listen 127.0.0.1:8080
"""


class UsageError(Exception):
    """The command line cannot be carried out as it stands."""


class Options:
    """The command line."""

    __slots__ = ("allow_remote", "capture", "listen", "max_size", "target")

    def __init__(self) -> None:
        self.capture: str | None = None
        self.target: Address = ("", 0)
        self.listen: Address = ("127.0.0.1", 0)
        self.max_size: int | None = None
        self.allow_remote = False


def parse(args: list[str]) -> Options:
    """Read the command line."""
    options, words = Options(), list(args)
    while words:
        key, equals, value = words.pop(0).partition("=")
        if key == "--allow-remote":
            options.allow_remote = True
            continue
        if key not in ("--capture", "--target", "--listen", "--max-size"):
            raise UsageError(f"unknown option {key}\n{USAGE}")
        if not equals:
            if not words:
                raise UsageError(f"{key} wants a value\n{USAGE}")
            value = words.pop(0)
        if key == "--capture":
            options.capture = value
        elif key == "--target":
            options.target = parse_target(value)
        elif key == "--listen":
            options.listen = parse_address(key, value)
        else:
            try:
                options.max_size = size(value)
            except ValueError:
                raise UsageError(f"--max-size {value}: not a size such as 500M or 2G") from None
    if not options.target[0]:
        raise UsageError(f"--target is missing: the server to relay to\n{USAGE}")
    return options


def parse_target(text: str) -> Address:
    """HOST:PORT out of that, or of an http URL."""
    if text.startswith("https://"):
        raise UsageError(f"--target {text}: relay carries plain HTTP only; mrtrscope proxy can do https")
    if text.startswith("http://"):
        text = text[7:].partition("/")[0]
        if ":" not in text.rpartition("]")[2]:
            text += ":80"
    return parse_address("--target", text)


def parse_address(key: str, text: str) -> Address:
    """HOST:PORT, the host in brackets when it has colons itself."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"{key} {text}: say HOST:PORT, for example 127.0.0.1:9000")
    return host, int(port)


def find(key: str, address: Address) -> list[Found]:
    """The socket addresses of a host and port."""
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as e:
        raise UsageError(f"{key} {written(address)}: {getattr(e, 'strerror', None) or e}") from None
    return [(family, where) for family, _, _, _, where in found]


def listen(options: Options) -> socket.socket:
    """The listening socket; UsageError when it cannot be had."""
    family, address = find("--listen", options.listen)[0]
    if not options.allow_remote and not (address[0] == "::1" or str(address[0]).startswith("127.")):
        raise UsageError(
            f"--listen {written(options.listen)}: other machines could reach it, and what it relays is recorded; "
            "say --allow-remote as well if that is meant"
        )
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(1024)
    except OSError as e:
        sock.close()
        why = "is in use" if e.errno == EADDRINUSE else f"cannot be used: {text_of(e)}"
        raise UsageError(
            f"{written(options.listen)} {why}; choose another with --listen, port 0 for a free one"
        ) from None
    return sock


def main(args: list[str]) -> int:
    """Relay until interrupted; the exit code."""
    if args[:1] in (["-h"], ["--help"]):
        from mrtrscope.where import show

        return show(HELP)
    try:
        options = parse(args)
        found = find("--target", options.target)
        listener = listen(options)
        if listener.getsockname() in [address for _, address in found]:
            raise UsageError(f"--target {written(options.target)}: that is where the relay itself listens")
        journal = begin(options)
    except UsageError as e:
        say(f"mrtrscope relay: {e}")
        return 2
    _allow_files()
    notices = Notices("mrtrscope relay")
    journal.told = notices.recording
    say(f"mrtrscope relay: listening on {written(listener.getsockname())} for {written(options.target)}")
    if is_free(found):
        say(
            f"mrtrscope relay: nobody listens at {written(options.target)} yet; clients are turned away until the "
            "server runs"
        )
    relay = Relay(listener, options.target, found, journal, notices)
    try:
        relay.run()
    finally:
        journal.close()
    sum_up(relay, journal)
    return 0


def is_free(found: list[Found]) -> bool:
    """Whether nobody listens at any of these addresses, as far as it can be told without connecting: a server might
    take a connection without a word amiss. False for addresses of other machines."""
    for family, address in found:
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            try:
                sock.bind(address)
            except OSError:
                return False
    return True


def sum_up(relay: Relay, journal: Journal) -> None:
    """What was recorded, and where; what could not be."""
    folder = os.path.dirname(os.path.dirname(journal.path))
    count = f"{relay.number:,} connection{'' if relay.number == 1 else 's'}"
    away = f", {relay.away:,} of them turned away" if relay.away else ""
    say(f"mrtrscope relay: {count}{away}; {journal.kept:,} bytes recorded in {folder}")
    if journal.lost_frames:
        say(
            f"mrtrscope relay: {journal.lost_frames:,} records with {journal.lost_bytes:,} bytes were passed on and "
            f"could not be kept: {why_not(folder, journal.why)}; where they belong, {journal.path} has gaps"
        )


def begin(options: Options) -> Journal:
    """The journal; UsageError when the folder cannot be written, since nothing was relayed yet."""
    folder = capture_dir(options.capture)
    upstream = f"http://{written(options.target)}"
    try:
        return Journal.create(folder, "relay", upstream, max_size=options.max_size)
    except OSError as e:
        raise UsageError(
            f"cannot record to {folder}: {text_of(e)}; put that right, or name another folder with --capture"
        ) from None


def _allow_files() -> None:
    """Two sockets a connection: as many as the system lets us have."""
    import resource

    try:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 1 << 16), hard))
    except (OSError, ValueError):
        pass


def leave(code: int) -> None:
    """End at once."""
    os._exit(code)

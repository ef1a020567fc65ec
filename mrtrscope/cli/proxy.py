"""`mrtrscope proxy`: mitmproxy with our addon, set up so that MCP passes through it whole.

mitmproxy runs inside this process: signals reach it as if it had been called itself, and there is no child that could
be left behind, except the analyser, which ends with it.
"""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import click

import mrtrscope
from mrtrscope.cli.common import USAGE, epilog
from mrtrscope.link.origins import surely_loopback
from mrtrscope.where import default_capture

LISTEN = "127.0.0.1:8080"
PORTS = {"http": 80, "https": 443}
REACH_SECONDS = 3.0
NEVER = 60 * 60 * 24 * 365  # mitmproxy cuts connections that are silent for ten minutes; sessions may be


class CannotStart(click.ClickException):
    """What was asked for cannot be done here: one line that says what to do instead (exit code 2)."""

    exit_code = USAGE


class Address(NamedTuple):
    """Host and port; the host without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def addon_path() -> Path:
    """Where `mrtrscope_addon.py` lies: beside the package in a checkout, inside it where a wheel was installed."""
    package = Path(mrtrscope.__file__).resolve().parent
    for folder in (package / "_addons", package.parent / "addons"):
        if (path := folder / "mrtrscope_addon.py").is_file():
            return path
    raise click.ClickException(f"{package} lacks its addon; install mrtrscope anew.")


@click.command(
    epilog=epilog(
        "mrtrscope proxy --target http://127.0.0.1:9000/mcp --listen 127.0.0.1:8080",
        "mrtrscope proxy --target https://mcp.example.com --web",
        "mrtrscope proxy --listen 127.0.0.1:8080 -- --mode upstream:http://127.0.0.1:3128",
        "mrtrscope proxy --stdio --web",
    )
)
@click.option("--capture", type=click.Path(file_okay=False, path_type=Path), help="Folder to record into.")
@click.option("--target", metavar="URL", help="The server that everything is passed on to.")
@click.option(
    "--listen", metavar="HOST:PORT", default=LISTEN, show_default=True, help="Where clients connect."
)
@click.option(
    "--web", is_flag=True, help="With mitmproxy's page in the browser; finished streams are kept for it."
)
@click.option(
    "--stdio", is_flag=True, help="Take stdio sessions of `mrtrscope wrap --via`, to watch and edit them."
)
@click.option("--allow-remote", is_flag=True, help="Listen where other machines can connect.")
@click.option("--no-check", is_flag=True, help="Start even though the target cannot be reached yet.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[-- MITMPROXY OPTIONS]")
def proxy(
    capture: Path | None,
    target: str | None,
    listen: str,
    web: bool,
    stdio: bool,
    allow_remote: bool,
    no_check: bool,
    options: tuple[str, ...],
) -> int:
    """Pass HTTP on through mitmproxy, and record it.

    Without --target mitmproxy is an ordinary proxy, or whatever `-- --mode …` says.
    """
    if target and stdio:
        raise click.UsageError("--stdio takes its targets from `mrtrscope wrap --via`; leave --target out.")
    folder = _writable(capture or Path(default_capture()))
    where = listen_address(listen)
    if not (allow_remote or surely_loopback(where.host)):
        raise CannotStart(f"other machines could connect to {where}; say --allow-remote if they may.")
    _free(where)
    mode = "socks5" if stdio else None
    if target:
        url = target_url(target)
        if not no_check:
            _reachable(_address(url))
        mode = f"reverse:{url.scheme}://{_address(url)}"
        if url.path not in ("", "/") and where.port:
            click.echo(f"mrtrscope: point the client at http://{where}{url.path}", err=True)
    settings = _settings(folder, web, stdio)
    given = {word.removeprefix("--set=").partition("=")[0] for word in options}
    arguments = ["-s", str(addon_path()), "--listen-host", where.host, "--listen-port", str(where.port)]
    for name in settings.keys() - given:  # mitmproxy refuses an option that is set twice
        arguments += ["--set", f"{name}={settings[name]}"]
    return _run(web, [*arguments, *(["--mode", mode] if mode else []), *options])


def _settings(folder: Path, web: bool, stdio: bool) -> dict[str, str]:
    """mitmproxy's options, where the user does not set them."""
    settings = {
        "mrtrscope_capture": str(folder.absolute()),
        # lazy: an upstream that cannot be reached is seen as an exchange that failed, not as a closed connection;
        # a stdio session's other end is there already, and may speak first
        "connection_strategy": "eager" if stdio else "lazy",
        "tcp_timeout": str(NEVER),
    }
    if stdio:
        settings["mrtrscope_stdio"] = "true"
    if web:
        settings["store_streamed_bodies"] = "true"
    else:
        settings |= {"flow_detail": "0", "termlog_verbosity": "warn"}
    return settings


def _run(web: bool, arguments: list[str]) -> int:
    """Until it is interrupted; the exit code."""
    if find_spec("mitmproxy") is None:
        raise click.ClickException("mitmproxy is not installed here: pip install 'mitmproxy>=12'")
    from mitmproxy.tools import main

    try:
        (main.mitmweb if web else main.mitmdump)(arguments)
    except SystemExit as end:  # it has said why
        return USAGE if end.code else 0
    return 0


def listen_address(text: str) -> Address:
    """HOST:PORT, [HOST]:PORT or PORT; `CannotStart` for anything else."""
    host, _, port = text.rpartition(":")
    host = host or "127.0.0.1"
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise CannotStart(f"--listen {text}: write an IPv6 address as [::1]:8080.")
    if not port.isdecimal() or int(port) > 65535:
        raise CannotStart(f"--listen {text}: say HOST:PORT, such as {LISTEN}.")
    return Address(host, int(port))


def target_url(text: str) -> SplitResult:
    """The URL of a server; `CannotStart` when it is none."""
    again = "say a URL such as http://127.0.0.1:9000/mcp."
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as error:
        raise CannotStart(f"--target {text}: {error}; {again}") from error
    if url.scheme not in PORTS or not url.hostname or port == 0:
        raise CannotStart(f"--target {text} is no http or https URL; {again}")
    if url.username or url.password:
        raise CannotStart("--target: leave user and password out of the URL; the client sends them itself.")
    return url


def _address(url: SplitResult) -> Address:
    return Address(url.hostname or "", url.port or PORTS[url.scheme])


def _writable(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CannotStart(
            f"cannot record into {folder}: {error.strerror}; choose another --capture."
        ) from error
    return folder


def _free(where: Address) -> None:
    """`CannotStart` when nobody can listen there."""
    family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((where.host, where.port))
            probe.listen(1)
    except OSError as error:
        raise CannotStart(
            f"cannot listen at {where}: {error.strerror}; choose another with --listen."
        ) from error


def _reachable(where: Address) -> None:
    """`CannotStart` when nobody answers there."""
    try:
        socket.create_connection(where, REACH_SECONDS).close()
    except OSError as error:
        why = error.strerror or str(error)
        raise CannotStart(
            f"cannot reach {where}: {why}; start the server, or say --no-check when it comes later."
        ) from error
